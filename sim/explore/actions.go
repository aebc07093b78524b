package explore

import (
	"github.com/quiesce/quiesce/protocol"
)

// actionKind is one of the things that can happen next in a state.
type actionKind uint8

const (
	fireTimer actionKind = iota
	wakeUp               // SIGCONT
	tickBroker
	deliver
	comeBack // a handler or its undo hooks return, in one of the ways below
	start    // a new process in a seat
	passTime
	saveProgress
	nudge
	cancelJob
	cancelSlot // the driver hears of an operator's cancel by itself
	tellEstimate
	lose
	double    // deliver a message and leave a copy on the wire
	breakCall // the driver is told that a call failed
	crash
	pause
	kill     // SIGKILL at the end of the grace
	lie      // something comes over the wire that nobody sent
	failover // the broker carries a request out, answers, and goes on from a copy that lacks it
)

// action is one choice: what, and of which worker, message or job, and how.
type action struct {
	kind actionKind
	a, b uint8
}

// code packs an action into what a search keeps of it.
func (a action) code() uint16 { return uint16(a.kind)<<11 | uint16(a.a)<<5 | uint16(a.b) }

func actionOf(code uint16) action {
	return action{actionKind(code >> 11), uint8(code>>5) & 63, uint8(code) & 31}
}

// wayBack is how a handler or undo hooks come back.
type wayBack struct {
	code  protocol.Code
	clean bool
	says  string
}

var handlerReturns = [...]wayBack{
	{protocol.ReturnedNil, true, "finishes"},
	{protocol.ReturnedNil, false, "finishes, uncommitted"},
	{protocol.ReturnedError, false, "returns"},
	{protocol.ReturnedError, true, "returns, with nothing left to undo"},
	{protocol.ReturnedYield, false, "hands it back"},
	{protocol.ReturnedYield, true, "hands it back, with nothing left to undo"},
	{protocol.ReturnedFailed, false, "fails"},
	{protocol.ReturnedPanic, true, "panics, with nothing left to undo"},
}

var undoReturns = [...]wayBack{
	{protocol.UndoDone, true, "is undone"},
	{protocol.UndoSkipped, true, "is undone, but for what is shared"},
	{protocol.UndoFailed, true, "cannot be undone"},
}

// menu collects the actions of a state.
type menu struct {
	list  []action
	rest  bool // nothing has to happen before time may pass
	fault int  // where the faults begin in list
}

func (m *menu) add(kind actionKind, a, b int) {
	m.list = append(m.list, action{kind, uint8(a), uint8(b)})
}

// must adds an action that cannot wait.
func (m *menu) must(kind actionKind, a int) {
	m.add(kind, a, 0)
	m.rest = false
}

// actions lists what can happen next: first what is prompt and harmless, in an order that
// always gets on, so that the first of the list is a schedule without faults.
func (e *engine) actions(st *state, m *menu) {
	m.list, m.rest = m.list[:0], true
	for i := range st.workers {
		w := &st.workers[i]
		switch {
		case w.paused && w.pausedUntil <= st.now:
			m.must(wakeUp, i)
		case w.paused && !e.world.PauseWhole:
			m.add(wakeUp, i, 0)
		case w.paused:
		case !w.dead && w.machine.Deadline() <= st.now:
			m.must(fireTimer, i)
		}
	}
	if st.broker.Deadline() <= st.now {
		m.must(tickBroker, 0)
	}
	for k := range st.messages {
		if msg := &st.messages[k]; !st.held(msg) {
			m.add(deliver, k, 0)
			m.rest = m.rest && msg.due > st.now
		}
	}
	e.resumes(st, m)
	for i := range st.workers {
		e.returns(st, i, m)
	}
	for i := range st.workers {
		if w := &st.workers[i]; w.dead && e.replaced(w) {
			m.add(start, i, 0)
		}
	}
	for i := range st.workers {
		if w := &st.workers[i]; !w.dead && w.killAt <= st.now && (w.paused || w.machine.Deadline() > st.now) {
			m.must(kill, i)
		}
	}
	if m.rest && e.nextInstant(st) != protocol.Never {
		m.add(passTime, 0, 0)
	}
	m.fault = len(m.list)
	e.faults(st, m)
}

// replaced reports whether a new process comes in the seat of one that has ended.
func (e *engine) replaced(w *worker) bool { return e.world.Replace != ReplaceNobody && w.told }

// held reports whether a message waits for a process that is paused.
func (st *state) held(m *message) bool {
	return m.kind == toWorker && st.workers[m.worker].paused
}

// resumes puts the end of quiet among the prompt actions: who said quiet has promised it.
func (e *engine) resumes(st *state, m *menu) {
	for i := range st.workers {
		w := &st.workers[i]
		if w.script == 0 || w.dead || w.paused {
			continue
		}
		if s := e.world.Scripts[w.script-1]; int(w.next) < len(s) && s[w.next] == Resume {
			m.add(nudge, i, int(w.script-1))
		}
	}
}

