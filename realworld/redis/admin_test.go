package redis

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// onClock is a fixture whose clock is a key that the test sets.
func onClock(t *testing.T, change ...func(*Options)) (f *fixture, at func(time.Time)) {
	var key string
	f = newFixture(t, append([]func(*Options){func(o *Options) {
		key = o.Namespace + ":clock"
		o.clock = fmt.Sprintf("local now = tonumber(redis.call('GET', '%s') or 1)", key)
	}}, change...)...)
	return f, func(now time.Time) {
		require.NoError(t, f.client.Do(t.Context(), f.client.B().Set().Key(key).Value(fmt.Sprint(now.UnixMicro())).Build()).Error())
	}
}

// fail ends a claim with an error of a class.
func (f *fixture) fail(g worker.Grant, class string) {
	codes, err := f.Settle(f.t.Context(), []worker.Settlement{{Job: g.Job, Token: g.Token, Verb: protocol.Fail, Cause: classed{class}}})
	require.NoError(f.t, err)
	require.Equal(f.t, []protocol.Code{protocol.OK}, codes)
}

type classed struct{ class string }

func (c classed) Class() string { return c.class }
func (c classed) Error() string { return "text of " + c.class }

func (f *fixture) stats() Stats {
	s, err := f.q.Stats(f.t.Context())
	require.NoError(f.t, err)
	return s
}

func TestStatsCountEveryStateOfAJob(t *testing.T) {
	f, at := onClock(t, func(o *Options) { o.Queues[0].MaxFailures, o.Queues[0].Starving = 1, 1 })
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc, other := f.life("a", 0), f.life("b", 0)
	assert.Equal(t, Stats{}, f.stats())

	f.add(Job{}, Job{}, Job{}, Job{}, Job{}, Job{}, Job{Priority: 1}, Job{Priority: -1}, Job{Delay: time.Hour}, Job{Unique: "u"}, Job{Unique: "u"})
	at(begin.Add(90 * time.Second))
	g := f.claim(inc, 6, 0) // the one of priority 1, then the first five
	f.fail(g[1], "x")
	f.settle(g[2], protocol.Quarantine, 0)
	f.settle(g[3], protocol.Release, protocol.BecauseDrain)
	f.settle(g[4], protocol.Release, protocol.BecauseLate)
	f.settle(g[5], protocol.Ack, 0)
	f.add(Job{Kind: "strange"})
	strange := f.claim(other, 20, 0, worker.KindVersions{Kind: "elsewhere"})
	require.Empty(t, strange, "all that is ready is put aside")
	assert.Equal(t, Stats{
		Ready: 6, Aside: 6, Delayed: 1, Claimed: 1, Dead: 1, Quarantined: 1, Starving: 1,
		Total: Totals{Enqueued: 11, Duplicates: 1, Done: 1, Failed: 1, Released: 2, Dead: 1, Quarantined: 1, Starving: 1},
	}, f.stats())

	back := f.claim(other, 20, 0)
	require.Len(t, back, 6)
	f.settle(back[0], protocol.Release, protocol.BecauseLate)
	f.add(Job{}, Job{Priority: 2})
	at(begin.Add(200 * time.Second))
	s := f.stats()
	assert.Equal(t, []int{3, 1, 0, 6}, []int{s.Ready, s.Returned, s.Aside, s.Claimed})
	assert.Equal(t, 200*time.Second, s.Oldest, "the one that came back was of the first second")
	g = f.claim(inc, 2, 0)
	require.Len(t, g, 2)
	assert.Equal(t, 110*time.Second, f.stats().Oldest, "the last was added later")

	at(begin.Add(10 * time.Minute))
	f.claim(inc, 0, 0)
	f.sweep()
	assert.Equal(t, 8, f.stats().Total.Expired)
}

func (f *fixture) sweep() {
	for _, p := range f.q.partitions {
		require.NoError(f.t, p.run(f.t.Context(), &f.scripts.expire).Error())
	}
}

