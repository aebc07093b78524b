package sim

import (
	"sort"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// This file has the stops that no deploy asked for, and what cuts a stop short. Workers are
// told none of it beforehand: they reckon with the grace that was configured.

// drillWindow is where a drill strikes in a drain that has no end.
const drillWindow = protocol.Minute

// cutShort lets a drill or a liveness probe kill a process before its grace is over.
func (w *World) cutShort(p *process, plan model.StopPlan) model.StopPlan {
	return plan.CutShort(w.sc.Faults.Liveness, func(span protocol.Duration) (after protocol.Duration, strikes bool) {
		if after, strikes = drillOf(w.sc, &w.rnd, p.seat, int(w.fleet.deploys), span); strikes {
			w.note("drill", p)
		}
		return after, strikes
	})
}

// onEvict lets the node stop a process by the usual sequence, but with less grace.
func (w *World) onEvict(e event) {
	p := w.fleet.at(e.seat)
	if p.state != seatEmpty && !p.stopping {
		w.note("eviction", p)
		w.stopBy(p, w.sc.Supervisor.Evict(w.now, w.sc.Faults.Evict.Grace), meter.ByOther)
		w.replace()
	}
	w.scheduleSeatFault(p, faultEvict, w.nextFault(p, faultEvict, w.now))
}

// onPreempt tells a process that its machine will be taken away, and when. One that is being
// stopped already may be killed sooner for it.
func (w *World) onPreempt(e event) {
	p := w.fleet.at(e.seat)
	if p.state != seatEmpty {
		w.note("preemption", p)
		w.takeAway(p, w.sc.Faults.Preempt.Notice)
		w.replace()
	}
	w.scheduleSeatFault(p, faultPreempt, w.nextFault(p, faultPreempt, w.now))
}

// takeAway takes the machine away from under a process at the end of a notice.
func (w *World) takeAway(p *process, notice protocol.Duration) {
	if p.state == seatEmpty {
		return
	}
	p.killAt = w.now.Add(notice)
	if p.stopping {
		w.at(p.killAt, event{kind: evKill, whom: p.whom()})
	} else {
		w.stopBy(p, model.TakenAway(p.killAt), meter.ByOther)
	}
	w.at(w.now, event{kind: evNotice, whom: p.whom()})
}

// replace starts a process for one that the node stopped. During a rollout that is the
// rollout's business.
func (w *World) replace() {
	w.advanceRollout()
	w.topUp()
}

// onScaleIn stops a part of the fleet, by the supervisor's usual sequence.
func (w *World) onScaleIn() {
	f, in := &w.fleet, &w.sc.Faults.ScaleIn
	f.scaled++
	victims := w.victims(in.IdleFirst)
	n := min(in.Workers, len(victims), f.wanted-1)
	f.wanted -= n
	for _, seat := range victims[:n] {
		w.note("scale-in", f.at(seat))
		p := f.at(seat)
		w.stopBy(p, w.cutShort(p, w.sc.Supervisor.Stop(w.now)), meter.ByOther)
	}
	w.at(w.now.Add(in.Back), event{kind: evScaleBack, what: uint32(n)})
	w.advanceRollout()
	if next := w.now.Add(in.Every); next < w.end {
		w.at(next, event{kind: evScaleIn})
	}
}

// victims lists the seats that can be stopped, the first to go first.
func (w *World) victims(idleFirst bool) []int32 {
	f := &w.fleet
	var seats []int32
	for i := range f.used() {
		if p := f.at(i); p.state != seatEmpty && !p.stopping {
			seats = append(seats, p.seat)
		}
	}
	busy := func(seat int32) bool {
		execs := f.at(seat).execs
		for i := range execs {
			if execs[i].state != execNone {
				return true
			}
		}
		return false
	}
	sort.Slice(seats, func(i, j int) bool {
		if bi, bj := busy(seats[i]), busy(seats[j]); idleFirst && bi != bj {
			return bj
		}
		a, b := w.rnd.Draw(StreamScaleIn, f.scaled, uint64(seats[i])), w.rnd.Draw(StreamScaleIn, f.scaled, uint64(seats[j]))
		return a < b || a == b && seats[i] < seats[j]
	})
	return seats
}

// onScaleBack starts as many processes again as a scale-in stopped.
func (w *World) onScaleBack(n int) {
	w.fleet.wanted += n
	w.replace()
}
