package brokertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// meaning returns kinds for which expiry means something else.
func meaning(kinds []worker.KindVersions, expiry func(worker.KindVersions) worker.Expiry) []worker.KindVersions {
	kinds = slices.Clone(kinds)
	for i := range kinds {
		kinds[i].OnExpiry = expiry(kinds[i])
	}
	return kinds
}

// faults are the ways in which brokers go wrong, one at a time, and what must report each:
// named cases, and the random histories unless the fault is out of their reach.
var faults = []struct {
	name     string
	broken   fault
	settings func(*memory.Config, Config)
	cases    []string
	noRandom string // why the random histories cannot report it
}{
	// Deviations of the reference broker.
	{name: "settles by job, without comparing the token", settings: deviant(deviation.SettleUnfenced), cases: []string{
		"a stale token changes nothing", "a stale token of a job that came back changes nothing", "release against takeover",
		"ack after expiry, after the next claim", "a token that nobody was given is stale", "a forgotten claim's token is not given out again",
	}},
	{name: "a renewal brings a released lease back", settings: deviant(deviation.RenewResurrects), cases: []string{
		"renew after release", "renew racing release", "a lease is over at its end and not before",
	}},
	{name: "releases by job what the worker held a moment ago", settings: deviant(deviation.ReadThenRelease), cases: []string{
		"release against takeover", "a stale token changes nothing",
	}},
	{name: "a renewal extends the lease from the worker's own time", settings: deviant(deviation.WorkersClock), cases: []string{
		"only the broker's clock counts, wherever it stands", "a lease is over at its end and not before",
	}},
	{name: "a renewal keeps alive what the life before held", settings: deviant(deviation.OwnerByName), cases: []string{
		"a seat's next life keeps nothing alive that the one before held",
	}},
	{name: "counts a failure at the claim", settings: deviant(deviation.AttemptAtClaim), cases: []string{"failures are spent"}},
	{name: "hands a job that came back to whoever waits longest", settings: deviant(deviation.BouncesJobs), noRandom: "nobody waits", cases: []string{
		"a job that comes back prefers a newer generation",
	}},
	{name: "counts tokens from the job's record alone", settings: deviant(deviation.TokenForgotten), noRandom: "nothing is forgotten", cases: []string{
		"a forgotten claim's token is not given out again",
	}},

	// Settings that are not obeyed.
	{name: "leases are a millisecond too long", settings: func(m *memory.Config, _ Config) { m.Lease += tick }, cases: []string{
		"a lease is over at its end and not before", "an expired claim's repeat is not granted again",
	}},
	{name: "leases are a millisecond too short", settings: func(m *memory.Config, _ Config) { m.Lease -= tick }, cases: []string{
		"a lease is over at its end and not before",
	}},
	{name: "leases end by the client's clock", settings: func(m *memory.Config, c Config) { m.Lease = max(tick, m.Lease-offset(c)) }, cases: []string{
		"only the broker's clock counts, wherever it stands",
	}},
	{name: "delays end by the client's clock", broken: func(f *faulty, c Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Delay > 0 {
				s.Delay = max(0, s.Delay-offset(c))
			}
		}, nil)
	}, cases: []string{"only the broker's clock counts, wherever it stands"}},
	{name: "the backoff ends by the client's clock", settings: func(m *memory.Config, c Config) {
		m.BackoffMin = max(0, m.BackoffMin-offset(c))
		m.BackoffMax = m.BackoffMin
	}, cases: []string{"only the broker's clock counts, wherever it stands"}},
	{name: "one failure more is allowed", settings: func(m *memory.Config, _ Config) {
		if m.MaxFailures > 0 {
			m.MaxFailures++
		}
	}, cases: []string{"failures are spent"}},
	{name: "one expiry more is allowed", settings: func(m *memory.Config, _ Config) {
		if m.Poison > 0 {
			m.Poison++
		}
	}, cases: []string{"expiries in a row are poison", "a worker that was going is cut"}},
	{name: "the backoff does not grow", settings: func(m *memory.Config, _ Config) { m.BackoffMax = m.BackoffMin }, cases: []string{
		"a failed job waits twice as long each time",
	}},
	{name: "the backoff grows without end", settings: func(m *memory.Config, _ Config) { m.BackoffMax = time.Hour }, cases: []string{
		"a failed job waits twice as long each time",
	}},
	{name: "expiry never quarantines", settings: func(m *memory.Config, _ Config) { m.OnExpiry = model.Redeliver }, cases: []string{
		"expiry that means quarantine",
	}},
	{name: "what expiry means for a kind is not heard", broken: func(f *faulty, _ Config) {
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			req.Kinds = meaning(req.Kinds, func(worker.KindVersions) worker.Expiry { return worker.Redeliver })
			return true
		})
	}, cases: []string{
		"expiry that means quarantine for a kind", "what a request that waits says of a kind counts when it is served",
		"a worker that was going leaves its jobs to quarantine, too, if its kind says so",
	}},
	{name: "what expiry means for a kind is taken to mean so for all", broken: func(f *faulty, _ Config) {
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			most := worker.Redeliver
			for _, k := range req.Kinds {
				most = max(most, k.OnExpiry)
			}
			req.Kinds = meaning(req.Kinds, func(worker.KindVersions) worker.Expiry { return most })
			return true
		})
	}, noRandom: "its jobs are of one kind", cases: []string{"expiry that means quarantine for a kind"}},
	{name: "what expiry once meant for a kind it means for ever", broken: func(f *faulty, _ Config) {
		said := map[string]worker.Expiry{}
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			req.Kinds = meaning(req.Kinds, func(k worker.KindVersions) worker.Expiry {
				said[k.Kind] = max(said[k.Kind], k.OnExpiry)
				return said[k.Kind]
			})
			return true
		})
	}, cases: []string{"expiry that means quarantine for a kind"}},
	{name: "finished jobs are forgotten at once", settings: func(m *memory.Config, _ Config) { m.Keep = tick }, cases: []string{
		"a late repeat is recognised",
	}},

	// Registration.
	{name: "each registration is a new life", broken: func(f *faulty, _ Config) {
		var n byte
		f.register = func(ctx context.Context, life worker.Life) (uint64, error) {
			n++
			life.Nonce[0] = n
			return f.inMemory.Register(ctx, life)
		}
	}, cases: []string{"a life has one incarnation"}},
	{name: "a seat has one incarnation for ever", broken: func(f *faulty, _ Config) {
		f.register = func(ctx context.Context, life worker.Life) (uint64, error) {
			life.Nonce[15] = life.Seat[0]
			return f.inMemory.Register(ctx, life)
		}
	}, cases: []string{"a life has one incarnation"}},
	{name: "a seat's next life frees what the one before holds", broken: func(f *faulty, _ Config) {
		held, incarnations := map[uint64][]worker.Grant{}, map[string]uint64{}
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			held[req.Incarnation] = append(held[req.Incarnation], a.Grants...)
		})
		f.register = func(ctx context.Context, life worker.Life) (uint64, error) {
			n, err := f.inMemory.Register(ctx, life)
			if old := incarnations[life.Seat]; old != n {
				for _, g := range held[old] {
					release(ctx, f.inMemory, g, protocol.BecauseExpired)
				}
			}
			incarnations[life.Seat] = n
			return n, err
		}
	}, cases: []string{"a seat's next life leaves alone what the one before holds"}},
	{name: "going is not heard", broken: func(f *faulty, _ Config) {
		f.going = func(context.Context, uint64, string) error { return nil }
	}, cases: []string{
		"who is going is granted nothing new", "a worker that was going is cut", "a worker that was going before its claim's last renewal is cut",
		"who is going waits no more", "queues are separate",
	}},
	{name: "going is for all queues", broken: func(f *faulty, _ Config) {
		f.going = func(ctx context.Context, n uint64, _ string) error {
			return errors.Join(f.inMemory.Going(ctx, n, Queue), f.inMemory.Going(ctx, n, OtherQueue))
		}
	}, cases: []string{"queues are separate"}, noRandom: "there is one queue"},
	{name: "who is going is refused repeats, too", broken: func(f *faulty, _ Config) {
		gone := map[uint64]bool{}
		f.going = func(ctx context.Context, n uint64, queue string) error {
			gone[n] = true
			return f.inMemory.Going(ctx, n, queue)
		}
		f.claim = f.asked(func(req *worker.ClaimRequest) bool { return !gone[req.Incarnation] })
	}, cases: []string{"who is going is granted nothing new"}},

	// Requests.
	{name: "strangers are served", broken: func(f *faulty, _ Config) {
		var known uint64
		f.register = func(ctx context.Context, life worker.Life) (n uint64, err error) {
			n, err = f.inMemory.Register(ctx, life)
			known = max(known, n)
			return n, err
		}
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			if req.Incarnation > known {
				req.Incarnation = 1
			}
			return true
		})
	}, cases: []string{"a stranger is refused"}, noRandom: "there are no strangers"},
	{name: "who is refused is told that there is nothing", broken: func(f *faulty, _ Config) {
		f.claim = func(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
			a, err := f.inMemory.Claim(ctx, req)
			if errors.Is(err, worker.ErrRefused) {
				err = nil
			}
			return a, err
		}
	}, cases: []string{"an older request is refused", "a stranger is refused", "who is going is granted nothing new"}},
	{name: "a repeated request is granted new jobs", broken: repeatsGrantNewJobs, cases: []string{
		"a request that is repeated gets the same claims", "a request that found nothing finds nothing when repeated", "an older request is refused",
	}},
	{name: "a repeated request is answered with nothing", broken: func(f *faulty, _ Config) {
		seen := map[[2]uint64]bool{}
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			id := [2]uint64{req.Incarnation, req.Seq}
			if seen[id] {
				*a = worker.ClaimAnswer{}
			}
			seen[id] = true
		})
	}, cases: []string{
		"a request that is repeated gets the same claims", "who is going is granted nothing new", "a cursor is kept, however it came",
		"the next execution is told of the one before", "a served request says how long it waited",
	}},
	{name: "a repeated request is given its first answer, whatever happened since", broken: func(f *faulty, _ Config) {
		first := map[[2]uint64]worker.ClaimAnswer{}
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			id := [2]uint64{req.Incarnation, req.Seq}
			if old, ok := first[id]; ok {
				*a = old
			}
			first[id] = *a
		})
	}, cases: []string{"a request that is repeated gets the same claims", "an expired claim's repeat is not granted again", "a cursor is kept, however it came"}},
	{name: "withdrawals are forgotten", broken: func(f *faulty, _ Config) {
		f.withdraw = func(context.Context, uint64, string, uint64) (int, error) { return 0, nil }
	}, cases: []string{
		"a withdrawn request gives back what its answer granted", "a withdrawn request that arrives afterwards is refused",
		"a late withdraw takes back nothing that is not its own", "a withdraw leaves alone what was settled or taken meanwhile",
		"a withdrawn request waits no more", "a withdraw is of one queue", "a cancelled job's withdrawn claim cancels it",
	}},
	{name: "a withdrawal that comes before its request is forgotten", broken: func(f *faulty, _ Config) {
		newest := map[uint64]uint64{}
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			newest[req.Incarnation] = max(newest[req.Incarnation], req.Seq)
			return true
		})
		f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
			if seq > newest[n] {
				return 0, nil
			}
			return f.inMemory.Withdraw(ctx, n, queue, seq)
		}
	}, cases: []string{"a withdrawn request that arrives afterwards is refused"}},
	{name: "a withdrawal takes back whatever the worker asked last", broken: func(f *faulty, _ Config) {
		newest := map[uint64]uint64{}
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			newest[req.Incarnation] = max(newest[req.Incarnation], req.Seq)
			return true
		})
		f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
			return f.inMemory.Withdraw(ctx, n, queue, max(seq, newest[n]))
		}
	}, cases: []string{"a late withdraw takes back nothing that is not its own"}},
	{name: "a withdrawal goes by job", broken: func(f *faulty, _ Config) {
		newest, granted := map[protocol.JobKey]worker.Grant{}, map[[2]uint64][]worker.Grant{}
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			granted[[2]uint64{req.Incarnation, req.Seq}] = a.Grants
			for _, g := range a.Grants {
				newest[g.Job] = g
			}
		})
		f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
			jobs, err := f.inMemory.Withdraw(ctx, n, queue, seq)
			for _, g := range granted[[2]uint64{n, seq}] {
				release(ctx, f.inMemory, newest[g.Job], protocol.BecauseWithdrawn)
			}
			return jobs, err
		}
	}, cases: []string{"a withdraw leaves alone what was settled or taken meanwhile"}},
	{name: "a withdrawal is for all queues", broken: func(f *faulty, _ Config) {
		f.withdraw = func(ctx context.Context, n uint64, _ string, seq uint64) (int, error) {
			a, err := f.inMemory.Withdraw(ctx, n, Queue, seq)
			b, err2 := f.inMemory.Withdraw(ctx, n, OtherQueue, seq)
			return a + b, errors.Join(err, err2)
		}
	}, cases: []string{"a withdraw is of one queue"}, noRandom: "there is one queue"},
	{name: "there is only one queue", broken: func(f *faulty, _ Config) {
		f.enqueue = func(_ string, job NewJob) protocol.JobKey { return f.inMemory.Enqueue(Queue, job) }
		f.claim = f.asked(func(req *worker.ClaimRequest) bool { req.Queue = Queue; return true })
	}, cases: []string{"queues are separate"}, noRandom: "there is one queue"},

	// Grants.
	{name: "a request is granted jobs in reverse", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) { slices.Reverse(a.Grants) })
	}, cases: []string{"a request is granted what it wants in the queue's order"}},
	{name: "a request is granted one job more", broken: func(f *faulty, _ Config) {
		f.claim = f.asked(func(req *worker.ClaimRequest) bool { req.Want++; return true })
	}, cases: []string{"a request is granted what it wants in the queue's order"}},
	{name: "a job that comes back goes to the end", broken: comesBackLast, cases: []string{"a job that comes back has its old place"}},
	{name: "two requests at one time get the same job", broken: func(f *faulty, _ Config) {
		var before []worker.Grant
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			if len(a.Grants) < req.Want {
				a.Grants = append(a.Grants, before...)
			}
			before = slices.Clone(a.Grants[:min(len(a.Grants), 1)])
		})
	}, cases: []string{"requests at one time share no job"}},
	{name: "payloads are cut at a zero byte", broken: func(f *faulty, _ Config) {
		f.enqueue = func(queue string, job NewJob) protocol.JobKey {
			job.Payload, _, _ = bytes.Cut(job.Payload, []byte{0})
			return f.inMemory.Enqueue(queue, job)
		}
	}, cases: []string{"a job arrives as it was sent"}, noRandom: "payloads are plain"},
	{name: "the version is lost", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) {
			for i := range a.Grants {
				a.Grants[i].Version = 1
			}
		})
	}, cases: []string{"a job arrives as it was sent"}},
	{name: "a job has one token for ever", broken: oneTokenPerJob, cases: []string{
		"a stale token changes nothing", "a lease is over at its end and not before", "release against takeover",
		"a request that waits is served by what is handed back",
	}},
	{name: "cursors are lost", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) {
			for i := range a.Grants {
				a.Grants[i].Cursor = nil
			}
		})
	}, cases: []string{
		"a cursor is kept, however it came", "a cursor of a claim that is over is not kept", "an expired claim's settlement may bring a cursor",
	}},
	{name: "cursors that come too late are kept", broken: func(f *faulty, _ Config) {
		late := map[protocol.JobKey][]byte{}
		f.save = func(ctx context.Context, save worker.Renewal) (protocol.Code, error) {
			late[save.Job] = save.Cursor
			return f.inMemory.Save(ctx, save)
		}
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) {
			for i, g := range a.Grants {
				if late[g.Job] != nil {
					a.Grants[i].Cursor = late[g.Job]
				}
			}
		})
	}, cases: []string{"a cursor of a claim that is over is not kept", "renew after release", "a lease is over at its end and not before"}},
	{name: "nobody is told of the execution before", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) {
			for i := range a.Grants {
				a.Grants[i].Prior = worker.Prior{}
			}
		})
	}, cases: []string{"the next execution is told of the one before", "a worker that was going is cut", "release after expiry"}},
	{name: "the claim before counts as an execution, also when it never ran", broken: priorIsAnyClaim, cases: []string{
		"the next execution is told of the one before", "a late claim goes back as if nothing had been", "a withdrawn request gives back what its answer granted",
	}},

	// Renewals.
	{name: "saving extends the lease", broken: func(f *faulty, _ Config) {
		f.save = func(ctx context.Context, save worker.Renewal) (protocol.Code, error) {
			codes, err := f.inMemory.Renew(ctx, []worker.Renewal{save})
			return codes[0], err
		}
	}, cases: []string{"saving does not extend the lease"}},
	{name: "renewals do not extend the lease", broken: func(f *faulty, _ Config) {
		f.renew = func(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
			codes := make([]protocol.Code, len(renewals))
			for i, r := range renewals {
				codes[i], _ = f.inMemory.Save(ctx, r)
			}
			return codes, nil
		}
	}, cases: []string{
		"a lease is over at its end and not before", "an operator's cancel is told to the holder",
	}},
	{name: "a renewal with nothing to save loses the cursor", broken: func(f *faulty, _ Config) {
		f.renew = func(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
			renewals = slices.Clone(renewals)
			for i, r := range renewals {
				if r.Cursor == nil {
					renewals[i].Cursor = []byte{}
				}
			}
			return f.inMemory.Renew(ctx, renewals)
		}
	}, cases: []string{"a cursor is kept, however it came", "what clears poison and what does not"}},
	{name: "an expired claim is called stale", broken: func(f *faulty, _ Config) {
		f.renew = f.renewed(func(_ worker.Renewal, c protocol.Code) protocol.Code {
			if c == protocol.Expired {
				return protocol.Stale
			}
			return c
		})
	}, cases: []string{"a lease is over at its end and not before", "saving does not extend the lease", "a forgotten renewal lets the lease run out"}},
	{name: "the cancel order is not told", broken: func(f *faulty, _ Config) {
		f.renew = f.renewed(func(_ worker.Renewal, c protocol.Code) protocol.Code {
			if c == protocol.CancelOrder {
				return protocol.OK
			}
			return c
		})
	}, cases: []string{"an operator's cancel is told to the holder"}},
	{name: "codes come in the wrong order", broken: func(f *faulty, _ Config) {
		f.settle = func(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
			codes, err := f.inMemory.Settle(ctx, settlements)
			slices.Reverse(codes)
			return codes, err
		}
	}, cases: []string{"several at once are answered in order"}},
	{name: "a batch ends at the first that is not well", broken: func(f *faulty, _ Config) {
		f.settle = func(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
			codes := make([]protocol.Code, len(settlements))
			for i, s := range settlements {
				one, err := f.inMemory.Settle(ctx, []worker.Settlement{s})
				if err != nil {
					return nil, err
				}
				if codes[i] = one[0]; one[0] != protocol.OK {
					break
				}
			}
			return codes, nil
		}
	}, cases: []string{"several at once are answered in order"}},

	// Settlements.
	{name: "a repeat is called ok", broken: answers(protocol.Repeat, protocol.OK), cases: []string{
		"the first verb wins and its repeat is told so", "a late repeat is recognised", "a forgotten settlement is sent again",
	}},
	{name: "a repeat is called closed", broken: answers(protocol.Repeat, protocol.Closed), cases: []string{
		"the first verb wins and its repeat is told so", "a late repeat is recognised",
	}},
	{name: "another verb is called a repeat", broken: answers(protocol.Closed, protocol.Repeat), cases: []string{
		"the first verb wins and its repeat is told so",
	}},
	{name: "nothing is remembered of a claim that was settled", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(nil, func(_ worker.Settlement, c protocol.Code) protocol.Code {
			if c == protocol.Repeat || c == protocol.Closed {
				return protocol.Stale
			}
			return c
		})
	}, cases: []string{"the first verb wins and its repeat is told so", "what is over cannot be cancelled"}},
	{name: "an expired claim cannot be settled", broken: func(f *faulty, _ Config) {
		f.settle = func(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
			codes := make([]protocol.Code, len(settlements))
			for i, s := range settlements {
				if probe, _ := f.inMemory.Save(ctx, worker.Renewal{Job: s.Job, Token: s.Token}); probe == protocol.Expired {
					codes[i] = protocol.Stale
					continue
				}
				one, err := f.inMemory.Settle(ctx, []worker.Settlement{s})
				if err != nil {
					return nil, err
				}
				codes[i] = one[0]
			}
			return codes, nil
		}
	}, cases: []string{
		"ack after expiry, before the next claim", "release after expiry", "release with a delay after expiry", "expiry that means quarantine",
		"expiries in a row are poison", "an expired claim's settlement may bring a cursor", "an expired claim's repeat is not granted again",
	}},
	{name: "a release counts as a failure", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Verb == protocol.Release && s.Reason != protocol.BecauseCancelled {
				s.Verb = protocol.Fail
			}
		}, nil)
	}, cases: []string{
		"what each verb does", "failures are spent", "interruptions without progress are counted and spend nothing", "release after expiry",
	}},
	{name: "a refusal counts as a failure", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Verb == protocol.Refuse {
				s.Verb = protocol.Fail
			}
		}, nil)
	}, cases: []string{"what each verb does", "failures are spent", "a job that is released with a delay comes back after it"}},
	{name: "a late claim counts as an interruption", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Reason == protocol.BecauseLate || s.Reason == protocol.BecauseBusy {
				s.Reason = protocol.BecauseDrain
			}
		}, nil)
	}, cases: []string{
		"a late claim goes back as if nothing had been", "what clears poison and what does not", "interruptions without progress are counted and spend nothing",
	}},
	{name: "an interruption is not counted", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Verb == protocol.Release && s.Reason != protocol.BecauseCancelled {
				s.Reason = protocol.BecauseLate
			}
		}, nil)
	}, cases: []string{"what each verb does", "release after expiry", "what clears poison and what does not", "the next execution is told of the one before"}},
	{name: "delays are not kept", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) { s.Delay = 0 }, nil)
	}, cases: []string{"a job that is released with a delay comes back after it", "release with a delay after expiry"}},
	{name: "a quarantined job is handed out again", broken: func(f *faulty, _ Config) {
		f.settle = f.settled(func(s *worker.Settlement) {
			if s.Verb == protocol.Quarantine {
				s.Verb, s.Reason = protocol.Release, protocol.BecauseBusy
			}
		}, nil)
	}, cases: []string{"what each verb does", "what is over cannot be cancelled"}},
	{name: "claims are not counted", broken: func(f *faulty, _ Config) {
		f.job = func(key protocol.JobKey) (Job, bool) {
			info, ok := f.inMemory.Job(key)
			info.Deliveries = 0
			return info, ok
		}
	}, cases: []string{"a request is granted what it wants in the queue's order", "what each verb does"}},
	{name: "interruptions without progress are not counted", broken: func(f *faulty, _ Config) {
		f.job = func(key protocol.JobKey) (Job, bool) {
			info, ok := f.inMemory.Job(key)
			info.Fruitless = 0
			return info, ok
		}
	}, cases: []string{"interruptions without progress are counted and spend nothing", "a worker that was going is cut"}},
	{name: "a job that expired is lost", broken: func(f *faulty, _ Config) {
		lost := map[protocol.JobKey]bool{}
		f.job = func(key protocol.JobKey) (Job, bool) {
			info, ok := f.inMemory.Job(key)
			lost[key] = lost[key] || info.State == model.JobReady && info.Poison > 0
			return info, ok && !lost[key]
		}
	}, cases: []string{"a lease is over at its end and not before", "expiries in a row are poison"}},

	// The operator.
	{name: "an operator's cancel is forgotten", broken: func(f *faulty, _ Config) { f.cancelJob = func(protocol.JobKey) {} }, cases: []string{
		"an operator's cancel of a job that nobody holds", "an operator's cancel is told to the holder",
		"a cancel that its holder did not obey is carried out when it lets go", "a cancelled job's withdrawn claim cancels it",
	}},
	{name: "an operator's cancel comes back when its holder lets go", broken: func(f *faulty, _ Config) {
		f.cancelJob = func(key protocol.JobKey) {
			if info, _ := f.inMemory.Job(key); info.State != model.JobClaimed {
				f.inMemory.CancelJob(key)
			}
		}
	}, cases: []string{"a cancel that its holder did not obey is carried out when it lets go", "a cancelled job's withdrawn claim cancels it"}},
	{name: "what is over is cancelled", broken: func(f *faulty, _ Config) {
		cancelled := map[protocol.JobKey]bool{}
		f.cancelJob = func(key protocol.JobKey) { cancelled[key] = true; f.inMemory.CancelJob(key) }
		f.job = func(key protocol.JobKey) (Job, bool) {
			info, ok := f.inMemory.Job(key)
			if cancelled[key] && info.State.Terminal() {
				info.State = model.JobCancelledByOperator
			}
			return info, ok
		}
	}, cases: []string{"what is over cannot be cancelled"}},

	// Requests that wait.
	{name: "no request waits", broken: func(f *faulty, _ Config) {
		f.claim = f.asked(func(req *worker.ClaimRequest) bool { req.Park = 0; return true })
	}, noRandom: "nobody waits", cases: []string{
		"a request that waits is served by a new job", "a served request says how long it waited", "a request waits as long as it says",
		"a request that waits is served by what expires or becomes due", "a request that waits is served by what is handed back",
		"who waits longest is served first", "a withdrawn request waits no more", "who is going waits no more",
		"a newer request takes the place of the one that waits", "a cut connection loses no job",
	}},
	{name: "requests wait for ever", broken: func(f *faulty, _ Config) {
		f.claim = f.asked(func(req *worker.ClaimRequest) bool {
			if req.Park > 0 {
				req.Park = time.Hour
			}
			return true
		})
	}, noRandom: "nobody waits", cases: []string{"a request waits as long as it says"}},
	{name: "who waited does not learn it", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) { a.Parked = 0 })
	}, noRandom: "nobody waits", cases: []string{"a served request says how long it waited", "a request waits as long as it says"}},
	{name: "what is granted to a cut connection is lost", broken: func(f *faulty, _ Config) {
		f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
			if req.Park == 0 && req.Seq == 1 {
				a.Grants = nil
			}
		})
	}, cases: []string{"a cut connection loses no job"}},

	// Failover.
	{name: "the failover does not happen", broken: func(f *faulty, _ Config) {
		f.cutOff = func() func() { return func() {} }
	}, noRandom: "nothing is forgotten", cases: []string{"a forgotten settlement is sent again", "a forgotten renewal lets the lease run out"}},
}

