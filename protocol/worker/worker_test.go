package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// bench is a broker and the workers on it, in a bubble of fake time.
type bench struct {
	t      *testing.T
	clock  bubbleClock
	broker *memoryBroker
	wg     sync.WaitGroup
}

func inBubble(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		clock := bubbleClock{time.Now()}
		b := &bench{t: t, clock: clock, broker: newMemoryBroker(clock, "job")}
		f(b)
		b.wg.Wait()
		b.broker.mu.Lock()
		if b.broker.timer != nil {
			b.broker.timer.Stop()
		}
		b.broker.mu.Unlock()
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

func (b *bench) start(seat string, h Handler, change func(*Options), options ...KindOption) *running {
	mux := NewMux()
	mux.Handle("job", h, append([]KindOption{Versions(1, 1), Undo(2 * time.Second)}, options...)...)
	opt := Options{
		Seat: seat, Slots: 2, Grace: 20 * time.Second, Lease: 30 * time.Second, Clock: b.clock,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&opt)
	}
	w, err := New(b.broker, mux, opt)
	require.NoError(b.t, err)
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
			job.Scope.add(hook{commit: func() error { return errors.New("no") }})
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

// Whatever the worker's goroutines do, what they tell the machine is a list of events, and
// the machine of the simulator, given the list, asks for the same.
func TestTheMachineInTheLaboratoryAsksForTheSame(t *testing.T) {
	type step struct {
		now protocol.Instant
		ev  protocol.Event
		fx  []protocol.Effect
	}
	inBubble(t, func(b *bench) {
		var steps []step
		mux := NewMux()
		mux.Handle("job", works(7*time.Second), Versions(1, 1))
		w, err := New(b.broker, mux, Options{Seat: "a", Slots: 3, Grace: 10 * time.Second, Lease: 30 * time.Second, Clock: b.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		require.NoError(t, err)
		w.record = func(now protocol.Instant, ev protocol.Event, fx []protocol.Effect) {
			steps = append(steps, step{now, ev, append([]protocol.Effect(nil), fx...)})
		}
		signals := make(chan protocol.Event)
		b.wg.Go(func() { _ = w.Run(b.t.Context(), signals) })
		for j := range 20 {
			b.broker.enqueue(protocol.JobKey(j+1), "x")
			b.sleep(900 * time.Millisecond)
		}
		signals <- protocol.StopBySignal(protocol.SIGTERM, protocol.Never)
		b.wg.Wait()

		var m protocol.Machine
		m.Init(w.cfg, protocol.NewMemory(w.cfg, 3), seedOf(w.life.Nonce))
		fx := protocol.NewEffects(3, 1)
		for i, s := range steps {
			fx.Reset()
			m.Step(s.now, s.ev, fx)
			require.Equal(t, s.fx, append([]protocol.Effect(nil), fx.All()...), "step %d: %v", i, s.ev.Kind)
		}
		require.Greater(t, len(steps), 40)
		require.Equal(t, protocol.PhaseGone, m.Phase())
	})
}

func TestOptionsThatCannotWorkAreRefusedWithBothNumbers(t *testing.T) {
	mux := NewMux()
	mux.Handle("job", works(0), Gap(40*time.Second))
	broker := newMemoryBroker(bubbleClock{time.Now()}, "job")
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
	assert.Equal(t, 50*protocol.Second, w.cfg.Grace)
	t.Setenv("QUIESCE_GRACE", "soon")
	_, err = New(broker, mux, Options{})
	assert.ErrorContains(t, err, `QUIESCE_GRACE "soon" is not a duration`)
}

func TestAStagedFileAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	write := func(s *Scope) {
		f, err := s.Stage(path)
		require.NoError(t, err)
		_, err = f.WriteString("done")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	aborted := newScope(1, 1)
	write(aborted)
	code, err := aborted.undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoDone, code)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	finished := newScope(1, 2)
	write(finished)
	require.NoError(t, finished.commit(finished.size()))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "done", string(content))
}

func TestHooksRunLastInFirstOutAndSharedOnesOnlyWhileTheClaimIsHeld(t *testing.T) {
	var order []string
	say := func(s string) func(context.Context) error {
		return func(context.Context) error { order = append(order, s); return nil }
	}
	fill := func() *Scope {
		s := newScope(1, 1)
		s.OnAbort(say("first"))
		s.OnAbortShared(say("shared"))
		_, err := Acquire(s, func() (int, func() error, error) {
			return 1, func() error { order = append(order, "lease"); return nil }, nil
		})
		require.NoError(t, err)
		return s
	}
	code, err := fill().undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoDone, code)
	assert.Equal(t, []string{"lease", "shared", "first"}, order)

	order = nil
	lost := fill()
	lost.privateOnly.Store(true)
	code, err = lost.undo(t.Context())
	require.NoError(t, err)
	assert.Equal(t, protocol.UndoSkipped, code)
	assert.Equal(t, []string{"lease", "first"}, order)

	order = nil
	s := fill()
	s.OnAbort(func(context.Context) error { panic("no") })
	code, err = s.undo(t.Context())
	assert.Equal(t, protocol.UndoFailed, code)
	assert.ErrorContains(t, err, "panic in an undo hook: no")
	assert.Equal(t, []string{"lease", "shared", "first"}, order, "one hook that fails does not keep the others from running")

	order = nil
	require.NoError(t, fill().commit(3))
	assert.Equal(t, []string{"lease"}, order, "what was acquired is released when the job is done, too")
}

func TestMiddlewareWrapsFromTheOutsideIn(t *testing.T) {
	var order []string
	named := func(n string) Middleware {
		return func(h Handler) Handler {
			return func(ctx context.Context, job *Job) error { order = append(order, n); return h(ctx, job) }
		}
	}
	mux := NewMux()
	mux.Use(named("a"), named("b"))
	mux.Handle("job", func(context.Context, *Job) error { order = append(order, "handler"); return nil })
	require.NoError(t, mux.wrapped(0)(t.Context(), nil))
	assert.Equal(t, []string{"a", "b", "handler"}, order)
	assert.Panics(t, func() { mux.Handle("job", nil) })
}

// sleep lets time pass and everything come to rest.
func (b *bench) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
