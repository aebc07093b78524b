package main

import (
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// jobWatch follows one job through all of its workers. While a worker holds it, what
// happens to that worker belongs to the story as well.
type jobWatch struct {
	teller
	job    protocol.JobKey
	last   protocol.JobKey // the newest job that arrived
	seen   bool
	token  protocol.Token   // of its newest claim
	paused protocol.Instant // since when nobody works on it; Never while somebody does
}

func newJobWatch(job protocol.JobKey, scn *scene, t *timeline) *jobWatch {
	return &jobWatch{teller: newTeller(scn, t), job: job, paused: protocol.Never}
}

func (w *jobWatch) see(o *sim.Observation) {
	switch o.Kind {
	case sim.SawEvent:
		w.seeEvent(o)
	case sim.SawEffect:
		w.seeEffect(o)
	case sim.SawRecord:
		w.seeRecord(o)
	case sim.SawFault:
		if w.holds(o.Seat) {
			w.tell(o)
		}
	case sim.SawCount, sim.SawUncounted:
		if o.Count.Job == w.job {
			w.tell(o)
		}
	}
}

func (w *jobWatch) seeEvent(o *sim.Observation) {
	e := &o.Event
	switch {
	case e.Kind == protocol.Granted && e.Job == w.job:
		w.tell(o)
	case len(w.slots) == 0:
	case aboutSlot(e.Kind):
		key := slotKey{o.Seat, e.Slot}
		if w.slots[key] != w.job {
			return
		}
		w.tell(o)
		if e.Kind == protocol.SettleAnswered && e.Code != protocol.Unknown {
			delete(w.slots, key)
		}
	case e.Kind == protocol.StopAsked && w.holds(o.Seat):
		w.tell(o)
	}
}

func (w *jobWatch) seeEffect(o *sim.Observation) {
	e := &o.Effect
	if e.Job == w.job {
		w.follow(o)
		w.tell(o)
		return
	}
	if len(w.slots) > 0 && e.Job != 0 && e.Slot >= 0 {
		delete(w.slots, slotKey{o.Seat, e.Slot}) // the slot has moved on to another job
	}
}

func (w *jobWatch) seeRecord(o *sim.Observation) {
	r := &o.Record
	switch {
	case r.Kind == meter.JobEnqueued:
		w.last = r.Job
		if r.Job == w.job {
			w.seen = true
			w.tell(o)
		}
	case r.Job == w.job:
		w.stall(o)
		w.tell(o)
	case aboutProcess(r.Kind) && w.holds(r.Seat):
		w.tell(o)
		for key := range w.slots {
			if key.seat == r.Seat {
				delete(w.slots, key)
			}
		}
	}
}

// stall says how long the job stood still when work on it begins again.
func (w *jobWatch) stall(o *sim.Observation) {
	switch r := &o.Record; {
	case r.Kind == meter.ClaimGranted:
		w.token = r.Token
	case r.Kind == meter.ExecutionEnded && r.Token == w.token && (r.How == meter.Interrupted || r.How == meter.Killed):
		w.paused = o.At
	case r.Kind == meter.ExecutionStarted && w.paused != protocol.Never:
		w.out.say(o.At, theQueue, w.job, "job %d stood still for %s", w.job, brief(o.At.Sub(w.paused)))
		w.paused = protocol.Never
	}
}

func (w *jobWatch) holds(seat int32) bool {
	for key := range w.slots {
		if key.seat == seat {
			return true
		}
	}
	return false
}

func (w *jobWatch) done() bool { return false }
func (w *jobWatch) close()     {}

func (w *jobWatch) missed() error {
	if w.seen {
		return nil
	}
	if w.last == 0 {
		return misuse("--job %d: no job arrived by then", w.job)
	}
	return misuse("--job %d never arrived; jobs are numbered in order of arrival, here from 1 to %d", w.job, w.last)
}
