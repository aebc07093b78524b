package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// muxWith is a mux whose one handler is wrapped.
func muxWith(h Handler, mw ...Middleware) *Mux {
	mux := NewMux()
	mux.Use(mw...)
	mux.Handle("job", h, Versions(1, 1))
	return mux
}

func TestAMiddlewareThatPanicsFailsTheJobAndNotTheWorker(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.run(b.workerOf(muxWith(works(0), func(Handler) Handler {
			return func(context.Context, *Job) error { panic("no") }
		}), "a", nil))
		b.broker.enqueue(1, "x")
		b.sleep(100 * time.Millisecond)
		assert.Equal(t, uint16(1), b.broker.job(1).Failures)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
	})
}

func TestMiddlewareIsBuiltOncePerKindAndNotPerJob(t *testing.T) {
	inBubble(t, func(b *bench) {
		var built, ran atomic.Int32
		w := b.run(b.workerOf(muxWith(works(0), func(h Handler) Handler {
			built.Add(1)
			return func(ctx context.Context, job *Job) error { ran.Add(1); return h(ctx, job) }
		}), "a", nil))
		for j := range 5 {
			b.broker.enqueue(protocol.JobKey(j+1), "x")
		}
		b.sleep(time.Second)
		assert.Equal(t, int32(1), built.Load())
		assert.Equal(t, int32(5), ran.Load())
		w.term()
	})
}

// Whatever a hook does, the claim ends as the rules say and the worker goes on.
func TestHooksThatBreakEndInQuarantineOrFailure(t *testing.T) {
	abort := func(undo func(context.Context) error) Handler {
		return func(_ context.Context, job *Job) error {
			job.Scope.OnAbort(undo)
			return errors.New("no")
		}
	}
	commit := func(f func() error) Handler {
		return func(_ context.Context, job *Job) error {
			job.Scope.OnCommit(f)
			return nil
		}
	}
	release := func(f func() error) Handler {
		return func(_ context.Context, job *Job) error {
			_, err := Acquire(job.Scope, func() (int, func() error, error) { return 0, f, nil })
			return err
		}
	}
	for name, c := range map[string]struct {
		handler Handler
		want    model.JobState
	}{
		"undo fails":                {abort(func(context.Context) error { return errors.New("no") }), model.JobQuarantined},
		"undo panics":               {abort(func(context.Context) error { panic("no") }), model.JobQuarantined},
		"undo ends its goroutine":   {abort(func(context.Context) error { runtime.Goexit(); return nil }), model.JobQuarantined},
		"undo outlives its slice":   {abort(func(context.Context) error { time.Sleep(time.Minute); return nil }), model.JobQuarantined},
		"undo works":                {abort(func(context.Context) error { return nil }), model.JobDelayed},
		"commit panics":             {commit(func() error { panic("no") }), model.JobDelayed},
		"commit ends its goroutine": {commit(func() error { runtime.Goexit(); return nil }), model.JobDelayed},
		"release fails":             {release(func() error { return errors.New("no") }), model.JobQuarantined},
		"release panics":            {release(func() error { panic("no") }), model.JobQuarantined},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				w := b.start("a", c.handler, nil)
				b.broker.enqueue(1, "x")
				b.sleep(2100 * time.Millisecond)
				row := b.broker.job(1)
				if c.want == model.JobDelayed {
					assert.NotZero(t, row.Failures)
				} else {
					assert.Equal(t, c.want, row.State)
				}
				b.sleep(time.Minute) // and the undo that hangs is over
				w.term()
				<-w.left
				assert.NoError(t, w.err)
			})
		})
	}
}

func TestAHandlerThatFinishesAlthoughItWasCancelledHasFinished(t *testing.T) {
	inBubble(t, func(b *bench) {
		var o witness
		w := b.start("a", func(ctx context.Context, _ *Job) error { <-ctx.Done(); return nil }, seen(&o))
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		<-w.left
		assert.NoError(t, w.err)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		assert.Contains(t, o.notes(), protocol.AckedAfterCancel)
	})
}

