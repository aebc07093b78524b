package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// debtor is a broker that may owe something.
type debtor struct {
	Broker
	err    error
	hangs  chan struct{} // until it is closed, unless nil
	queues []string      // asked about
	lives  []uint64
}

func (d *debtor) Repay(ctx context.Context, incarnation uint64, queue string) error {
	d.queues, d.lives = append(d.queues, queue), append(d.lives, incarnation)
	if d.hangs != nil {
		<-d.hangs
	}
	return d.err
}

// statuses is what observers are told at the end.
type statuses struct{ ended []int }

func (*statuses) Begin(Setup, State)                                              {}
func (*statuses) Step(protocol.Instant, protocol.Event, []protocol.Effect, State) {}
func (*statuses) Executed(Execution)                                              {}
func (s *statuses) End(e Ending)                                                  { s.ended = append(s.ended, e.Status) }

func TestWhoOwesDoesNotExitClean(t *testing.T) {
	down := errors.New("request 7 may have been granted jobs at a node that is away")
	for name, c := range map[string]struct {
		err    error
		status int
	}{"paid": {nil, protocol.ExitClean}, "not paid": {down, protocol.ExitUnsettled}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				d := &debtor{err: c.err}
				b.between = func(real Broker) Broker { d.Broker = real; return d }
				b.broker.enqueue(1, "x")
				var seen statuses
				var hooked []int
				w := b.start("a", works(time.Second), func(o *Options) {
					o.Queues = []string{"default", "other"}
					o.Observers = []Observer{&seen}
					o.OnExit = []func(context.Context){func(context.Context) { hooked = append(hooked, len(seen.ended)) }}
				})
				b.sleep(100 * time.Millisecond)
				w.term()
				<-w.left
				assert.Equal(t, c.status, status(w.err))
				assert.Equal(t, c.status, w.Status())
				assert.Equal(t, []int{c.status}, seen.ended)
				assert.Equal(t, []int{1}, hooked, "a hook that pushes metrics finds the exit counted")
				assert.Equal(t, []string{"default", "other"}, d.queues)
				assert.Equal(t, d.lives[0], d.lives[1])
				assert.NotZero(t, d.lives[0])
				assert.Equal(t, model.JobDone, b.broker.job(1).State)
				if c.err != nil {
					assert.ErrorIs(t, w.err, down, "it is named")
				}
			})
		})
	}
}

func TestADebtorThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	inBubble(t, func(b *bench) {
		d := &debtor{hangs: make(chan struct{})}
		defer close(d.hangs)
		b.between = func(real Broker) Broker { d.Broker = real; return d }
		ran := false
		w := b.start("a", works(time.Second), func(o *Options) {
			o.OnExit = []func(context.Context){func(context.Context) { ran = true }}
		})
		b.sleep(time.Second)
		began := b.clock.Now()
		w.term()
		<-w.left
		assert.LessOrEqual(t, b.clock.Now().Sub(began), protocol.Second)
		assert.Equal(t, protocol.ExitUnsettled, status(w.err))
		require.True(t, ran, "time is left for the exit hooks")
	})
}
