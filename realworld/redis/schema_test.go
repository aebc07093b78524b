package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// tally counts the executions of jobs, and closes done once each of n jobs was executed.
type tally struct {
	mu   sync.Mutex
	ran  map[string]int
	n    int
	done chan struct{}
}

func newTally(n int) *tally { return &tally{ran: map[string]int{}, n: n, done: make(chan struct{})} }

func (c *tally) handle(_ context.Context, job *worker.Job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[string(job.Payload)]++
	if len(c.ran) == c.n {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
	return nil
}

func (c *tally) all(t *testing.T) {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Fatalf("%d of %d jobs were executed", len(c.ran), c.n)
	}
}

// work runs a worker; stop drains it and returns how it ended.
func work(t *testing.T, b worker.Broker, queue string, handle worker.Handler, change ...func(*worker.Options)) (stop func() error) {
	t.Helper()
	opt := worker.Options{Slots: 3, Queues: []string{queue}, Grace: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opt)
	}
	mux := worker.NewMux()
	mux.Handle("k", handle, worker.Versions(0, 9))
	w, err := worker.New(b, mux, opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, nil) }()
	return sync.OnceValue(func() error { cancel(); return <-ended })
}

// builds are of neighbouring schemas on one namespace and one clock. What the newer one
// changes about what is stored is a field.
type builds struct {
	*fixture
	at func(time.Time)
}

func newBuilds(t *testing.T) *builds {
	f, at := onClock(t, func(o *Options) { o.schema = 7; o.Logger = slog.New(slog.DiscardHandler) })
	at(time.Unix(2_000_000_000, 0))
	return &builds{f, at}
}

func (b *builds) open(schema int) (*fixture, error) {
	opt := b.opt
	opt.schema = schema
	opt.clock += fmt.Sprintf("; if SCHEMA >= 8 then redis.call('HSET', KEYS[1], 'layout', '%d') end", schema)
	other, err := Open(b.t.Context(), opt)
	if err != nil {
		return nil, err
	}
	b.t.Cleanup(other.Close)
	q, err := other.Queue("q")
	require.NoError(b.t, err)
	return &fixture{other, b.t, q, map[uint64]uint64{}}, nil
}

func (b *builds) newLayout() bool {
	ok, err := b.client.Do(b.t.Context(), b.client.B().Hexists().Key(b.q.partitions[0].keys[0]).Field("layout").Build()).AsBool()
	require.NoError(b.t, err)
	return ok
}

func TestTwoBuildsShareOneRedisThroughADeploy(t *testing.T) {
	old := newBuilds(t)
	const jobs = 200
	c := newTally(jobs)
	stopOld := work(t, old, "q", c.handle, func(o *worker.Options) { o.Seat = "pod-old" })
	newer, err := old.open(8)
	require.NoError(t, err)
	assert.Equal(t, 7, newer.Schema())
	stopNewer := work(t, newer, "q", c.handle, func(o *worker.Options) { o.Seat = "pod-newer" })
	for i := range jobs / 2 {
		old.add(Job{Payload: fmt.Appendf(nil, "old %d", i)})
		newer.add(Job{Payload: fmt.Appendf(nil, "newer %d", i)})
	}
	c.all(t)
	assert.False(t, old.newLayout(), "as long as the older build is about, it can read everything")

	err = newer.Upgrade(t.Context())
	var about *OlderBuildsError
	require.ErrorAs(t, err, &about)
	assert.Equal(t, []string{"pod-old"}, about.Seats)
	assert.ErrorContains(t, err, "redis: schema 8: workers of an older build hold claims or asked for jobs in the last 10m0s: pod-old; finish the deploy first")
	again, err := old.open(7)
	require.NoError(t, err, "so the deploy can be rolled back")
	require.NoError(t, stopOld())

	require.NoError(t, newer.Upgrade(t.Context()), "the old one has said that it stops")
	require.NoError(t, newer.Upgrade(t.Context()), "a repeat does nothing")
	_, err = old.open(7)
	assert.ErrorIs(t, err, worker.ErrRefused)
	assert.EqualError(t, err, "redis: what is stored has schema 8, and this build knows up to 7; start the newer build")
	_, err = again.Register(t.Context(), worker.Life{Seat: "late"})
	assert.ErrorIs(t, err, worker.ErrRefused, "nor does one get in that was opened before")
	require.NoError(t, stopNewer())
	again.enqueue(1)

	newest, err := old.open(8)
	require.NoError(t, err)
	assert.Equal(t, 8, newest.Schema())
	newest.enqueue(1)
	assert.True(t, old.newLayout())
	assert.Len(t, newest.claim(newest.life("a", 0), 10, 0), 2, "what the older build added is there")
	for name, c := range map[string]int{"redis: what is stored has schema 8, and this build knows 9 and 10; start a build in between first": 10, "": 9} {
		if _, err = old.open(c); name == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, name)
		}
	}
}

func TestAnUpgradeLooksForClaimsOfOlderBuilds(t *testing.T) {
	old := newBuilds(t)
	newer, err := old.open(8)
	require.NoError(t, err)
	idle, busy := old.life("idle", 0), old.life("busy", 0)
	old.enqueue(1)
	held := old.claim(busy, 1, 0)
	require.Len(t, held, 1)
	seats := func() []string {
		var about *OlderBuildsError
		require.ErrorAs(t, newer.Upgrade(t.Context()), &about)
		return about.Seats
	}
	assert.Equal(t, []string{"busy", "idle"}, seats())
	require.NoError(t, old.Going(t.Context(), idle, "q"))
	assert.Equal(t, []string{"busy"}, seats())
	require.NoError(t, old.Going(t.Context(), busy, "q"))
	assert.Equal(t, []string{"busy"}, seats(), "it holds a claim")
	require.Equal(t, protocol.OK, old.settle(held[0], protocol.Ack, 0))
	assert.NoError(t, newer.Upgrade(t.Context()))
}

func TestWhoWasNotSeenForLongIsShutOutByAnUpgrade(t *testing.T) {
	old := newBuilds(t)
	newer, err := old.open(8)
	require.NoError(t, err)
	asleep := old.life("asleep", 0)
	old.at(time.Unix(2_000_000_000, 0).Add(lately))
	require.NoError(t, newer.Upgrade(t.Context()))
	old.enqueue(1)
	_, err = old.Claim(t.Context(), old.request(asleep, 1, 0))
	assert.ErrorIs(t, err, worker.ErrRefused)
}
