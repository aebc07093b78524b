package sim

import (
	"math/bits"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

type execState uint8

const (
	execNone    execState = iota
	execWaits             // for a slot of its process, which claimed more than it can work on
	execReturns           // it comes back without having begun
	execWorks             // towards its end
	execIsDeaf            // likewise, whatever it is told
	execLeaves            // it will notice its cancellation before its end
	execUndoes            // its undo hooks run
)

// execution is the handler in one slot: what it still has to do, and when it will return.
// Whose job it is, of which kind and under which token, the machine's slot knows as long as it runs.
type execution struct {
	work      protocol.Duration // all of the job's
	base      protocol.Duration // done by earlier executions and saved
	committed protocol.Duration // saved by now
	began     protocol.Instant  // shifted by pauses, so that now-began is time worked; while it waits, since when
	endAt     protocol.Instant
	turn      uint32 // voids events of earlier executions in this slot
	number    uint16 // of this execution of the job, from 1
	state     execState
	cause     protocol.Cause
}

// works reports whether it goes on towards its end.
func (x *execution) works() bool { return x.state == execWorks || x.state == execIsDeaf }

// runs reports whether the handler has not returned.
func (x *execution) runs() bool { return x.works() || x.state == execLeaves }

func (x *execution) progress(now protocol.Instant) protocol.Duration {
	return min(x.base+max(now.Sub(x.began), 0), x.work)
}

// What an execution draws, at addresses (job, execution, what).
const (
	drawDeaf uint64 = iota
	drawCPUBound
	drawFails
	drawOOM
	drawOOMPoint

	drawsPerExecution
)

// drawsOf returns the address of what the execution in a slot draws.
func (p *process) drawsOf(slot int, what uint64) (entity, index uint64) {
	return uint64(p.slot(slot).Job()), uint64(p.execs[slot].number)*drawsPerExecution + what
}

// jobIn returns what the scenario says of the kind of job in a slot.
func (w *World) jobIn(p *process, slot int) *model.Job { return &w.sc.Jobs[p.slot(slot).Kind()] }

func (w *World) executionHappens(p *process, slot int, what uint64, chance model.PPB) bool {
	entity, index := p.drawsOf(slot, what)
	return w.rnd.Happens(StreamExecution, entity, index, chance)
}

// takeOn takes on a job that the machine starts. It begins at once, unless the process has
// claimed more than it works on.
func (w *World) takeOn(p *process, e *protocol.Effect) {
	x := &p.execs[e.Slot]
	*x = execution{turn: x.turn + 1, state: execWaits, began: w.now}
	if row := w.broker.Job(e.Job); row != nil {
		x.work, x.base, x.number = row.Work, protocol.Duration(row.Cursor), row.Deliveries
	}
	x.committed = x.base
	if w.sc.Fleet.Prefetch == 0 {
		w.startExecution(p, int(e.Slot))
	} else {
		w.startWaiting(p)
	}
}

func (w *World) startExecution(p *process, slot int) {
	x := &p.execs[slot]
	j := w.jobIn(p, slot)
	x.state, x.began = execWorks, w.now
	if w.executionHappens(p, slot, drawDeaf, j.Deaf) {
		x.state = execIsDeaf
	}
	w.record(meter.Record{Kind: meter.ExecutionStarted, Job: p.slot(slot).Job(), Token: p.slot(slot).Token(), Work: x.base, Seat: p.seat})
	x.endAt = w.now.Add(max(x.work-x.base, 0))
	w.scheduleHandler(p, slot)
	if j.Save > 0 {
		w.scheduleSave(p, slot)
	}
	if w.executionHappens(p, slot, drawCPUBound, j.CPUBound) {
		x.state = execIsDeaf
		p.blockedUntil = max(p.blockedUntil, x.endAt)
		w.standsStill(p, p.blockedUntil)
	}
	w.scheduleOutOfMemory(p, slot)
}

func (w *World) scheduleHandler(p *process, slot int) {
	x := &p.execs[slot]
	w.at(x.endAt, event{kind: evHandler, whom: p.whom(), slot: int16(slot), what: x.turn})
	p.expect(w.now, x.endAt)
}

// cancelExecution tells a handler to stop. It notices at its next checkpoint, unless it is
// done before, or never looks.
func (w *World) cancelExecution(p *process, e *protocol.Effect) {
	x := &p.execs[e.Slot]
	if x.state == execWaits {
		w.returnWaiting(p, int(e.Slot))
	}
	if x.state != execWorks {
		return
	}
	x.cause = e.Cause
	at := w.now
	if gap := w.jobIn(p, int(e.Slot)).Checkpoint; gap > 0 {
		at = x.began.Add((w.now.Sub(x.began)/gap + 1) * gap)
	}
	if at >= x.endAt {
		return
	}
	x.endAt, x.state = at, execLeaves
	x.turn++
	w.scheduleHandler(p, int(e.Slot))
}

// onHandler is the return of a handler, at the end of its work or at a checkpoint.
func (w *World) onHandler(p *process, e event) {
	x := &p.execs[e.slot]
	if x.turn == e.what && x.state == execReturns {
		x.state = execNone
		w.step(p, protocol.Returned(int(e.slot), protocol.ReturnedYield, true))
		return
	}
	if x.turn != e.what || !x.runs() {
		return
	}
	j := w.jobIn(p, int(e.slot))
	finished := x.works()
	state := p.machine.Slots()[e.slot].State()
	code, how := protocol.ReturnedError, meter.Interrupted
	// A scope without hooks has nothing to undo; a handler that is done commits its scope
	// only while it holds the claim.
	clean := j.Undo <= 0 || x.progress(w.now) <= x.committed
	switch {
	case finished && w.executionHappens(p, int(e.slot), drawFails, j.Fails):
		how = meter.Failed
	case finished:
		code, how = protocol.ReturnedNil, meter.Succeeded
		clean = clean || state != protocol.SlotZombie
	case x.cause == protocol.ErrTimeout:
		how = meter.Failed
	}
	if finished && how == meter.Succeeded {
		w.learn(p.slot(int(e.slot)).Kind(), x.work)
		w.worked(p, p.slot(int(e.slot)).Job())
	}
	w.endExecution(p, int(e.slot), how, meter.CauseOfCancel(x.cause, p.cause))
	x.state = execNone
	w.step(p, protocol.Returned(int(e.slot), code, clean))
	w.startWaiting(p)
}

func (w *World) endExecution(p *process, slot int, how meter.How, cause meter.Cause) {
	x := &p.execs[slot]
	w.record(meter.Record{
		Kind: meter.ExecutionEnded, Job: p.slot(slot).Job(), Token: p.slot(slot).Token(), Work: x.progress(p.worksAt(w.now)), Total: x.work, Span: x.base,
		Count: int32(w.jobIn(p, slot).Effects), How: how, Cause: cause, Seat: p.seat,
		Paused: p.pausedUntil > w.now,
	})
}

// killExecution is what the death of a process does to a handler.
func (w *World) killExecution(p *process, slot int, cause meter.Cause) {
	x := &p.execs[slot]
	if x.runs() {
		w.endExecution(p, slot, meter.Killed, cause)
	}
	x.state = execNone
	x.turn++
}

// scheduleOutOfMemory queues the point at which the handler runs its process out of memory,
// if it is one that does.
func (w *World) scheduleOutOfMemory(p *process, slot int) {
	x := &p.execs[slot]
	if !w.executionHappens(p, slot, drawOOM, w.jobIn(p, slot).OOM) {
		return
	}
	entity, index := p.drawsOf(slot, drawOOMPoint)
	after, _ := bits.Mul64(uint64(x.work-x.base), w.rnd.Draw(StreamExecution, entity, index))
	w.at(x.began.Add(protocol.Duration(after)), event{kind: evOutOfMemory, whom: p.whom(), slot: int16(slot), what: x.turn})
}

func (w *World) onOutOfMemory(p *process, e event) {
	if x := &p.execs[e.slot]; x.turn == e.what && x.works() {
		w.crash(p)
	}
}

// scheduleSave queues the next point at which the handler saves its cursor.
func (w *World) scheduleSave(p *process, slot int) {
	x := &p.execs[slot]
	every := w.jobIn(p, slot).Save
	point := (x.progress(w.now)/every + 1) * every
	if at := x.began.Add(point - x.base); at < x.endAt {
		w.at(at, event{kind: evSave, whom: p.whom(), slot: int16(slot), what: x.turn})
	}
}

func (w *World) onSave(p *process, e event) {
	x := &p.execs[e.slot]
	if x.turn != e.what || !x.works() {
		return
	}
	// A cursor rides on the next renewal, unless it is flushed; where there are none it goes by itself.
	flush := w.jobIn(p, int(e.slot)).Flush || w.sc.Queue.Heartbeat == model.NoHeartbeat
	w.step(p, protocol.SaveCursor(int(e.slot), protocol.Cursor(x.progress(w.now)), flush))
	if p.life == e.life && x.turn == e.what && x.works() {
		w.scheduleSave(p, int(e.slot))
	}
}

func (w *World) startUndo(p *process, e *protocol.Effect) {
	x := &p.execs[e.Slot]
	x.turn++
	x.state = execUndoes
	x.endAt = w.now.Add(w.sc.Jobs[e.JobKind].Undo)
	w.at(x.endAt, event{kind: evUndo, whom: p.whom(), slot: int16(e.Slot), what: x.turn})
}

func (w *World) onUndo(p *process, e event) {
	x := &p.execs[e.slot]
	if x.turn != e.what || x.state != execUndoes {
		return
	}
	x.state = execNone
	code := protocol.UndoDone
	job, token := p.slot(int(e.slot)).Job(), p.slot(int(e.slot)).Token()
	if w.rnd.Happens(StreamUndo, uint64(job), uint64(x.number), w.jobIn(p, int(e.slot)).UndoFails) {
		code = protocol.UndoFailed
	}
	w.record(meter.Record{Kind: meter.UndoEnded, Job: job, Token: token, Seat: p.seat})
	w.step(p, protocol.Undid(int(e.slot), code))
	w.startWaiting(p)
}

// learn counts a finished execution in its kind's histogram.
func (w *World) learn(kind protocol.Kind, work protocol.Duration) {
	ms := uint64(work / protocol.Millisecond)
	b := max(bits.Len64(ms)-1, 0)
	w.learned[int(kind)*protocol.BucketsPerKind+min(b, protocol.BucketsPerKind-1)]++
}
