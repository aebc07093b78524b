package invariant

import "github.com/quiesce/quiesce/protocol"

// This file watches what handlers save: rule 16.

// carries watches a renewal or a settling take along what waits to be stored. What is undone must
// not be resumed after. (progress-survives, undone-not-resumed)
func (c *Checker) carries(seat int32, s *slot, e *protocol.Effect) {
	switch {
	case s.undone:
		if c.must(UndoneNotResumed, e.Cursor == 0) {
			c.breaks(UndoneNotResumed, e.Job, seat, "worker %d undid what job %d had done since its last stored cursor, and sent a cursor beyond that with a %v", seat, e.Job, e.Kind)
		}
	case s.pending != 0 && !s.lost:
		if c.must(ProgressSurvives, e.Cursor == s.pending) {
			c.breaks(ProgressSurvives, e.Job, seat, "the handler of job %d saved its progress, and worker %d sent a %v without it", e.Job, seat, e.Kind)
		}
	}
}

// saveAsked watches a handler save its progress. After a loss nothing is stored, and it is told;
// what is flushed goes out at once. (progress-survives)
func (c *Checker) saveAsked(seat int32) {
	ev := &c.event
	s := c.slotAt(seat, ev.Slot)
	if s == nil || !s.runs {
		return
	}
	if s.lost {
		if c.must(ProgressSurvives, c.sent&sentRefusal != 0) {
			c.breaks(ProgressSurvives, s.job, seat, "the handler of job %d saved its progress under a lost claim, and worker %d did not tell it that nothing is stored", s.job, seat)
		}
		return
	}
	s.pending = ev.Cursor
	if ev.Flush && c.must(ProgressSurvives, c.sent&sentSave != 0) {
		c.breaks(ProgressSurvives, s.job, seat, "the handler of job %d waits for its progress to be stored, and worker %d did not send it", s.job, seat)
	}
}

// cursorAnswered watches what becomes of a cursor that the broker has stored: the handler is
// told, and undo reaches back to it. (progress-survives)
func (c *Checker) cursorAnswered(seat int32) {
	ev := &c.event
	s := c.slotAt(seat, ev.Slot)
	if s == nil || s.job != ev.Job || s.token != ev.Token || ev.Cursor == 0 || ev.Code != protocol.OK && ev.Code != protocol.CancelOrder {
		return
	}
	if s.pending == ev.Cursor {
		s.pending = 0
	}
	if s.runs && !s.lost && c.must(ProgressSurvives, c.sent&sentCommit != 0) {
		c.breaks(ProgressSurvives, s.job, seat, "the broker stored the progress of job %d, and worker %d did not tell its handler", s.job, seat)
	}
}