func TestStatsSeeWhoWaits(t *testing.T) {
	f := newFixture(t)
	f.claimSoon(f.life("a", 0), 1)
	f.awaitParked(1)
	assert.Equal(t, 1, f.stats().Waiting)
}

func TestACancelledJobIsNotReady(t *testing.T) {
	f := newFixture(t)
	cancel := func(key protocol.JobKey) {
		ok, err := f.q.Cancel(t.Context(), key)
		require.NoError(t, err)
		require.True(t, ok)
	}
	keys := f.enqueue(3)
	cancel(keys[1])
	assert.Equal(t, 2, f.stats().Ready)
	for range 10 {
		f.enqueue(1000)
	}
	cancel(keys[2]) // in a list as long as this its number stays until it is taken
	s := f.stats()
	assert.Equal(t, []int{10001, 2}, []int{s.Ready, s.Total.Cancelled})
	assert.Len(t, f.claim(f.life("a", 0), 10, 0), 10)
	assert.Equal(t, 9991, f.stats().Ready)
}

func TestTheAgeOfAJobIsKnownToAHundredth(t *testing.T) {
	f, at := onClock(t)
	begin := time.Unix(2_000_000_000, 0)
	added := map[protocol.JobKey]time.Time{}
	now := begin
	for i := range 5000 {
		now = begin.Add(time.Duration(i) * 1100 * time.Millisecond)
		at(now)
		added[f.enqueue(1)[0]] = now
	}
	for key, want := range added {
		info, ok, err := f.q.Job(t.Context(), key)
		require.NoError(t, err)
		require.True(t, ok)
		assert.False(t, info.Added.After(want))
		assert.LessOrEqual(t, want.Sub(info.Added), time.Second+now.Sub(want)/50, "added %v ago", now.Sub(want))
	}
	n, err := f.client.Do(t.Context(), f.client.B().Zcard().Key(f.q.partitions[0].keys[21]).Build()).AsInt64()
	require.NoError(t, err)
	assert.LessOrEqual(t, n, int64(2000), "of many notes few are kept")
}

// bury fills the fixture with dead letters: classes a, b and a again, and so on.
func (f *fixture) bury(n int) (keys []protocol.JobKey) {
	inc := f.life("buries", 0)
	f.enqueue(n)
	for i, g := range f.claim(inc, n, 0) {
		f.fail(g, []string{"a", "b"}[i%2])
		keys = append(keys, g.Job)
	}
	return keys
}

func once(o *Options) { o.Queues[0].MaxFailures = 1 }

func keysIn(l Listing) (keys []protocol.JobKey) {
	for _, j := range l.Jobs {
		keys = append(keys, j.Job)
	}
	return keys
}

func TestDeadLettersAreListedByPages(t *testing.T) {
	f := newFixture(t, once, func(o *Options) { o.Queues[0].Partitions, o.Build = 2, "v7" })
	keys := map[protocol.JobKey]bool{}
	for range 6 {
		for _, k := range f.bury(5) {
			keys[k] = true
		}
	}
	var seen, classA []protocol.JobKey
	for page := (Page{Limit: 7}); ; {
		l, err := f.q.DeadLetters(t.Context(), Filter{}, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(l.Jobs), 7)
		seen = append(seen, keysIn(l)...)
		for _, info := range l.Jobs {
			assert.Equal(t, Dead, info.State)
			assert.Equal(t, []string{"k", "text of " + info.Class, "v7"}, []string{info.Kind, info.Message, info.Build})
			assert.Equal(t, []int{1, 1}, []int{info.Deliveries, info.Failures})
			assert.NotEmpty(t, info.Payload)
			if info.Class == "a" {
				classA = append(classA, info.Job)
			}
		}
		if page.After = l.Next; page.After == "" {
			break
		}
	}
	require.Len(t, seen, 30)
	for _, k := range seen {
		require.True(t, keys[k])
		delete(keys, k) // none twice
	}

	l, err := f.q.DeadLetters(t.Context(), Filter{Class: "a"}, Page{})
	require.NoError(t, err)
	assert.ElementsMatch(t, classA, keysIn(l))
	for _, none := range []Filter{{Class: "c"}, {Build: "v6"}, {Kind: "other"}} {
		l, err := f.q.DeadLetters(t.Context(), none, Page{})
		require.NoError(t, err)
		assert.Equal(t, Listing{}, l)
	}
	l, err = f.q.DeadLetters(t.Context(), Filter{Class: "a", Build: "v7", Kind: "k"}, Page{})
	require.NoError(t, err)
	assert.Len(t, l.Jobs, 18)
	assert.Empty(t, l.Next)
}

