package explore

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// apply makes a choice.
func (e *engine) apply(st *state, a action) {
	i := int(a.a)
	switch a.kind {
	case fireTimer:
		e.step(st, i, protocol.Event{Kind: protocol.Tick})
	case wakeUp:
		e.wake(st, i)
	case tickBroker:
		st.answered = true
		before := e.beforeSweep(st)
		st.broker.Tick(st.now, &e.out)
		e.watchSweep(st, &before)
		e.answerAll(st)
	case deliver:
		e.arrive(st, st.take(i))
	case comeBack:
		e.comeBack(st, i/maxSlots, i%maxSlots, int(a.b))
	case start:
		e.boot(st, i, st.workers[i].member.Generation+1)
	case passTime:
		st.now = e.nextInstant(st)
	case saveProgress:
		e.save(st, i/maxSlots, i%maxSlots, a.b == 1)
	case nudge:
		e.nudge(st, i, int(a.b))
	case tellEstimate:
		st.used[estimates]++
		e.step(st, i, e.estimate())
	case kill:
		if w := &st.workers[i]; !w.paused && !w.shaken && e.heedsBudget() {
			st.breaks(invariant.ExitBeforeKill, "worker %d was still there at SIGKILL", i)
		}
		st.happens(past{hurt: !e.heedsBudget()})
		e.die(st, i)
	default:
		e.applyFault(st, a)
	}
}

func (e *engine) applyFault(st *state, a action) {
	i := int(a.a)
	switch a.kind {
	case cancelJob:
		st.used[cancels]++
		st.happens(past{ordered: setOf(protocol.JobKey(i))})
		st.answered = true
		st.broker.CancelJob(st.now, protocol.JobKey(i), &e.out)
		e.answerAll(st)
	case cancelSlot:
		s := &st.workers[i/maxSlots].slots[i%maxSlots]
		st.used[cancels]++
		st.happens(past{ordered: setOf(s.Job())})
		e.step(st, i/maxSlots, protocol.OperatorCancel(i%maxSlots, s.Job(), s.Token()))
	case lose:
		st.used[losses]++
		st.happens(past{hurt: true})
		st.take(i)
	case double:
		st.used[doubles]++
		st.wired |= 1 << st.messages[i].worker
		st.messages[i].copied = true
		st.messages[i].size = 0
		e.arrive(st, st.messages[i])
	case breakCall:
		st.used[failures]++
		st.happens(past{hurt: true})
		e.breakCall(st, st.take(i))
	case lie:
		st.used[lies]++
		st.happens(past{hurt: true})
		e.lie(st, i/maxSlots, i%maxSlots, int(a.b))
	case failover:
		e.failOver(st, st.take(i))
	case crash:
		st.used[crashes]++
		st.happens(past{hurt: true})
		e.die(st, i)
	case pause:
		st.used[pauses]++
		st.happens(past{hurt: true})
		e.pause(st, i)
	}
}

// heedsBudget reports whether the policy has workers exit within the supervisor's grace.
func (e *engine) heedsBudget() bool {
	p := &e.world.Policy
	return p.OnStop != protocol.IgnoreOnStop && p.Deadline == protocol.DeadlineFromBudget
}

// estimate is what a worker is told of durations: nine executions of two to four seconds.
func (e *engine) estimate() protocol.Event { return protocol.Estimate(0, 11, 9) }

// comeBack has a handler or its undo hooks return.
func (e *engine) comeBack(st *state, i, k, way int) {
	w := &st.workers[i]
	h := &w.hands[k]
	w.tardy = w.tardy || w.killAt != protocol.Never && st.now >= w.killAt.Add(-ticks(e.world.Reserve))
	if h.state == undoing {
		h.state = undone
		e.step(st, i, protocol.Undid(k, undoReturns[way].code))
		h.rest(undone)
		return
	}
	r := &handlerReturns[way]
	late := h.state == told
	h.state, h.way = idle, int8(way+1)
	if !r.clean {
		h.state = back
	}
	switch r.code {
	case protocol.ReturnedNil:
		st.happens(past{finished: setOf(h.job)})
	case protocol.ReturnedFailed, protocol.ReturnedPanic:
		st.happens(past{failed: setOf(h.job)})
	default:
		// Before it is told, an error is a failure; after a timeout whatever it returns is.
		if w.machine.Slots()[k].State() == protocol.SlotRunning && r.code == protocol.ReturnedError || e.world.declared(h.job).Timeout > 0 {
			st.happens(past{failed: setOf(h.job)})
		}
	}
	e.step(st, i, protocol.Returned(k, r.code, r.clean))
	if late && r.code == protocol.ReturnedNil {
		e.watchLateAck(st, i, k)
	}
	h.way = 0
	h.rest(back) // it has nothing to undo after all, or it is not to be undone
	h.rest(idle)
}

// rest ends a hand in a state.
func (h *hand) rest(in handState) {
	if h.state == in {
		*h = hand{}
	}
}

