package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// settle ends the claim in slot i with a verb, which never changes once it was sent (rule 6).
func (m *Machine) settle(now Instant, i int, verb Verb, reason Reason, fx *Effects) {
	s := &m.slots[i]
	s.state, s.verb, s.reason = SlotSettling, verb, reason
	s.clear(renewing)
	s.set(fresh)
	m.sendSettle(i, verb, reason, fx)
	if m.settleAt == Never {
		m.settleTries = 0
		m.settleAt = now.Add(m.backoff(m.cfg.Retry, 0))
	}
}

func (m *Machine) sendSettle(i int, verb Verb, reason Reason, fx *Effects) {
	if m.deviates(deviation.SettleUnderWork) && m.phase.Stopping() {
		return
	}
	s := &m.slots[i]
	e := about(Settle, i, s)
	e.Verb, e.Reason, e.Cursor = verb, reason, s.cursor
	switch {
	case verb == Refuse:
		e.Span = m.cfg.RefuseDelay
	case reason == BecauseBusy:
		e.Span = m.cfg.BusyDelay
	}
	fx.put(e)
}

// settleAgain repeats what has not been answered (rule 11). What was first sent since the
// last round is spared one round, so nothing is repeated before the backoff is over.
func (m *Machine) settleAgain(now Instant, fx *Effects) {
	m.settleAt = Never
	increment(&m.settleTries)
	for i := range m.slots {
		s := &m.slots[i]
		if s.state != SlotSettling || m.deviates(deviation.SettlesOnce) {
			continue
		}
		if s.has(fresh) {
			s.clear(fresh)
		} else {
			m.sendSettle(i, s.verb, s.reason, fx)
		}
		m.settleAt = now.Add(m.backoff(m.cfg.Retry, m.settleTries))
	}
}

func (m *Machine) onSettleAnswered(_ Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	if i == NoSlot && ev.Code != Unknown && ev.Code != Repeat {
		m.surplus = max(m.surplus, 1) - 1 // a repeat was answered before
		return
	}
	s := m.slotOf(ev)
	if s == nil || s.state != SlotSettling {
		return
	}
	switch ev.Code {
	case OK, Repeat:
		m.settled(i, fx)
	case Stale, Closed:
		m.settledElsewhere(i, fx)
	default:
		s.clear(fresh) // repeated in the next round
	}
}

func (m *Machine) settled(i int, fx *Effects) {
	m.line(i, m.outcome(&m.slots[i]), fx)
	m.freeSettled(i)
}

// outcome returns what became of a claim whose settling the broker has taken.
func (m *Machine) outcome(s *Slot) Outcome {
	switch {
	case s.verb == Release && m.deviates(deviation.LedgerFlatters):
		return WasFinished
	case s.verb == Release && (s.has(late) || s.reason == BecauseYield):
		return WasHandedBack
	default:
		return [verbs]Outcome{Ack: WasFinished, Release: WasReleased, Fail: WasFailed, Refuse: WasRefused, Quarantine: WasQuarantined}[s.verb]
	}
}

func (m *Machine) settledElsewhere(i int, fx *Effects) {
	fx.note(SettleSuperseded, i, &m.slots[i])
	m.line(i, WasSuperseded, fx)
	m.slots[i].verb = NoVerb
	m.freeSettled(i)
}

// freeSettled frees a slot, unless its undo hooks still run: it is not used again under them,
// and remembers how its claim ended, for a stop that comes meanwhile. When it was the last that
// waited for an answer there is no next round.
func (m *Machine) freeSettled(i int) {
	s := &m.slots[i]
	if s.has(undoRuns) {
		s.state = SlotZombie
		s.set(lost | superseded | answered)
		s.clear(renewing)
	} else {
		*s = Slot{}
	}
	if !m.anySettling() {
		m.settleAt = Never
	}
}

func (m *Machine) anySettling() bool {
	if m.census.known {
		return m.census.settling > 0
	}
	for i := range m.slots {
		if m.slots[i].state == SlotSettling {
			return true
		}
	}
	return false
}
