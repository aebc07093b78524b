package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// seatState is what a seat of the fleet holds.
type seatState uint8

const (
	seatEmpty    seatState = iota
	seatStarting           // a process that has not begun to run
	seatUp                 // a process that runs
)

// process is one seat and the life that is in it. A fleet has more than twice as many seats
// as workers, so what only a process that runs needs is in its body. It is one line of memory.
type process struct {
	*body // that of nobody while none runs

	partitionedUntil protocol.Instant
	termAt           protocol.Instant // when it was told to stop; Never before
	killAt           protocol.Instant // when its machine is taken away, after a notice
	sent, answered   uint32           // messages of this life, which name their draws

	seat       int32
	life       uint32 // lives of this seat so far
	generation uint32 // of the code it runs
	drift      int32  // of its clock, in parts per million
	state      seatState
	ready      bool
	stopping   bool           // chosen to be stopped; not counted as part of the fleet any more
	cause      meter.Cause    // of a stop, while it is stopping
	causes     [4]meter.Cause // how the latest lives ended, by number
}

// body is a process that runs. Once it has ended another may have it. What is looked at together
// lies together: where a body begins with a line of memory, all that attend needs is in the second,
// and most events need no more than the first four, which end within the machine.
type body struct {
	requests [1]protocol.Request
	execs    []execution // one per slot

	tickAt       protocol.Instant // of the first queued tick, if it is not over
	visitAt      protocol.Instant // when something else attends to the process, if it is not over: the earliest that is known
	pausedUntil  protocol.Instant
	blockedUntil protocol.Instant // an execution starves the process
	machine      protocol.Machine
}

// member says who the process is to the broker.
func (p *process) member() model.Member {
	return model.Member{Seat: p.seat, Nonce: uint64(p.life), Incarnation: p.machine.Incarnation(), Generation: p.generation}
}

// is reports whether the process is a life that the broker knows.
func (p *process) is(m model.Member) bool { return p.state == seatUp && uint64(p.life) == m.Nonce }

// slot returns the machine's view of a slot: whose job it is that is executed there.
func (p *process) slot(i int) *protocol.Slot { return &p.machine.Slots()[i] }

// whom addresses an event to the life that is in the seat.
func (p *process) whom() whom { return whom{p.seat, p.life} }

// name identifies a life in the addresses of random numbers.
func (p *process) name() uint64 { return uint64(p.seat)<<32 | uint64(p.life) }

// causeOf is where the cause of the end of a life is kept. A life takes two numbers, one when
// it begins and one when it ends; four lives are more than a lease sees.
func (p *process) causeOf(life uint64) *meter.Cause { return &p.causes[life/2%4] }

// busyUntil returns until when the process takes nothing in.
func (p *process) busyUntil(now protocol.Instant) protocol.Instant {
	return max(p.pausedUntil, p.blockedUntil, now)
}

// worksAt returns the instant at which to ask how far an execution has come: a pause shifts
// its beginning by the whole pause at once, so during one it is the end of the pause.
func (p *process) worksAt(now protocol.Instant) protocol.Instant { return max(p.pausedUntil, now) }

// partition cuts the seat off from the broker.
func (p *process) partition(until protocol.Instant) {
	p.partitionedUntil = max(p.partitionedUntil, until)
}

// local converts an instant to the clock of the process.
func (p *process) local(t protocol.Instant) protocol.Instant {
	if p.drift == 0 || t == protocol.Never {
		return t
	}
	return t + t/1_000_000*protocol.Instant(p.drift) + t%1_000_000*protocol.Instant(p.drift)/1_000_000
}

// global returns the first instant at which the clock of the process shows at least t.
func (p *process) global(t protocol.Instant) protocol.Instant {
	if p.drift == 0 || t == protocol.Never {
		return t
	}
	g := t
	for range 4 { // each turn shrinks the error by the drift
		g -= p.local(g) - t
	}
	for p.local(g) < t {
		g++
	}
	for p.local(g-1) >= t {
		g--
	}
	return g
}

