package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/internal/prefetch"
	"github.com/quiesce/quiesce/protocol"
)

// BrokerConfig is what a reference broker is told once.
type BrokerConfig struct {
	Lease         protocol.Duration
	Park          protocol.Duration // longest long poll; 0 answers at once
	Rescue        Rescue
	SweepPeriod   protocol.Duration
	SweepSlack    protocol.Duration
	OnExpiry      OnExpiry
	MaxFailures   int
	Poison        int
	Starving      int
	CountAtClaim  bool
	MaxAttempts   int
	Backoff       protocol.Backoff
	MaxMessageAge protocol.Duration
	Habits
	Journal    protocol.Duration // how far back Forget may go; 0 keeps no journal
	Deviations deviation.Set
}

// Member identifies one life of a worker process towards the broker.
type Member struct {
	Nonce       uint64 // drawn by the process, so that a repeated Register is recognised
	Incarnation uint64 // given by the broker
	Seat        int32  // configured identity
	Generation  uint32 // of the code it runs; grows with every deploy
}

// Request is an effect on its way to the broker, and who sent it.
type Request struct {
	From   Member
	Effect protocol.Effect
}

// Answer is one event on its way to a worker. More says that the next Answer belongs to the
// same message: they travel together and are stepped with nothing in between.
type Answer struct {
	To    Member
	Event protocol.Event
	More  bool
}

// FactKind tags a Fact.
type FactKind uint8

// Facts that only the broker knows.
const (
	Claimed      FactKind = iota // a claim was granted
	LeaseRanOut                  // expiry was noticed; Reason says expired or cut
	ClaimSettled                 // a claim was ended; Verb and Reason
	Finished                     // the job is done
	DeadLettered                 // out of failures, poison or attempts; Reason tells interruptions from failures
	Quarantined
	JobCancelled
	GrewStarving // interrupted too often without progress
	Forgotten    // a failover undid something about the job
)

// Fact is something that happened to a job at the broker.
type Fact struct {
	Kind   FactKind
	Verb   protocol.Verb
	Reason protocol.Reason
	Eroded bool // ClaimSettled, LeaseRanOut: the interruption spent part of a budget
	Job    protocol.JobKey
	Token  protocol.Token
	Seat   int32  // of the claim's holder
	Nonce  uint64 // the holder's life
	At     protocol.Instant
}

// Outbox collects what one call of the broker produced. The caller resets it.
type Outbox struct {
	Answers []Answer
	Facts   []Fact
}

// Reset forgets the content and keeps the memory.
func (o *Outbox) Reset() { o.Answers, o.Facts = o.Answers[:0], o.Facts[:0] }

// JobState is where a job stands at the broker.
type JobState uint8

// Job states.
const (
	JobReady JobState = iota
	JobClaimed
	JobDelayed
	JobDone
	JobDead
	JobQuarantined
	JobCancelledByOperator
)

// Terminal reports whether nothing will happen to a job by itself any more.
func (s JobState) Terminal() bool { return s >= JobDone }

// JobRow is what the broker keeps of a job. Work, Kind and Version are its payload.
type JobRow struct {
	Work       protocol.Duration
	Cursor     protocol.Cursor
	Token      protocol.Token   // of the newest claim
	Lease      protocol.Instant // its end
	Due        protocol.Instant // JobDelayed: when it can be claimed; ended: when the row is forgotten
	Owner      Member           // of the newest claim
	lease      uint32           // number of its entry in the queue of leases; 0 is none
	Kind       protocol.Kind
	Version    uint16
	Deliveries uint16
	Restored   uint16 // deliveries that do not count as attempts, since they were handed back
	Failures   uint16
	Poison     uint16 // expiries in a row
	Fruitless  uint16 // interruptions in a row without progress
	State      JobState
	Verb       protocol.Verb // by which Token's claim was settled; NoVerb while it is open
	Reason     protocol.Reason
	Cancel     bool // an operator wants it cancelled
	Parks      bool // expiry of the newest claim means quarantine, whatever it means for others
	renewed    bool // the newest claim, once; only mistaken brokers ask
}

// Leased reports whether the end of the row's lease will be noticed.
func (r *JobRow) Leased() bool { return r.lease != 0 }

// Broker is the reference broker of one queue: pure, on its own clock, which is the now of
// its calls. It is the specification that real brokers are compared with.
type Broker struct {
	cfg      *BrokerConfig
	jobs     Pages[JobRow]
	fresh    ring[protocol.JobKey] // jobs never handed out, in order of arrival
	returned keyHeap
	delayed  dueHeap
	finished ring[protocol.JobKey]
	leases   leaseQueue
	members  memberTable
	leaked   int // claims that count against the limit although they ended
	sweepAt  protocol.Instant
	journal  []change // of writes; those before safe are past forgetting
	safe     int
	serial   uint64 // of the newest incarnation
}