func TestAListGoesOnWhereItsLastJobWas(t *testing.T) {
	f := newFixture(t, once)
	keys := f.bury(6)
	l, err := f.q.DeadLetters(t.Context(), Filter{}, Page{Limit: 3})
	require.NoError(t, err)
	require.Equal(t, keys[:3], keysIn(l))
	n, err := f.q.Requeue(t.Context(), keys[2], keys[4])
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	l, err = f.q.DeadLetters(t.Context(), Filter{}, Page{After: l.Next})
	require.NoError(t, err)
	assert.Equal(t, []protocol.JobKey{keys[3], keys[5]}, keysIn(l), "although its last job has gone")
}

func TestPagesThatCannotBeAreRefused(t *testing.T) {
	f := newFixture(t)
	_, err := f.q.DeadLetters(t.Context(), Filter{}, Page{Limit: 1001})
	assert.EqualError(t, err, "redis: a page of 1001 jobs; there can be 1 to 1000")
	for _, after := range []string{"x", "1 ", "-1 ", "0 5", "0 5 x", "0 x 5"} {
		_, err = f.q.DeadLetters(t.Context(), Filter{}, Page{After: after})
		assert.ErrorContains(t, err, fmt.Sprintf("After %q is not what a page of queue", after))
	}
}

func TestDeadLettersAreRedrivenByClass(t *testing.T) {
	f := newFixture(t, once)
	keys := f.bury(8)
	n, err := f.q.Redrive(t.Context(), Filter{Class: "b"}, 3)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = f.q.Redrive(t.Context(), Filter{Class: "b"}, -1)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	s := f.stats()
	assert.Equal(t, []int{4, 4, 4}, []int{s.Dead, s.Ready, s.Total.Redriven})

	inc := f.life("a", 0)
	g := f.claim(inc, 10, 0)
	require.Len(t, g, 4)
	for i := range g {
		assert.Equal(t, keys[2*i+1], g[i].Job, "in their old order")
	}
	info, _, err := f.q.Job(t.Context(), g[0].Job)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0}, []int{info.Deliveries, info.Failures}, "with a new budget")
	assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0))
}

func TestARedriveOfVeryMany(t *testing.T) {
	f := newFixture(t, once)
	for range 3 {
		f.bury(1000)
	}
	n, err := f.q.Redrive(t.Context(), Filter{Class: "b"}, -1)
	require.NoError(t, err)
	assert.Equal(t, 1500, n)
	n, err = f.q.Redrive(t.Context(), Filter{}, -1)
	require.NoError(t, err)
	assert.Equal(t, 1500, n)
	assert.Equal(t, 3000, f.stats().Ready)
}

func TestARedriveWakesWhoWaits(t *testing.T) {
	f := newFixture(t, once)
	keys := f.bury(1)
	got := f.claimSoon(f.life("a", 0), 1)
	f.awaitParked(1)
	_, err := f.q.Redrive(t.Context(), Filter{}, -1)
	require.NoError(t, err)
	assert.Equal(t, keys[0], f.soon(got))
}