func deviant(id deviation.ID) func(*memory.Config, Config) {
	return func(m *memory.Config, _ Config) { m.Deviations = deviation.Of(id) }
}

// answers has a broker settle with another code.
func answers(instead, code protocol.Code) fault {
	return func(f *faulty, _ Config) {
		f.settle = f.settled(nil, func(_ worker.Settlement, c protocol.Code) protocol.Code {
			if c == instead {
				return code
			}
			return c
		})
	}
}

func release(ctx context.Context, b worker.Broker, g worker.Grant, reason protocol.Reason) {
	_, _ = b.Settle(ctx, []worker.Settlement{{Job: g.Job, Token: g.Token, Verb: protocol.Release, Reason: reason}})
}

func repeatsGrantNewJobs(f *faulty, _ Config) {
	newest, last := map[uint64]uint64{}, map[[2]uint64]uint64{}
	f.claim = f.asked(func(req *worker.ClaimRequest) bool {
		newest[req.Incarnation]++
		id := [2]uint64{req.Incarnation, req.Seq}
		req.Seq = newest[req.Incarnation]
		last[id] = req.Seq
		return true
	})
	f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
		return f.inMemory.Withdraw(ctx, n, queue, last[[2]uint64{n, seq}])
	}
}

// comesBackLast takes all there is and keeps what was never handed out before.
func comesBackLast(f *faulty, _ Config) {
	before := map[protocol.JobKey]bool{}
	f.claim = func(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
		want := req.Want
		req.Want = 64
		a, err := f.inMemory.Claim(ctx, req)
		f.Lock()
		defer f.Unlock()
		old := func(g worker.Grant) bool { return before[g.Job] }
		a.Grants = append(slices.DeleteFunc(slices.Clone(a.Grants), old), slices.DeleteFunc(a.Grants, func(g worker.Grant) bool { return !old(g) })...)
		for _, g := range a.Grants[min(want, len(a.Grants)):] {
			release(ctx, f.inMemory, g, protocol.BecauseLate)
		}
		a.Grants = a.Grants[:min(want, len(a.Grants))]
		for _, g := range a.Grants {
			before[g.Job] = true
		}
		return a, err
	}
}

