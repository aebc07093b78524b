package sim

import (
	"github.com/quiesce/quiesce/internal/prefetch"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/agenda"
)

// vast is the number of seats from which on a world does not fit into a processor's nearer
// caches, so that it pays to foresee.
const vast = 4096

// foresee has the memory fetched that the next events will need. In a large world every event is
// about another worker, and one thing leads to the next: the seat to its body, the body to a slot,
// the slot to a job. So each step goes one further for all of the next events, and what it asked
// for comes while the others are looked at. It changes nothing.
func (w *World) foresee(next []agenda.Entry[event]) {
	for i := range next {
		e := &next[i].What
		prefetch.All(w.fleet.at(e.seat))
		w.foreseeRequest(e, 0)
	}
	for i := range next {
		e := &next[i].What
		w.fleet.foresee(w.fleet.at(e.seat).body)
		w.foreseeRequest(e, 1)
	}
	for i := range next {
		e := &next[i].What
		w.fleet.foreseeSlot(w.fleet.at(e.seat).body, int(e.slot))
	}
	for step := range 2 {
		for i := range next {
			w.foreseeReturn(&next[i].What, step)
		}
	}
}

func (w *World) foreseeRequest(e *event, step int) {
	if e.kind == evRequest || e.kind == evHangup {
		w.broker.Foresee(w.requests.at(e.what), step)
	}
}

func (w *World) foreseeReturn(e *event, step int) {
	if e.kind != evHandler {
		return
	}
	if p := w.fleet.at(e.seat); int(e.slot) < len(p.execs) {
		job := p.slot(int(e.slot)).Job()
		w.broker.ForeseeReturn(e.seat, job, step)
		w.meter.Foresee(job, step)
	}
}

// foresee has the part of a body fetched that nearly every event looks at. A body with one slot is
// fetched whole: its slot is at its end, and to ask for what lies between costs less than to read first
// where the slot is.
func (f *fleet) foresee(b *body) {
	if f.slots == 1 {
		prefetch.First(b, whole)
	} else {
		prefetch.First(b, looked)
	}
}

// Of a body with more slots, what is for drains comes last in the machine, and is left out.
const (
	whole  = 7 * line
	looked = 4 * line
)

// line is how many bytes of memory the processors in use fetch at once.
const line = 64

// foreseeSlot has one of more slots fetched.
func (f *fleet) foreseeSlot(b *body, i int) {
	if f.slots > 1 && i < len(b.execs) {
		prefetch.All(&b.machine.Slots()[i])
		prefetch.All(&b.execs[i])
	}
}

// ahead is how far the end of a run looks ahead, where everybody is looked at in order.
const ahead = 8

// foreseeEnding has the memory fetched that the end of a run needs for the jobs after one: the row of
// each at the broker, and then the seat of its holder.
func (w *World) foreseeEnding(job protocol.JobKey, live *model.Pages[protocol.Duration]) {
	w.broker.ForeseeJob(job + 2*ahead)
	w.meter.Foresee(job+ahead, 1)
	live.Foresee(uint64(job+ahead), 1)
	if row := w.broker.Job(job + ahead); row != nil {
		prefetch.All(w.fleet.at(row.Owner.Seat))
	}
}

// What follows is for those to whom something happens at once, with no event that announces it.

// foreseeWaiting foresees that those who wait for a job are answered, be it with one or because
// they have waited long enough.
func (w *World) foreseeWaiting() {
	var seats [3]int32
	w.foreseeSeats(w.broker.ForeseeWaiting(seats[:0]))
}

// foreseeSeats has the memory fetched of those to whom something happens one after the other: each
// time one step further for each, as foresee does.
func (w *World) foreseeSeats(seats []int32) {
	for place, seat := range seats[:min(3, len(seats))] {
		switch p := w.fleet.at(seat); place {
		case 0:
			w.fleet.foreseeSlot(p.body, 0)
		case 1:
			w.fleet.foresee(p.body)
		case 2:
			prefetch.All(p)
		}
	}
}
