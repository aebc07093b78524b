package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// deadline tags what is due. Of two that are due at the same instant the smaller fires
// first, then the one with the smaller slot or queue.
type deadline uint8

const (
	trustEnds deadline = iota // fires before everything else that is due, see next
	registerAgain
	requestDue // Asked: timeout; Withdrawing: repeat; None: ask again
	renewRound
	distrust
	kindTimeout
	undoLimit
	settleRound
	judgeRound
	cancelKind
	undoEnds
	settleEnds
	wedged
)

type due struct {
	at    Instant
	kind  deadline
	index int32 // slot or queue
}

// next returns the earliest armed deadline; its instant is Never when none is. Among those
// that are due by now, losses of trust come first: after a pause a worker must learn that
// its leases are gone before it acts on anything else.
func (m *Machine) next(now Instant) due {
	best := due{at: Never}
	consider := func(at Instant, kind deadline, index int) {
		d := due{at, kind, int32(index)}
		if kind == trustEnds && at <= now {
			d.at = min(at, 0)
		}
		if d.at < best.at || d.at == best.at && at != Never && (kind < best.kind || kind == best.kind && d.index < best.index) {
			best = d
		}
	}
	switch m.phase {
	case PhaseBooting:
		return due{m.retryAt, registerAgain, NoSlot}
	case PhaseGone:
		return best
	case PhaseServing, PhaseQuiet:
		consider(m.wedgedAt(), wedged, NoSlot)
	case PhaseDraining, PhaseCancelling:
		consider(m.budget.undoBy, undoEnds, NoSlot)
		consider(m.judgeAt, judgeRound, NoSlot)
	}
	consider(m.budget.settleBy, settleEnds, NoSlot)
	consider(m.renewAt, renewRound, NoSlot)
	consider(m.settleAt, settleRound, NoSlot)
	for i := range m.slots {
		s := &m.slots[i]
		switch s.state {
		case SlotRunning:
			consider(s.trust, trustEnds, i)
			kind := &m.cfg.Kinds[s.kind]
			if s.missed >= 2 && !m.deviates(deviation.NeverDistrusts) {
				consider(s.trust.Add(-kind.Gap), distrust, i)
			}
			if kind.Timeout > 0 {
				consider(s.started.Add(kind.Timeout), kindTimeout, i)
			}
			if m.phase.Stopping() {
				consider(m.cancelAt(s.kind), cancelKind, i)
			}
		case SlotCancelled:
			consider(s.trust, trustEnds, i)
		case SlotUndoing:
			if !s.has(lost) {
				consider(s.trust, trustEnds, i)
			}
			consider(min(s.mark, m.budget.undoBy), undoLimit, i)
		}
	}
	for q := range m.requests {
		if r := &m.requests[q]; r.state != RequestNone || m.asks() && m.free() > 0 {
			consider(r.due, requestDue, q)
		}
	}
	return best
}

// fire carries out what was due at d.
func (m *Machine) fire(now Instant, d due, fx *Effects) {
	i := int(d.index)
	switch d.kind {
	case trustEnds:
		m.loseTrust(now, i, fx)
	case registerAgain:
		m.register(now, fx)
	case requestDue:
		m.onRequestDue(now, i, fx)
	case renewRound:
		m.renewAll(now, fx)
	case distrust:
		m.cancel(now, i, ErrLeaseLost, fx)
	case kindTimeout:
		m.cancel(now, i, ErrTimeout, fx)
	case undoLimit:
		m.endUndo(now, i, fx)
	case settleRound:
		m.settleAgain(now, fx)
	case judgeRound:
		m.judgeAll(now, fx)
	case cancelKind:
		m.onCancelAt(now, i, fx)
	case undoEnds:
		m.onUndoEnds(fx)
	case settleEnds:
		m.onSettleEnds(fx)
	case wedged:
		m.onWedged(now, fx)
	}
}

// wedgedAt returns when a worker that still serves must drain itself because no slot will
// ever be free again: every slot holds a handler that was told to stop, and the last of
// them has been silent for a lease since.
func (m *Machine) wedgedAt() Instant {
	last := Instant(0)
	for i := range m.slots {
		s := &m.slots[i]
		if s.state != SlotCancelled && s.state != SlotZombie {
			return Never
		}
		last = max(last, s.mark)
	}
	if len(m.slots) == 0 {
		return Never
	}
	return last.Add(m.cfg.Lease)
}

func (m *Machine) onWedged(now Instant, fx *Effects) {
	fx.put(Effect{Kind: Note, Note: EverySlotWedged, Slot: NoSlot})
	m.onStop(now, StopFrom(FromSelf, Never), fx)
}
