package protocol

import "fmt"

// Step fires every deadline that is due, then applies one event, and appends to fx what the
// driver must now do. It reads no clock, starts no goroutine and allocates nothing: equal
// machines given equal events agree. now must not go back. The parts of one broker answer
// are to be stepped with nothing in between and the same now.
//
// An event with More promises that another Step follows, if only of a Tick: claim requests
// wait for it, so that slots that come free together are asked for together.
//
// Step panics when the event is impossible by the state table, which only a defect of the
// driver can bring about, or when an invariant of the machine breaks. A driver that
// recovers must cancel its handlers, stop renewing, settle nothing and exit.
func (m *Machine) Step(now Instant, ev Event, fx *Effects) {
	fx.now = now
	if m.phase == PhaseBooting && m.retries == 0 {
		m.register(now, fx)
	}
	if now >= m.wake {
		m.settleDown(now, fx)
	}
	m.more = ev.More
	m.applyCounted(now, ev, fx)
	m.settleDown(now, fx)
	m.mustHold()
}

// applyCounted applies an event, and counts the slot that it changed.
func (m *Machine) applyCounted(now Instant, ev Event, fx *Effects) {
	i, only := m.changes(ev)
	switch {
	case !only || !m.counts():
		m.forget()
		m.apply(now, ev, fx)
	case i == NoSlot:
		m.apply(now, ev, fx)
	default:
		m.exit(i)
		m.apply(now, ev, fx)
		m.enter(i)
	}
}

func (m *Machine) apply(now Instant, ev Event, fx *Effects) {
	switch ev.Kind {
	case Tick:
	case Registered:
		m.onRegistered(now, ev, fx)
	case Granted:
		m.onGranted(now, ev, fx)
	case ClaimAnswered:
		m.onClaimAnswered(now, ev, fx)
	case WithdrawAnswered:
		m.onWithdrawAnswered(now, ev, fx)
	case RenewAnswered:
		m.onRenewAnswered(now, ev, fx)
	case SaveAnswered:
		m.onSaveAnswered(now, ev, fx)
	case SettleAnswered:
		m.onSettleAnswered(now, ev, fx)
	case HandlerReturned:
		m.onHandlerReturned(now, ev, fx)
	case SaveAsked:
		m.onSaveAsked(ev, fx)
	case UndoReturned:
		m.onUndoReturned(now, ev, fx)
	case StopAsked:
		m.onStop(now, ev, fx)
	case KillAtMoved:
		m.onKillAtMoved(now, ev.At)
	case QuietAsked:
		m.onQuiet(now, fx)
	case ResumeAsked:
		m.onResume()
	case CancelAsked:
		m.onCancelAsked(now, ev, fx)
	case Estimated:
		m.onEstimated(now, ev)
	case Reconnected:
		m.onReconnected(now)
	default:
		m.impossible(ev, NoSlot)
	}
}

// settleDown fires what is due and advances the phase until neither changes anything, and
// remembers when it will have to look again.
func (m *Machine) settleDown(now Instant, fx *Effects) {
	for {
		m.advance(now, fx)
		if at := m.soonest(); at > now {
			m.wake = at
			return
		}
		m.fire(now, m.next(now), fx)
	}
}

// advance makes the moves that follow from the state alone: new claim requests while
// serving, and the later phases of a drain.
func (m *Machine) advance(now Instant, fx *Effects) {
	if m.asksNow() {
		m.ask(now, fx)
	}
	if m.phase == PhaseDraining || m.phase == PhaseCancelling {
		if m.restIn() {
			m.phase = PhaseSettling
		}
	}
	if m.phase == PhaseSettling && m.allClosed() {
		m.leave(m.budget.exitBy, fx)
	}
}

// restIn reports whether no handler and no undo runs and no outstanding grant would start one.
func (m *Machine) restIn() bool {
	for i := range m.slots {
		switch m.slots[i].state {
		case SlotRunning, SlotCancelled, SlotUndoing, SlotZombie:
			return false
		}
	}
	for q := range m.requests {
		if m.requests[q].state == RequestAsked && m.phase == PhaseDraining && m.lateClaim() != ReturnLateClaim {
			return false
		}
	}
	return true
}

// allClosed reports whether the broker has answered everything.
func (m *Machine) allClosed() bool {
	for i := range m.slots {
		if m.slots[i].state != SlotFree {
			return false
		}
	}
	for q := range m.requests {
		if m.requests[q].state != RequestNone {
			return false
		}
	}
	return true
}

// leave ends the machine's life: nothing is armed any more. The exit hooks may run until
// the given instant.
func (m *Machine) leave(until Instant, fx *Effects) {
	if fx.now < m.doubtTo || m.surplus > 0 && fx.now < m.surplusTo {
		m.worsen(ExitUnsettled)
	}
	m.phase = PhaseGone
	m.renewAt, m.settleAt, m.againAt = Never, Never, Never
	fx.put(Effect{Kind: Exit, Slot: NoSlot, Status: m.status, Until: until})
}

func (m *Machine) register(now Instant, fx *Effects) {
	m.againAt = now.Add(m.cfg.Reply).Add(m.backoff(m.cfg.Retry, m.retries))
	increment(&m.retries)
	fx.put(Effect{Kind: Register, Slot: NoSlot})
}

func (m *Machine) onRegistered(now Instant, ev Event, fx *Effects) {
	if m.phase != PhaseBooting {
		return
	}
	switch ev.Code {
	case OK:
		m.incarnation = ev.Seq
		m.againAt = Never
		m.phase = PhaseServing
		if m.wantsQuiet {
			m.phase = PhaseQuiet
		}
	case Refused:
		m.worsen(ExitRefused)
		m.leave(Never, fx)
	default:
		m.againAt = now.Add(m.backoff(m.cfg.Retry, m.retries))
	}
}

// slotOf returns the slot an answer belongs to, or nil when the claim has ended: such an
// answer is late and is ignored whole.
func (m *Machine) slotOf(ev Event) *Slot {
	if ev.Slot < 0 || int(ev.Slot) >= len(m.slots) {
		return nil
	}
	s := &m.slots[ev.Slot]
	if s.state == SlotFree || s.token != ev.Token || s.job != ev.Job {
		return nil
	}
	return s
}

// impossible reports an event that the state table excludes: a defect of the driver.
//
//go:noinline
func (m *Machine) impossible(ev Event, slot int) {
	state := "no slot"
	if slot >= 0 && slot < len(m.slots) {
		state = m.slots[slot].state.String()
	}
	panic(fmt.Sprintf("protocol: %v(%v) is impossible in phase %v, slot %d %s; see the state table", ev.Kind, ev.Code, m.phase, slot, state))
}
