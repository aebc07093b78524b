package sim

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/agenda"
)

// vast is the number of seats from which on a world does not fit into a processor's nearer
// caches, so that it pays to foresee.
const vast = 4096

// foresee reads what the next events will need. In a large world every event is about
// another worker, whose memory must be waited for, piece after piece as its code comes to
// it. Reads that do not depend on each other are waited for together, so here each turn
// reads one piece for all of the next events. It changes nothing.
func (w *World) foresee(next []agenda.Entry[event]) {
	var seen uint64 // means nothing, but keeps the reads from being left out
	for i := range next {
		e := &next[i].What
		p := &w.fleet.procs[e.seat]
		seen += uint64(p.life) + uint64(p.termAt)
		switch e.kind {
		case evRequest:
			r := w.requests.At(e.what)
			seen += r.From.Incarnation + uint64(r.Effect.Cursor)
		case evAnswer:
			a := w.answers.At(e.what - 1)
			seen += uint64(a.event.Cursor) + uint64(a.event.Token)
		}
	}
	for i := range next {
		e := &next[i].What
		if e.kind == evRequest {
			seen += w.broker.Foresee(w.requests.At(e.what))
			continue
		}
		b := w.fleet.procs[e.seat].body
		m := &b.machine
		seen += uint64(m.Phase()) + m.Incarnation() + uint64(m.ExitBy()) + uint64(m.Deadline()) + uint64(b.visitAt)
	}
	for i := range next {
		e := &next[i].What
		p := &w.fleet.procs[e.seat]
		if e.kind < evAnswer || e.kind == evRequest || int(e.slot) >= len(p.execs) {
			continue
		}
		s := p.slot(int(e.slot))
		seen += uint64(s.State()) + uint64(s.Job()) + uint64(p.execs[e.slot].state)
		switch e.kind {
		case evHandler:
			seen += w.meter.Foresee(s.Job())
		case evAnswer:
			if a := w.answers.At(e.what - 1); a.event.Kind == protocol.Granted {
				seen += w.meter.Foresee(a.event.Job)
			}
		}
	}
	w.seen += seen
}
