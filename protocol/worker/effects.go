package worker

import (
	"log/slog"

	"github.com/quiesce/quiesce/protocol"
)

// carryOut does what the machine asked for. Nothing here waits.
func (w *Worker) carryOut(e *protocol.Effect) {
	switch e.Kind {
	case protocol.Register:
		w.register()
	case protocol.Going:
		incarnation, queue := w.machine.Incarnation(), w.opt.Queues[e.Queue]
		w.goodbyes.Go(func() { w.callGoing(incarnation, queue) })
	case protocol.Claim:
		w.startClaim(*e)
	case protocol.Withdraw:
		w.startWithdraw(*e)
	case protocol.Renew:
		r, job := w.renewal(e)
		w.renews.put(r, *e, job)
	case protocol.Save:
		if r, job := w.renewal(e); job != nil {
			go w.callSave(r, *e, []*Job{job})
		}
	case protocol.Settle:
		w.settle(e)
	case protocol.Start:
		w.start(e)
	case protocol.Soften:
		w.slots[e.Slot].job.soften()
	case protocol.Cancel:
		s := &w.slots[e.Slot]
		s.job.tell(e.At)
		s.cancel(causeError(e.Cause))
	case protocol.Undo:
		w.startUndo(*e)
	case protocol.PrivateOnly:
		w.slots[e.Slot].job.Scope.privateOnly.Store(true)
	case protocol.CommitSegment:
		job := w.slots[e.Slot].job
		job.hold()
		go w.commitSegment(job, e.Cursor)
	case protocol.RefuseSave:
		w.slots[e.Slot].job.forfeit()
	case protocol.Note:
		w.note(e)
	case protocol.Line:
		w.enter(e)
	case protocol.Exit:
		w.atRest(e)
	}
}

func (w *Worker) commitSegment(job *Job, cursor protocol.Cursor) {
	defer job.land()
	if err := job.stored(cursor); err != nil {
		w.log.Error("what was saved could not be committed; the job will be quarantined", "kind", job.Kind, "job", job.Key, "error", err)
	}
}

func (w *Worker) note(e *protocol.Effect) {
	switch e.Note {
	case protocol.LeaseLost:
		if job := w.slots[e.Slot].job; job != nil {
			job.forfeit()
		}
		w.log.Warn("lease lost", "kind", w.kindName(e.JobKind), "job", e.Job, "token", e.Token)
	case protocol.HandlerLeaked:
		if w.slots[e.Slot].undoing {
			w.log.Error("undo hooks still run and are left behind; they were given up before", "kind", w.kindName(e.JobKind), "job", e.Job, "note", e.Note.String())
			return
		}
		fallthrough
	case protocol.HandlerLeaking:
		w.log.Error("a handler ignores its cancellation; its claim is kept", "kind", w.kindName(e.JobKind), "job", e.Job, "note", e.Note.String())
	case protocol.EverySlotWedged:
		w.log.Error("no slot will ever be free again: every handler ignores its cancellation; the worker drains itself")
	default:
		if w.log.Enabled(w.work, slog.LevelDebug) {
			w.log.Debug("note", "note", e.Note.String(), "job", e.Job)
		}
	}
}

func (w *Worker) kindName(k protocol.Kind) string {
	if int(k) < len(w.mux.kinds) {
		return w.mux.kinds[k].name
	}
	return "unknown"
}

// renewal returns what a Renew or Save says, and the job whose cursor it carries, or nil. An
// effect whose cursor was overtaken carries none.
func (w *Worker) renewal(e *protocol.Effect) (Renewal, *Job) {
	r := Renewal{Job: e.Job, Token: e.Token}
	if e.Cursor == 0 {
		return r, nil
	}
	job := w.slots[e.Slot].job
	if r.Cursor = job.depart(e.Cursor); r.Cursor == nil {
		e.Cursor = 0
		return r, nil
	}
	return r, job
}

func (w *Worker) settlement(e *protocol.Effect) Settlement {
	s := Settlement{Job: e.Job, Token: e.Token, Verb: e.Verb, Reason: e.Reason, Delay: duration(e.Span)}
	if e.Slot < 0 {
		return s
	}
	if e.Cursor != 0 {
		s.Cursor = w.slots[e.Slot].job.cursorOf(e.Cursor)
	}
	if e.Verb == protocol.Fail {
		s.Cause = w.slots[e.Slot].err
	}
	return s
}
