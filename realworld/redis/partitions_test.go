package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

func partitioned(n int) func(*Options) {
	return func(o *Options) { o.Queues[0].Partitions = n }
}

func partitionOf(job protocol.JobKey) int {
	_, p, _ := split(job)
	return p
}

func TestJobsAreSpreadOverPartitions(t *testing.T) {
	f := newFixture(t, partitioned(4))
	jobs := map[int]int{}
	for range 8 {
		jobs[partitionOf(f.enqueue(1)[0])]++
	}
	assert.Equal(t, map[int]int{0: 2, 1: 2, 2: 2, 3: 2}, jobs)
	bulk := f.enqueue(10)
	for _, k := range bulk {
		assert.Equal(t, partitionOf(bulk[0]), partitionOf(k), "a bulk is added in one step")
	}
}

func TestAUniqueKeyHasOnePartition(t *testing.T) {
	f := newFixture(t, partitioned(4))
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		first := f.add(Job{Unique: key})
		for range 4 {
			again := f.add(Job{Unique: key})
			assert.Equal(t, []Added{{first[0].Job, true}}, again)
		}
	}
}

func TestClaimsAreFairOverPartitions(t *testing.T) {
	f := newFixture(t, partitioned(4))
	inc := f.life("a", 0)
	for range 4 {
		f.enqueue(100) // a hundred in each
	}
	taken := map[int]int{}
	for range 40 {
		taken[partitionOf(f.claim(inc, 1, 0)[0].Job)]++
	}
	assert.Equal(t, map[int]int{0: 10, 1: 10, 2: 10, 3: 10}, taken)
}

func TestAClaimTakesFromAllPartitions(t *testing.T) {
	f := newFixture(t, partitioned(4))
	inc := f.life("a", 0)
	for range 4 {
		f.enqueue(3)
	}
	req := f.request(inc, 20, 0)
	first, err := f.Claim(t.Context(), req)
	require.NoError(t, err)
	assert.Len(t, first.Grants, 12)
	again, err := f.Claim(t.Context(), req)
	require.NoError(t, err)
	assert.ElementsMatch(t, first.Grants, again.Grants, "a repeat is given the same")

	codes, err := f.Renew(t.Context(), renewals(first.Grants))
	require.NoError(t, err)
	assert.Equal(t, codesOf(12, protocol.OK), codes)
	codes, err = f.Settle(t.Context(), settlements(first.Grants[:9], protocol.Ack))
	require.NoError(t, err)
	assert.Equal(t, codesOf(9, protocol.OK), codes)
	n, err := f.Withdraw(t.Context(), inc, "q", req.Seq)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	s := f.stats()
	assert.Equal(t, []int{3, 0, 9, 12}, []int{s.Ready, s.Claimed, s.Total.Done, s.Total.Enqueued})
}

func renewals(grants []worker.Grant) (r []worker.Renewal) {
	for _, g := range grants {
		r = append(r, worker.Renewal{Job: g.Job, Token: g.Token})
	}
	return r
}

func settlements(grants []worker.Grant, verb protocol.Verb) (s []worker.Settlement) {
	for _, g := range grants {
		s = append(s, worker.Settlement{Job: g.Job, Token: g.Token, Verb: verb, Reason: protocol.BecauseDrain})
	}
	return s
}

func codesOf(n int, code protocol.Code) (codes []protocol.Code) {
	for range n {
		codes = append(codes, code)
	}
	return codes
}

func TestAWaitingClaimIsWokenFromEveryPartition(t *testing.T) {
	f := newFixture(t, partitioned(4))
	inc := f.life("a", 0)
	woken := map[int]bool{}
	for range 4 {
		got := f.claimSoon(inc, 1)
		f.awaitParked(1)
		k := f.enqueue(1)
		assert.Equal(t, k[0], f.soon(got))
		woken[partitionOf(k[0])] = true
		assert.Zero(t, f.stats().Waiting, "it waits at no other any more")
	}
	assert.Len(t, woken, 4)
}

func TestManyWaitAndEachGetsAJob(t *testing.T) {
	f := newFixture(t, partitioned(3))
	var got []<-chan []worker.Grant
	for i := range 6 {
		got = append(got, f.claimSoon(f.life(string(rune('a'+i)), 0), 1))
		f.awaitParked(i + 1)
	}
	keys := map[protocol.JobKey]bool{}
	for range 6 {
		keys[f.enqueue(1)[0]] = true
	}
	for _, g := range got {
		job := f.soon(g)
		assert.True(t, keys[job])
		delete(keys, job)
	}
	assert.Empty(t, keys)
}

func TestPartitionsCanBeAdded(t *testing.T) {
	f := newFixture(t, partitioned(2))
	f.enqueue(1)
	opt := f.opt
	opt.Queues = []QueueConfig{{Name: "q", Partitions: 4}}
	more, err := Open(t.Context(), opt)
	require.NoError(t, err)
	defer more.Close()
	q, err := more.Queue("q")
	require.NoError(t, err)
	assert.Len(t, q.partitions, 4)
	opt.Queues[0].Partitions = 1
	fewer, err := Open(t.Context(), opt)
	require.NoError(t, err)
	defer fewer.Close()
	q, err = fewer.Queue("q")
	require.NoError(t, err)
	assert.Len(t, q.partitions, 4, "not taken away")
	g := &fixture{more, t, more.queues["q"], map[uint64]uint64{}}
	require.Eventually(t, func() bool { return partitionOf(g.enqueue(1)[0]) == 3 }, 10*time.Second, time.Millisecond)
	inc := g.life("a", 0)
	s := g.stats()
	assert.Len(t, g.claim(inc, 100, 0), s.Ready)
}
