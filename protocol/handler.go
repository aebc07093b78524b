package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// soften gives a running handler its first notice (rule 17): once, because a drain begins
// once and a late grant starts in it once.
func (m *Machine) soften(i int, fx *Effects) {
	if s := &m.slots[i]; s.state == SlotRunning && !m.deviates(deviation.NeverSoftens) {
		fx.put(about(Soften, i, s))
	}
}

// cancel gives a running handler its second notice, with the cause. Its claim stays until
// it has returned (rule 8), and so does its renewal (rule 9).
func (m *Machine) cancel(now Instant, i int, cause Cause, fx *Effects) {
	s := &m.slots[i]
	if cause == ErrTimeout {
		fx.note(CancelledByTimeout, i, s)
	}
	s.state, s.cause, s.mark = SlotCancelled, cause, now
	m.sendCancel(i, cause, fx)
	if m.deviates(deviation.ReleaseBeforeReturn) {
		verb, reason := m.judgeReturn(s, ReturnedError)
		m.sendSettle(i, verb, reason, fx)
	}
}

func (m *Machine) sendCancel(i int, cause Cause, fx *Effects) {
	e := about(Cancel, i, &m.slots[i])
	e.Cause = cause
	fx.put(e)
}

func (m *Machine) onCancelAsked(now Instant, ev Event, fx *Effects) {
	if s := m.slotOf(ev); s != nil && s.state == SlotRunning {
		m.cancel(now, int(ev.Slot), ErrCancelled, fx)
	}
}

// loseClaim is what a worker does when another may own the job: the handler is told, and
// whatever it still does is a zombie's work, stopped by the token. A lost claim is never
// restored.
func (m *Machine) loseClaim(now Instant, i int, fx *Effects) {
	s := &m.slots[i]
	fx.note(LeaseLost, i, s)
	if s.state == SlotRunning {
		m.sendCancel(i, ErrLeaseLost, fx)
		s.cause, s.mark = ErrLeaseLost, now
	}
	s.state = SlotZombie
	s.cursor = 0
	s.set(lost)
	s.clear(renewing)
}

// restrictUndo leaves the shared hooks of a running undo out: what they name may be the
// successor's by now (rule 7).
func (m *Machine) restrictUndo(i int, fx *Effects) {
	s := &m.slots[i]
	if s.has(lost) {
		return
	}
	fx.note(LeaseLost, i, s)
	s.set(lost)
	s.cursor = 0
	s.clear(renewing)
	if !m.deviates(deviation.SharedUndoAfterLoss) {
		fx.put(about(PrivateOnly, i, s))
	}
}

// releaseReason says why a job whose handler was cancelled with a cause goes back.
func (m *Machine) releaseReason(cause Cause) Reason {
	if m.deviates(deviation.InterruptionCancels) && cause == ErrDraining {
		return BecauseCancelled
	}
	switch cause {
	case ErrHurry:
		return BecauseHurry
	case ErrLeaseLost:
		return BecauseDistrust
	case ErrCancelled:
		return BecauseCancelled
	default:
		return BecauseDrain
	}
}

// onHandlerReturned reads a handler's return (rule 17). Success is always offered to the
// broker: its token is the judge of whose result counts.
func (m *Machine) onHandlerReturned(now Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	if i < 0 || i >= len(m.slots) || ev.Code < ReturnedNil || ev.Code > ReturnedPanic {
		m.impossible(ev, i)
	}
	s := &m.slots[i]
	if s.state == SlotLeaked {
		return
	}
	if !s.handlerRuns() {
		m.impossible(ev, i)
	}
	if s.state == SlotZombie {
		m.onZombieReturned(now, ev, fx)
		return
	}
	if ev.Code == ReturnedNil {
		switch {
		case s.state == SlotCancelled && m.deviates(deviation.LateAckUncounted):
		case s.state == SlotCancelled:
			fx.note(AckedAfterCancel, i, s)
		case m.phase.Stopping():
			fx.note(FinishedInGrace, i, s)
		}
		m.settle(now, i, Ack, NoReason, fx)
		return
	}
	verb, reason := m.judgeReturn(s, ev.Code)
	m.undoThen(now, i, verb, reason, ev.Clean, fx)
}

// judgeReturn says how a claim ends whose handler did not finish the job.
func (m *Machine) judgeReturn(s *Slot, code Code) (Verb, Reason) {
	cancelled := s.state != SlotRunning
	switch {
	case m.deviates(deviation.FailureExcused) && m.phase.Stopping():
		return Release, m.releaseReason(s.cause)
	case code == ReturnedFailed || code == ReturnedPanic || cancelled && s.cause == ErrTimeout:
		return Fail, NoReason
	case code == ReturnedYield && !cancelled:
		return Release, BecauseYield
	case code == ReturnedError && !cancelled:
		return Fail, NoReason
	case code == ReturnedError && m.deviates(deviation.InterruptionFails):
		return Fail, m.releaseReason(s.cause)
	default:
		return Release, m.releaseReason(s.cause)
	}
}

