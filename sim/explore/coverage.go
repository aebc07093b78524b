package explore

import "github.com/quiesce/quiesce/protocol"

// Cell is a cell of the state tables in the comment of package protocol that was reached: the
// event of the row came to a machine in the state of the column. An event that is ignored
// counts when it came.
type Cell struct{ Table, Row, Column string }

// coverage collects cells. It looks at machines from outside, before and after they are
// stepped; of several deadlines that are due at once it sees the one that fires first, and
// the event only when none is.
type coverage struct {
	known  map[Cell]struct{}
	cells  []Cell
	grants int // so far of the answer that a worker is being given
}

func newCoverage() *coverage { return &coverage{known: map[Cell]struct{}{}} }

func (c *coverage) add(table, row, column string) {
	cell := Cell{table, row, column}
	if _, ok := c.known[cell]; row != "" && column != "" && !ok {
		c.known[cell] = struct{}{}
		c.cells = append(c.cells, cell)
	}
}

// before is called with a worker that is about to be given an event.
func (c *coverage) before(e *engine, w *worker, now protocol.Instant, ev protocol.Event) {
	grants := c.grants
	c.grants = 0
	if ev.Kind == protocol.Granted {
		grants++
		c.grants = grants
	}
	m := &w.machine
	phase := m.Phase().String()
	m.Armed(func(what string, _ protocol.Instant) { c.add("DEADLINE", what, phase) })
	if what, index := m.Due(now); what != "" {
		c.fires(e, w, what, index)
		return
	}
	c.add("PHASE", e.phaseRow(w, now, ev), phase)
	c.add("REQUEST", e.requestRow(w, ev, grants), requestColumn(w))
	if ev.Kind == protocol.ClaimAnswered && ev.Code == protocol.Unknown && m.Requests()[0].State() != protocol.RequestAsked && m.Phase() == protocol.PhaseServing {
		c.add("REQUEST", "answered unknown, second attempt", requestColumn(w)) // whichever it was about
	}
	c.slotEvent(e, w, now, ev)
}

// after is called when the worker has been stepped. Only then does it show what became of a
// grant.
func (c *coverage) after(w *worker, was *protocol.Machine, ev protocol.Event) {
	if ev.Kind != protocol.Granted {
		return
	}
	row := ""
	for k := range w.machine.Slots() {
		s := &w.machine.Slots()[k]
		if s.Job() != ev.Job || s.Token() != ev.Token || was.Slots()[k].State() != protocol.SlotFree {
			continue
		}
		row = "granted, not understood or not run"
		if s.State() == protocol.SlotRunning {
			row = "granted, run"
		}
	}
	for k := range was.Slots() {
		c.slot(row, &was.Slots()[k])
	}
}

func requestColumn(w *worker) string { return w.machine.Requests()[0].State().String() }

// slot adds a cell of one of the two tables of slots.
func (c *coverage) slot(row string, s *protocol.Slot) {
	table, column := slotColumn(s)
	c.add(table, row, column)
}

func slotColumn(s *protocol.Slot) (table, column string) {
	state := s.State().String()
	switch {
	case s.State() == protocol.SlotLeaked:
		return "LOST", state
	case s.UndoRuns():
		if s.State() == protocol.SlotZombie {
			return "LOST", state + ", undo runs"
		}
		return "SLOT", state + ", undo runs"
	case s.State() == protocol.SlotZombie || s.State() == protocol.SlotUndoing && s.Lost():
		if s.Taken() {
			return "LOST", state + ", taken"
		}
		if s.State() == protocol.SlotUndoing {
			return "LOST", state + ", lost"
		}
		return "LOST", state
	default:
		return "SLOT", state
	}
}

