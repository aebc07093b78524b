package protocol

import "fmt"

// mustHold checks what is true between any two steps, whatever happened. A failure is a
// defect of this package.
func (m *Machine) mustHold() {
	if m.counts() && m.census.known {
		return // each slot was checked when it was counted, and the budget is made at the stop
	}
	b := &m.budget
	if b.undoBy > b.settleBy || b.settleBy > b.exitBy || b.exitBy > b.killAt {
		m.broken("the budget's instants are out of order", NoSlot)
	}
	if m.phase == PhaseGone && m.wake != Never {
		m.broken("a deadline is armed in Gone", NoSlot)
	}
	allowed := slotsAllowed(m.phase)
	for i := range m.slots {
		m.slotMustHold(i, allowed)
	}
}

// slotMustHold checks what is true of one slot between any two steps.
func (m *Machine) slotMustHold(i int, allowed uint) {
	s := &m.slots[i]
	if allowed&(1<<s.state) == 0 {
		m.broken(misplaced(s.state), i)
	}
	if s.state == SlotFree && (s.token != 0 || s.flags != 0) {
		m.broken("a free slot holds a claim", i)
	}
}

// slotsAllowed returns the slot states that a phase allows, one bit each: no slot is taken
// before the worker was registered, every handler was told to stop or has returned before
// the last answers are awaited, and slots leak at the end and no earlier.
func slotsAllowed(p Phase) uint {
	const taken = 1<<SlotCancelled | 1<<SlotUndoing | 1<<SlotSettling | 1<<SlotZombie
	switch p {
	case PhaseBooting:
		return 1 << SlotFree
	case PhaseSettling:
		return 1<<SlotFree | taken
	case PhaseGone:
		return 1<<SlotFree | taken | 1<<SlotLeaked
	default:
		return 1<<SlotFree | taken | 1<<SlotRunning
	}
}

// misplaced says what is wrong about a slot state that its phase excludes.
func misplaced(s SlotState) string {
	switch {
	case s == SlotRunning:
		return "a handler runs that was not told to stop"
	case s == SlotLeaked:
		return "a slot leaked before the end"
	default:
		return "a slot is taken before the worker was registered"
	}
}

//go:noinline
func (m *Machine) broken(what string, slot int) {
	panic(fmt.Sprintf("protocol: invariant broken: %s (phase %v, slot %d, incarnation %d)", what, m.phase, slot, m.incarnation))
}
