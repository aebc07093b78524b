package invariant

import "github.com/quiesce/quiesce/protocol"

// This file watches how claims end in a worker: rules 7, 8, 11, 16 and 17.

// settles watches the settling of a claim. (settled-after-return, undo-before-release,
// no-job-lost, late-acks-counted, ends-as-returned)
func (c *Checker) settles(seat int32, p *process, e *protocol.Effect) {
	s := c.slotAt(seat, e.Slot)
	if s == nil {
		c.sent |= sentSurplus
		p.gaveBack = true
		return
	}
	c.sent |= sentSettle
	if s.job != e.Job || s.token != e.Token {
		*s = slot{job: e.Job, token: e.Token, kind: e.JobKind} // granted and not run
		p.gaveBack = true
	}
	if c.must(SettledAfterReturn, !s.runs) {
		c.breaks(SettledAfterReturn, e.Job, seat, "worker %d settled job %d (%v) while its handler ran", seat, e.Job, e.Verb)
	}
	if c.must(UndoBeforeRelease, !s.undoes || e.Verb == protocol.Quarantine) {
		c.breaks(UndoBeforeRelease, e.Job, seat, "worker %d settled job %d (%v) while its undo ran", seat, e.Job, e.Verb)
	}
	late := s.undone && c.local >= s.until // undo that ends at the very instant at which it is given up, too
	if e.Verb == protocol.Quarantine && c.must(NoJobLost, s.undoes || s.failedAll || s.offered || late) {
		c.breaks(NoJobLost, e.Job, seat, "worker %d parked job %d although its undo had neither failed nor been late", seat, e.Job)
	}
	if e.Verb == protocol.Ack && s.told && !s.offered && c.must(LateAcksCounted, c.sent&sentCountLate != 0) {
		c.breaks(LateAcksCounted, e.Job, seat, "worker %d acked job %d, whose handler finished after its cancel, and counted nothing", seat, e.Job)
	}
	if s.returned && !s.offered {
		c.endsAs(seat, s, e)
	}
	c.carries(seat, s, e)
	s.settles, s.offered, s.settled = true, true, c.now
	s.verb, s.reason = e.Verb, e.Reason
}

// endsAs watches what a worker makes of a handler's return. Undo that failed may end in a
// quarantine, whatever was to follow it. (ends-as-returned)
func (c *Checker) endsAs(seat int32, s *slot, e *protocol.Effect) {
	verb, reason := Return{s.code, s.clean, s.lost, s.told, s.cause}.Ending()
	as := e.Verb == verb && (verb != protocol.Release || e.Reason == reason)
	if c.must(EndsAsReturned, as || e.Verb == protocol.Quarantine && s.undone) {
		c.breaks(EndsAsReturned, e.Job, seat, "the handler of job %d returned and worker %d sent %v (%v) instead of %v (%v)", e.Job, seat, e.Verb, e.Reason, verb, reason)
	}
}

// renews watches the distance from one renewal to the next: it is what the lease is counted on,
// and a new claim must not put the renewal of the others off. (lease-kept-while-handled)
func (c *Checker) renews(seat int32, p *process, s *slot, e *protocol.Effect) {
	last := s.renewed
	if last.local < s.started.local {
		last = s.started
	}
	if s.runs && p.scheduled(last.at, c.now) && c.must(LeaseKeptWhileHandled, e.At.Sub(last.local) <= p.cfg.Heartbeat+clockStep) {
		c.breaks(LeaseKeptWhileHandled, e.Job, seat, "worker %d renewed job %d %v after the last renewal, and it is to do so every %v", seat, e.Job, e.At.Sub(last.local), p.cfg.Heartbeat)
	}
}

// clockStep is more than what a clock that runs fast passes over between two instants of the run.
const clockStep protocol.Duration = 2

// settlesAgain watches, when a claim whose settling was sent is renewed, that the settling is
// repeated as well: what was not answered goes out again within two rounds. (settled-until-answered)
func (c *Checker) settlesAgain(seat int32, p *process, s *slot) {
	if !s.settles || !p.scheduled(s.settled, c.now) {
		return
	}
	most := 2 * p.cfg.Retry.Max
	most += most/1_000_000*protocol.Duration(max(p.drift, -p.drift)+1) + 1
	if c.must(SettledUntilAnswered, c.now.Sub(s.settled) <= most) {
		c.breaks(SettledUntilAnswered, s.job, seat, "worker %d sent how job %d ends at %v, was not answered, and did not repeat it", seat, s.job, s.settled)
	}
}

// afterReturn watches what follows the return of a handler. (resources-freed,
// settled-until-answered)
func (c *Checker) afterReturn(seat int32) {
	s := c.slotAt(seat, c.event.Slot)
	if s == nil || s.job == 0 {
		return
	}
	if c.event.Code != protocol.ReturnedNil && !c.event.Clean {
		if c.must(ResourcesFreed, c.sent&sentUndo != 0) {
			c.breaks(ResourcesFreed, s.job, seat, "worker %d left the partial work of job %d where it lay", seat, s.job)
		}
		return
	}
	if !s.taken && c.must(SettledUntilAnswered, c.sent&(sentSettle|sentUndo) != 0) {
		c.breaks(SettledUntilAnswered, s.job, seat, "the handler of job %d returned and worker %d told the broker nothing", s.job, seat)
	}
}

// undoes watches undo hooks begin. (shared-undo-while-held)
func (c *Checker) undoes(seat int32, p *process, e *protocol.Effect) {
	c.sent |= sentUndo
	s := c.slotAt(seat, e.Slot)
	if s == nil {
		return
	}
	s.undoes, s.undone, s.until, s.shared = true, true, e.Until, !e.Private
	j := c.jobs.Get(uint64(e.Job))
	if e.Private || j == nil {
		return
	}
	if c.must(SharedUndoWhileHeld, j.token == e.Token && (!j.open || j.lease > c.now)) {
		c.breaks(SharedUndoWhileHeld, e.Job, seat, "worker %d began to undo job %d under shared names after its claim had run out", seat, e.Job)
	}
}

// commits watches a segment being closed. (saved-before-commit)
func (c *Checker) commits(seat int32, e *protocol.Effect) {
	c.sent |= sentCommit
	ev := &c.event
	stored := (ev.Kind == protocol.RenewAnswered || ev.Kind == protocol.SaveAnswered) && ev.Cursor == e.Cursor && ev.Token == e.Token &&
		(ev.Code == protocol.OK || ev.Code == protocol.CancelOrder)
	if c.must(SavedBeforeCommit, stored) {
		c.breaks(SavedBeforeCommit, e.Job, seat, "worker %d closed a segment of job %d before the broker had its cursor", seat, e.Job)
	}
}