// notes are what the machine counted.
func (o *witness) notes() []protocol.NoteCode {
	var all []protocol.NoteCode
	for _, s := range o.steps {
		for _, e := range s.fx {
			if e.Kind == protocol.Note {
				all = append(all, e.Note)
			}
		}
	}
	return all
}

func TestAfterACancelAnErrorIsAnInterruptionUnlessItIsMarkedAsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		returned func(context.Context) error
		failures uint16
		state    model.JobState
	}{
		"the cause":                {context.Cause, 0, model.JobReady},
		"an error of its own":      {func(context.Context) error { return errors.New("broken pipe") }, 0, model.JobReady},
		"yield":                    {func(context.Context) error { return Yield }, 0, model.JobReady},
		"a failure that is marked": {func(ctx context.Context) error { return Failed(context.Cause(ctx)) }, 1, model.JobDelayed},
		"a panic":                  {func(context.Context) error { panic("no") }, 1, model.JobDelayed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				w := b.start("a", func(ctx context.Context, _ *Job) error { <-ctx.Done(); return c.returned(ctx) }, nil)
				b.broker.enqueue(1, "x")
				b.sleep(time.Second)
				w.term()
				<-w.left
				assert.NoError(t, w.err)
				assert.Equal(t, c.failures, b.broker.job(1).Failures)
				assert.Equal(t, c.state, b.broker.job(1).State)
			})
		})
	}
}

func TestAKindsTimeoutIsAFailureWhateverItReturns(t *testing.T) {
	inBubble(t, func(b *bench) {
		var cause error
		w := b.start("a", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}, nil, Timeout(5*time.Second))
		b.broker.enqueue(1, "x")
		b.sleep(5100 * time.Millisecond)
		assert.ErrorIs(t, cause, ErrTimeout)
		assert.Equal(t, uint16(1), b.broker.job(1).Failures)
		w.term()
	})
}

func TestAnOperatorsCancelReachesTheHandlerAtTheNextRenewalAndIsFinal(t *testing.T) {
	inBubble(t, func(b *bench) {
		var cause error
		w := b.start("a", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.CancelJob(1)
		b.sleep(10 * time.Second) // a heartbeat
		assert.ErrorIs(t, cause, ErrCancelled)
		assert.Equal(t, model.JobCancelledByOperator, b.broker.job(1).State)
		w.term()
	})
}

func TestAWorkerWhoseEverySlotIsWedgedDrainsItself(t *testing.T) {
	inBubble(t, func(b *bench) {
		var text bytes.Buffer
		release := make(chan struct{})
		w := b.start("a", func(context.Context, *Job) error { <-release; return nil }, func(o *Options) {
			o.Logger = slog.New(slog.NewTextHandler(&text, nil))
		}, Timeout(time.Second))
		b.broker.enqueue(1, "x")
		b.broker.enqueue(2, "x")
		<-w.left // nobody told it to
		assert.Equal(t, protocol.ExitLeaked, status(w.err))
		assert.Contains(t, text.String(), "the worker drains itself")
		assert.GreaterOrEqual(t, b.clock.Now(), protocol.Instant(31*protocol.Second), "a lease after the last was told")
		close(release)
	})
}

func TestAJobWithoutAPayloadIsAJob(t *testing.T) {
	inBubble(t, func(b *bench) {
		payload := []byte("not nil")
		w := b.start("a", func(_ context.Context, job *Job) error { payload = job.Payload; return nil }, nil)
		require.Equal(t, protocol.JobKey(1), b.broker.Enqueue("default", "job", 1, nil))
		b.sleep(time.Second)
		assert.Empty(t, payload)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		w.term()
	})
}

func TestMovesOfSIGKILLArriveWithTheSignals(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", works(time.Hour), nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.term()
		b.sleep(time.Second)
		now := b.clock.Now()
		left, _ := w.SecondsLeft()
		assert.InDelta(t, 19, left, 0.01)
		w.signals <- protocol.KillAt(now.Add(protocol.Minute)) // the supervisor has granted more
		b.sleep(0)
		left, _ = w.SecondsLeft()
		assert.InDelta(t, 60, left, 0.01)
		w.signals <- protocol.KillAt(now.Add(5 * protocol.Second)) // and less
		<-w.left
		assert.NoError(t, w.err)
		assert.LessOrEqual(t, b.clock.Now(), now.Add(5*protocol.Second))
		assert.Equal(t, model.JobReady, b.broker.job(1).State)
	})
}

func TestSignalsMayEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", works(time.Second), nil)
		close(w.signals)
		b.broker.enqueue(1, "x")
		b.sleep(2 * time.Second)
		assert.Equal(t, model.JobDone, b.broker.job(1).State)
		w.stop()
		<-w.left
		assert.NoError(t, w.err)
	})
}

func TestQuietClaimsNothingAndResumeClaimsAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", works(5*time.Second), nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		w.signals <- protocol.Event{Kind: protocol.QuietAsked}
		b.sleep(0)
		assert.False(t, w.Ready())
		b.broker.enqueue(2, "x")
		b.sleep(10 * time.Second)
		assert.Equal(t, model.JobDone, b.broker.job(1).State, "what ran goes on")
		assert.Equal(t, model.JobReady, b.broker.job(2).State)
		w.signals <- protocol.Event{Kind: protocol.ResumeAsked}
		b.sleep(6 * time.Second)
		assert.True(t, w.Ready())
		assert.Equal(t, model.JobDone, b.broker.job(2).State)
		w.term()
	})
}

func TestExitHooksRunAtTheEndInsideTheirSliceWhateverOneOfThemDoes(t *testing.T) {
	inBubble(t, func(b *bench) {
		var flushed []string
		var left time.Duration
		w := b.start("a", works(time.Hour), func(o *Options) {
			o.OnExit = []func(context.Context){
				func(ctx context.Context) {
					at, _ := ctx.Deadline()
					left = time.Until(at)
					flushed = append(flushed, "metrics")
				},
				func(context.Context) { panic("no") },
				func(context.Context) { runtime.Goexit() },
				func(context.Context) { flushed = append(flushed, "logs") },
				func(ctx context.Context) { time.Sleep(time.Minute) },
			}
		})
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		began := b.clock.Now()
		w.term()
		<-w.left
		took := b.clock.Now().Sub(began)
		b.sleep(time.Minute) // for the hook that sleeps on
		assert.NoError(t, w.err)
		assert.Equal(t, []string{"metrics", "logs"}, flushed)
		assert.Positive(t, left)
		assert.Less(t, took, 20*protocol.Second)
	})
}

// keeper is a broker that keeps ledgers.
type keeper struct {
	Broker
	incarnation uint64
	status      int
	lines       []LedgerLine
	hangs       bool
}

func (k *keeper) KeepLedger(ctx context.Context, incarnation uint64, status int, lines []LedgerLine) error {
	k.incarnation, k.status, k.lines = incarnation, status, lines
	if k.hangs {
		<-make(chan struct{})
	}
	return nil
}

func TestTheLedgerIsKeptAtTheBroker(t *testing.T) {
	inBubble(t, func(b *bench) {
		k := &keeper{}
		b.between = func(real Broker) Broker { k.Broker = real; return k }
		w := b.start("a", func(ctx context.Context, job *Job) error {
			return job.Sleep(ctx, time.Duration(job.Key)*time.Minute)
		}, func(o *Options) { o.Slots, o.Reserve = 3, 4*time.Second })
		b.broker.enqueue(1, "x")
		b.broker.enqueue(2, "x")
		b.sleep(55 * time.Second)
		w.term()
		<-w.left
		require.NoError(t, w.err)
		assert.Equal(t, uint64(1), k.incarnation)
		assert.Equal(t, k.lines, w.Ledger())
		require.Len(t, k.lines, 3)
		for i := range k.lines {
			k.lines[i].Token = 0
		}
		assert.NotZero(t, k.lines[0].Request)
		k.lines[0].Request = 0
		assert.Equal(t, []LedgerLine{
			{Queue: "default", Outcome: protocol.WasWithdrawn, Left: 20 * time.Second},
			{Queue: "default", Job: 1, Kind: "job", Outcome: protocol.WasFinished, After: 5 * time.Second, Left: 15 * time.Second},
			{Queue: "default", Job: 2, Kind: "job", Outcome: protocol.WasReleased, After: 14 * time.Second, Left: 6 * time.Second},
		}, k.lines)
	})
}

