package protocol

// census is what a step asks of all slots, kept up to date while the worker takes jobs: most
// steps then change one slot, and need not look at the others. It says nothing that the slots
// do not say, so no copy and no snapshot has to keep it, and what changes more than one slot
// just forgets it.
type census struct {
	soonest  Instant // the earliest deadline of a slot
	holders  int32   // slots that have it; while there is one, no other can be earlier
	free     int32   // slots that could take a job when a request that is sent now is answered
	alive    int32   // slots that take part in a round of renewal
	settling int32   // slots whose settling is not answered
	below    int32   // no slot before this one is free
	known    bool
}

// counts reports whether the phase is one in which slots are counted. In a drain their deadlines
// depend on more than themselves, and steps are few.
func (m *Machine) counts() bool { return m.phase == PhaseServing || m.phase == PhaseQuiet }

// counted returns the census, and makes it if it is not known. Only in a phase that counts.
func (m *Machine) counted() *census {
	c := &m.census
	if !c.known {
		*c = census{soonest: Never, below: int32(len(m.slots)), known: true}
		m.present.clear()
		for i := range m.slots {
			m.enter(i)
		}
	}
	return c
}

// forget is called before more than one slot may change, or what their deadlines depend on.
func (m *Machine) forget() { m.census.known = false }

// enter counts slot i as it is now, and checks it.
func (m *Machine) enter(i int) {
	c := &m.census
	if !c.known {
		return
	}
	s := &m.slots[i]
	m.slotMustHold(i, slotsAllowed(m.phase))
	switch at := m.slotDue(s); {
	case at < c.soonest:
		c.soonest, c.holders = at, 1
	case at == c.soonest:
		c.holders++
	}
	if m.comesFree(s) {
		c.free++
	}
	if m.keepsAlive(s) {
		c.alive++
	}
	switch s.state {
	case SlotFree:
		c.below = min(c.below, int32(i))
	case SlotSettling:
		c.settling++
	}
	if s.state != SlotFree {
		m.present.add(s.job)
	}
}

// exit takes slot i out of the census before it changes. When it was the last with the
// earliest deadline, all are looked at once more: jobs of one answer share theirs, so that is
// once an answer.
func (m *Machine) exit(i int) {
	c := &m.census
	if !c.known {
		return
	}
	s := &m.slots[i]
	if at := m.slotDue(s); at == c.soonest {
		if c.holders--; c.holders == 0 && at != Never {
			c.known = false
			return
		}
	}
	if m.comesFree(s) {
		c.free--
	}
	if m.keepsAlive(s) {
		c.alive--
	}
	if s.state == SlotSettling {
		c.settling--
	}
	if s.state != SlotFree {
		m.present.remove(s.job)
	}
}

// changes returns the slot that an event may change, and whether it is the only one.
func (m *Machine) changes(ev Event) (slot int, only bool) {
	switch ev.Kind {
	case Tick, ClaimAnswered, WithdrawAnswered, Granted: // Granted chooses one, and counts it itself
		return NoSlot, true
	case RenewAnswered, SaveAnswered, SettleAnswered, HandlerReturned, SaveAsked, UndoReturned, CancelAsked:
		if ev.Slot < 0 || int(ev.Slot) >= len(m.slots) {
			return NoSlot, true
		}
		return int(ev.Slot), true
	default:
		return NoSlot, false
	}
}

// slotDue returns the earliest deadline of a slot.
func (m *Machine) slotDue(s *Slot) Instant {
	switch s.state {
	case SlotRunning:
		at, kind := s.trust, &m.cfg.Kinds[s.kind]
		if m.distrusts(s) {
			at = min(at, s.trust.Add(-kind.Gap))
		}
		if kind.Timeout > 0 {
			at = min(at, s.mark.Add(kind.Timeout))
		}
		if m.phase.Stopping() {
			at = min(at, m.cancelAt(s.kind))
		}
		return at
	case SlotCancelled:
		return s.trust
	case SlotUndoing:
		at := min(s.mark, m.budget.undoBy)
		if !s.has(lost) {
			at = min(at, s.trust)
		}
		return at
	case SlotSettling:
		if s.undoTrusts() {
			return s.trust
		}
		return Never
	default:
		return Never
	}
}
