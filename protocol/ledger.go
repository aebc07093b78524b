package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// openLedger marks whatever is open at the stop; each mark becomes exactly one line
// (rule 18), so that a deploy can be judged although killed workers write nothing.
func (m *Machine) openLedger() {
	for i := range m.slots {
		if m.slots[i].state != SlotFree {
			m.slots[i].set(inLedger)
		}
	}
	for q := range m.requests {
		m.requests[q].inLedger = m.requests[q].state != RequestNone
	}
}

// line writes what became of a slot that was open at the stop.
func (m *Machine) line(i int, outcome Outcome, fx *Effects) {
	s := &m.slots[i]
	if !s.has(inLedger) {
		return
	}
	s.clear(inLedger)
	e := about(Line, i, s)
	e.Outcome, e.Span = outcome, fx.now.Sub(m.stopAt)
	fx.put(e)
}

// closeLedger writes the lines of everything that is still open when the worker leaves.
func (m *Machine) closeLedger(fx *Effects) {
	if m.deviates(deviation.LedgerOmitsLeft) {
		return
	}
	for i := range m.slots {
		s := &m.slots[i]
		switch s.state {
		case SlotFree:
		case SlotRunning, SlotCancelled, SlotZombie:
			fx.note(HandlerLeaked, i, s)
			m.line(i, WasLeaked, fx)
		default:
			fx.note(LeftUnsettled, i, s)
			m.line(i, WasUnsettled, fx)
		}
	}
	for q := range m.requests {
		if m.requests[q].state != RequestNone {
			fx.put(Effect{Kind: Note, Note: LeftUnsettled, Slot: NoSlot, Queue: uint8(q), Seq: m.requests[q].seq})
		}
		if r := &m.requests[q]; r.inLedger {
			r.inLedger = false
			fx.put(Effect{Kind: Line, Outcome: WasUnsettled, Slot: NoSlot, Queue: uint8(q), Seq: r.seq, Span: fx.now.Sub(m.stopAt)})
		}
	}
}
