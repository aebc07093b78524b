package protocol

// budget holds the instants a drain is made of, in order: undoBy ≤ settleBy ≤ exitBy ≤ killAt.
// Outside a drain, and in one without a deadline, all are Never.
type budget struct {
	undoBy   Instant // undo that is not done is given up, and its job quarantined
	settleBy Instant // the broker's answers are waited for no longer
	exitBy   Instant // the exit hooks are waited for no longer
	killAt   Instant // the supervisor's SIGKILL
}

// plan divides what is left until killAt (rule 5): half the reserve for settling, a quarter
// each for the exit hooks and for the exit itself. When less than the reserve is left,
// settling is served first: a job handed back is worth more than a flushed log line.
func plan(now, killAt Instant, reserve Duration) budget {
	if killAt == Never {
		return budget{Never, Never, Never, Never}
	}
	killAt = max(killAt, now)
	left := killAt.Sub(now)
	settling := min(reserve/2, left)
	flush := min(reserve/4, left-settling)
	exit := min(reserve-reserve/2-reserve/4, left-settling-flush)
	b := budget{killAt: killAt}
	b.exitBy = killAt.Add(-exit)
	b.settleBy = b.exitBy.Add(-flush)
	b.undoBy = b.settleBy.Add(-settling)
	return b
}

// reserve returns how much of what is left is kept for settling, flush and exit. When what
// runs could not be undone beside all of it, it gives way, down to half of what is left: a
// job that is not undone is parked until somebody looks at it, which is worse than a late
// answer or a log line that is not flushed.
func (m *Machine) reserve(now, killAt Instant) Duration {
	var need Duration
	for i := range m.slots {
		switch s := &m.slots[i]; s.state {
		case SlotRunning, SlotCancelled, SlotUndoing:
			k := &m.cfg.Kinds[s.kind]
			need = max(need, Duration(Instant(k.Gap).Add(k.Undo)))
		}
	}
	left := max(killAt.Sub(now), 0)
	return min(m.cfg.Reserve, max(left-need, left/2))
}

// cancelAt returns when a handler of a kind must be cancelled so that it can notice, undo
// and be settled in time.
func (m *Machine) cancelAt(kind Kind) Instant {
	k := &m.cfg.Kinds[kind]
	return m.budget.undoBy.Add(-k.Undo).Add(-k.Gap)
}

// undoUntil returns the limit of an undo that begins now.
func (m *Machine) undoUntil(now Instant, kind Kind) Instant {
	return min(now.Add(m.cfg.Kinds[kind].Undo), m.budget.undoBy)
}

// rebase moves SIGKILL's instant and divides the budget anew. A SIGKILL that comes nearer
// moves no other instant away: the slice that runs already would else be begun afresh, at
// the expense of the exit.
func (m *Machine) rebase(now, killAt Instant) {
	b, old := plan(now, killAt, m.reserve(now, killAt)), m.budget
	if killAt <= old.killAt {
		b.undoBy = min(b.undoBy, old.undoBy)
		b.settleBy = min(b.settleBy, old.settleBy)
		b.exitBy = min(b.exitBy, old.exitBy)
		b.killAt = min(b.killAt, old.killAt)
	}
	m.budget = b
}
