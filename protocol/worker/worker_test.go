package worker_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// bubbleClock reads the time package, which testing/synctest fakes.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Now() protocol.Instant { return protocol.Instant(time.Since(c.start)) }
func (c bubbleClock) NewTimer(at protocol.Instant) Timer {
	return bubbleTimer{time.NewTimer(time.Duration(at.Sub(c.Now())))}
}

type bubbleTimer struct{ *time.Timer }

func (t bubbleTimer) C() <-chan time.Time { return t.Timer.C }
func (t bubbleTimer) Stop()               { t.Timer.Stop() }

func newBroker() *memory.Broker {
	return memory.New(memory.Config{
		Lease: 30 * time.Second, MaxFailures: 5, Poison: 3, Starving: 10, BackoffMin: time.Second, BackoffMax: time.Minute,
	})
}

// queueBroker is the broker with what tests say about its one queue.
type queueBroker struct{ *memory.Broker }

func (b queueBroker) enqueue(want protocol.JobKey, payload string) {
	if job := b.Enqueue("default", "job", 1, []byte(payload)); job != want {
		panic("jobs are numbered from 1 on")
	}
}

func (b queueBroker) job(key protocol.JobKey) model.JobRow {
	row, _ := b.Job(key)
	return row
}

var errDown = errors.New("the broker is down")

func (b queueBroker) setDown(down bool) {
	if down {
		b.Fail(errDown)
	} else {
		b.Fail(nil)
	}
}

// bench is a broker and the workers on it, in a bubble of fake time.
type bench struct {
	t      *testing.T
	clock  bubbleClock
	broker queueBroker
	wg     sync.WaitGroup

	between func(Broker) Broker // what workers get instead of the broker
}

func inBubble(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		clock := bubbleClock{time.Now()}
		b := &bench{t: t, clock: clock, broker: queueBroker{newBroker()}}
		f(b)
		b.wg.Wait()
		assert.NoError(t, b.broker.Close())
	})
}

// running is a worker whose Run is under way.
type running struct {
	*Worker
	signals chan protocol.Event
	stop    context.CancelFunc
	err     error
	left    chan struct{} // closed when Run has returned
}

// worker makes a worker without running it.
func (b *bench) worker(seat string, h Handler, change func(*Options), options ...KindOption) *Worker {
	b.t.Helper()
	mux := NewMux()
	mux.Handle("job", h, append([]KindOption{Versions(1, 1), Undo(2 * time.Second)}, options...)...)
	return b.workerOf(mux, seat, change)
}

func (b *bench) workerOf(mux *Mux, seat string, change func(*Options)) *Worker {
	b.t.Helper()
	opt := Options{Seat: seat, Slots: 2, Grace: 20 * time.Second, Lease: 30 * time.Second, Clock: b.clock, Logger: quietly()}
	if change != nil {
		change(&opt)
	}
	var broker Broker = b.broker
	if b.between != nil {
		broker = b.between(broker)
	}
	w, err := New(broker, mux, opt)
	require.NoError(b.t, err)
	return w
}

func quietly() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (b *bench) start(seat string, h Handler, change func(*Options), options ...KindOption) *running {
	b.t.Helper()
	return b.run(b.worker(seat, h, change, options...))
}

func (b *bench) run(w *Worker) *running {
	ctx, cancel := context.WithCancel(b.t.Context())
	r := &running{Worker: w, signals: make(chan protocol.Event), stop: cancel, left: make(chan struct{})}
	b.wg.Go(func() {
		defer close(r.left)
		defer cancel()
		r.err = w.Run(ctx, r.signals)
	})
	return r
}

func (r *running) term() { r.signals <- protocol.StopBySignal(protocol.SIGTERM, protocol.Never) }

func works(d time.Duration) Handler {
	return func(ctx context.Context, job *Job) error { return job.Sleep(ctx, d) }
}

func status(err error) int {
	var e *ExitError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func TestAJobThatFitsTheGraceIsFinished(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", works(10*time.Second), nil)
		b.broker.enqueue(1, "x")
		b.sleep(3 * time.Second)
		assert.True(t, w.Ready())
		w.term()
		b.sleep(time.Second)
		assert.False(t, w.Ready())
		left, draining := w.SecondsLeft()
		assert.True(t, draining)
		assert.InDelta(t, 19, left, 0.01)
		<-w.left
		assert.NoError(t, w.err)
		assert.Equal(t, protocol.Instant(10*protocol.Second), b.clock.Now(), "it left as soon as the job was done")
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
	})
}

