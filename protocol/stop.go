package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// signalWindow is how long repeats of SIGTERM count as one: supervisors, shells and
// process groups deliver the same signal more than once.
const signalWindow = Second

// onStop begins a drain, or moves or escalates the one that runs (rule 13).
func (m *Machine) onStop(now Instant, ev Event, fx *Effects) {
	switch {
	case m.phase == PhaseGone || m.cfg.Policy.OnStop == IgnoreOnStop:
	case m.phase == PhaseBooting:
		// Nothing is held yet, so nothing has to come to rest; the hooks still have a limit.
		m.rebase(now, m.firstKillAt(now, ev.At))
		m.leave(m.budget.exitBy, fx)
	case m.phase.Stopping():
		m.onStopAgain(now, ev, fx)
	default:
		m.countSignal(now, ev)
		m.beginDrain(now, ev, fx)
	}
}

// beginDrain is the first stop. Nothing is claimed from here on because asking is done in
// Serving alone (rule 1); running handlers go on and their leases with them (rule 4).
func (m *Machine) beginDrain(now Instant, ev Event, fx *Effects) {
	if m.cfg.Policy.OnStop == DieOnStop {
		m.dropAll()
		m.leave(now, fx)
		return
	}
	m.stopAt = now
	m.phase = PhaseDraining
	m.rebase(now, m.firstKillAt(now, ev.At))
	m.openLedger()
	if !m.deviates(deviation.GoingUnsaid) {
		for q := range m.requests {
			fx.put(Effect{Kind: Going, Slot: NoSlot, Queue: uint8(q)})
		}
	}
	m.stopRequests(now, fx)
	for i := range m.slots {
		m.soften(i, fx)
	}
	if m.cfg.Policy.OnStop == CancelOnStop || m.deviates(deviation.CancelsAtStop) {
		m.cancelAll(now, ErrDraining, fx)
	} else if m.cfg.Policy.Estimates == Adaptive {
		m.judgeAll(now, fx)
	}
}

// firstKillAt is where the deadline of a drain comes from (rule 5).
func (m *Machine) firstKillAt(now, told Instant) Instant {
	if m.deviates(deviation.DeadlineConstant) {
		return now.Add(Minute)
	}
	switch m.cfg.Policy.Deadline {
	case NoDeadline:
		return Never
	case DeadlineFromConstant:
		return now.Add(m.cfg.Policy.Constant)
	default:
		if told == Never {
			return now.Add(m.cfg.Grace)
		}
		return told
	}
}

// countSignal keeps count of OS signals per number and reports which this one is: 1 for
// the first, 0 for a repeat that counts with the one before it. Workers that die of the
// second signal die of one that follows at once as well.
func (m *Machine) countSignal(now Instant, ev Event) uint8 {
	if ev.Source != FromSignal {
		return 0
	}
	if ev.Signal == SIGINT {
		increment(&m.interrupts)
		return m.interrupts
	}
	if m.termGroups > 0 && now < m.termAt.Add(signalWindow) && !m.deviates(deviation.SecondSignalKills) {
		return 0
	}
	increment(&m.termGroups)
	m.termAt = now
	return m.termGroups
}

// onStopAgain handles every stop after the first. Only the repeat of an OS signal
// escalates; any other stop, and the first signal after a notice, can only bring SIGKILL
// nearer: a preStop hook that used part of the grace has used it.
func (m *Machine) onStopAgain(now Instant, ev Event, fx *Effects) {
	nth := m.countSignal(now, ev)
	switch {
	case ev.Source != FromSignal || nth == 1:
		told := ev.At
		if told == Never && ev.Source == FromSignal {
			told = now.Add(m.cfg.Grace)
		}
		m.bringNearer(now, told)
		if nth == 1 && m.deviates(deviation.PreStopForgotten) {
			m.rebase(now, told)
		}
		if nth == 1 && m.deviates(deviation.NoticeCountsAsSignal) {
			m.hurry(now, fx)
		}
	case ev.Signal == SIGINT && nth >= 3:
		m.exitAtOnce(now, fx)
	case nth == 2 && ev.Signal != SIGINT && m.deviates(deviation.SecondSignalKills):
		m.exitAtOnce(now, fx)
	case nth == 2 && m.phase == PhaseDraining && m.deviates(deviation.EscalationWaits):
	case nth == 2:
		m.hurry(now, fx)
	}
}