func TestGapsAreMeasuredPerKindAndWarnedOfOnce(t *testing.T) {
	for name, c := range map[string]struct {
		gap     time.Duration
		options []KindOption
		warned  bool
	}{
		"within what was declared": {900 * time.Millisecond, []KindOption{Gap(time.Second)}, false},
		"beyond what was declared": {3 * time.Second, []KindOption{Gap(time.Second)}, true},
		"undeclared, but it fits":  {10 * time.Second, nil, false},
		"undeclared, and too long": {15 * time.Second, nil, true}, // grace 20s - reserve 3.3s - undo 2s
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				var text bytes.Buffer
				w := b.start("a", func(ctx context.Context, job *Job) error {
					if err := job.Sleep(ctx, time.Minute); err != nil { // listening is no gap
						return err
					}
					time.Sleep(c.gap)
					return job.Checkpoint(ctx)
				}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&text, nil)) }, c.options...)
				b.broker.enqueue(1, "x")
				b.broker.enqueue(2, "x")
				b.sleep(3 * time.Minute)
				assert.Equal(t, c.gap, w.LongestGap("job"))
				assert.Zero(t, w.LongestGap("other"))
				warnings := bytes.Count(text.Bytes(), []byte("looks for cancellation more seldom"))
				if c.warned {
					assert.Equal(t, 1, warnings)
				} else {
					assert.Zero(t, warnings)
				}
				w.term()
			})
		})
	}
}

// A child process is waited for all the time, also beside another goroutine that checks.
func TestAWaitOnBehalfOfAHandlerIsNoGap(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", func(ctx context.Context, job *Job) error {
			time.Sleep(2 * time.Second)
			if err := job.Checkpoint(ctx); err != nil {
				return err
			}
			done := job.Scope.Listen()
			time.Sleep(time.Minute) // as if ctx would end it
			_ = job.Checkpoint(ctx)
			time.Sleep(time.Minute)
			done()
			time.Sleep(time.Second)
			return job.Checkpoint(ctx)
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(3 * time.Minute)
		assert.Equal(t, 2*time.Second, w.LongestGap("job"))
		w.term()
	})
}

// What is said of an undo that hangs is not what is said of a deaf handler, and said once.
func TestAnUndoThatHangsIsLoggedAsOne(t *testing.T) {
	inBubble(t, func(b *bench) {
		var text bytes.Buffer
		forever := make(chan struct{})
		w := b.start("a", func(_ context.Context, job *Job) error {
			job.Scope.OnAbort(func(context.Context) error { <-forever; return nil })
			return errors.New("no")
		}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&text, nil)) })
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.Fail(errDown) // the settling is repeated
		b.sleep(5 * time.Second)
		b.broker.Fail(nil)
		b.sleep(5 * time.Second)
		assert.Equal(t, model.JobQuarantined, b.broker.job(1).State)
		w.term()
		<-w.left
		assert.Equal(t, protocol.ExitLeaked, w.Status())
		said := text.String()
		assert.Equal(t, 1, strings.Count(said, "undo hooks take longer than they may; the job is quarantined"), said)
		assert.Equal(t, 1, strings.Count(said, "undo hooks still run and are left behind"), said)
		assert.NotContains(t, said, "a handler ignores its cancellation")
		close(forever)
	})
}

func TestAHandlerThatNeverChecksIsMeasuredByHowLongItTakesToStop(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.start("a", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Minute)
		w.term()
		<-w.left
		assert.Equal(t, time.Second, w.LongestGap("job"))
	})
}

func TestAWorkerIsToldWhatItIsMadeOf(t *testing.T) {
	t.Setenv("QUIESCE_GRACE", "")
	broker := queueBroker{newBroker()}
	mux := muxWith(works(0))
	_, err := New(nil, mux, Options{Grace: time.Minute})
	assert.ErrorContains(t, err, "needs a broker and a mux")
	_, err = New(broker, nil, Options{Grace: time.Minute})
	assert.ErrorContains(t, err, "needs a broker and a mux")
	w, err := New(broker, mux, Options{Grace: time.Minute, Lease: 30 * time.Second})
	require.NoError(t, err)
	assert.Zero(t, w.Status())
	assert.NoError(t, broker.Close())
	assert.Panics(t, func() { NewMux().Handle("", works(0)) })
	assert.Panics(t, func() { NewMux().Handle("job", nil) })
}