func TestAJobThatDoesNotFitIsCancelledUndoneAndRunElsewhere(t *testing.T) {
	inBubble(t, func(b *bench) {
		var cause error
		var softly, undone atomic.Bool
		old := b.start("old", func(ctx context.Context, job *Job) error {
			job.Scope.OnAbort(func(context.Context) error {
				time.Sleep(time.Second)
				undone.Store(true)
				return nil
			})
			go func() { <-job.Draining(); softly.Store(true) }()
			err := job.Sleep(ctx, time.Hour)
			cause = err
			return err
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		var next time.Time
		fresh := b.start("new", func(context.Context, *Job) error { next = time.Now(); return nil }, func(o *Options) { o.Generation = 1 })
		b.sleep(time.Second)
		old.term()
		<-old.left
		handedBack := time.Now()
		assert.NoError(t, old.err, "nothing is held")
		assert.ErrorIs(t, cause, ErrDraining)
		assert.True(t, softly.Load(), "it was told softly first")
		assert.True(t, undone.Load(), "and its work was undone before it was handed back")
		b.sleep(time.Second)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		assert.LessOrEqual(t, next.Sub(handedBack), time.Duration(0), "the next worker waited for it and had it at once")
		assert.Zero(t, b.broker.job(1).Failures)
		fresh.term()
	})
}

func TestADoneContextIsAStopAndNeverACancellation(t *testing.T) {
	inBubble(t, func(b *bench) {
		var err error
		w := b.start("a", func(ctx context.Context, job *Job) error { err = job.Sleep(ctx, 5*time.Second); return err }, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.stop()
		<-w.left
		assert.NoError(t, err)
		assert.NoError(t, w.err)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
	})
}

func TestADeafHandlerKeepsItsClaimAndTheStatusSaysSo(t *testing.T) {
	inBubble(t, func(b *bench) {
		release := make(chan struct{})
		w := b.start("a", func(context.Context, *Job) error { <-release; return nil }, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		began := time.Now()
		w.term()
		<-w.left
		assert.Equal(t, protocol.ExitLeaked, status(w.err))
		assert.Less(t, time.Since(began), 20*time.Second)
		assert.Equal(t, model.JobClaimed, b.broker.job(1).State, "a claim whose handler runs is never released")
		close(release)
	})
}

func TestWithTheBrokerAwayTheWorkerStillLeavesInItsGrace(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", works(5*time.Second), nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		began := time.Now()
		w.term()
		<-w.left
		assert.Equal(t, protocol.ExitUnsettled, status(w.err))
		assert.Less(t, time.Since(began), 20*time.Second)
	})
}

func TestHowAHandlerReturnsDecidesHowItsClaimEnds(t *testing.T) {
	for name, c := range map[string]struct {
		handler  Handler
		failures uint16
		state    model.JobState
	}{
		"nil is done":           {func(context.Context, *Job) error { return nil }, 0, model.JobDone},
		"an error is a failure": {func(context.Context, *Job) error { return errors.New("no") }, 1, model.JobDelayed},
		"a panic is a failure":  {func(context.Context, *Job) error { panic("no") }, 1, model.JobDelayed},
		"Goexit is a failure":   {func(context.Context, *Job) error { runtime.Goexit(); return nil }, 1, model.JobDelayed},
		"Failed is a failure":   {func(context.Context, *Job) error { return Failed(errors.New("no")) }, 1, model.JobDelayed},
		"a commit that fails is": {func(_ context.Context, job *Job) error {
			job.Scope.OnCommit(func() error { return errors.New("no") })
			return nil
		}, 1, model.JobDelayed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				w := b.start("a", c.handler, nil)
				b.broker.enqueue(1, "x")
				time.Sleep(100 * time.Millisecond)
				row := b.broker.job(1)
				assert.Equal(t, c.failures, row.Failures)
				assert.Equal(t, c.state, row.State)
				w.term()
			})
		})
	}
}

