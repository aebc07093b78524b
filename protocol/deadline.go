package protocol

import "math"

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
	m.armed(func(d due) {
		if d.kind == trustEnds && d.at <= now {
			d.at = math.MinInt64
		}
		if d.at < best.at || d.at == best.at && d.at != Never && (d.kind < best.kind || d.kind == best.kind && d.index < best.index) {
			best = d
		}
	})
	return best
}

// soonest returns the instant of the earliest armed deadline. It is next without the
// question which one that is: nothing is due after nearly every step, and then only the
// instant matters. A test holds the two to each other.
func (m *Machine) soonest() Instant {
	at := Never
	switch m.phase {
	case PhaseBooting:
		return m.againAt
	case PhaseGone:
		return Never
	case PhaseServing, PhaseQuiet:
		at = m.wedgedAt()
	case PhaseDraining, PhaseCancelling:
		at = min(m.budget.undoBy, m.againAt, m.budget.settleBy)
	case PhaseSettling:
		at = m.budget.settleBy
	}
	at = min(at, m.renewAt, m.settleAt)
	if m.counts() {
		at = min(at, m.counted().soonest)
	} else {
		for i := range m.slots {
			at = min(at, m.slotDue(&m.slots[i]))
		}
	}
	asks := m.asksNow() && m.free() > 0
	for q := range m.requests {
		if r := &m.requests[q]; r.state != RequestNone || asks {
			at = min(at, r.due)
		}
	}
	return at
}

// armed visits every deadline that the machine's state asks for; those at Never are not
// armed after all.
func (m *Machine) armed(visit func(due)) {
	switch m.phase {
	case PhaseBooting:
		visit(due{m.againAt, registerAgain, NoSlot})
		return
	case PhaseGone:
		return
	case PhaseServing, PhaseQuiet:
		visit(due{m.wedgedAt(), wedged, NoSlot})
	case PhaseDraining, PhaseCancelling:
		visit(due{m.budget.undoBy, undoEnds, NoSlot})
		visit(due{m.againAt, judgeRound, NoSlot})
	}
	visit(due{m.budget.settleBy, settleEnds, NoSlot})
	visit(due{m.renewAt, renewRound, NoSlot})
	visit(due{m.settleAt, settleRound, NoSlot})
	for i := range m.slots {
		m.armedForSlot(int32(i), visit)
	}
	for q := range m.requests {
		if r := &m.requests[q]; r.state != RequestNone || m.asksNow() && m.free() > 0 {
			visit(due{r.due, requestDue, int32(q)})
		}
	}
}

func (m *Machine) armedForSlot(i int32, visit func(due)) {
	switch s := &m.slots[i]; s.state {
	case SlotRunning:
		visit(due{s.trust, trustEnds, i})
		kind := &m.cfg.Kinds[s.kind]
		if m.distrusts(s) {
			visit(due{s.trust.Add(-kind.Gap), distrust, i})
		}
		if kind.Timeout > 0 {
			visit(due{s.mark.Add(kind.Timeout), kindTimeout, i})
		}
		if m.phase.Stopping() {
			visit(due{m.cancelAt(s.kind), cancelKind, i})
		}
	case SlotCancelled:
		visit(due{s.trust, trustEnds, i})
	case SlotUndoing:
		if !s.has(lost) {
			visit(due{s.trust, trustEnds, i})
		}
		visit(due{min(s.mark, m.budget.undoBy), undoLimit, i})
	case SlotSettling:
		if s.undoTrusts() {
			visit(due{s.trust, trustEnds, i})
		}
	}
}

// fire carries out what was due at d.
func (m *Machine) fire(now Instant, d due, fx *Effects) {
	m.forget()
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
		m.giveUp(m.budget.exitBy, fx)
	case wedged:
		m.onWedged(now, fx)
	}
}

// wedgedAt returns when a worker that still serves must drain itself because no slot will
// ever be free again: every slot holds a handler that was told to stop, and the last of
// them has been silent for a lease since.
func (m *Machine) wedgedAt() Instant {
	if len(m.slots) == 0 || m.cfg.Policy.OnStop == IgnoreOnStop || m.census.known && m.census.free > 0 {
		return Never
	}
	last := Instant(0)
	for i := range m.slots {
		s := &m.slots[i]
		if s.state != SlotCancelled && s.state != SlotZombie {
			return Never
		}
		last = max(last, s.mark)
	}
	return last.Add(m.cfg.Lease)
}

func (m *Machine) onWedged(now Instant, fx *Effects) {
	fx.put(Effect{Kind: Note, Note: EverySlotWedged, Slot: NoSlot})
	m.onStop(now, StopFrom(FromSelf, Never), fx)
}
