package main

import (
	"fmt"

	"github.com/quiesce/quiesce/plots/chronicle"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
)

// recordingNarrator tells the steps of a recording: one worker, one life.
type recordingNarrator struct {
	*narrator
	worker *workerStory
	grace  protocol.Duration
}

func newRecordingNarrator(r *record.Recording, s *selection, most int) *recordingNarrator {
	h := &r.Header
	title := fmt.Sprintf("%s, life %.8s, recorded from %s on", h.Seat, h.Life, h.Began.Format("2006-01-02 15:04:05 MST"))
	n := &recordingNarrator{narrator: newNarrator(title, s, h.Kinds, most), grace: h.Config.Grace}
	n.worker = n.narrator.worker(0, h.Seat, h.Slots)
	return n
}

func (n *recordingNarrator) see(step *record.Step) {
	w := n.worker
	n.begins(w, step.At, 0)
	n.event(w, step.At, &step.Event, step.Job, recordedEvent(step, n.grace))
	for i := range step.Effects {
		e := &step.Effects[i]
		if w.part.Class == chronicle.Starting && e.Kind != protocol.Register && e.Kind != protocol.Exit {
			n.phase(w, step.At, chronicle.Serving) // a recording may begin in the middle
		}
		n.effect(w, step.At, e, recordedEffect(e))
		if e.Kind == protocol.Exit {
			n.ends(w, step.At, recordedEffect(e), chronicle.Killed)
		}
	}
}
