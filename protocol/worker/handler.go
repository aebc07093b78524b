package worker

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// returned is how a handler came back.
type returned struct {
	code  protocol.Code
	err   error
	clean bool // nothing is left to undo or to commit
	gap   protocol.Duration
}

// start runs the handler of a claim in its own goroutine.
func (w *Worker) start(e *protocol.Effect) {
	if w.granted == nil || w.granted.Job != e.Job || w.granted.Token != e.Token {
		panic("worker: a job is started that was not granted")
	}
	s := &w.slots[e.Slot]
	ctx, cancel := context.WithCancelCause(w.work)
	job := newJob(w.granted, w, e.At)
	job.slot, job.kind = int(e.Slot), e.JobKind
	if s.job != nil {
		delete(w.holding, claim{s.job.Key, s.job.Token})
	}
	w.holding[claim{job.Key, job.Token}] = struct{}{}
	*s = slot{job: job, cancel: cancel, started: e.At, running: true}
	go w.runHandler(ctx, job, w.mux.kinds[e.JobKind].wrapped)
}

// runHandler runs a handler and reports how it came back, exactly once, also when it panics
// or ends its goroutine.
func (w *Worker) runHandler(ctx context.Context, job *Job, h Handler) {
	back := &job.back
	*back = returned{code: protocol.ReturnedPanic, err: errGoexit} // unless it comes back in order
	defer func() {
		w.comeBack(job, back)
		w.send(message{job: job, back: back})
	}()
	defer func() {
		if p := recover(); p != nil {
			back.err = &PanicError{Value: p, Stack: debug.Stack()}
			w.log.Error("a handler panicked", "kind", job.Kind, "job", job.Key, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	err := h(ctx, job)
	back.code, back.err = codeOf(err), err
}

// comeBack ends an execution: no progress is saved any more, what is done is committed, and
// what is on its way to the broker is waited for, so that undo does not reach back behind a
// cursor that was stored.
func (w *Worker) comeBack(job *Job, back *returned) {
	back.gap = job.gap()
	job.comeBack()
	end := committed
	if back.code != protocol.ReturnedNil {
		end = undone
	}
	if job.Scope.untouched(end) {
		back.clean = true
		return
	}
	job.commitIfDone(back)
	if back.code != protocol.ReturnedNil {
		w.awaitCursors(job)
	}
	back.clean = job.Scope.clean()
}

// commitIfDone makes final what a handler made that says it is done, while its claim is held.
func (j *Job) commitIfDone(back *returned) {
	if back.code != protocol.ReturnedNil {
		return
	}
	commit := j.Scope.commitAll
	if !j.Held() {
		commit = j.Scope.commitLost
	}
	if err := commit(); err != nil {
		back.code, back.err = protocol.ReturnedError, err
	}
}

// awaitCursors waits for the answers about cursors that were sent: a call that is out, and
// one that waits for it.
func (w *Worker) awaitCursors(job *Job) {
	landed := job.awaited()
	if landed == nil {
		return
	}
	t := w.clock.NewTimer(w.clock.Now().Add(2 * w.cfg.Reply))
	defer t.Stop()
	select {
	case <-landed:
	case <-t.C():
	case <-w.done:
	}
}

func codeOf(err error) protocol.Code {
	if err == nil {
		return protocol.ReturnedNil
	}
	var failed failure
	switch {
	case errors.As(err, &failed):
		return protocol.ReturnedFailed
	case errors.Is(err, Yield):
		return protocol.ReturnedYield
	default:
		return protocol.ReturnedError
	}
}

// takeBack takes in that a handler has come back.
func (w *Worker) takeBack(now protocol.Instant, job *Job, back *returned) {
	s := &w.slots[job.slot]
	s.running, s.err = false, back.err
	s.cancel(nil)
	w.measure(job, back.gap)
	w.executed(now, job, back)
	if back.code == protocol.ReturnedNil {
		w.learn(job.kind, now.Sub(s.started))
	}
	w.stepAt(now, protocol.Returned(job.slot, back.code, back.clean))
}

// measure keeps the longest gap of each kind, and warns of one that a drain has no time for.
func (w *Worker) measure(job *Job, gap protocol.Duration) {
	if gap <= protocol.Duration(w.gaps[job.kind].Load()) {
		return
	}
	w.gaps[job.kind].Store(int64(gap))
	if allowed := w.allowedGap(job.kind); gap > allowed {
		w.log.Warn("a handler looks for cancellation more seldom than its drain has time for; call Checkpoint more often, or declare the gap",
			"kind", job.Kind, "gap", gap, "allowed", allowed)
	}
}

// allowedGap is how long a handler of a kind may take to notice a cancel: what was declared,
// or else what the grace leaves beside undo and reserve.
func (w *Worker) allowedGap(k protocol.Kind) protocol.Duration {
	kind := &w.cfg.Kinds[k]
	switch {
	case kind.Gap > 0:
		return kind.Gap
	case w.cfg.Grace == 0:
		return protocol.Forever
	default:
		return w.cfg.Grace - w.cfg.Reserve - kind.Undo
	}
}

// learn counts a finished execution.
func (w *Worker) learn(kind protocol.Kind, took protocol.Duration) {
	b := max(bits.Len64(uint64(took/protocol.Millisecond))-1, 0)
	w.learned[int(kind)*protocol.BucketsPerKind+min(b, protocol.BucketsPerKind-1)]++
}

// teach gives an adaptive policy what was learned about execution times, before a stop.
func (w *Worker) teach(ev protocol.Event) {
	if ev.Kind != protocol.StopAsked || w.cfg.Policy.Estimates == protocol.NoEstimates && w.cfg.Policy.LateClaim != protocol.RunLateClaimIfShort {
		return
	}
	for i, n := range w.learned {
		if n > 0 {
			w.step(protocol.Estimate(protocol.Kind(i/protocol.BucketsPerKind), i%protocol.BucketsPerKind, n))
		}
	}
}

// startUndo runs the undo hooks of a scope in their own goroutine.
func (w *Worker) startUndo(e protocol.Effect) {
	job := w.slots[e.Slot].job
	w.slots[e.Slot].undoing = true
	job.Scope.privateOnly.Store(e.Private)
	ctx, cancel := w.workUntil(e.Until)
	go func() {
		defer cancel()
		code, err := job.Scope.undo(ctx)
		if err != nil {
			w.log.Error("partial work could not be undone", "kind", job.Kind, "job", job.Key, "error", err)
		}
		w.post(protocol.Undid(int(e.Slot), code))
	}()
}

// workUntil returns a context for hooks that ends at an instant of the worker's clock.
func (w *Worker) workUntil(at protocol.Instant) (context.Context, context.CancelFunc) {
	if at == protocol.Never {
		return context.WithCancel(w.work)
	}
	return context.WithTimeout(w.work, time.Duration(max(at.Sub(w.clock.Now()), 0)))
}

// The worker is the stage of its jobs.

func (w *Worker) now() protocol.Instant { return w.clock.Now() }

func (w *Worker) timer(at protocol.Instant) Timer { return w.clock.NewTimer(at) }

func (w *Worker) saveAsked(job *Job) { w.send(message{job: job}) }

func (w *Worker) reached(*Job, Point) {}

func (w *Worker) track(path string) (func() error, error) {
	if w.opt.Track == nil {
		return untracked, nil
	}
	untrack, err := w.opt.Track(path)
	if err != nil {
		return untracked, fmt.Errorf("worker: track %s: %w", path, err)
	}
	return untrack, nil
}

func untracked() error { return nil }
