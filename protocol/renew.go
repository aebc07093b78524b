package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// trustFrom returns the end of the trust in a lease that was surely not granted before
// since: on a clock that may run too fast or too slow, less a margin (rule 10).
func (m *Machine) trustFrom(now, since Instant) Instant {
	if m.deviates(deviation.LeaseFromReply) {
		since = now
	}
	if m.deviates(deviation.NeverDistrusts) {
		return Never
	}
	return since.Add(m.cfg.Trusted())
}

// distrusts reports whether a handler is to be told its gap before trust ends: two renewals in a
// row were missed, so there may be no third (rule 10).
func (m *Machine) distrusts(s *Slot) bool {
	return (s.missed >= 2 || m.deviates(deviation.DistrustsEarly)) && !m.deviates(deviation.NeverDistrusts)
}

// armRenewal sees to it that a claim is renewed one interval after the instant from which
// its trust counts. After a lost claim request that lies well before the grant, so the
// first renewal is early; it waits for the other jobs of the same answer, though, which
// come at the same instant. A round left over from claims that have ended counts for nothing.
func (m *Machine) armRenewal(now, since Instant) {
	if !m.anyAlive() {
		m.renewAt = Never
	}
	m.renewAt = min(m.renewAt, max(now+1, since.Add(m.cfg.Heartbeat)))
}

// keepsAlive reports whether slot s takes part in a round of renewal (rules 4 and 9).
func (m *Machine) keepsAlive(s *Slot) bool {
	if m.deviates(deviation.HeartbeatStopsAtStop) && m.phase.Stopping() {
		return false
	}
	if m.deviates(deviation.HeartbeatUnderWork) && s.state != SlotRunning {
		return false
	}
	return s.renewable()
}

func (m *Machine) anyAlive() bool {
	if m.census.known {
		return m.census.alive > 0
	}
	for i := range m.slots {
		if m.keepsAlive(&m.slots[i]) {
			return true
		}
	}
	return false
}

// onReconnected has every claim verified soon (rule 10): what answers now may be another broker
// than the one that granted it, and may have forgotten it, and the next round may be far away.
// The round is brought forward to a retry from now and no nearer. So a connection that comes and
// goes is no storm, what is out may be answered first, and a fleet that was cut off together does
// not come back at one instant.
func (m *Machine) onReconnected(now Instant) {
	if m.anyAlive() && !m.deviates(deviation.NeverDistrusts) {
		m.renewAt = min(m.renewAt, now.Add(m.backoff(m.cfg.Retry, 0)))
	}
}

// renewAll sends one round of renewals. A round that is silent does not hold up the next. A
// round may come early, for the sake of a new claim; only an interval of silence is a miss.
func (m *Machine) renewAll(now Instant, fx *Effects) {
	m.renewAt = Never
	for i := range m.slots {
		s := &m.slots[i]
		if !m.keepsAlive(s) {
			continue
		}
		m.renewAt = now.Add(m.cfg.Heartbeat)
		if s.has(renewing) && now >= s.asked.Add(m.cfg.Heartbeat) {
			m.missRenewal(i, fx)
		}
		if !s.has(renewing) {
			s.asked = now
		}
		s.set(renewing)
		e := about(Renew, i, s)
		if !m.deviates(deviation.SavesForgotten) {
			e.Cursor = s.cursor
		}
		fx.put(e)
	}
}

func (m *Machine) missRenewal(i int, fx *Effects) {
	s := &m.slots[i]
	increment(&s.missed)
	s.clear(renewing)
	fx.note(RenewalMissed, i, s)
}