func TestQuarantinedJobsAreReleasedOrDiscarded(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	f.add(Job{Unique: "u"})
	f.enqueue(2)
	g := f.claim(inc, 3, 0)
	for i := range g {
		f.settle(g[i], protocol.Quarantine, 0)
	}
	l, err := f.q.Quarantined(t.Context(), Filter{}, Page{})
	require.NoError(t, err)
	require.Equal(t, []protocol.JobKey{g[0].Job, g[1].Job, g[2].Job}, keysIn(l))
	assert.Equal(t, Quarantined, l.Jobs[0].State)
	assert.False(t, l.Jobs[0].At.IsZero())

	n, err := f.q.Requeue(t.Context(), g[1].Job, g[1].Job, 12345)
	require.NoError(t, err)
	assert.Equal(t, 1, n, "a repeat finds nothing")
	require.True(t, f.add(Job{Unique: "u"})[0].Existed)
	n, err = f.q.Discard(t.Context(), g[0].Job, g[1].Job)
	require.NoError(t, err)
	assert.Equal(t, 1, n, "the other is not parked any more")
	assert.False(t, f.add(Job{Unique: "u"})[0].Existed, "it has ended")
	info, ok, err := f.q.Job(t.Context(), g[0].Job)
	require.NoError(t, err)
	assert.Equal(t, []any{true, Cancelled}, []any{ok, info.State})

	again := f.claim(inc, 1, 0)
	require.Len(t, again, 1)
	assert.Equal(t, g[1].Job, again[0].Job)
	assert.Greater(t, again[0].Token, g[1].Token)
	assert.Equal(t, protocol.Stale, f.settle(g[1], protocol.Ack, 0))
	s := f.stats()
	assert.Equal(t, []int{1, 1, 1}, []int{s.Quarantined, s.Claimed, s.Total.Cancelled})
}

func TestWhoHeldAJobThatWasRedrivenMayStillFinishIt(t *testing.T) {
	f, at := onClock(t, func(o *Options) { o.Queues[0].Poison = 1 })
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc := f.life("a", 0)
	f.enqueue(1)
	g := f.claim(inc, 1, 0)
	at(begin.Add(time.Hour))
	f.sweep()
	require.Equal(t, 1, f.stats().Dead)
	n, err := f.q.Redrive(t.Context(), Filter{}, -1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0), "nobody has claimed it since")
	assert.Empty(t, f.claim(inc, 1, 0))
}

func TestStarvingJobsAreListedUntilTheyGetOn(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Queues[0].Starving, o.Queues[0].MaxFailures = 2, 1 })
	inc := f.life("a", 0)
	keys := f.enqueue(6)
	starving := func() []protocol.JobKey {
		l, err := f.q.Starving(t.Context(), Filter{}, Page{})
		require.NoError(t, err)
		assert.Equal(t, len(l.Jobs), f.stats().Starving)
		for _, info := range l.Jobs {
			assert.GreaterOrEqual(t, info.Fruitless, 2)
		}
		return keysIn(l)
	}
	interrupt := func() {
		for _, g := range f.claim(inc, 6, 0) {
			require.Equal(t, protocol.OK, f.settle(g, protocol.Release, protocol.BecauseDrain))
		}
	}
	interrupt()
	assert.Empty(t, starving())
	interrupt()
	assert.Equal(t, keys, starving())
	interrupt()
	assert.Equal(t, keys, starving())
	assert.Equal(t, 6, f.stats().Total.Starving, "each is counted once")

	g := f.claim(inc, 6, 0)
	assert.Equal(t, keys, starving(), "claimed or not")
	require.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0))
	f.fail(g[1], "x")
	f.settle(g[2], protocol.Quarantine, 0)
	code, err := f.Save(t.Context(), worker.Renewal{Job: g[3].Job, Token: g[3].Token, Cursor: []byte("half")})
	require.NoError(t, err)
	require.Equal(t, protocol.OK, code)
	require.NoError(t, errors.Join(f.cancelHeld(g[4])))
	assert.Equal(t, keys[5:], starving())
}

// cancelHeld cancels a claimed job, and lets its holder obey.
func (f *fixture) cancelHeld(g worker.Grant) error {
	_, err := f.q.Cancel(f.t.Context(), g.Job)
	f.settle(g, protocol.Release, protocol.BecauseCancelled)
	return err
}
