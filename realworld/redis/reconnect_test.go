package redis

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
)

// hourly makes leases an hour long, so that the next heartbeat is twenty minutes away.
func hourly(o *Options) { o.Queues[0].Lease = time.Hour }

// busy runs a worker of one slot that works on a job until it is cancelled or done, and returns
// once it does.
func busy(t *testing.T, f *fixture, done <-chan struct{}) (left <-chan error, stop func() error) {
	t.Helper()
	begun, ended := make(chan struct{}), make(chan error, 1)
	stop = work(t, f, "q", func(ctx context.Context, job *worker.Job) error {
		close(begun)
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-done:
		}
		ended <- err
		return err
	}, func(o *worker.Options) { o.Slots, o.Lease = 1, time.Hour })
	<-begun
	return ended, stop
}

func TestAClaimThatARestartForgotIsNoticedLongBeforeTheHeartbeat(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()), hourly)
	f.enqueue(1)
	left, stop := busy(t, f, nil)
	s.Kill()
	require.NoError(t, s.Restart(t.Context()))
	back := time.Now()
	select {
	case err := <-left:
		assert.ErrorIs(t, err, worker.ErrLeaseLost)
		t.Logf("noticed %v after the server was there again", time.Since(back))
	case <-time.After(time.Minute):
		t.Fatal("the handler works on without a claim")
	}
	require.NoError(t, stop())
}

func TestAClaimThatSurvivedARestartIsRenewedAtOnce(t *testing.T) {
	s := ownServer(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFixture(t, on(s.URL()), hourly)
	key := f.enqueue(1)[0]
	done := make(chan struct{})
	left, stop := busy(t, f, done)
	before, _, err := f.q.Job(t.Context(), key)
	require.NoError(t, err)
	s.Kill()
	require.NoError(t, s.Restart(t.Context()))
	until(t, "it is renewed", func() bool {
		info, _, err := f.q.Job(t.Context(), key)
		return err == nil && info.At.After(before.At)
	})
	close(done)
	assert.NoError(t, <-left, "its handler went on")
	require.NoError(t, stop())
	assert.Equal(t, 1, f.stats().Total.Done)
}

// hearing counts how often a broker says that it is there again.
func hearing(f *fixture) *atomic.Int64 {
	var heard atomic.Int64
	f.t.Cleanup(f.OnReconnect(func() { heard.Add(1) }))
	return &heard
}

func TestWhateverEndsConnectionsIsHeardOf(t *testing.T) {
	s := ownServer(t)
	for name, cut := range map[string]func(*testing.T, *fixture){
		"clients are killed": func(t *testing.T, f *fixture) {
			assert.NotEqual(t, "0", admin(t, s.URL())("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
		},
		"a claim waits when it happens": func(t *testing.T, f *fixture) {
			ended := make(chan error, 1)
			req := f.request(f.life("a", 0), 1, time.Hour)
			go func() {
				_, err := f.Claim(t.Context(), req)
				ended <- err
			}()
			f.awaitParked(1)
			admin(t, s.URL())("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			assert.Error(t, <-ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, on(s.URL()))
			heard := hearing(f)
			cut(t, f)
			until(t, "it is heard of", func() bool { return heard.Load() > 0 })
		})
	}
}

// The connection of a claim that waits is closed when the claim is withdrawn, and when a job was
// found elsewhere. Nothing is lost by that.
func TestTheEndOfAWaitIsNoLoss(t *testing.T) {
	f := newFixture(t, partitioned(2))
	heard := hearing(f)
	inc := f.life("a", 0)
	for range 5 {
		got := f.claimSoon(inc, 1)
		f.awaitParked(1)
		f.enqueue(1)
		f.soon(got)

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		req := f.request(inc, 1, time.Hour)
		go func() {
			defer close(ended)
			_, _ = f.Claim(ctx, req)
		}()
		f.awaitParked(1)
		cancel()
		<-ended
		_, err := f.Withdraw(t.Context(), inc, "q", req.Seq)
		require.NoError(t, err)
	}
	f.way.mu.Lock()
	defer f.way.mu.Unlock()
	assert.Zero(t, f.way.losses)
	assert.Zero(t, heard.Load())
}

func TestABrokerThatIsClosedLooksForNobody(t *testing.T) {
	s := ownServer(t)
	f := newFixture(t, on(s.URL()))
	hearing(f)
	looking := func() bool {
		f.way.mu.Lock()
		defer f.way.mu.Unlock()
		return f.way.looking
	}
	s.Kill()
	until(t, "it looks for the server", looking)
	f.Close()
	until(t, "it looks no more", func() bool { return !looking() })
}
