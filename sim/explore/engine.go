package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// engine carries out actions on the states of a world. It is a second driver of the machine
// beside the simulator: what it does with an effect is what a process would do.
type engine struct {
	world     World
	slots     int
	cfg       protocol.Config
	brokerCfg model.BrokerConfig
	fx        *protocol.Effects
	out       model.Outbox
	coder     coder
	memo      memo
	parts     parts
	marker    marker
	single    *state    // see alone
	judges    bool      // see World.judges
	seen      *coverage // nil unless somebody wants to know

	was worker // for seen: the machine before a step, and nothing else of its worker
}

func newEngine(w World) *engine {
	e := &engine{world: w, slots: w.slots(), cfg: w.machine(), brokerCfg: w.broker(), judges: w.judges()}
	e.fx = protocol.NewEffects(e.slots, 1)
	e.coder.init(e)
	e.marker.init(&e.coder.ranks)
	e.was.histograms = e.histograms()
	e.memo.most = mostRing
	e.memo.off = w.Failovers > 0 // a new token is then compared with all that anybody knows
	return e
}

// step gives an event to a worker's machine and carries out what it asks for.
func (e *engine) step(st *state, i int, ev protocol.Event) {
	w := &st.workers[i]
	if w.dead {
		return
	}
	st.touched |= 1 << i
	if e.seen != nil {
		e.seen.before(e, w, st.now, ev)
		w.machine.CopyTo(&e.was.machine, e.memory(&e.was))
	}
	e.fx.Reset()
	w.machine.Step(st.now, ev, e.fx)
	if e.seen != nil {
		e.seen.after(w, &e.was.machine, ev)
	}
	if ev.Kind == protocol.Registered && ev.Code == protocol.OK {
		w.member.Incarnation = w.machine.Incarnation()
	}
	effects := e.fx.All()
	for k := range effects {
		e.carryOut(st, i, &effects[k])
	}
}

func (e *engine) carryOut(st *state, i int, f *protocol.Effect) {
	w := &st.workers[i]
	switch f.Kind {
	case protocol.Claim:
		if w.stopped {
			st.breaks(invariant.StopClaiming, "worker %d sent a claim request after the stop", i)
		}
		e.send(st, i, f)
	case protocol.Register, protocol.Going, protocol.Withdraw, protocol.Renew, protocol.Save, protocol.Settle:
		if f.Slot != protocol.NoSlot {
			e.watchSent(st, i, f)
		}
		e.send(st, i, f)
	case protocol.Start:
		e.watchStart(st, i, f)
		w.hands[f.Slot] = hand{state: working, job: f.Job, token: f.Token}
		if w.stopped {
			w.owe(1)
		}
	case protocol.Soften:
		w.hands[f.Slot].softened = true
	case protocol.Line:
		w.owe(-1)
		e.watchLine(st, i, f)
	case protocol.Note:
		switch f.Note {
		case protocol.EverySlotWedged: // it begins a drain in the middle of a step
			w.owed = owesUnknown
		case protocol.LeaseLost:
			h := &w.hands[f.Slot]
			h.lost, h.pending = true, false
		}
	case protocol.Cancel:
		e.watchCancel(st, i, f)
		if h := &w.hands[f.Slot]; h.state == working { // it may have come back at this very instant
			h.state = told
		}
		w.hands[f.Slot].cause = f.Cause
	case protocol.Undo:
		h := &w.hands[f.Slot]
		h.job, h.token, h.state, h.shared = f.Job, f.Token, undoing, !f.Private
		h.pending = false
		if h.way != 0 {
			h.due = h.ends()
		}
		st.happens(past{undone: setOf(f.Job)})
	case protocol.PrivateOnly:
		w.hands[f.Slot].shared = false
	case protocol.CommitSegment:
		w.hands[f.Slot].pending = false
		if row := st.row(f.Job); row.Cursor != f.Cursor && !st.astray() {
			st.breaks(invariant.SavedBeforeCommit, "worker %d closed a segment of job %d, and the broker does not have its cursor", i, f.Job)
		}
	case protocol.Exit:
		e.watchExit(st, i, f)
		st.happens(past{hurt: e.dies()})
		w.clean = f.Status == protocol.ExitClean
		e.die(st, i)
		if e.world.Replace == ReplaceAtOnce && e.replaced(w) {
			e.boot(st, i, w.member.Generation+1)
		}
	}
}

// send puts an effect on the wire.
func (e *engine) send(st *state, i int, f *protocol.Effect) {
	st.wired |= 1 << i
	st.messages = append(st.messages, message{
		kind: toBroker, worker: int8(i), due: st.now.Add(ticks(e.world.MessageLife)), from: st.workers[i].member,
		tag: uint8(f.Kind), verb: f.Verb, reason: f.Reason, slot: f.Slot, want: f.Want, seq: f.Seq,
		job: f.Job, token: f.Token, at: f.At, span: f.Span, cursor: f.Cursor,
	})
}