// step gives an event to the machine and carries out what it asks for.
func (w *World) step(p *process, ev protocol.Event) {
	w.stir(uint64(ev.Kind)<<16|uint64(ev.Code)<<8|uint64(uint32(ev.Slot)), uint64(ev.Job)^uint64(ev.At), uint64(ev.Token)^ev.Seq)
	if w.observer != nil {
		w.observer(Observation{At: w.now, Kind: SawEvent, Seat: p.seat, Life: p.life, Event: ev})
	}
	if w.check != nil {
		w.check.Stepping(w.now, p.local(w.now), p.seat, &ev)
	}
	w.fx.Reset()
	p.machine.Step(p.local(w.now), ev, w.fx)
	life := p.life
	all := w.fx.All() // carrying out steps no other machine, so it stays as it is
	for i := range all {
		if w.cut != nil && w.cut(p, &all[i]) {
			w.crash(p)
			return
		}
		w.carryOut(p, &all[i])
	}
	if p.life != life || p.state != seatUp {
		return
	}
	if w.check != nil {
		w.check.Stepped(p.seat)
	}
	if !p.ready && p.machine.Phase() == protocol.PhaseServing {
		w.becomeReady(p)
	}
}

// expect takes down that something will attend to the process at an instant.
func (p *process) expect(now, at protocol.Instant) {
	if at < p.visitAt || p.visitAt <= now {
		p.visitAt = at
	}
}

// attend sees to it that the machine is stepped by its deadline. Whatever happens to a process,
// or to a message of it, attends to it afterwards. So a tick is queued only when the deadline
// comes before all that is known to happen, which is rare: most deadlines are for an answer
// that does not come, or for a handler that goes on for long.
func (w *World) attend(p *process) {
	at := max(p.global(p.machine.Deadline()), p.busyUntil(w.now))
	if p.visitAt > w.now && p.visitAt <= at || p.tickAt > w.now && p.tickAt <= at {
		return
	}
	p.tickAt = at
	if at != protocol.Never {
		w.at(at, event{kind: evTick, whom: p.whom()})
	}
}

func (w *World) onTick(p *process) {
	if p.local(w.now) >= p.machine.Deadline() {
		w.step(p, protocol.Event{Kind: protocol.Tick})
	}
}

// carryOut does what the machine asked for.
func (w *World) carryOut(p *process, e *protocol.Effect) {
	if w.observer != nil {
		w.observer(Observation{At: w.now, Kind: SawEffect, Seat: p.seat, Life: p.life, Effect: *e})
	}
	if w.check != nil {
		w.check.Effect(p.seat, e)
	}
	switch e.Kind {
	case protocol.Register, protocol.Going, protocol.Claim, protocol.Withdraw, protocol.Renew, protocol.Save, protocol.Settle:
		w.send(p, e)
	case protocol.Start:
		w.takeOn(p, e)
	case protocol.Soften:
		w.softenWaiting(p, int(e.Slot))
	case protocol.Cancel:
		w.cancelExecution(p, e)
	case protocol.Undo:
		w.startUndo(p, e)
	case protocol.CommitSegment:
		x := &p.execs[e.Slot]
		x.committed = max(x.committed, protocol.Duration(e.Cursor))
	case protocol.Note:
		w.record(meter.Record{Kind: meter.HandlerNoted, Note: e.Note, Job: e.Job, Count: e.Want, Seat: p.seat})
	case protocol.Line:
		w.record(meter.Record{Kind: meter.LedgerLine, Outcome: e.Outcome, Job: e.Job, Span: e.Span, Seat: p.seat})
	case protocol.Exit:
		w.exit(p, e)
	}
}

