package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// add enqueues and returns what became of each.
func (f *fixture) add(jobs ...Job) []Added {
	for i := range jobs {
		if jobs[i].Kind == "" {
			jobs[i].Kind = "k"
		}
	}
	added, err := f.q.Enqueue(f.t.Context(), jobs...)
	require.NoError(f.t, err)
	return added
}

func keysOf(added []Added) (keys []protocol.JobKey) {
	for _, a := range added {
		keys = append(keys, a.Job)
	}
	return keys
}

func (f *fixture) claimed(inc uint64, want int) (keys []protocol.JobKey) {
	for _, g := range f.claim(inc, want, 0) {
		keys = append(keys, g.Job)
	}
	return keys
}

func TestPrioritiesGoFirstAndLast(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	k := keysOf(f.add(Job{Priority: -3}, Job{}, Job{Priority: 1}, Job{Priority: 3}, Job{Priority: -1}, Job{}, Job{Priority: 3}))
	assert.Equal(t, []protocol.JobKey{k[3], k[6], k[2], k[1], k[5], k[4], k[0]}, append(f.claimed(inc, 4), f.claimed(inc, 10)...))
}

func TestWhatComesBackKeepsItsPriority(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	k := keysOf(f.add(Job{Priority: -1}, Job{Priority: 2}, Job{}))
	for _, g := range f.claim(inc, 3, 0) {
		require.Equal(t, protocol.OK, f.settle(g, protocol.Release, protocol.BecauseDrain))
	}
	assert.Equal(t, []protocol.JobKey{k[1], k[2], k[0]}, f.claimed(inc, 3))
}

func TestADelayedJobWakesWhoWaitsWhenItIsDue(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	began := time.Now()
	k := keysOf(f.add(Job{Delay: 50 * time.Millisecond}))
	assert.Empty(t, f.claimed(inc, 1))
	assert.Equal(t, k[0], f.soon(f.claimSoon(inc, 1)))
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}

func TestADelayedJobIsLookedAfterByWhoWaitedBefore(t *testing.T) {
	f := newFixture(t)
	first := f.claimSoon(f.life("a", 0), 1)
	f.awaitParked(1)
	second := f.claimSoon(f.life("b", 0), 1)
	f.awaitParked(2)
	k := keysOf(f.add(Job{Delay: 30 * time.Millisecond}, Job{Delay: 60 * time.Millisecond}))
	assert.ElementsMatch(t, k, []protocol.JobKey{f.soon(first), f.soon(second)})
}

func TestAUniqueJobIsThereOnceUntilItHasEnded(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	first := f.add(Job{Unique: "u"}, Job{Unique: "u"}, Job{Unique: "v"})
	assert.Equal(t, []bool{false, true, false}, []bool{first[0].Existed, first[1].Existed, first[2].Existed})
	assert.Equal(t, first[0].Job, first[1].Job)

	g := f.claim(inc, 1, 0)[0]
	assert.True(t, f.add(Job{Unique: "u"})[0].Existed, "while it is claimed")
	require.Equal(t, protocol.OK, f.settle(g, protocol.Release, protocol.BecauseDrain))
	assert.True(t, f.add(Job{Unique: "u"})[0].Existed, "when it is back")
	g = f.claim(inc, 1, 0)[0]
	require.Equal(t, protocol.OK, f.settle(g, protocol.Ack, 0))
	again := f.add(Job{Unique: "u"})
	assert.False(t, again[0].Existed)

	ok, err := f.q.Cancel(t.Context(), again[0].Job)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.False(t, f.add(Job{Unique: "u"})[0].Existed, "a cancelled one has ended")
}

func TestAUniqueJobIsThereOnceInAPeriod(t *testing.T) {
	f := newFixture(t)
	inc := f.life("a", 0)
	const period = 300 * time.Millisecond
	began := time.Now()
	assert.False(t, f.add(Job{Unique: "u", UniqueFor: period})[0].Existed)
	require.Equal(t, protocol.OK, f.settle(f.claim(inc, 1, 0)[0], protocol.Ack, 0))
	if existed := f.add(Job{Unique: "u", UniqueFor: period})[0].Existed; time.Since(began) < period {
		assert.True(t, existed, "whatever became of the first")
	}
	require.Eventually(t, func() bool { return !f.add(Job{Unique: "u", UniqueFor: period})[0].Existed }, 10*time.Second, 5*time.Millisecond)
}

func TestBadJobsAreRefusedBeforeAnyIsAdded(t *testing.T) {
	f := newFixture(t)
	_, err := f.q.Enqueue(t.Context(), Job{Kind: "k"}, Job{Kind: ""}, Job{Kind: "k", Priority: 4}, Job{Kind: "k", Delay: -1}, Job{Kind: "k", UniqueFor: 1})
	for _, want := range []string{`job 1: redis: kind ""`, `job 2: redis: priority 4`, `job 3: redis: delay -1ns`, `job 4: redis: UniqueFor 1ns`} {
		assert.ErrorContains(t, err, want)
	}
	assert.Empty(t, f.claimed(f.life("a", 0), 10))
}

type noSpace struct{ error }

func (noSpace) Class() string { return "no-space" }

func TestFailuresAreDescribed(t *testing.T) {
	class, message := describe(errors.Join(noSpace{errors.New("disk full")}))
	assert.Equal(t, []string{"no-space", "disk full"}, []string{class, message})
	class, _ = describe(errors.New("x"))
	assert.Equal(t, "*errors.errorString", class)
}

func TestWhoLooksAfterDelayedJobsIsFollowedByAnother(t *testing.T) {
	f, at := onClock(t)
	at(time.Unix(2_000_000_000, 0))
	f.add(Job{Delay: time.Minute})
	first, second := f.life("a", 0), f.life("b", 0)
	f.claimSoon(first, 1)
	f.awaitParked(1)
	f.claimSoon(second, 1)
	f.awaitParked(2)
	keeper := func() string {
		s, err := f.client.Do(t.Context(), f.client.B().Hget().Key(f.q.partitions[0].keys[0]).Field("keeper").Build()).ToString()
		if err != nil {
			return "" // between the two there is none
		}
		return strings.Fields(s)[0]
	}
	require.Equal(t, fmt.Sprint(first), keeper())
	_, err := f.Withdraw(t.Context(), first, "q", 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return keeper() == fmt.Sprint(second) }, 10*time.Second, time.Millisecond)
}
