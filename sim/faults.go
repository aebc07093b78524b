package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// Faults of a seat are addressed by the seat and the wall time, not by the life that is in
// it: under every policy the same seats are hit at the same instants.

const (
	faultCrash = iota
	faultPause
	faultPartition
	faultEvict
	faultPreempt

	seatFaults
)

// gap returns the distribution of the time between two faults of one kind.
func gap(mean protocol.Duration) *dist.Table {
	t, err := dist.Exponential(int64(mean))
	if err != nil {
		panic("sim: the loader let a mean of " + mean.String() + " between faults pass: " + err.Error())
	}
	return t
}

// gapsOf returns the distributions of the time between two faults of a seat, by kind.
func gapsOf(f *model.Faults) (gaps [seatFaults]*dist.Table) {
	for kind, mean := range [seatFaults]protocol.Duration{
		faultCrash: f.Crash, faultPause: f.Pause.Every, faultPartition: f.Partition.Every,
		faultEvict: f.Evict.Every, faultPreempt: f.Preempt.Every,
	} {
		if mean > 0 {
			gaps[kind] = gap(mean)
		}
	}
	return gaps
}

func (w *World) scheduleFaults() {
	f := &w.sc.Faults
	w.fleet.gaps = gapsOf(f)
	if f.ScaleIn.Every > 0 {
		w.at(protocol.Instant(f.ScaleIn.Every), event{kind: evScaleIn})
	}
	if f.Slow.Every > 0 {
		w.fleet.slowGap = gap(f.Slow.Every)
		w.scheduleSlow()
	}
	if f.Forget > 0 {
		w.fleet.failoverGap = gap(f.Forget)
		w.scheduleFailover()
	}
	w.scheduleSeatFaults()
}

// scheduleSeatFaults begins the series of faults of every seat, used or not.
func (w *World) scheduleSeatFaults() {
	if w.fleet.gaps != [seatFaults]*dist.Table{} {
		w.fleet.struck = make([][seatFaults]uint32, w.fleet.seats)
	} else if w.sc.Faults.DriftPPM == 0 {
		return
	}
	w.fleet.use(w.fleet.seats)
	for i := range w.fleet.used() {
		p := w.fleet.at(i)
		if d := w.sc.Faults.DriftPPM; d > 0 {
			p.drift = int32(int64(w.rnd.Choose(StreamDrift, uint64(p.seat), 0, int(2*d+1))) - d)
		}
		for kind := range w.fleet.gaps {
			if w.fleet.gaps[kind] != nil {
				w.scheduleSeatFault(p, kind, w.nextFault(p, kind, 0))
			}
		}
	}
}

func (w *World) nextFault(p *process, kind int, after protocol.Instant) protocol.Instant {
	n := &w.fleet.struck[p.seat][kind]
	*n++
	return faultAfter(&w.rnd, w.fleet.gaps[kind], p.seat, kind, uint64(*n), after)
}

// faultAfter draws the instant of fault n of a seat, from that of the one before.
func faultAfter(rnd *Random, gap *dist.Table, seat int32, kind int, n uint64, after protocol.Instant) protocol.Instant {
	return after.Add(protocol.Duration(gap.Sample(rnd.Draw(streamOf(kind), uint64(seat), 2*n))))
}

func streamOf(kind int) Stream {
	return [...]Stream{StreamCrash, StreamPause, StreamPartition, StreamEvict, StreamPreempt}[kind]
}

func (w *World) scheduleSeatFault(p *process, kind int, at protocol.Instant) {
	if at <= w.end {
		w.at(at, event{kind: [...]eventKind{evCrash, evPause, evPartition, evEvict, evPreempt}[kind], whom: whom{seat: p.seat}})
	}
}

// spellLength draws how long the fault lasts that was drawn last for a seat.
func (w *World) spellLength(s *model.Spell, p *process, kind int) protocol.Duration {
	return lengthOf(&w.rnd, s, p.seat, kind, uint64(w.fleet.struck[p.seat][kind]))
}

func lengthOf(rnd *Random, s *model.Spell, seat int32, kind int, n uint64) protocol.Duration {
	return protocol.Duration(s.Length.Sample(rnd.Draw(streamOf(kind), uint64(seat), 2*n+1)))
}