// onZombieReturned ends a zombie. Its result is offered when nothing is left to commit
// under a shared name; otherwise private hooks clean up first (rule 7).
func (m *Machine) onZombieReturned(now Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	s := &m.slots[i]
	switch {
	case ev.Clean && s.has(superseded):
		m.freeLost(i, fx)
	case ev.Clean && ev.Code == ReturnedNil:
		fx.note(AckedAfterCancel, i, s)
		m.settle(now, i, Ack, NoReason, fx)
	default:
		verb, reason := Release, BecauseDistrust
		if ev.Code != ReturnedNil {
			verb, reason = m.judgeReturn(s, ev.Code)
		}
		m.undoThen(now, i, verb, reason, ev.Clean, fx)
	}
}

// undoThen undoes the partial work in slot i and settles with verb afterwards (rule 7).
func (m *Machine) undoThen(now Instant, i int, verb Verb, reason Reason, clean bool, fx *Effects) {
	s := &m.slots[i]
	if clean || m.deviates(deviation.UndoSkipped) {
		m.settle(now, i, verb, reason, fx)
		return
	}
	s.state, s.verb, s.reason = SlotUndoing, verb, reason
	if !m.deviates(deviation.ResumesUndone) {
		s.cursor = 0 // what is undone now must not be resumed after
	}
	s.mark = m.undoUntil(now, s.kind)
	e := about(Undo, i, s)
	e.Until = s.mark
	e.Private = s.has(lost) && !m.deviates(deviation.SharedUndoAfterLoss)
	fx.put(e)
	if m.deviates(deviation.ReleaseBeforeUndo) && !s.has(lost) {
		s.set(undoRuns)
		m.settle(now, i, verb, reason, fx)
	}
}

// endUndo gives an undo up that has outlived its slice. Partial work may lie there, so the
// job is parked rather than handed to somebody who would trip over it; the slot stays
// taken while the hooks run on.
func (m *Machine) endUndo(now Instant, i int, fx *Effects) {
	s := &m.slots[i]
	s.set(undoRuns)
	if s.has(lost) {
		s.state = SlotZombie
		s.mark = now
		return
	}
	m.settle(now, i, Quarantine, NoReason, fx)
}

func (m *Machine) onUndoReturned(now Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	if i < 0 || i >= len(m.slots) || ev.Code < UndoDone || ev.Code > UndoFailed {
		m.impossible(ev, i)
	}
	s := &m.slots[i]
	switch s.state {
	case SlotLeaked:
	case SlotUndoing:
		m.afterUndo(now, i, ev, fx)
	case SlotSettling:
		if !s.has(undoRuns) {
			m.impossible(ev, i)
		}
		s.clear(undoRuns)
	case SlotZombie:
		if !s.has(undoRuns) {
			m.impossible(ev, i)
		}
		s.clear(undoRuns)
		m.freeLost(i, fx)
	default:
		m.impossible(ev, i)
	}
}

func (m *Machine) afterUndo(now Instant, i int, ev Event, fx *Effects) {
	s := &m.slots[i]
	switch {
	case ev.Code == UndoSkipped && !s.has(lost):
		m.impossible(ev, i)
	case ev.Code == UndoFailed && !s.has(lost):
		m.settle(now, i, Quarantine, NoReason, fx)
	case ev.Code != UndoDone || s.has(superseded):
		m.freeLost(i, fx) // nothing is sent: expiry, and OnExpiry, decide
	default:
		fx.note(Undone, i, s)
		m.settle(now, i, s.verb, s.reason, fx)
	}
}

// doubt takes down that a claim or a request was given up whose jobs the broker may hold for a
// while yet: its clock is not ours, and what was never answered may have arrived late.
func (m *Machine) doubt(now Instant) {
	if m.phase.Stopping() {
		m.worsen(ExitUnsettled)
		return
	}
	m.doubtTo = m.heldUntil(now)
}

// heldUntil returns how long the broker may hold a claim that it was last told of now.
func (m *Machine) heldUntil(now Instant) Instant {
	drift := m.cfg.Lease - m.cfg.Lease.less(m.cfg.DriftPPM)
	return now.Add(m.cfg.Reply).Add(m.cfg.Lease).Add(drift)
}

// freeLost frees a slot whose claim had ended before its handler or its undo did.
func (m *Machine) freeLost(i int, fx *Effects) {
	s := &m.slots[i]
	outcome := WasLost
	switch {
	case !s.has(superseded):
		m.doubt(fx.now)
	case s.has(answered) && s.verb == NoVerb:
		outcome = WasSuperseded
	case s.has(answered):
		outcome = m.outcome(s)
	}
	m.line(i, outcome, fx)
	*s = Slot{}
}
