package main

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// slotKey is a slot of a seat.
type slotKey struct{ seat, slot int32 }

// teller turns observations into lines. It remembers which job is in which of the slots
// that are watched, which events about slots do not say.
type teller struct {
	out   *timeline
	grace protocol.Duration
	slots map[slotKey]protocol.JobKey
	lives map[int32]uint32
	told  map[who]bool // who has had a stop signal
}

func newTeller(scn *scene, t *timeline) teller {
	return teller{out: t, grace: scn.Supervisor.WorkerGrace(), slots: make(map[slotKey]protocol.JobKey), lives: make(map[int32]uint32), told: make(map[who]bool)}
}

// tell writes the line of an observation, if it has one.
func (t *teller) tell(o *sim.Observation) {
	switch o.Kind {
	case sim.SawEvent:
		job := o.Event.Job
		if aboutSlot(o.Event.Kind) {
			job = t.slots[slotKey{o.Seat, o.Event.Slot}]
		}
		text := eventInWords(&o.Event, job, t.grace)
		if w := (who{o.Seat, o.Life}); o.Event.Kind == protocol.StopAsked && o.Event.Source == protocol.FromSignal {
			if t.told[w] {
				text = model.SignalName(o.Event.Signal) + " once more"
			}
			t.told[w] = true
		}
		t.say(o, job, text)
	case sim.SawEffect:
		t.say(o, o.Effect.Job, effectInWords(&o.Effect))
	case sim.SawRecord:
		text, broker := recordInWords(&o.Record)
		switch {
		case text == "":
		case broker:
			w := theBroker
			if o.Record.Kind == meter.JobEnqueued {
				w = theQueue
			}
			t.out.say(o.At, w, o.Record.Job, "%s", text)
		default:
			t.say(o, o.Record.Job, text)
		}
	case sim.SawFault:
		t.say(o, 0, faultInWords(o.Text))
	case sim.SawCount, sim.SawUncounted:
		t.out.say(o.At, theCounter, o.Count.Job, "%s", batchInWords(o))
	}
}

func (t *teller) say(o *sim.Observation, job protocol.JobKey, text string) {
	if text == "" {
		return
	}
	w := who{o.Seat, o.Life}
	if o.Kind == sim.SawRecord {
		w.life = t.lives[o.Seat] // records do not say it
	}
	t.out.say(o.At, w, job, "%s", text)
}

// follow keeps slots up to date: an effect about a job says where it is.
func (t *teller) follow(o *sim.Observation) {
	switch o.Kind {
	case sim.SawEffect:
		if e := &o.Effect; e.Job != 0 && e.Slot >= 0 {
			t.slots[slotKey{o.Seat, e.Slot}] = e.Job
		}
		t.lives[o.Seat] = o.Life
	case sim.SawEvent, sim.SawFault:
		t.lives[o.Seat] = o.Life
	}
}

// aboutSlot reports whether an event is about what is in a slot.
func aboutSlot(k protocol.EventKind) bool {
	switch k {
	case protocol.RenewAnswered, protocol.SaveAnswered, protocol.SettleAnswered, protocol.HandlerReturned,
		protocol.SaveAsked, protocol.UndoReturned, protocol.CancelAsked:
		return true
	default:
		return false
	}
}

// aboutProcess reports whether a record is about the process in a seat.
func aboutProcess(k meter.Kind) bool {
	return k == meter.ProcessExited || k == meter.ProcessKilled || k == meter.ProcessCrashed
}

// byWorker reports whether a record says which worker it is about.
func byWorker(k meter.Kind) bool {
	switch k {
	case meter.JobEnqueued, meter.RolloutBegan, meter.RolloutFinished, meter.JobForgotten, meter.JobStarving:
		return false
	default:
		return true
	}
}