func (w *World) onCrash(e event) {
	p := w.fleet.at(e.seat)
	w.note("crash", p)
	if p.state == seatUp {
		w.crash(p)
	}
	w.scheduleSeatFault(p, faultCrash, w.nextFault(p, faultCrash, w.now))
}

// onPause makes a process stand still: its handlers do not work, its timers do not fire and
// nothing is delivered, while every clock runs on.
func (w *World) onPause(e event) {
	p := w.fleet.at(e.seat)
	length := w.spellLength(&w.sc.Faults.Pause, p, faultPause)
	w.note("pause", p)
	w.pause(p, length)
	w.scheduleSeatFault(p, faultPause, w.nextFault(p, faultPause, w.now))
}

// pause begins a pause, unless nothing runs or the process stands still already.
func (w *World) pause(p *process, length protocol.Duration) {
	if p.state != seatUp || p.pausedUntil > w.now {
		return
	}
	p.pausedUntil = w.now.Add(length)
	w.standsStill(p, p.pausedUntil)
	for i := range p.execs {
		x := &p.execs[i]
		if x.runs() {
			w.record(meter.Record{Kind: meter.ExecutionPaused, Job: p.slot(i).Job(), Token: p.slot(i).Token(), Seat: p.seat})
		}
		x.turn++
		x.endAt = x.endAt.Add(length)
		x.began = x.began.Add(length)
	}
	w.at(p.pausedUntil, event{kind: evResume, whom: p.whom()})
}

// onResume lets a process run again. It first learns how late it is, before anything that
// waited for it is delivered.
func (w *World) onResume(p *process) {
	if p.state != seatUp {
		return
	}
	w.note("resume", p)
	for i := range p.execs {
		switch x := &p.execs[i]; x.state {
		case execWorks, execIsDeaf, execLeaves:
			w.record(meter.Record{Kind: meter.ExecutionResumed, Job: p.slot(i).Job(), Token: p.slot(i).Token(), Seat: p.seat})
			w.scheduleHandler(p, i)
			if w.jobIn(p, i).Save > 0 && x.works() {
				w.scheduleSave(p, i)
			}
			w.scheduleOutOfMemory(p, i)
		case execReturns:
			w.returnWaiting(p, i)
		case execUndoes:
			w.at(x.endAt, event{kind: evUndo, whom: p.whom(), slot: int16(i), what: x.turn})
		}
	}
	w.step(p, protocol.Event{Kind: protocol.Tick})
}

func (w *World) onPartition(e event) {
	p := w.fleet.at(e.seat)
	length := w.spellLength(&w.sc.Faults.Partition, p, faultPartition)
	w.note("partition", p)
	p.partition(w.now.Add(length))
	w.scheduleSeatFault(p, faultPartition, w.nextFault(p, faultPartition, w.now))
}

func (w *World) scheduleSlow() {
	w.fleet.slowed++
	at := w.now.Add(protocol.Duration(w.fleet.slowGap.Sample(w.rnd.Draw(StreamSlow, 0, 2*w.fleet.slowed))))
	if at <= w.end {
		w.at(at, event{kind: evSlow})
	}
}

func (w *World) onSlow(event) {
	length := protocol.Duration(w.sc.Faults.Slow.Length.Sample(w.rnd.Draw(StreamSlow, 0, 2*w.fleet.slowed+1)))
	w.slowUntil = max(w.slowUntil, w.now.Add(length))
	w.scheduleSlow()
}

func (w *World) scheduleFailover() {
	w.fleet.failovers++
	at := w.now.Add(protocol.Duration(w.fleet.failoverGap.Sample(w.rnd.Draw(StreamFailover, 0, w.fleet.failovers))))
	if at <= w.end {
		w.at(at, event{kind: evFailover})
	}
}

// onFailover makes the broker forget its last writes. The connections of its workers end with it,
// and each of them finds the new primary, those behind a partition once that is over.
func (w *World) onFailover(event) {
	w.broker.Forget(w.now, w.now.Add(-w.sc.Faults.ForgetFor), &w.out)
	w.flush()
	for i := range w.fleet.used() {
		if p := w.fleet.at(i); p.state == seatUp {
			at := max(w.now, p.partitionedUntil).Add(w.latency(StreamFailover, p.name()+1, w.fleet.failovers))
			w.at(at, event{kind: evReconnect, whom: p.whom()})
		}
	}
	w.scheduleFailover()
}