// effect is what m was sent for.
func (m *message) effect() protocol.Effect {
	return protocol.Effect{
		Kind: protocol.EffectKind(m.tag), Verb: m.verb, Reason: m.reason, Slot: m.slot, Want: m.want, Seq: m.seq,
		Job: m.job, Token: m.token, At: m.at, Span: m.span, Cursor: m.cursor,
	}
}

// event is what m tells its worker, after its grants.
func (m *message) event() protocol.Event {
	return protocol.Event{
		Kind: protocol.EventKind(m.tag), Code: m.code, Slot: m.slot, Seq: m.seq,
		Job: m.job, Token: m.token, Sent: m.at, Span: m.span, Cursor: m.cursor,
	}
}

// die ends a process: what was on its way to it arrives nowhere, and the broker learns that
// its connection is gone.
func (e *engine) die(st *state, i int) {
	w := &st.workers[i]
	st.touched |= 1 << i
	st.wired |= 1 << i
	w.dead, w.killAt, w.paused, w.pausedUntil = true, protocol.Never, false, protocol.Never
	w.hands = [maxSlots]hand{}
	kept := st.messages[:0]
	for _, m := range st.messages {
		if m.kind != toWorker || int(m.worker) != i {
			kept = append(kept, m)
		}
	}
	st.messages = append(kept, message{kind: hangup, worker: int8(i), due: st.now.Add(ticks(e.world.MessageLife)), from: w.member})
}

// take takes message k off the wire.
func (st *state) take(k int) message {
	m := st.messages[k]
	st.wired |= 1 << m.worker
	st.messages = append(st.messages[:k], st.messages[k+1:]...)
	return m
}

// arrive brings a message to where it goes.
func (e *engine) arrive(st *state, m message) {
	switch m.kind {
	case hangup:
		st.answered = true
		st.broker.Hangup(st.now, m.from, &e.out)
		e.answerAll(st)
	case toBroker:
		e.handle(st, m)
	default:
		for _, g := range m.grants[:m.n] {
			e.step(st, int(m.worker), protocol.GrantedJob(0, m.seq, g.job, g.token, e.world.kindOf(g.job), g.version, m.span))
		}
		e.step(st, int(m.worker), m.event())
	}
}

// handle has the broker carry out a request, and sees to it that an old token moves nothing.
func (e *engine) handle(st *state, m message) {
	f := m.effect()
	var before model.JobRow
	if f.Token != 0 {
		before = *st.broker.Job(f.Job)
	}
	newest := uint32(0)
	if f.Kind == protocol.Settle {
		st.broker.EachWaiting(func(_ int, who model.Member, _ bool) { newest = max(newest, who.Generation) })
	}
	var ends [maxJobs]protocol.Instant
	if f.Kind == protocol.Renew {
		ends = e.leaseEnds(st)
	}
	st.answered = true
	f.At = f.At.Add(-ticks(e.world.Skew))
	sweep := e.beforeSweep(st)
	st.broker.Handle(st.now, model.Request{From: m.from, Effect: f}, &e.out)
	e.watchSweep(st, &sweep)
	if newest > m.from.Generation {
		e.watchHandOver(st, &m)
	}
	if f.Kind == protocol.Renew {
		e.watchRenewal(st, &m, ends)
	}
	if f.Token != 0 && f.Token < before.Token {
		if after := st.broker.Job(f.Job); after.State != before.State || after.Verb != before.Verb || after.Lease != before.Lease || after.Cursor != before.Cursor {
			st.breaks(invariant.NoStaleEffect, "worker %d changed job %d at the broker by an old token", m.worker, f.Job)
		}
	}
	e.answerAll(st)
}

// hears reports whether a life goes on.
func (st *state) hears(m model.Member) bool {
	w := &st.workers[m.Seat]
	return !w.dead && w.member.Nonce == m.Nonce
}

// answerAll puts the broker's answers on the wire. Those to a life that has ended are lost
// with its connection.
func (e *engine) answerAll(st *state) {
	e.parts.calls++
	if st.used[failovers] > 0 {
		e.watchTokens(st)
	}
	var m message
	for k := range e.out.Answers {
		a := &e.out.Answers[k]
		ev := &a.Event
		if a.More {
			m.grants[m.n] = grant{ev.Job, ev.Token, ev.Version}
			m.n++
			continue
		}
		m.kind, m.worker, m.due = toWorker, int8(a.To.Seat), st.now.Add(ticks(e.world.MessageLife))
		m.tag, m.code, m.slot, m.seq, m.job, m.token = uint8(ev.Kind), ev.Code, ev.Slot, ev.Seq, ev.Job, ev.Token
		m.at, m.span, m.cursor = ev.Sent.Add(ticks(e.world.Skew)), ev.Span, ev.Cursor
		e.parts.said = append(e.parts.said, said{a.To, m})
		if st.hears(a.To) {
			st.wired |= 1 << m.worker
			st.messages = append(st.messages, m)
		}
		m = message{}
	}
	e.out.Reset()
	if e.world.Prompt {
		for k := len(st.messages) - 1; k >= 0; k = min(k, len(st.messages)) - 1 {
			if m := &st.messages[k]; m.kind == toWorker && !st.held(m) {
				e.arrive(st, st.take(k))
			}
		}
	}
}
