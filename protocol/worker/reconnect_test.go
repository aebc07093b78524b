package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// A failover forgets one of two claims. The next heartbeat is nine seconds away, but the broker
// says that it is there again, and both are verified.
func TestClaimsAreVerifiedWhenTheBrokerIsThereAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		var lost, kept error
		var lostAt protocol.Instant
		w := b.start("a", func(ctx context.Context, job *Job) error {
			err := job.Sleep(ctx, 20*time.Second)
			if job.Key == 2 {
				lost, lostAt = err, b.clock.Now()
			} else {
				kept = err
			}
			return err
		}, nil)
		b.broker.enqueue(1, "kept")
		b.sleep(time.Second)
		failOver := b.broker.CutOff()
		b.broker.enqueue(2, "forgotten")
		b.sleep(time.Second)
		require.Equal(t, model.JobClaimed, b.broker.job(2).State)
		lease := b.broker.job(1).Lease

		failOver()
		back := b.clock.Now()
		b.sleep(time.Second)
		assert.ErrorIs(t, lost, ErrLeaseLost)
		assert.Less(t, lostAt.Sub(back), protocol.Second)
		assert.Greater(t, b.broker.job(1).Lease, lease, "the other claim was renewed")
		b.sleep(20 * time.Second)
		require.NoError(t, kept)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		w.term()
	})
}

// forgetful counts who listens.
type forgetful struct {
	Broker
	listening int
}

func (f *forgetful) OnReconnect(heard func()) (forget func()) {
	f.listening++
	return func() { f.listening-- }
}

func TestAWorkerThatHasLeftDoesNotListenToItsBrokerAnyMore(t *testing.T) {
	inBubble(t, func(b *bench) {
		f := &forgetful{}
		b.between = func(real Broker) Broker { f.Broker = real; return f }
		w := b.start("a", works(time.Second), nil)
		b.sleep(time.Second)
		assert.Equal(t, 1, f.listening)
		w.term()
		<-w.left
		assert.Zero(t, f.listening)
	})
}