// oneTokenPerJob gives out a job's first token again and again, and takes it for the newest.
func oneTokenPerJob(f *faulty, _ Config) {
	first, newest := map[protocol.JobKey]protocol.Token{}, map[protocol.JobKey]protocol.Token{}
	f.claim = f.granted(func(_ worker.ClaimRequest, a *worker.ClaimAnswer) {
		for i, g := range a.Grants {
			if first[g.Job] == 0 {
				first[g.Job] = g.Token
			}
			newest[g.Job] = g.Token
			a.Grants[i].Token = first[g.Job]
		}
	})
	real := func(job protocol.JobKey, token protocol.Token) protocol.Token {
		if token == first[job] {
			return newest[job]
		}
		return token
	}
	f.settle = f.settled(func(s *worker.Settlement) { s.Token = real(s.Job, s.Token) }, nil)
	f.renew = func(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
		renewals = slices.Clone(renewals)
		for i, r := range renewals {
			renewals[i].Token = real(r.Job, r.Token)
		}
		return f.inMemory.Renew(ctx, renewals)
	}
}

// priorIsAnyClaim remembers the token of every settlement.
func priorIsAnyClaim(f *faulty, _ Config) {
	last, prior := map[protocol.JobKey]worker.Prior{}, map[protocol.Token]worker.Prior{}
	held := map[[2]uint64][]worker.Grant{}
	f.settle = f.settled(nil, func(s worker.Settlement, c protocol.Code) protocol.Code {
		if c == protocol.OK {
			last[s.Job] = worker.Prior{Token: s.Token, Reason: s.Reason}
		}
		return c
	})
	f.withdraw = func(ctx context.Context, n uint64, queue string, seq uint64) (int, error) {
		for _, g := range held[[2]uint64{n, seq}] {
			last[g.Job] = worker.Prior{Token: g.Token, Reason: protocol.BecauseWithdrawn}
		}
		return f.inMemory.Withdraw(ctx, n, queue, seq)
	}
	f.claim = f.granted(func(req worker.ClaimRequest, a *worker.ClaimAnswer) {
		held[[2]uint64{req.Incarnation, req.Seq}] = a.Grants
		for i, g := range a.Grants {
			if _, known := prior[g.Token]; !known && last[g.Job].Token > g.Prior.Token {
				prior[g.Token] = last[g.Job]
			}
			if p, known := prior[g.Token]; known {
				a.Grants[i].Prior = p
			}
		}
	})
}

