package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// fixture is a broker with one queue and hands of its own.
type fixture struct {
	*Broker
	t   testing.TB
	q   *Queue
	seq map[uint64]uint64
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	url, namespace := onServer(t)
	opt := Options{URL: url, Namespace: namespace, Timeout: 10 * time.Second, Queues: []QueueConfig{{Name: "q"}}}
	for _, c := range change {
		c(&opt)
	}
	b, err := Open(t.Context(), opt)
	for try := 1; try < 5 && errors.Is(err, context.DeadlineExceeded); try++ { // a short Timeout and a busy machine
		b, err = Open(t.Context(), opt)
	}
	require.NoError(t, err)
	t.Cleanup(b.Close)
	q, err := b.Queue(opt.Queues[0].Name)
	require.NoError(t, err)
	return &fixture{b, t, q, map[uint64]uint64{}}
}

func (f *fixture) life(seat string, generation uint32) uint64 {
	inc, err := f.Register(f.t.Context(), worker.Life{Seat: seat, Nonce: uuid.New(), Generation: generation})
	require.NoError(f.t, err)
	return inc
}

func (f *fixture) claim(inc uint64, want int, park time.Duration, kinds ...worker.KindVersions) []worker.Grant {
	a, err := f.Claim(f.t.Context(), f.request(inc, want, park, kinds...))
	require.NoError(f.t, err)
	return a.Grants
}

// request is the next one of a life.
func (f *fixture) request(inc uint64, want int, park time.Duration, kinds ...worker.KindVersions) worker.ClaimRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq[inc]++
	return worker.ClaimRequest{Incarnation: inc, Queue: f.q.config.Name, Seq: f.seq[inc], Want: want, Park: park, Kinds: kinds}
}

func (f *fixture) enqueue(n int) []protocol.JobKey {
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = Job{Kind: "k", Version: 1, Payload: fmt.Appendf(nil, "payload %d", i)}
	}
	return keysOf(f.add(jobs...))
}

func (f *fixture) settle(g worker.Grant, verb protocol.Verb, reason protocol.Reason) protocol.Code {
	codes, err := f.Settle(f.t.Context(), []worker.Settlement{{Job: g.Job, Token: g.Token, Verb: verb, Reason: reason}})
	require.NoError(f.t, err)
	return codes[0]
}

func TestAJobIsClaimedRunAndDone(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	keys := f.enqueue(3)
	got := f.claim(inc, 2, 0)
	require.Len(t, got, 2)
	assert.Equal(t, keys[0], got[0].Job)
	assert.Equal(t, "k", got[0].Kind)
	assert.Equal(t, uint16(1), got[0].Version)
	assert.Equal(t, "payload 0", string(got[0].Payload))
	assert.Equal(t, protocol.OK, f.settle(got[0], protocol.Ack, 0))
	assert.Equal(t, protocol.Repeat, f.settle(got[0], protocol.Ack, 0))
	assert.Equal(t, protocol.Closed, f.settle(got[0], protocol.Fail, 0))
	assert.Equal(t, protocol.OK, f.settle(got[1], protocol.Release, protocol.BecauseDrain))
	next := f.claim(inc, 5, 0)
	require.Len(t, next, 2)
	assert.Equal(t, keys[1], next[0].Job, "what comes back has its old place")
	assert.Equal(t, worker.Prior{Token: got[1].Token, Reason: protocol.BecauseDrain}, next[0].Prior)
	assert.Greater(t, next[0].Token, got[1].Token)
}

func TestAWaitingClaimIsWoken(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	got := f.claimSoon(inc, 2)
	f.awaitParked(1)
	keys := f.enqueue(1)
	assert.Equal(t, keys[0], f.soon(got))
}

// claimSoon claims in a goroutine and waits for a job longer than any test does. Its context
// has a deadline, as those of workers do.
func (f *fixture) claimSoon(inc uint64, want int, kinds ...worker.KindVersions) <-chan []worker.Grant {
	got := make(chan []worker.Grant, 1)
	req := f.request(inc, want, time.Hour, kinds...)
	go func() {
		ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Hour)
		defer cancel()
		if a, err := f.Claim(ctx, req); err == nil {
			got <- a.Grants
		}
	}()
	return got
}