// nudge tells a worker the next of a script. A paused one hears it when it wakes up.
func (e *engine) nudge(st *state, i, script int) {
	w := &st.workers[i]
	st.touched |= 1 << i
	if w.script == 0 {
		st.used[stops]++
		w.script = int8(script + 1)
	}
	n := e.world.Scripts[script][w.next]
	w.next++
	switch n {
	case Term, Int, Notice, Supervisor:
		w.told = true
		if w.killAt == protocol.Never {
			w.killAt = st.now.Add(ticks(e.world.Grace))
		}
	case Context:
		w.told = true
	case Sooner:
		w.told, w.shaken = true, true
		w.killAt = max(min(w.killAt, st.now.Add(ticks(e.world.Grace))).Add(-tick), st.now)
	case Nearer:
		w.shaken = true
		if w.told { // before a stop the supervisor may say it, and it means nothing
			w.killAt = max(w.killAt.Add(-tick), st.now.Add(tick))
		}
	case Later:
		w.killAt = w.killAt.Add(tick)
	}
	if w.paused {
		w.waiting++
		return
	}
	e.hear(st, i, n)
}

// hear has a worker hear a nudge.
func (e *engine) hear(st *state, i int, n Nudge) {
	w := &st.workers[i]
	if w.machine.Deadline() <= st.now { // Step fires it before it hears of anything
		e.step(st, i, protocol.Event{Kind: protocol.Tick})
	}
	again := w.stopped
	if n <= Sooner && e.world.Policy.OnStop != protocol.IgnoreOnStop && !w.dead {
		if !w.stopped && w.machine.Phase() != protocol.PhaseBooting && !w.machine.Phase().Stopping() {
			w.owed = w.open(e.slots)
		}
		w.stopped = true
	}
	switch n {
	case Term, Int:
		repeated := again && w.signalled
		w.hurried = w.hurried || repeated
		w.signalled = true
		signal := protocol.SIGTERM
		if n == Int {
			signal = protocol.SIGINT
		}
		e.step(st, i, protocol.StopBySignal(signal, protocol.Never))        // a signal does not say when SIGKILL comes
		if repeated && n == Int && e.world.scriptHas(w.script, Term) == 0 { // each SIGINT counts, however soon it comes
			e.watchHurry(st, i)
		}
	case Notice:
		e.step(st, i, protocol.StopFrom(protocol.FromNotice, w.killAt))
	case Context:
		e.step(st, i, protocol.StopFrom(protocol.FromContext, protocol.Never))
	case Supervisor, Sooner:
		e.step(st, i, protocol.StopFrom(protocol.FromSupervisor, w.killAt))
	case Nearer, Later:
		at := w.killAt
		if n == Nearer && at == protocol.Never {
			at = st.now.Add(ticks(e.world.Grace))
		}
		e.step(st, i, protocol.KillAt(at))
	case Quiet:
		w.quiet = true
		e.step(st, i, protocol.Event{Kind: protocol.QuietAsked})
	case Resume:
		w.quiet = false
		e.step(st, i, protocol.Event{Kind: protocol.ResumeAsked})
	case Regain:
		e.step(st, i, protocol.Event{Kind: protocol.Reconnected})
	}
}

// owesUnknown is how many lines are owed by a worker that has begun to drain by itself.
const owesUnknown = 7

// owe adds to the lines of the ledger that are owed.
func (w *worker) owe(n int8) {
	if w.owed != owesUnknown {
		w.owed += n
	}
}

// open counts what a stop finds open: each is owed a line of the ledger.
func (w *worker) open(slots int) int8 {
	n := int8(0)
	for k := range slots {
		if w.slots[k].State() != protocol.SlotFree {
			n++
		}
	}
	if w.request[0].State() != protocol.RequestNone {
		n++
	}
	return n
}

// pause stops a process. What it holds may be lost by the time it wakes up.
func (e *engine) pause(st *state, i int) {
	w := &st.workers[i]
	st.touched |= 1 << i
	w.paused, w.shaken = true, true
	w.pausedUntil = st.now.Add(ticks(e.world.Pause))
	for k := range w.hands {
		w.hands[k].excused = w.hands[k].state != idle
	}
}

// wake lets a process go on: first its timers, then what it was told meanwhile; what came
// over the wire waits in its sockets.
func (e *engine) wake(st *state, i int) {
	w := &st.workers[i]
	w.paused, w.pausedUntil = false, protocol.Never
	for k := range st.messages {
		if m := &st.messages[k]; m.kind == toWorker && int(m.worker) == i && m.due < st.now {
			st.wired |= 1 << i
			m.due, m.size = st.now, 0
		}
	}
	e.step(st, i, protocol.Event{Kind: protocol.Tick})
	for ; w.waiting > 0 && !w.dead; w.waiting-- {
		e.hear(st, i, e.world.Scripts[w.script-1][w.next-w.waiting])
	}
}

// breakCall loses one direction of a call and has the driver report that it failed.
func (e *engine) breakCall(st *state, m message) {
	answer := message{kind: toWorker, worker: m.worker, due: st.now.Add(ticks(e.world.MessageLife)),
		slot: m.slot, seq: m.seq, job: m.job, token: m.token, at: m.at, cursor: m.cursor, code: protocol.Unknown, tag: m.tag}
	if m.kind == toBroker {
		switch protocol.EffectKind(m.tag) {
		case protocol.Register:
			answer.tag = uint8(protocol.Registered)
		case protocol.Claim:
			answer.tag = uint8(protocol.ClaimAnswered)
		case protocol.Withdraw:
			answer.tag = uint8(protocol.WithdrawAnswered)
		case protocol.Renew:
			answer.tag = uint8(protocol.RenewAnswered)
		case protocol.Save:
			answer.tag = uint8(protocol.SaveAnswered)
		case protocol.Settle:
			answer.tag = uint8(protocol.SettleAnswered)
		}
	}
	st.messages = append(st.messages, answer)
}