// bringNearer moves SIGKILL's instant if told is earlier and the policy heeds it.
func (m *Machine) bringNearer(now, told Instant) {
	if told < m.budget.killAt && m.cfg.Policy.Deadline == DeadlineFromBudget {
		m.rebase(now, told)
	}
}

// hurry cancels every handler now. An undo that runs keeps its slice. In Settling there is
// nobody left to hurry.
func (m *Machine) hurry(now Instant, fx *Effects) {
	if m.phase == PhaseSettling {
		return
	}
	var gap, undo Duration
	for i := range m.slots {
		switch s := &m.slots[i]; s.state {
		case SlotRunning, SlotCancelled, SlotUndoing:
			gap = max(gap, m.cfg.Kinds[s.kind].Gap)
			undo = max(undo, m.cfg.Kinds[s.kind].Undo)
		}
	}
	m.rebase(now, min(m.budget.killAt, now.Add(m.cfg.Reserve).Add(gap).Add(undo)))
	m.cancelAll(now, ErrHurry, fx)
}

func (m *Machine) exitAtOnce(now Instant, fx *Effects) {
	m.worsen(ExitAtOnce)
	m.giveUp(now, fx)
}

// onKillAtMoved heeds an earlier SIGKILL at once, and a later one until the drain has
// cancelled somebody: from then on the budget is spoken for (rule 5).
func (m *Machine) onKillAtMoved(now, at Instant) {
	switch {
	case !m.phase.Stopping() || m.cfg.Policy.Deadline != DeadlineFromBudget:
	case at < m.budget.killAt || m.phase == PhaseDraining:
		m.rebase(now, at)
	}
}

func (m *Machine) onQuiet(now Instant, fx *Effects) {
	switch m.phase {
	case PhaseBooting:
		m.wantsQuiet = true
	case PhaseServing:
		m.phase = PhaseQuiet
		m.stopRequests(now, fx)
	}
}

// onResume ends Quiet and means nothing elsewhere: systemd sends SIGCONT after SIGTERM.
func (m *Machine) onResume() {
	switch m.phase {
	case PhaseBooting:
		m.wantsQuiet = false
	case PhaseQuiet:
		m.phase = PhaseServing
	}
}

// onCancelAt stops waiting for a handler. It is cancelled here and its claim is released
// only once it has returned: the other order lets a second worker start the job while this
// one is still writing.
func (m *Machine) onCancelAt(now Instant, i int, fx *Effects) {
	if m.cfg.Policy.AtDeadline == DieAtDeadline {
		m.giveUp(now, fx)
		return
	}
	m.drainCancel(now, i, ErrDraining, fx)
}

// cancelAll cancels every running handler on behalf of the drain.
func (m *Machine) cancelAll(now Instant, cause Cause, fx *Effects) {
	m.phase = PhaseCancelling
	for i := range m.slots {
		m.drainCancel(now, i, cause, fx)
	}
}

func (m *Machine) drainCancel(now Instant, i int, cause Cause, fx *Effects) {
	if m.slots[i].state != SlotRunning {
		return
	}
	if m.phase == PhaseDraining {
		m.phase = PhaseCancelling
	}
	fx.note(CancelledByDrain, i, &m.slots[i])
	m.cancel(now, i, cause, fx)
}

// onUndoEnds begins the last phase: only the broker's answers are awaited now.
func (m *Machine) onUndoEnds(fx *Effects) {
	m.phase = PhaseSettling
	for i := range m.slots {
		if s := &m.slots[i]; s.handlerRuns() && !s.has(leaking) {
			s.set(leaking)
			fx.note(HandlerLeaking, i, s)
		}
	}
}

// giveUp leaves what is still open to the lease and goes.
func (m *Machine) giveUp(until Instant, fx *Effects) {
	m.closeLedger(fx)
	m.dropAll()
	m.leave(until, fx)
}

// dropAll marks what a worker leaves behind: whatever runs on makes it leaked, the rest
// unsettled. Nothing is sent.
func (m *Machine) dropAll() {
	for i := range m.slots {
		switch s := &m.slots[i]; s.state {
		case SlotFree:
			continue
		case SlotRunning, SlotCancelled, SlotZombie:
			m.worsen(ExitLeaked)
		default:
			m.worsen(ExitUnsettled)
		}
		m.slots[i].state = SlotLeaked
	}
	for q := range m.requests {
		if r := &m.requests[q]; r.state != RequestNone {
			m.worsen(ExitUnsettled)
			r.state = RequestNone
		}
	}
}