func TestAStagedFileIsInPlaceBeforeTheJobIsAcked(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(b *bench) {
		path := filepath.Join(dir, "out")
		var there bool
		b.between = func(real Broker) Broker {
			return &broken{Broker: real, before: func(_ context.Context, call string) {
				if call == "settle" {
					_, err := os.Stat(path)
					there = err == nil
				}
			}}
		}
		w := b.start("a", func(_ context.Context, job *Job) error {
			f, err := job.Scope.Stage(path)
			if err != nil {
				return err
			}
			_, err = f.WriteString("whole") // and leaves it open
			return err
		}, nil)
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		assert.True(t, there)
		w.term()
	})
}

// The claim is lost while hooks run: those that touch a shared name are left out from here on.
func TestSharedHooksThatHaveNotBegunAreLeftOutWhenTheClaimIsLostUnderTheUndo(t *testing.T) {
	inBubble(t, func(b *bench) {
		var ran []string
		hook := func(name string, takes time.Duration) func(context.Context) error {
			return func(context.Context) error {
				time.Sleep(takes)
				ran = append(ran, name)
				return nil
			}
		}
		w := b.start("a", func(_ context.Context, job *Job) error {
			job.Scope.OnAbort(hook("private", 0))
			job.Scope.OnAbortShared(hook("shared", 0))
			job.Scope.OnAbort(hook("slow", 35*time.Second)) // longer than the lease
			return errors.New("no")
		}, func(o *Options) { o.Grace = 2 * time.Minute }, Undo(time.Minute))
		b.broker.enqueue(1, "x")
		b.sleep(time.Second)
		b.broker.setDown(true)
		b.sleep(40 * time.Second)
		assert.Equal(t, []string{"slow", "private"}, ran)
		b.broker.setDown(false)
		w.term()
	})
}

// granting is a broker that knows what it grants.
type granting struct {
	Broker
	lease time.Duration
}

func (b granting) Capabilities() Capabilities { return Capabilities{Lease: b.lease} }

func TestNewRefusesWhatContradictsItselfByName(t *testing.T) {
	broker := queueBroker{newBroker()}
	defer broker.Close()
	mux := NewMux()
	mux.Handle("fine", works(0))
	mux.Handle("slow", works(0), Gap(time.Minute))
	mux.Handle("odd", works(0), Versions(3, 1))
	_, err := New(granting{broker, time.Minute}, mux, Options{Grace: 30 * time.Second})
	assert.ErrorContains(t, err, `kind "slow": protocol: kind 0 needs gap 1m0s + undo 1s + reserve 5s`)
	assert.ErrorContains(t, err, `kind "odd": versions 3 to 1 are none`)
	assert.NotContains(t, err.Error(), "fine")

	_, err = New(granting{broker, time.Minute}, muxWith(works(0)), Options{
		Grace: 30 * time.Second, Lease: 5 * time.Minute, Queues: []string{"a", "", "a"}, Slots: -1, Exclusive: []Exclusive{{Name: "volume"}},
	})
	for _, want := range []string{
		"lease 5m0s is not what the broker grants, 1m0s", "queue 1 has no name", `queue "a" is listed twice`, "slots -1 must be positive",
		`exclusive resource "volume" needs a port and a threshold`,
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = New(granting{broker, time.Minute}, muxWith(works(0)), Options{Grace: 30 * time.Second, Slots: 1 << 30})
	assert.ErrorContains(t, err, "slots 1073741824 are more than the 100000 of one worker")
	w, err := New(granting{broker, time.Minute}, muxWith(works(0)), Options{Grace: 30 * time.Second})
	require.NoError(t, err)
	assert.Equal(t, protocol.Minute, w.Config().Lease, "the broker knows best")
}
