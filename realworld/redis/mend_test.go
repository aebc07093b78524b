package redis

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// wipe deletes keys of the first partition, as evicting does or a hand that slips.
func (f *fixture) wipe(names ...string) {
	for _, name := range names {
		key := partitionKeys(f.opt.Namespace, "q", 0)[0]
		key = strings.TrimSuffix(key, "meta") + name
		n, err := f.client.Do(f.t.Context(), f.client.B().Del().Key(key).Build()).AsInt64()
		require.NoError(f.t, err)
		require.Equal(f.t, int64(1), n, name)
	}
}

func (f *fixture) mend() int {
	n, err := f.q.Mend(f.t.Context())
	require.NoError(f.t, err)
	return n
}

func quietly(o *Options) { o.Logger = slog.New(slog.DiscardHandler) }

func TestNothingIsMendedThatIsWhole(t *testing.T) {
	f, at := onClock(t, once, partitioned(2))
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc := f.life("a", 0)
	f.enqueue(20)
	f.add(Job{Priority: 1}, Job{Priority: -1}, Job{Delay: time.Hour}, Job{Kind: "strange"}, Job{Kind: "strange", Priority: 2})
	f.claim(inc, 3, 0)
	at(begin.Add(10 * time.Minute)) // their leases run out
	f.sweep()
	g := f.claim(inc, 6, 0, worker.KindVersions{Kind: "k", Max: 9})
	f.fail(g[0], "x")
	f.settle(g[1], protocol.Quarantine, 0)
	f.settle(g[2], protocol.Release, protocol.BecauseDrain)
	f.settle(g[3], protocol.Ack, 0)
	f.claim(inc, 100, 0, worker.KindVersions{Kind: "none"})
	f.enqueue(5)
	before := f.stats()
	require.NotZero(t, before.Aside)
	assert.Zero(t, f.mend())
	assert.Equal(t, before, f.stats())
}

func TestAClaimWithoutALeaseIsFoundWhenAWorkerRegisters(t *testing.T) {
	f, at := onClock(t, quietly)
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc := f.life("a", 0)
	keys := f.enqueue(3)
	g := f.claim(inc, 2, 0)
	f.wipe("leases")
	f.life("b", 0)
	assert.Equal(t, 1, f.stats().Ready, "it was looked for a moment ago")
	at(begin.Add(5 * time.Minute))
	heir := f.life("c", 0)
	again := f.claim(heir, 10, 0)
	require.Len(t, again, 3)
	assert.Equal(t, keys, []protocol.JobKey{again[0].Job, again[1].Job, again[2].Job})
	assert.Equal(t, worker.Prior{Token: g[0].Token, Reason: protocol.BecauseExpired}, again[0].Prior)
	assert.Equal(t, protocol.Stale, f.settle(g[0], protocol.Ack, 0))
	assert.Equal(t, protocol.OK, f.settle(again[0], protocol.Ack, 0))
}

func TestALeaseWithoutAClaimIsFound(t *testing.T) {
	f, at := onClock(t, quietly)
	begin := time.Unix(2_000_000_000, 0)
	at(begin)
	inc := f.life("a", 0)
	f.enqueue(3)
	f.claim(inc, 2, 0)
	f.wipe("claims")
	at(begin.Add(time.Minute))
	assert.Equal(t, 2, f.mend())
	assert.Len(t, f.claim(inc, 10, 0), 3)
	assert.Zero(t, f.mend())
}

func TestJobsThatAreNowhereAreFound(t *testing.T) {
	f := newFixture(t, quietly)
	inc := f.life("a", 0)
	f.enqueue(1200)
	f.add(Job{Priority: 1}, Job{Delay: time.Hour})
	f.claim(inc, 5, 0) // the one of priority 1 among them
	f.add(Job{Priority: 2})
	f.wipe("ready", "ranked", "delayed")
	assert.Equal(t, 1198, f.mend(), "all that nobody holds")
	assert.Zero(t, f.mend())
	s := f.stats()
	assert.Equal(t, []int{1198, 5}, []int{s.Ready, s.Claimed})
}

func TestAClaimWithoutAJobIsForgotten(t *testing.T) {
	f := newFixture(t, quietly)
	inc := f.life("a", 0)
	f.enqueue(2)
	f.claim(inc, 2, 0)
	f.wipe("data")
	require.Equal(t, 2, f.stats().Claimed)
	require.NoError(t, f.client.Do(t.Context(), f.client.B().Hdel().Key(f.q.partitions[0].keys[0]).Field("mended").Build()).Error())
	n, err := f.q.partitions[0].mend(t.Context(), "claims")
	require.NoError(t, err)
	assert.Zero(t, n, "there is no job to run")
	assert.Zero(t, f.stats().Claimed)
}