// NewBroker returns an empty broker for worker seats 0 to seats-1, with up to slots jobs in
// one claim answer.
func NewBroker(cfg *BrokerConfig, seats, slots int) *Broker {
	if cfg.Deviations.Has(deviation.AttemptAtClaim) {
		counting := *cfg
		counting.CountAtClaim, counting.MaxAttempts = true, cfg.MaxFailures
		cfg = &counting
	}
	b := &Broker{cfg: cfg, sweepAt: protocol.Never}
	b.members.init(seats, slots)
	if cfg.Rescue == RescueBySweep {
		if cfg.SweepPeriod <= 0 {
			panic("model: a broker that rescues by sweep needs a positive SweepPeriod")
		}
		b.sweepAt = protocol.Instant(cfg.SweepPeriod)
	}
	return b
}

// Job returns the broker's row of a job, or nil when it has none (any more).
func (b *Broker) Job(job protocol.JobKey) *JobRow { return b.jobs.Get(uint64(job)) }

// EachJob calls f for every row, by ascending job.
func (b *Broker) EachJob(f func(job protocol.JobKey, row *JobRow)) {
	b.jobs.Each(func(n uint64, row *JobRow) { f(protocol.JobKey(n), row) })
}

// Enqueue adds a job. Jobs are numbered by the caller from 1 on, in ascending order.
func (b *Broker) Enqueue(now protocol.Instant, job protocol.JobKey, kind protocol.Kind, version uint16, work protocol.Duration, out *Outbox) {
	b.record(now, job, nil)
	row := b.jobs.Put(uint64(job))
	row.Kind, row.Version, row.Work = kind, version, work
	if w := b.members.waiting(0, false); w != nil && b.cfg.MaxClaims == 0 {
		b.grantParked(now, w, job, out)
		return
	}
	b.fresh.push(job)
	b.refill(now, out)
}

// Handle carries out one request.
func (b *Broker) Handle(now protocol.Instant, req Request, out *Outbox) {
	switch req.Effect.Kind {
	case protocol.Register:
		b.register(now, req.From, out)
	case protocol.Going:
		b.going(now, req.From, out)
	case protocol.Claim:
		b.claim(now, req, out)
	case protocol.Withdraw:
		b.withdraw(now, req, out)
	case protocol.Renew:
		b.renew(now, req, out)
	case protocol.Save:
		b.save(now, req, out)
	case protocol.Settle:
		b.settle(now, req, out)
	}
	b.refill(now, out)
}

// Parks reports whether a claim request of a life waits for a job. It is answered no later than
// BrokerConfig.Park after it came.
func (b *Broker) Parks(who Member) bool {
	m := b.members.find(who)
	return m != nil && m.parked
}

// Foresee has the memory fetched that Handle will need for a request, which must be one about
// to be handled, and changes nothing. It goes from one thing to the next, and each must be there
// before the next is known: so it takes two steps, 0 and 1, a while apart.
func (b *Broker) Foresee(req *Request, step int) {
	switch e := &req.Effect; e.Kind {
	case protocol.Renew, protocol.Save, protocol.Settle:
		b.jobs.Foresee(uint64(e.Job), step)
	default:
		if step == 0 {
			b.members.foresee(req.From.Seat)
		}
	}
}

// ForeseeReturn is Foresee for what a worker will ask for when a job of its is done: that it is
// settled, and for another.
func (b *Broker) ForeseeReturn(seat int32, job protocol.JobKey, step int) {
	b.jobs.Foresee(uint64(job), step)
	if step == 0 {
		b.members.foresee(seat)
	}
}

// ForeseeJob is Foresee for Job, of one whose neighbours have just been asked for.
func (b *Broker) ForeseeJob(job protocol.JobKey) { b.jobs.Foresee(uint64(job), 1) }

// ForeseeWaiting appends the seats of the requests that wait for a job and are answered next, as many
// as seats has room for, and has the memory of the one after them fetched.
func (b *Broker) ForeseeWaiting(seats []int32) []int32 {
	for m := b.longestParked(); m != nil && len(seats) < cap(seats); {
		seats = append(seats, m.Seat)
		if m.next == nobody {
			break
		}
		m = b.members.row(m.next)
		if len(seats) == cap(seats) {
			prefetch.All(m)
		}
	}
	return seats
}

// CancelJob is an operator's wish: the holder learns it at its next renewal; a job that
// nobody holds, or no longer, is cancelled at once.
func (b *Broker) CancelJob(now protocol.Instant, job protocol.JobKey, out *Outbox) {
	row := b.Job(job)
	switch {
	case row == nil || row.State.Terminal():
	case row.State == JobClaimed:
		b.record(now, job, row)
		row.Cancel = true
	default:
		b.record(now, job, row)
		b.cancel(now, job, row, out)
	}
}

// QuarantineOnExpiry makes the end of a claim's lease mean quarantine, as who asked for the job has
// said of its kind. It is called as soon as the claim is granted: requests themselves know no
// kinds here. A claim that is not open is left alone.
func (b *Broker) QuarantineOnExpiry(now protocol.Instant, job protocol.JobKey, token protocol.Token) {
	if row := b.Job(job); row != nil && row.State == JobClaimed && row.Token == token {
		b.record(now, job, row)
		row.Parks = true
	}
}

func (b *Broker) answer(to Member, ev protocol.Event, out *Outbox) {
	out.Answers = append(out.Answers, Answer{To: to, Event: ev})
}