// fires notes a deadline that fires, in every table that has a row for it.
func (c *coverage) fires(e *engine, w *worker, what string, index int) {
	m := &w.machine
	slots := m.Slots()
	row, about := what, slots
	switch what {
	case "trust ends", "distrust", "kind's timeout", "undo limit":
		about = slots[index : index+1]
	case "cancelAt of a kind":
		row, about = "cancelAt of its kind", slots[index:index+1]
		if e.world.Policy.AtDeadline == protocol.DieAtDeadline {
			c.add("PHASE", what+", AtDeadline die", m.Phase().String())
			return
		}
		c.add("PHASE", what, m.Phase().String())
	case "undoBy", "settleBy":
		c.add("PHASE", what, m.Phase().String())
		if what == "settleBy" {
			c.add("REQUEST", what, requestColumn(w))
		}
	case "Register again":
		c.add("PHASE", "no answer to Register", m.Phase().String())
		return
	case "wedged":
		c.add("PHASE", "every slot wedged", m.Phase().String())
		return
	case "request due":
		c.add("REQUEST", e.requestDueRow(w), requestColumn(w))
		return
	case "weighing round":
		return
	}
	for k := range about {
		if row == "undoBy" && rests(&about[k]) {
			continue // it is about what still runs, and other slots may be in any state
		}
		c.slot(row, &about[k])
	}
}

// rests reports whether neither a handler nor undo hooks run in a slot.
func rests(s *protocol.Slot) bool {
	return s.State() == protocol.SlotFree || s.State() == protocol.SlotSettling && !s.UndoRuns()
}

func (e *engine) requestDueRow(w *worker) string {
	m := &w.machine
	serving := m.Phase() == protocol.PhaseServing
	switch r := &m.Requests()[0]; {
	case r.State() == protocol.RequestNone:
		return "poll backoff over"
	case r.State() == protocol.RequestWithdrawing:
		return "no answer to Withdraw"
	case serving && !r.Repeated():
		return "silence, first attempt"
	case serving:
		return "silence, second attempt"
	case e.world.NoWithdraw:
		return "silence, not Serving, cannot withdraw"
	default:
		return "silence, not Serving"
	}
}

var onStopWords = [...]string{
	protocol.FinishOnStop: "finish", protocol.CancelOnStop: "cancel", protocol.DieOnStop: "die", protocol.IgnoreOnStop: "ignore",
}

func (e *engine) phaseRow(w *worker, now protocol.Instant, ev protocol.Event) string {
	m := &w.machine
	switch ev.Kind {
	case protocol.Tick:
		return "tick"
	case protocol.Registered:
		switch {
		case ev.Code == protocol.Unknown:
			return "registered unknown"
		case ev.Code == protocol.Refused:
			return "registered refused"
		case w.quiet && m.Phase() == protocol.PhaseBooting:
			return "registered ok, quiet asked for"
		}
		return "registered ok"
	case protocol.QuietAsked:
		return "quiet"
	case protocol.ResumeAsked:
		return "resume"
	case protocol.Reconnected:
		return "reconnected"
	case protocol.Estimated:
		return "estimate"
	case protocol.SettleAnswered:
		return "settle answered, the last"
	case protocol.KillAtMoved:
		if ev.At < m.KillAt() {
			return "SIGKILL moved nearer"
		}
		return "SIGKILL moved away"
	case protocol.HandlerReturned:
		if e.last(w, ev) && m.Slots()[ev.Slot].State() != protocol.SlotLeaked {
			return "handler returned, the last"
		}
	case protocol.StopAsked:
		if w.stops() {
			return againRow(m, now, ev)
		}
		return "first stop, OnStop " + onStopWords[e.world.Policy.OnStop]
	}
	return ""
}

// stops reports whether a worker was told to stop before, by somebody or by itself, and noticed.
func (w *worker) stops() bool {
	p := w.machine.Phase()
	return p.Stopping() || p == protocol.PhaseGone && (w.stopped || w.owed == owesUnknown)
}

