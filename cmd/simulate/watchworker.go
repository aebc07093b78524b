package main

import (
	"fmt"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// workerWatch follows one seat through all of its lives.
type workerWatch struct {
	teller
	seat    int64
	highest int32  // seat that was seen
	granted uint64 // the newest request that brought a job
	seen    bool
}

func newWorkerWatch(seat int64, scn *scene, t *timeline) *workerWatch {
	return &workerWatch{teller: newTeller(scn, t), seat: seat}
}

func (w *workerWatch) see(o *sim.Observation) {
	if o.Seat > w.highest {
		w.highest = o.Seat
	}
	if int64(o.Seat) != w.seat || o.Kind == sim.SawRecord && !byWorker(o.Record.Kind) {
		return
	}
	w.seen = true
	w.follow(o)
	switch {
	case o.Kind == sim.SawEvent && o.Event.Kind == protocol.RenewAnswered && o.Event.Code == protocol.OK:
		return // the rhythm of renewals that succeed drowns everything else
	case o.Kind == sim.SawEffect && o.Effect.Kind == protocol.Renew:
		return
	case o.Kind == sim.SawRecord && o.Record.Kind == meter.ClaimGranted:
		return // the worker learns of it a moment later
	}
	if o.Kind == sim.SawEvent {
		w.requests(o)
	}
	w.tell(o)
}

// requests tells a claim request that comes back empty, which its answer does not say.
func (w *workerWatch) requests(o *sim.Observation) {
	switch e := &o.Event; {
	case e.Kind == protocol.Granted:
		w.granted = e.Seq
	case e.Kind == protocol.ClaimAnswered && e.Code == protocol.OK && e.Seq != w.granted:
		w.say(o, 0, fmt.Sprintf("request %d comes back empty", e.Seq))
	case e.Kind == protocol.Registered:
		w.granted = 0 // requests are counted anew in every life
	}
}

func (w *workerWatch) done() bool { return false }
func (w *workerWatch) close()     {}

func (w *workerWatch) missed() error {
	if w.seen {
		return nil
	}
	return misuse("--worker %d did nothing by then; the seats that were used are 0 to %d", w.seat, w.highest)
}