// soon returns the one job that a waiting claim is granted.
func (f *fixture) soon(got <-chan []worker.Grant) protocol.JobKey {
	f.t.Helper()
	select {
	case grants := <-got:
		require.Len(f.t, grants, 1)
		return grants[0].Job
	case <-time.After(10 * time.Second):
		f.t.Fatal("a claim that waits is not woken")
		return 0
	}
}

func TestAWorkerIsNotHandedWhatItDoesNotUnderstand(t *testing.T) {
	f := newFixture(t)
	a, b := f.life("a", 0), f.life("b", 0)
	keys := keysOf(f.add(Job{Kind: "render", Version: 1}, Job{Kind: "render", Version: 2}, Job{Kind: "mail", Version: 1}, Job{Kind: "render", Version: 3}))
	old, fresh := worker.KindVersions{Kind: "render", Min: 1, Max: 1}, worker.KindVersions{Kind: "render", Min: 2, Max: 9}
	jobs := func(grants []worker.Grant) (jobs []protocol.JobKey) {
		for _, g := range grants {
			jobs = append(jobs, g.Job)
		}
		return jobs
	}
	assert.Equal(t, keys[:1], jobs(f.claim(a, 10, 0, old)))
	assert.Empty(t, f.claim(a, 10, 0, old), "the others are not looked at again and again")
	assert.Equal(t, []protocol.JobKey{keys[1], keys[3]}, jobs(f.claim(b, 10, 0, fresh)), "who understands them finds them, in their order")
	assert.Equal(t, keys[2:3], jobs(f.claim(b, 10, 0)), "who names nothing understands everything")
}

func TestWhoWaitsForAnotherKindPassesTheCallOn(t *testing.T) {
	f := newFixture(t)
	mail := worker.KindVersions{Kind: "mail", Max: 9}
	render := worker.KindVersions{Kind: "render", Max: 9}
	for i := range 3 {
		f.claimSoon(f.life(fmt.Sprint("mail", i), 0), 1, mail)
		f.awaitParked(i + 1)
	}
	got := f.claimSoon(f.life("render", 0), 1, render)
	f.awaitParked(4)
	keys := keysOf(f.add(Job{Kind: "render"}))
	assert.Equal(t, keys[0], f.soon(got))
}

func (f *fixture) awaitParked(n int) {
	require.Eventually(f.t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.parked) == n && f.claiming == n
	}, 10*time.Second, time.Millisecond)
}

func TestACancelledClaimEndsAtOnce(t *testing.T) {
	for name, limit := range map[string]time.Duration{"with a deadline": time.Hour, "without": 0} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			inc := f.life("a", 0)
			ctx, cancel := context.WithCancel(t.Context())
			if limit > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), limit)
			}
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := f.Claim(ctx, worker.ClaimRequest{Incarnation: inc, Queue: "q", Seq: 1, Want: 1, Park: time.Hour})
				ended <- err
			}()
			f.awaitParked(1)
			cancel()
			select {
			case err := <-ended:
				assert.ErrorIs(t, err, context.Canceled)
			case <-time.After(10 * time.Second):
				t.Fatal("it blocks on")
			}
		})
	}
}