func (m *Machine) onRenewAnswered(now Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	s := m.slotOf(ev)
	if s == nil || s.state == SlotLeaked {
		return
	}
	switch ev.Code {
	case OK, CancelOrder:
		m.renewed(now, i, ev, fx)
		if ev.Code == CancelOrder && s.state == SlotRunning {
			m.cancel(now, i, ErrCancelled, fx)
		}
	case Expired:
		m.claimEnded(now, i, false, fx)
	case Stale, Closed:
		m.claimEnded(now, i, true, fx)
	default:
		if s.renewable() {
			m.missRenewal(i, fx)
		}
	}
}

// renewed counts trust anew from the instant the answered renewal was sent. A claim that
// was given up stays given up.
func (m *Machine) renewed(now Instant, i int, ev Event, fx *Effects) {
	s := &m.slots[i]
	if !s.renewable() {
		return
	}
	s.trust = max(s.trust, m.trustFrom(now, min(ev.Sent, now)))
	s.missed = 0
	s.clear(renewing)
	m.cursorStored(now, i, ev.Cursor, fx)
}

// claimEnded takes in that the broker does not extend a claim any more: it expired, or
// (taken) it was settled or somebody else's token is the newest.
func (m *Machine) claimEnded(now Instant, i int, taken bool, fx *Effects) {
	s := &m.slots[i]
	switch s.state {
	case SlotRunning, SlotCancelled:
		m.loseClaim(now, i, fx)
	case SlotUndoing:
		m.restrictUndo(i, fx)
	case SlotSettling:
		// A renewal that crossed our own settling is no loss. An expired claim may still be
		// settled until the next one.
		switch {
		case taken:
			m.settledElsewhere(i, fx)
		case s.undoTrusts():
			m.restrictUndo(i, fx)
		}
		return
	}
	if taken {
		s.set(superseded)
	}
}

// loseTrust is the end of the trust in a lease.
func (m *Machine) loseTrust(now Instant, i int, fx *Effects) {
	switch m.slots[i].state {
	case SlotUndoing, SlotSettling:
		m.restrictUndo(i, fx)
	default:
		m.loseClaim(now, i, fx)
	}
}

// onSaveAsked takes a handler's progress in (rule 16). It rides on the next renewal unless
// it is flushed.
func (m *Machine) onSaveAsked(ev Event, fx *Effects) {
	i := int(ev.Slot)
	if i < 0 || i >= len(m.slots) || !m.slots[i].handlerRuns() {
		if i >= 0 && i < len(m.slots) && m.slots[i].state == SlotLeaked {
			return
		}
		m.impossible(ev, i)
	}
	s := &m.slots[i]
	if s.state == SlotZombie {
		fx.put(about(RefuseSave, i, s))
		return
	}
	s.cursor = ev.Cursor
	if ev.Flush && !m.deviates(deviation.FlushWaits) {
		e := about(Save, i, s)
		e.Cursor = s.cursor
		fx.put(e)
	}
	if m.deviates(deviation.CommitsBeforeSaved) {
		m.cursorStored(fx.now, i, ev.Cursor, fx)
		s.cursor = ev.Cursor
	}
}

func (m *Machine) onSaveAnswered(now Instant, ev Event, fx *Effects) {
	i := int(ev.Slot)
	s := m.slotOf(ev)
	if s == nil || s.state == SlotLeaked {
		return
	}
	switch ev.Code {
	case OK, CancelOrder:
		if s.renewable() {
			m.cursorStored(now, i, ev.Cursor, fx)
		}
	case Expired:
		m.claimEnded(now, i, false, fx)
	case Stale, Closed:
		m.claimEnded(now, i, true, fx)
	}
}

// cursorStored closes the scope's segment: undo reaches back to here and no further.
func (m *Machine) cursorStored(now Instant, i int, cursor Cursor, fx *Effects) {
	s := &m.slots[i]
	if cursor == 0 {
		return
	}
	if s.cursor == cursor {
		s.cursor = 0
	}
	s.progress = now
	if s.state == SlotRunning || s.state == SlotCancelled {
		e := about(CommitSegment, i, s)
		e.Cursor = cursor
		fx.put(e)
	}
}