func TestYieldHandsTheJobBackUnblamed(t *testing.T) {
	inBubble(t, func(b *bench) {
		var runs atomic.Int32
		w := b.start("a", func(ctx context.Context, job *Job) error {
			if runs.Add(1) == 1 {
				return Yield
			}
			return nil
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		assert.Equal(t, int32(2), runs.Load())
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		assert.Zero(t, b.broker.job(1).Failures)
		w.term()
	})
}

func TestAnUnknownVersionIsRefusedAndNotFailed(t *testing.T) {
	inBubble(t, func(b *bench) {
		var ran atomic.Bool
		w := b.start("a", func(context.Context, *Job) error { ran.Store(true); return nil }, nil, Versions(2, 3))
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		<-w.left
		row := b.broker.job(1)
		assert.False(t, ran.Load())
		assert.Zero(t, row.Failures)
		assert.NotEqual(t, model.JobClaimed, row.State)
	})
}

func TestProgressSurvivesAnInterruption(t *testing.T) {
	inBubble(t, func(b *bench) {
		var resumedAt []byte
		h := func(ctx context.Context, job *Job) error {
			if job.Cursor != nil {
				resumedAt = job.Cursor
				return nil
			}
			if err := job.Flush(ctx, []byte("half")); err != nil {
				return err
			}
			return job.Sleep(ctx, time.Hour)
		}
		old := b.start("old", h, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		fresh := b.start("new", h, nil)
		old.term()
		<-old.left
		b.sleep(time.Second)
		assert.Equal(t, "half", string(resumedAt))
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		fresh.term()
	})
}

func TestALostLeaseCancelsTheHandlerBeforeAnybodyElseStarts(t *testing.T) {
	inBubble(t, func(b *bench) {
		var cause error
		var stopped time.Time
		w := b.start("a", func(ctx context.Context, job *Job) error {
			<-ctx.Done()
			cause, stopped = context.Cause(ctx), time.Now()
			return cause
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		b.sleep(31 * time.Second)
		assert.ErrorIs(t, cause, ErrLeaseLost)
		assert.Less(t, stopped.Sub(b.clock.start), 30*time.Second, "before the lease could end")
		b.broker.setDown(false)
		w.term()
	})
}

func TestALateClaimIsWithdrawnAndNeverRun(t *testing.T) {
	inBubble(t, func(b *bench) {
		var ran atomic.Int32
		w := b.start("a", func(context.Context, *Job) error { ran.Add(1); return nil }, nil)
		b.sleep(time.Second) // a long poll is out
		w.term()
		b.broker.enqueue(1, "x")
		<-w.left
		assert.NoError(t, w.err)
		assert.Zero(t, ran.Load())
		assert.Equal(t, model.JobReady, b.broker.job(1).State)
	})
}

func TestRollingRestartsRunEveryJobToItsEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		const jobs = 300
		var finished, alive [jobs + 1]atomic.Int32
		h := func(ctx context.Context, job *Job) error {
			if alive[job.Key].Add(1) > 1 {
				t.Errorf("two executions of job %d at once", job.Key)
			}
			defer alive[job.Key].Add(-1)
			job.Scope.OnAbort(func(context.Context) error { return nil })
			if err := job.Sleep(ctx, time.Duration(job.Key%40+1)*time.Second); err != nil {
				return err
			}
			finished[job.Key].Add(1)
			return nil
		}
		for j := range jobs {
			b.broker.enqueue(protocol.JobKey(j+1), "x")
		}
		var fleet []*running
		for i := range 6 {
			fleet = append(fleet, b.start(string(rune('a'+i)), h, func(o *Options) { o.Slots = 4 }))
		}
		for round := range 60 {
			b.sleep(7 * time.Second)
			i := round % len(fleet)
			fleet[i].term()
			<-fleet[i].left
			assert.NoError(t, fleet[i].err)
			fleet[i] = b.start(string(rune('a'+i)), h, func(o *Options) { o.Slots, o.Generation = 4, uint32(round) })
		}
		for _, w := range fleet {
			w.term()
			<-w.left
		}
		for j := 1; j <= jobs; j++ {
			row := b.broker.job(protocol.JobKey(j))
			assert.Zero(t, row.Failures, "job %d", j)
			assert.Zero(t, row.Poison, "job %d", j)
			if row.State == model.JobDone {
				assert.Equal(t, int32(1), finished[j].Load(), "job %d", j)
			}
		}
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
	})
}

func TestOptionsThatCannotWorkAreRefusedWithBothNumbers(t *testing.T) {
	mux := NewMux()
	mux.Handle("job", works(0), Gap(40*time.Second))
	broker := newBroker()
	defer broker.Close()
	t.Setenv("QUIESCE_GRACE", "")
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"no grace":                   {Options{}, "grace is not known"},
		"a gap that does not fit":    {Options{Grace: 30 * time.Second}, "gap 40s + undo 1s + reserve 5s = 46s, more than grace 30s"},
		"reserve beyond grace":       {Options{Grace: 2 * time.Second, Reserve: 3 * time.Second}, "grace 2s must exceed reserve 3s"},
		"heartbeat beyond the lease": {Options{Grace: time.Hour, Lease: time.Minute, Heartbeat: time.Minute}, "heartbeat 1m0s must be shorter than lease 1m0s"},
	} {
		_, err := New(broker, mux, c.options)
		assert.ErrorContains(t, err, c.want, name)
	}
	_, err := New(broker, NewMux(), Options{Grace: time.Minute})
	assert.ErrorContains(t, err, "no kinds")
	t.Setenv("QUIESCE_GRACE", "50")
	w, err := New(broker, mux, Options{})
	require.NoError(t, err)
	assert.Equal(t, 50*protocol.Second, w.Config().Grace)
	t.Setenv("QUIESCE_GRACE", "soon")
	_, err = New(broker, mux, Options{})
	assert.ErrorContains(t, err, `QUIESCE_GRACE "soon" is not a duration`)
}

// sleep lets time pass and everything come to rest.
func (b *bench) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