// returns lists the ways in which the code in a worker's slots may come back.
func (e *engine) returns(st *state, i int, m *menu) {
	w := &st.workers[i]
	if w.dead || w.paused {
		return
	}
	for k := range e.slots {
		slot := i*maxSlots + k
		way := func(n int) { m.add(comeBack, slot, n) }
		unclean := e.world.declared(w.hands[k].job).Undo > 0
		tidy := !unclean || e.world.Returns&Tidy != 0
		with := func(wanted Returns, n int) {
			if e.world.Returns&wanted != 0 {
				way(n)
			}
		}
		switch h := &w.hands[k]; h.state {
		case working, told:
			if h.state == told { // the prompt one obeys
				if unclean {
					way(2)
				}
				if tidy {
					way(3)
				}
			}
			way(0)
			if unclean && w.machine.Slots()[k].State() == protocol.SlotZombie || e.world.Returns&Loose != 0 {
				way(1) // a scope is committed only while the claim is held
			}
			if h.state == working && unclean {
				with(Errors, 2)
			}
			if h.state == working && tidy {
				with(Errors, 3)
			}
			if unclean {
				with(Yields, 4)
				with(Fails, 6)
			}
			if tidy {
				with(Yields, 5)
				with(Fails, 7)
			}
		case undoing:
			way(0)
			if !h.shared {
				way(1)
			}
			with(UndoErr, 2)
		}
	}
}

// faults lists what the world and its people may do.
func (e *engine) faults(st *state, m *menu) {
	left := func(budget, most int) bool { return int(st.used[budget]) < most }
	for i := range st.workers {
		w := &st.workers[i]
		if w.dead {
			continue
		}
		e.nudges(st, i, m)
		if left(crashes, e.world.Crashes) {
			m.add(crash, i, 0)
		}
		if left(pauses, e.world.Pauses) && !w.paused {
			m.add(pause, i, 0)
		}
		if left(estimates, e.world.Estimates) {
			m.add(tellEstimate, i, 0)
		}
		e.slotActions(st, i, m)
	}
	for j := 1; j <= e.world.Jobs && left(cancels, e.world.Cancels); j++ {
		if !st.broker.Job(protocol.JobKey(j)).State.Terminal() {
			m.add(cancelJob, j, 0)
		}
	}
	for k := range st.messages {
		msg := &st.messages[k]
		if left(losses, e.world.Losses) {
			m.add(lose, k, 0)
		}
		if left(doubles, e.world.Duplicates) && !msg.copied && msg.kind != hangup && !st.held(msg) {
			m.add(double, k, 0)
		}
		if left(failures, e.world.Errors) && e.answerable(st, msg) {
			m.add(breakCall, k, 0)
		}
		if left(failovers, e.world.Failovers) && st.forgettable(msg) {
			m.add(failover, k, 0)
		}
	}
}

// slotActions lists what may happen to a slot beside a return.
func (e *engine) slotActions(st *state, i int, m *menu) {
	w := &st.workers[i]
	if w.paused {
		return
	}
	lying, cancelling := int(st.used[lies]) < e.world.Lies, int(st.used[cancels]) < e.world.Cancels
	for k := range e.slots {
		h := &w.hands[k]
		if e.world.Saves && !h.saved && (h.state == working || h.state == told) {
			m.add(saveProgress, i*maxSlots+k, 0)
			m.add(saveProgress, i*maxSlots+k, 1)
		}
		for n := 0; lying && n < len(falsehoods); n++ {
			m.add(lie, i*maxSlots+k, n)
		}
		if cancelling && w.slots[k].State() != protocol.SlotFree {
			m.add(cancelSlot, i*maxSlots+k, 0)
		}
	}
}

// nudges lists what a worker may be told next.
func (e *engine) nudges(st *state, i int, m *menu) {
	w := &st.workers[i]
	if w.script == 0 {
		for k := range e.world.Scripts {
			if int(st.used[stops]) < e.world.Stops {
				m.add(nudge, i, k)
			}
		}
		return
	}
	s := e.world.Scripts[w.script-1]
	if int(w.next) < len(s) && (s[w.next] != Resume || w.paused) {
		m.add(nudge, i, int(w.script-1))
	}
}

// answerable reports whether a message belongs to a call whose failure its worker, alive,
// would be told.
func (e *engine) answerable(st *state, m *message) bool {
	w := &st.workers[m.worker]
	if m.copied || w.dead || w.paused || m.kind == hangup || m.kind == toBroker && m.from.Nonce != w.member.Nonce {
		return false
	}
	return m.kind == toWorker || protocol.EffectKind(m.tag) != protocol.Going
}

// nextInstant is when the passing of time next changes something.
func (e *engine) nextInstant(st *state) protocol.Instant {
	at := min(st.broker.Deadline(), e.nextLeaseEnd(st))
	for i := range st.workers {
		w := &st.workers[i]
		if w.dead {
			continue
		}
		if !w.paused {
			at = min(at, w.machine.Deadline())
		}
		at = min(at, w.pausedUntil)
		if w.killAt > st.now {
			at = min(at, w.killAt)
		}
	}
	for k := range st.messages {
		if m := &st.messages[k]; !st.held(m) {
			at = min(at, m.due)
		}
	}
	return at
}