// onUp begins the life of a process: from here on it runs.
func (w *World) onUp(p *process) {
	w.uncount(p)
	p.state = seatUp
	w.recount(p)
	cfg := &w.configs[0]
	if p.generation > 0 {
		cfg = &w.configs[1]
	}
	p.body = w.fleet.body(cfg)
	if w.fleet.upAt != nil {
		w.fleet.upAt[p.seat] = w.now
	}
	p.machine.Init(cfg, p.machine.Memory(), w.rnd.Draw(StreamSeed, p.name(), 0)|1)
	if w.check != nil {
		w.check.Up(w.now, p.member(), cfg, int64(p.drift))
	}
	w.step(p, protocol.Event{Kind: protocol.Tick})
}

// onTerm delivers the supervisor's stop signal, the first or a repeat.
func (w *World) onTerm(p *process, sig protocol.Signal) {
	w.tellToStop(p, protocol.StopBySignal(sig, protocol.Never))
}

// onNotice delivers the notice that the machine under a process will be taken away.
func (w *World) onNotice(p *process) {
	w.tellToStop(p, protocol.StopFrom(protocol.FromNotice, p.local(p.killAt)))
}

// onContinue delivers SIGCONT, which to a worker is the end of quiet.
func (w *World) onContinue(p *process) {
	if p.state == seatUp {
		w.step(p, protocol.Event{Kind: protocol.ResumeAsked})
	}
}

func (w *World) tellToStop(p *process, stop protocol.Event) {
	if p.termAt == protocol.Never {
		p.termAt = w.now
		w.record(meter.Record{Kind: meter.StopAsked, Seat: p.seat})
		if p.state != seatUp { // nothing runs yet that could be told
			w.gone(p, p.cause)
			return
		}
		w.teach(p)
	}
	w.step(p, stop)
}

// exit ends a process by its own decision.
func (w *World) exit(p *process, e *protocol.Effect) {
	w.ended(p, invariant.Exited)
	w.record(meter.Record{Kind: meter.ProcessExited, Span: w.sinceTerm(p), Status: e.Status, Seat: p.seat})
	w.gone(p, p.cause)
}

// kill is SIGKILL, at the end of the grace or before.
func (w *World) kill(p *process) {
	w.ended(p, invariant.Killed)
	w.record(meter.Record{Kind: meter.ProcessKilled, Span: w.sinceTerm(p), Seat: p.seat})
	w.gone(p, p.cause)
}

// crash ends a process by a fault. Its supervisor starts it again in its seat, unless it
// was being stopped anyway.
func (w *World) crash(p *process) {
	w.ended(p, invariant.Crashed)
	w.record(meter.Record{Kind: meter.ProcessCrashed, Seat: p.seat})
	if p.stopping {
		w.gone(p, meter.ByCrash)
		return
	}
	w.endLife(p, meter.ByCrash)
	w.beginLife(p, p.generation)
}

func (w *World) sinceTerm(p *process) protocol.Duration {
	if p.termAt == protocol.Never {
		return 0
	}
	return w.now.Sub(p.termAt)
}

// endLife kills whatever runs in a process. Its claims stay with the broker.
func (w *World) endLife(p *process, cause meter.Cause) {
	for i := range p.execs {
		w.killExecution(p, i, cause)
	}
	w.hangUp(p)
	w.fleet.bury(p)
	w.uncount(p)
	*p.causeOf(uint64(p.life)) = cause
	p.ready = false
	p.life++ // voids whatever is queued for it
	p.state = seatEmpty
}

// teach gives an adaptive machine what was learned about execution times, as a worker does
// that keeps a histogram per kind.
func (w *World) teach(p *process) {
	if w.preset.Policy.Estimates == protocol.NoEstimates && w.preset.Policy.LateClaim != protocol.RunLateClaimIfShort {
		return
	}
	for i, n := range w.learned {
		if n > 0 {
			w.step(p, protocol.Estimate(protocol.Kind(i/protocol.BucketsPerKind), i%protocol.BucketsPerKind, n))
		}
	}
}
