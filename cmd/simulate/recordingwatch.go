package main

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
)

// stepName stands where the timeline of a world says who did something: a recording has one
// worker, and its steps are what a divergence is named by.
type stepName uint64

func (n stepName) String() string { return fmt.Sprintf("step %d", uint64(n)) }

// recordingWatch picks the lines of a timeline out of the steps of a recording.
type recordingWatch struct {
	out   *timeline
	job   protocol.JobKey
	all   bool // not only the job
	holds bool // the worker has the job
	seen  bool
	grace protocol.Duration
}

func (w *recordingWatch) see(step *record.Step) {
	ev := &step.Event
	mine := w.all || step.Job == w.job && step.Job != 0 || w.holds && ev.Kind == protocol.StopAsked
	if mine && !(w.all && ev.Kind == protocol.RenewAnswered && ev.Code == protocol.OK) {
		w.say(step, step.Job, recordedEvent(step, w.grace))
	}
	for i := range step.Effects {
		e := &step.Effects[i]
		if !w.all && e.Job == w.job {
			w.seen = true
			w.holds = w.holds || e.Kind == protocol.Start
		}
		// The rhythm of renewals that succeed drowns everything else.
		if w.all && e.Kind != protocol.Renew || !w.all && (e.Job == w.job || w.holds && e.Kind == protocol.Exit) {
			w.say(step, e.Job, recordedEffect(e))
		}
	}
	if ev.Kind == protocol.SettleAnswered && step.Job == w.job && ev.Code != protocol.Unknown {
		w.holds = false
	}
}

func (w *recordingWatch) say(step *record.Step, job protocol.JobKey, text string) {
	if text != "" {
		w.out.say(step.At, stepName(step.Number), job, "%s", text)
	}
}

// recordedEvent says what a worker in production learned. What the lab's records say of a
// run, nobody says of a recording.
func recordedEvent(step *record.Step, grace protocol.Duration) string {
	switch ev := &step.Event; ev.Kind {
	case protocol.HandlerReturned:
		return aboutJob("handler", step.Job) + map[protocol.Code]string{
			protocol.ReturnedNil: "returns, done", protocol.ReturnedYield: "hands the job back", protocol.ReturnedError: "returns an error",
			protocol.ReturnedFailed: "returns an error marked as a failure", protocol.ReturnedPanic: "panics",
		}[ev.Code]
	case protocol.SaveAsked:
		return aboutJob("handler", step.Job) + "asks to save its progress"
	case protocol.StopAsked:
		if ev.Source == protocol.FromSignal && ev.At != protocol.Never {
			return fmt.Sprintf("%s; SIGKILL comes in %s", model.SignalName(ev.Signal), brief(ev.At.Sub(step.At)))
		}
		if ev.Source == protocol.FromContext {
			return "its context is done: a stop"
		}
		return eventInWords(ev, step.Job, grace)
	case protocol.ClaimAnswered:
		if ev.Code == protocol.OK && len(step.Effects) == 0 {
			return ""
		}
		return eventInWords(ev, step.Job, grace)
	default:
		return eventInWords(ev, step.Job, grace)
	}
}

func recordedEffect(e *protocol.Effect) string {
	switch e.Kind {
	case protocol.Start:
		return aboutJob("handler", e.Job) + "starts"
	case protocol.CommitSegment:
		return aboutJob("progress", e.Job) + "is stored; undo reaches back to it"
	case protocol.Exit:
		return fmt.Sprintf("exits with status %d", e.Status)
	default:
		return effectInWords(e)
	}
}