// ample is the patience that checks have by default, hasty what is enough where one is to fail.
var ample = patience

const hasty = 50 * time.Millisecond

// quickly makes checks that are meant to fail do it at once, the same way every time, and
// leave nothing behind.
func quickly(t *testing.T) {
	before := patience
	patience = hasty
	t.Cleanup(func() { patience = before })
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "0s")
	setFlag(t, "rapid.seed", "1")
}

func setFlag(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	was := f.Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { assert.NoError(t, flag.Set(name, was)) })
}

func TestEveryFaultIsReportedAndEveryCheckReportsOne(t *testing.T) {
	quickly(t)
	all := checks()
	reports := map[string]bool{}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			open := fault.broken.open(fault.settings)
			var failed []string
			for _, c := range all {
				patience = hasty
				if c.name == "random histories" && fault.noRandom != "" {
					patience = ample // it is not to fail because the machine is busy
				}
				if record(t.Context(), c, open).failed {
					failed = append(failed, c.name)
					reports[c.name] = true
				}
			}
			t.Logf("reported by %d: %q", len(failed), failed)
			assert.Subset(t, failed, fault.cases)
			if fault.noRandom == "" {
				assert.Contains(t, failed, "random histories")
			} else {
				assert.NotContains(t, failed, "random histories", fault.noRandom)
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, c := range all {
		assert.True(t, reports[c.name], "no fault is reported by %q", c.name)
	}
}