// againRow is the row of a stop that is not the first.
func againRow(m *protocol.Machine, now protocol.Instant, ev protocol.Event) string {
	terms, ints, within := m.Signals(now)
	switch {
	case ev.Source != protocol.FromSignal && ev.At < m.KillAt():
		return "stop of another source, SIGKILL nearer"
	case ev.Source != protocol.FromSignal:
		return "stop of another source"
	case ev.Signal == protocol.SIGINT && ints == 2:
		return "SIGINT, third"
	case ev.Signal == protocol.SIGINT && ints == 1:
		return "SIGINT, second"
	case ev.Signal == protocol.SIGINT || terms == 0:
		return "first signal after a notice"
	case within:
		return "SIGTERM within 1s of its group"
	case terms == 1:
		return "SIGTERM, second group"
	default:
		return "SIGTERM, third group"
	}
}

// last reports whether nothing runs any more after a handler's return.
func (e *engine) last(w *worker, ev protocol.Event) bool {
	if !ev.Clean && ev.Code != protocol.ReturnedNil {
		return false
	}
	for k := range e.slots {
		if k != int(ev.Slot) && w.hands[k].state != idle {
			return false
		}
	}
	return true
}

// requestRow is the row of the table of requests that an event belongs to. grants is how many
// jobs came with the answer that it is part of, so far.
func (e *engine) requestRow(w *worker, ev protocol.Event, grants int) string {
	m := &w.machine
	r := &m.Requests()[0]
	serving, first := m.Phase() == protocol.PhaseServing, !m.Phase().Stopping() && m.Phase() != protocol.PhaseBooting
	late := ", LateClaim run or runIfShort"
	if e.world.Policy.LateClaim == protocol.ReturnLateClaim {
		late = ", LateClaim return"
	}
	switch ev.Kind {
	case protocol.StopAsked:
		switch {
		case !first:
			return ""
		case e.world.NoWithdraw:
			return "stop, broker cannot withdraw"
		}
		return "stop" + late
	case protocol.QuietAsked:
		if serving {
			return "quiet" + late
		}
	case protocol.ResumeAsked:
		if m.Phase() == protocol.PhaseQuiet {
			return "resume"
		}
	case protocol.Granted:
		switch {
		case ev.Seq != r.Seq():
			return "granted, under another id"
		case e.room(m, grants-1) <= 0:
			return "granted, beyond want"
		}
		return "granted, within want"
	case protocol.ClaimAnswered:
		return e.answeredRow(w, ev, grants)
	case protocol.WithdrawAnswered:
		switch {
		case ev.Code == protocol.Unknown:
			return "withdraw answered unknown"
		case serving:
			return "withdraw answered ok"
		}
		return "withdraw answered ok, not Serving"
	}
	return ""
}

// room is how many slots an answer leaves free that has brought some jobs. Jobs that are taken
// are in their slots already; those of an answer that is ignored would be.
func (e *engine) room(m *protocol.Machine, grants int) int {
	n := 0
	if m.Requests()[0].State() != protocol.RequestAsked {
		n = -grants
	}
	for k := range m.Slots() {
		if m.Slots()[k].State() == protocol.SlotFree {
			n++
		}
	}
	return n
}

func (e *engine) answeredRow(w *worker, ev protocol.Event, grants int) string {
	m := &w.machine
	r := &m.Requests()[0]
	serving := m.Phase() == protocol.PhaseServing
	switch {
	case ev.Seq != r.Seq():
		return ""
	case ev.Code == protocol.Unknown && !serving:
		return "answered unknown, not Serving"
	case ev.Code == protocol.Unknown && r.Repeated():
		return "answered unknown, second attempt"
	case ev.Code == protocol.Unknown:
		return "answered unknown, first attempt"
	case !serving:
		return "answered ok or refused, not Serving"
	case ev.Code == protocol.Refused:
		return "answered refused"
	case grants > 0 && e.room(m, grants) > 0:
		return "answered ok, granted, slots left"
	case grants > 0:
		return "answered ok, granted, no slot left"
	case ev.Span >= ticks(e.world.Park):
		return "answered ok, nothing, parked in full"
	default:
		return "answered ok, nothing, early"
	}
}

