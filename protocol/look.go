package protocol

// What follows is to look at a machine, for whoever tells or checks what happens in it.
// Nothing here decides anything.

// Lost reports whether the slot's claim is not trusted any more.
func (s *Slot) Lost() bool { return s.has(lost) || s.state == SlotZombie }

// Taken reports whether the broker is known to have given the slot's job to somebody else, or
// to have seen another end of its claim.
func (s *Slot) Taken() bool { return s.has(superseded) }

// UndoRuns reports whether undo hooks run on in a slot whose claim is settled or lost.
func (s *Slot) UndoRuns() bool { return s.has(undoRuns) }

// Cause returns what the slot's handler was told when it was cancelled.
func (s *Slot) Cause() Cause { return s.cause }

// Repeated reports whether the request that is out has been sent twice.
func (r *Request) Repeated() bool { return r.tries >= repeatsThatMatter }

// Granted returns how many jobs the request that is out has brought so far.
func (r *Request) Granted() int { return int(r.granted) }

// Signals returns how many groups of SIGTERM and how many SIGINTs have come, and whether a
// SIGTERM at now would count with the group before it (rule 13).
func (m *Machine) Signals(now Instant) (terms, ints int, within bool) {
	return int(m.termGroups), int(m.interrupts), m.termGroups > 0 && now < m.termAt.Add(signalWindow)
}

// Due names what a Step at now fires first, as the table of deadlines in the package comment
// does, and its slot or queue if it has one. It is empty when nothing is due.
func (m *Machine) Due(now Instant) (what string, index int) {
	d := m.next(now)
	if d.at > now {
		return "", NoSlot
	}
	return deadlineNames[d.kind], int(d.index)
}

// Armed names every deadline that waits, in no particular order.
func (m *Machine) Armed(visit func(what string, at Instant)) {
	m.armed(func(d due) {
		if d.at != Never {
			visit(deadlineNames[d.kind], d.at)
		}
	})
}

var deadlineNames = [...]string{
	trustEnds: "trust ends", registerAgain: "Register again", requestDue: "request due",
	renewRound: "renewal round", distrust: "distrust", kindTimeout: "kind's timeout",
	undoLimit: "undo limit", settleRound: "settling round", judgeRound: "weighing round",
	cancelKind: "cancelAt of a kind", undoEnds: "undoBy", settleEnds: "settleBy", wedged: "wedged",
}