// A pop that went on would take a wake that is another's.
func TestAWithdrawnClaimWaitsNoMore(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	req := f.request(inc, 1, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	ended := make(chan worker.ClaimAnswer, 1)
	go func() {
		answer, _ := f.Claim(ctx, req) // whether it is told, too, does not matter
		ended <- answer
	}()
	f.awaitParked(1)
	_, err := f.Withdraw(t.Context(), inc, "q", req.Seq)
	require.NoError(t, err)
	select {
	case answer := <-ended:
		assert.Empty(t, answer.Grants)
	case <-time.After(10 * time.Second):
		t.Fatal("it blocks on")
	}
}

func TestTheDeadAreReleasedByTheirParent(t *testing.T) {
	f := newFixture(t)
	dead, heir := f.life("dead", 0), f.life("heir", 0)
	f.enqueue(5)
	held := f.claim(dead, 3, 0)
	require.Len(t, held, 3)
	assert.Equal(t, protocol.OK, f.settle(held[0], protocol.Ack, 0))
	other := f.claim(heir, 1, 0)

	n, err := f.Abandon(t.Context(), dead, "q")
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	got := f.claim(heir, 10, 0)
	require.Len(t, got, 3)
	assert.Equal(t, []protocol.JobKey{held[1].Job, held[2].Job}, []protocol.JobKey{got[0].Job, got[1].Job})
	assert.Equal(t, worker.Prior{Token: held[1].Token, Reason: protocol.BecauseExpired}, got[0].Prior)
	assert.Equal(t, protocol.Stale, f.settle(held[1], protocol.Ack, 0), "should it have been alive, it is fenced off")
	assert.Equal(t, protocol.OK, f.settle(other[0], protocol.Ack, 0), "others keep what they hold")

	_, err = f.Claim(t.Context(), worker.ClaimRequest{Incarnation: dead, Queue: "q", Seq: 99, Want: 1})
	assert.ErrorIs(t, err, worker.ErrRefused, "and it gets nothing any more")
	n, err = f.Abandon(t.Context(), dead, "q")
	require.NoError(t, err)
	assert.Zero(t, n, "a repeat finds nothing")
}

func TestAFlushedScriptIsSentAgain(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	keys := f.enqueue(2)
	require.NoError(t, f.client.Do(t.Context(), f.client.B().ScriptFlush().Build()).Error())
	got := f.claim(inc, 1, 0)
	require.Len(t, got, 1)
	assert.Equal(t, keys[0], got[0].Job)
	require.NoError(t, f.client.Do(t.Context(), f.client.B().ScriptFlush().Build()).Error())
	assert.Equal(t, protocol.OK, f.settle(got[0], protocol.Ack, 0))
}

func TestQueuesOfOneNamespaceHaveDifferentKeys(t *testing.T) {
	names := []QueueConfig{{Name: "q"}}
	for i := 0; len(names) < 3; i++ {
		if name := fmt.Sprint("other", i); numberFor(name) == numberFor("q") { // they meet where the search begins
			names = append(names, QueueConfig{Name: name})
		}
	}
	f := newFixture(t, func(o *Options) { o.Queues = names })
	seen := map[int]bool{}
	for _, q := range f.queues {
		seen[q.number] = true
	}
	assert.Len(t, seen, 3)
	again, err := Open(t.Context(), f.opt)
	require.NoError(t, err)
	defer again.Close()
	for name, q := range f.queues {
		assert.Equal(t, q.number, again.queues[name].number, "and keep them")
	}
}

func TestALeaseThatAllQueuesHaveIsKnownToWorkers(t *testing.T) {
	for _, c := range []struct {
		other, want time.Duration
	}{{time.Minute, time.Minute}, {time.Hour, 0}} {
		f := newFixture(t, func(o *Options) {
			o.Queues = []QueueConfig{{Name: "q", Lease: time.Minute}, {Name: "other", Lease: c.other}}
		})
		assert.Equal(t, c.want, f.Capabilities().Lease)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for want, opt := range map[string]Options{
		`no queues`:            {},
		`named twice`:          {Queues: []QueueConfig{{Name: "a"}, {Name: "a"}}},
		`without braces`:       {Queues: []QueueConfig{{Name: "a{b}"}}},
		`65 partitions`:        {Queues: []QueueConfig{{Name: "a", Partitions: 65}}},
		`-1 partitions`:        {Queues: []QueueConfig{{Name: "a", Partitions: -1}}},
		`lease 1µs`:            {Queues: []QueueConfig{{Name: "a", Lease: time.Microsecond}}},
		`backoff 2h0m0s to 1h`: {Queues: []QueueConfig{{Name: "a", BackoffMin: 2 * time.Hour, BackoffMax: time.Hour}}},
		`redis: URL`:           {Queues: []QueueConfig{{Name: "a"}}, URL: "http://localhost"},
	} {
		_, err := Open(t.Context(), opt)
		assert.ErrorContains(t, err, want)
	}
}

// The one that leaves blocks on the same list as the others, and for longer: it is the one
// that a wake goes to. Only its scripts are run, as if its process were slow to hear of it.
func TestAWakeThatWhoLeavesTookIsHandedOn(t *testing.T) {
	for _, name := range []string{"going", "withdraw"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			first := f.life("a", 0)
			f.claimSoon(first, 1)
			f.awaitParked(1)
			got := f.claimSoon(f.life("b", 0), 1)
			f.awaitParked(2)
			leave := map[string]*script{"going": &f.scripts.going, "withdraw": &f.scripts.withdraw}[name]
			require.NoError(t, f.q.partitions[0].run(t.Context(), leave, fmt.Sprint(first), "1").Error())
			keys := f.enqueue(1)
			assert.Equal(t, keys[0], f.soon(got))
		})
	}
}
