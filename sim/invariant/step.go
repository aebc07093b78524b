package invariant

import "github.com/quiesce/quiesce/protocol"

// What a machine asked for in a step, as far as it is judged at the end of the step.
const (
	sentStart uint16 = 1 << iota
	sentSettle
	sentUndo
	sentSurplus
	sentCountLate
	sentFirstStop
	sentSave
	sentCommit
	sentRefusal
)

// Stepping tells what is about to be given to the machine of a process. local is its clock.
func (c *Checker) Stepping(now, local protocol.Instant, seat int32, ev *protocol.Event) {
	c.now, c.local, c.event, c.sent, c.grant = now, local, *ev, 0, 0
	c.steps++
	c.ending = protocol.NoSlot
	p := &c.procs[seat]
	switch ev.Kind {
	case protocol.Granted:
		if ev.Seq == p.asked && p.open {
			c.grant = ev.Job
		}
	case protocol.ClaimAnswered:
		if ev.Seq == p.asked && ev.Code != protocol.Unknown {
			p.open = false
		}
	case protocol.WithdrawAnswered:
		if ev.Seq == p.asked && ev.Code == protocol.OK {
			p.closing = false
		}
	case protocol.RenewAnswered, protocol.SaveAnswered, protocol.SettleAnswered:
		if s := c.slotAt(seat, ev.Slot); s != nil && s.token == ev.Token && s.job == ev.Job {
			c.answered(p, s, ev)
		}
	case protocol.HandlerReturned:
		c.ending = ev.Slot
		c.returned(seat, ev)
	case protocol.UndoReturned:
		c.ending = ev.Slot
		if s := c.slotAt(seat, ev.Slot); s != nil {
			s.undoes, s.failedAll = false, ev.Code == protocol.UndoFailed
		}
	case protocol.StopAsked:
		c.stopAsked(p, ev)
	}
}

// answered takes in what a worker is told about a claim.
func (c *Checker) answered(p *process, s *slot, ev *protocol.Event) {
	switch ev.Code {
	case protocol.Stale, protocol.Closed:
		s.taken = true
	case protocol.OK, protocol.CancelOrder:
		if ev.Kind == protocol.RenewAnswered {
			if s.runs {
				c.occasions[LeaseKeptWhileHandled]++ // it was kept so far
			}
			if c.local < s.trust { // what comes later, or at that instant, does not bring trust back
				s.trust = max(s.trust, p.trustFrom(ev.Sent))
			}
		}
	}
}

// returned takes in the return of a handler, and what it says about the job.
func (c *Checker) returned(seat int32, ev *protocol.Event) {
	s := c.slotAt(seat, ev.Slot)
	if s == nil {
		return
	}
	s.runs, s.returned, s.code, s.clean = false, true, ev.Code, ev.Clean
	j := c.jobs.Get(uint64(s.job))
	if j == nil {
		return
	}
	switch {
	case ev.Code == protocol.ReturnedNil && !ev.Clean: // it could not commit
	case ev.Code == protocol.ReturnedNil:
		j.finished = max(j.finished, s.token)
	case ev.Code == protocol.ReturnedFailed || ev.Code == protocol.ReturnedPanic, !s.told && ev.Code == protocol.ReturnedError, s.cause == protocol.ErrTimeout:
		j.blamed = max(j.blamed, s.token)
		j.failures++
	}
}

// Effect tells one thing that the machine of a process asked for.
func (c *Checker) Effect(seat int32, e *protocol.Effect) {
	p := &c.procs[seat]
	switch e.Kind {
	case protocol.Claim:
		c.claims(seat, p, e)
	case protocol.Withdraw:
		p.withdrawn = max(p.withdrawn, e.Seq)
		if e.Seq == p.asked {
			p.open, p.closing = false, true
		}
	case protocol.Going:
		c.goes(seat, p, e)
	case protocol.Renew:
		if s := c.slotAt(seat, e.Slot); s != nil {
			c.renews(seat, p, s, e)
			s.before, s.renewed = s.renewed, beat{c.now, e.At}
			c.settlesAgain(seat, p, s)
			c.carries(seat, s, e)
		}
	case protocol.Save:
		if e.Cursor == c.event.Cursor {
			c.sent |= sentSave
		}
	case protocol.RefuseSave:
		c.sent |= sentRefusal
	case protocol.Settle:
		c.settles(seat, p, e)
	case protocol.Start:
		c.starts(seat, p, e)
	case protocol.Soften:
		if s := c.slotAt(seat, e.Slot); s != nil {
			s.softly = true
		}
	case protocol.Cancel:
		c.cancels(seat, p, e)
	case protocol.Undo:
		c.undoes(seat, p, e)
	case protocol.PrivateOnly:
		if s := c.slotAt(seat, e.Slot); s != nil {
			s.shared = false
		}
	case protocol.CommitSegment:
		c.commits(seat, e)
	case protocol.Note:
		switch e.Note {
		case protocol.AckedAfterCancel:
			c.sent |= sentCountLate
		case protocol.LeaseLost:
			if s := c.slotAt(seat, e.Slot); s != nil {
				s.lost = true
			}
		}
	case protocol.Line:
		c.line(seat, p, e)
	case protocol.Exit:
		c.exits(seat, p, e)
	}
}

// Stepped tells that the step is over and everything was carried out.
func (c *Checker) Stepped(seat int32) {
	p := &c.procs[seat]
	switch c.event.Kind {
	case protocol.Granted:
		if c.grant != 0 {
			c.grantDropped(seat, p)
		}
	case protocol.SaveAsked:
		c.saveAsked(seat)
	case protocol.RenewAnswered, protocol.SaveAnswered, protocol.SettleAnswered:
		c.cursorAnswered(seat)
		// Not before: what was due, a repetition of the settling perhaps, came first.
		if s := c.slotAt(seat, c.event.Slot); s != nil && s.token == c.event.Token && s.job == c.event.Job && c.endsSettling() {
			if s.settles {
				s.judged = c.event.Code
			}
			s.settles = false
		}
	case protocol.HandlerReturned:
		c.afterReturn(seat)
	case protocol.StopAsked:
		if c.sent&sentFirstStop != 0 {
			if !p.stopping {
				c.stops(p)
			}
			c.toldSoftly(seat)
		}
		if c.event.Source == protocol.FromSignal && p.nth == 2 {
			c.toldToHurry(seat)
		}
	}
}

// endsSettling reports whether the answer of this step is the last about its claim.
func (c *Checker) endsSettling() bool {
	switch c.event.Code {
	case protocol.OK, protocol.Repeat:
		return c.event.Kind == protocol.SettleAnswered
	case protocol.Stale, protocol.Closed:
		return true
	default:
		return false
	}
}
