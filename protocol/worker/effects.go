package worker

import (
	"context"
	"errors"

	"github.com/quiesce/quiesce/protocol"
)

// carryOut does what the machine asked for. Nothing here waits.
func (w *Worker) carryOut(e protocol.Effect) {
	switch e.Kind {
	case protocol.Register:
		go w.callRegister()
	case protocol.Going:
		go w.callGoing(w.machine.Incarnation(), e)
	case protocol.Claim:
		w.startClaim(e)
	case protocol.Withdraw:
		w.startWithdraw(e)
	case protocol.Renew:
		w.renews.put(Renewal{Job: e.Job, Token: e.Token, Cursor: w.cursor(e)}, e)
	case protocol.Save:
		go w.callSave(Renewal{Job: e.Job, Token: e.Token, Cursor: w.cursor(e)}, e)
	case protocol.Settle:
		w.settles.put(w.settlement(e), e)
	case protocol.Start:
		w.start(e)
	case protocol.Soften:
		close(w.slots[e.Slot].job.draining)
	case protocol.Cancel:
		w.slots[e.Slot].cancel(causeError(e.Cause))
	case protocol.Undo:
		w.startUndo(e)
	case protocol.PrivateOnly:
		w.slots[e.Slot].job.Scope.privateOnly.Store(true)
	case protocol.CommitSegment:
		go w.commitSegment(w.slots[e.Slot].job, e.Cursor)
	case protocol.RefuseSave:
		w.slots[e.Slot].job.forfeit()
	case protocol.Note:
		w.note(e)
	case protocol.Line:
		w.line(e)
	case protocol.Exit:
		w.atRest(e)
	}
}

func (w *Worker) commitSegment(job *Job, cursor protocol.Cursor) {
	if err := job.stored(cursor); err != nil {
		w.log.Error("what was saved could not be committed", "job", job.Key, "error", err)
	}
}

func (w *Worker) note(e protocol.Effect) {
	switch e.Note {
	case protocol.LeaseLost:
		if e.Slot >= 0 && w.slots[e.Slot].job != nil {
			w.slots[e.Slot].job.forfeit()
		}
		w.log.Warn("lease lost", "job", e.Job, "token", e.Token)
	case protocol.HandlerLeaking, protocol.HandlerLeaked:
		w.log.Error("a handler ignores its cancellation; its claim is kept", "job", e.Job, "kind", w.kindName(e.JobKind), "note", e.Note.String())
	default:
		w.log.Debug("note", "note", e.Note.String(), "job", e.Job)
	}
}

func (w *Worker) kindName(k protocol.Kind) string {
	if int(k) < len(w.mux.kinds) {
		return w.mux.kinds[k].name
	}
	return "unknown"
}

func (w *Worker) cursor(e protocol.Effect) []byte {
	if e.Cursor == 0 || e.Slot < 0 || w.slots[e.Slot].job == nil {
		return nil
	}
	return w.slots[e.Slot].job.cursorOf(e.Cursor)
}

func (w *Worker) settlement(e protocol.Effect) Settlement {
	s := Settlement{Job: e.Job, Token: e.Token, Verb: e.Verb, Reason: e.Reason, Delay: duration(e.Span), Cursor: w.cursor(e)}
	if e.Verb == protocol.Fail && e.Slot >= 0 {
		s.Cause = w.slots[e.Slot].err
	}
	return s
}

// start runs the handler of a claim in its own goroutine.
func (w *Worker) start(e protocol.Effect) {
	s := &w.slots[e.Slot]
	g := w.grantOf(e)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(w.calls))
	s.cancel, s.started, s.running, s.err = cancel, w.clock.Now(), true, nil
	s.job = &Job{
		Key: g.Job, Token: g.Token, Kind: g.Kind, Version: g.Version, Payload: g.Payload, Cursor: g.Cursor, Prior: g.Prior,
		Scope: newScope(g.Job, g.Token), w: w, slot: int(e.Slot), draining: make(chan struct{}), lastCheck: s.started,
	}
	go w.runHandler(ctx, s.job, w.mux.wrapped(int(e.JobKind)), e)
}

// grantOf finds the grant that the machine starts, among those of the answer it came with.
func (w *Worker) grantOf(e protocol.Effect) Grant {
	for _, g := range w.grants {
		if g.Job == e.Job && g.Token == e.Token {
			return g
		}
	}
	panic("worker: a job is started that was not granted")
}

// runHandler runs a handler and reports how it came back, exactly once, also when it panics
// or ends its goroutine.
func (w *Worker) runHandler(ctx context.Context, job *Job, h Handler, e protocol.Effect) {
	var err error
	code := protocol.ReturnedPanic // unless it comes back in order
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p}
		} else if code == protocol.ReturnedPanic && err == nil {
			err = errGoexit
		}
		if code == protocol.ReturnedNil {
			if err = w.commit(job); err != nil {
				code = protocol.ReturnedError
			}
		}
		w.returned(job, code, err, e)
	}()
	err = h(ctx, job)
	job.check()
	code = codeOf(err)
}

// commit makes final what a handler made that is done, while its claim is held.
func (w *Worker) commit(job *Job) error {
	if !job.Held() {
		return nil
	}
	return job.Scope.commit(job.Scope.size())
}

func codeOf(err error) protocol.Code {
	var failed failure
	switch {
	case err == nil:
		return protocol.ReturnedNil
	case errors.As(err, &failed):
		return protocol.ReturnedFailed
	case errors.Is(err, Yield):
		return protocol.ReturnedYield
	default:
		return protocol.ReturnedError
	}
}

func (w *Worker) returned(job *Job, code protocol.Code, err error, e protocol.Effect) {
	if gap := job.gap(); e.JobKind < protocol.Kind(len(w.cfg.Kinds)) && gap > w.allowedGap(e.JobKind) {
		w.log.Warn("a handler looks for cancellation too seldom to be drained in time",
			"kind", job.Kind, "gap", gap, "allowed", w.allowedGap(e.JobKind))
	}
	job.finish()
	w.send(message{events: []protocol.Event{protocol.Returned(int(e.Slot), code, job.Scope.size() == 0)}, job: job, err: err})
}

// allowedGap is the longest gap that fits the grace beside undo and reserve.
func (w *Worker) allowedGap(k protocol.Kind) protocol.Duration {
	if w.cfg.Grace == 0 {
		return protocol.Forever
	}
	return w.cfg.Grace - w.cfg.Reserve - w.cfg.Kinds[k].Undo
}

// startUndo runs the undo hooks of a scope in their own goroutine.
func (w *Worker) startUndo(e protocol.Effect) {
	job := w.slots[e.Slot].job
	job.Scope.privateOnly.Store(e.Private)
	left := duration(max(e.Until.Sub(w.clock.Now()), 0))
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.calls))
	if e.Until != protocol.Never {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(w.calls), left)
	}
	go func() {
		defer cancel()
		code, err := job.Scope.undo(ctx)
		if err != nil {
			w.log.Error("partial work could not be undone", "job", job.Key, "error", err)
		}
		w.post(protocol.Undid(int(e.Slot), code))
	}()
}

// gap returns the longest time between two checks for cancellation.
func (j *Job) gap() protocol.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.longest
}