// slotEvent notes an event in the tables of slots.
func (c *coverage) slotEvent(e *engine, w *worker, now protocol.Instant, ev protocol.Event) {
	m := &w.machine
	every := func(row string) {
		for k := range m.Slots() {
			c.slot(row, &m.Slots()[k])
		}
	}
	switch ev.Kind {
	case protocol.StopAsked:
		switch {
		case !w.stops() && e.world.Policy.OnStop == protocol.DieOnStop:
			every("first stop, OnStop die")
		case !w.stops() && m.Phase() != protocol.PhaseBooting && e.world.Policy.OnStop != protocol.IgnoreOnStop:
			every("first stop")
		case w.stops():
			if row := againRow(m, now, ev); row == "SIGTERM, second group" || row == "SIGINT, second" {
				every("hurry")
			}
		}
	case protocol.HandlerReturned:
		s := &m.Slots()[ev.Slot]
		c.slot(returnedRow(ev), s)
		if s.State() != protocol.SlotLeaked {
			c.add("RETURN", endingRow(ev), endingColumn(s))
		}
	case protocol.UndoReturned:
		c.slot(map[protocol.Code]string{protocol.UndoDone: "undo done", protocol.UndoSkipped: "undo skipped shared hooks", protocol.UndoFailed: "undo failed"}[ev.Code], &m.Slots()[ev.Slot])
	case protocol.SaveAsked:
		c.slot("save", &m.Slots()[ev.Slot])
	case protocol.CancelAsked:
		c.slot("operator cancel", &m.Slots()[ev.Slot])
	case protocol.SaveAnswered, protocol.RenewAnswered, protocol.SettleAnswered:
		if ev.Slot >= 0 {
			s := &m.Slots()[ev.Slot]
			c.slot(answerRow(s, ev), s)
			if s.State() == protocol.SlotFree { // whichever claim it was about
				c.slot("any answer for another job", s)
				c.slot("any answer for another token", s)
			}
		}
	}
}

func returnedRow(ev protocol.Event) string {
	row := "returned otherwise"
	if ev.Code == protocol.ReturnedNil {
		row = "returned nil"
	}
	if ev.Clean {
		return row + ", clean"
	}
	return row + ", not clean"
}

func endingRow(ev protocol.Event) string {
	switch ev.Code {
	case protocol.ReturnedNil:
		if ev.Clean {
			return "nil, clean"
		}
		return "nil, not clean"
	case protocol.ReturnedYield:
		return "yield"
	case protocol.ReturnedError:
		return "error"
	default:
		return "failed or panic"
	}
}

func endingColumn(s *protocol.Slot) string {
	if s.State() == protocol.SlotCancelled {
		return s.Cause().String()
	}
	return s.State().String()
}

func answerRow(s *protocol.Slot, ev protocol.Event) string {
	if s.State() != protocol.SlotFree {
		switch {
		case s.Job() != ev.Job:
			return "any answer for another job"
		case s.Token() != ev.Token:
			return "any answer for another token"
		}
	}
	word := map[protocol.EventKind]string{protocol.SaveAnswered: "saved ", protocol.RenewAnswered: "renewed ", protocol.SettleAnswered: "settled "}[ev.Kind]
	switch ev.Code {
	case protocol.Expired:
		return word + "expired"
	case protocol.Stale, protocol.Closed:
		return word + "stale or closed"
	case protocol.Unknown:
		return word + "unknown"
	case protocol.CancelOrder:
		if ev.Kind == protocol.RenewAnswered {
			return "renewed, cancel ordered"
		}
	case protocol.OK, protocol.Repeat:
		if ev.Kind == protocol.SettleAnswered {
			return "settled ok or repeat"
		}
	}
	return word + "ok"
}
