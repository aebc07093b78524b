package protocol

import "fmt"

// mustHold checks what is true between any two steps, whatever happened. A failure is a
// defect of this package.
func (m *Machine) mustHold() {
	b := &m.budget
	if b.undoBy > b.settleBy || b.settleBy > b.exitBy || b.exitBy > b.killAt {
		m.broken("the budget's instants are out of order", NoSlot)
	}
	if m.phase == PhaseGone && m.wake != Never {
		m.broken("a deadline is armed in Gone", NoSlot)
	}
	for i := range m.slots {
		s := &m.slots[i]
		switch s.state {
		case SlotFree:
			if s.token != 0 || s.flags != 0 {
				m.broken("a free slot holds a claim", i)
			}
		case SlotRunning:
			if m.phase == PhaseBooting || m.phase >= PhaseSettling {
				m.broken("a handler runs that was not told to stop", i)
			}
		case SlotLeaked:
			if m.phase != PhaseGone {
				m.broken("a slot leaked before the end", i)
			}
		default:
			if m.phase == PhaseBooting {
				m.broken("a slot is taken before the worker was registered", i)
			}
		}
	}
}

//go:noinline
func (m *Machine) broken(what string, slot int) {
	panic(fmt.Sprintf("protocol: invariant broken: %s (phase %v, slot %d, incarnation %d)", what, m.phase, slot, m.incarnation))
}
