package worker

import "github.com/quiesce/quiesce/protocol"

// message is what the worker's one goroutine takes in: the parts of one answer, or a word of
// a handler, and beside them what events cannot carry.
type message struct {
	events []protocol.Event
	grants []Grant   // of a claim answer: one for each event but the last
	job    *Job      // whose handler has something to say, if events is empty
	back   *returned // it came back; nil: it saved its progress
	cargo  []*Job    // whose cursors these answers are about
}

// post puts the parts of one answer into the mailbox, unless nobody reads it any more.
func (w *Worker) post(events ...protocol.Event) { w.send(message{events: events}) }

func (w *Worker) send(m message) {
	select {
	case w.mail <- m:
	case <-w.done:
	}
}

// takeIn gives what a message says to the machine, with nothing in between.
func (w *Worker) takeIn(now protocol.Instant, m message) {
	switch {
	case m.back != nil:
		w.takeBack(now, m.job, m.back)
	case m.job != nil:
		if handle, flush := m.job.newest(); handle != 0 {
			w.stepAt(now, protocol.SaveCursor(m.job.slot, handle, flush))
		}
	}
	for i, ev := range m.events {
		if i < len(m.grants) {
			if w.granted = &m.grants[i]; w.holds(w.granted) {
				continue
			}
		}
		if ev.Kind == protocol.UndoReturned {
			w.slots[ev.Slot].undoing = false
		}
		w.stepAt(now, ev)
	}
	w.granted = nil
	for _, job := range m.cargo {
		job.land()
	}
}

// holds reports whether a slot has been given a claim already. A broker that grants it once
// more is broken, and to hand it back would end the claim under its running handler.
func (w *Worker) holds(g *Grant) bool {
	_, held := w.holding[claim{g.Job, g.Token}]
	if held {
		w.log.Error("the broker granted a claim twice; the second is ignored", "job", g.Job, "token", g.Token)
	}
	return held
}
