package invariant

import "github.com/quiesce/quiesce/protocol"

// This file watches drains: rules 4, 5, 13, 17 and 18, and the exit.

// repeatWindow is how long repeats of SIGTERM count as one (rule 13).
const repeatWindow = protocol.Second

// stopAsked takes in a stop, and counts signals as rule 13 says.
func (c *Checker) stopAsked(p *process, ev *protocol.Event) {
	p.nth, p.signal = 0, ev.Signal
	if c.policy.OnStop == protocol.IgnoreOnStop {
		return
	}
	if ev.Source == protocol.FromSignal {
		switch {
		case ev.Signal == protocol.SIGINT:
			p.ints++
			p.nth = p.ints
		case p.terms == 0 || c.local >= p.termAt.Add(repeatWindow):
			p.terms++
			p.termAt, p.nth = c.local, p.terms
		}
	}
	first := !p.stopping
	if first {
		// What was due comes before the stop, so the drain begins at the first effect of its own.
		c.sent |= sentFirstStop
	}
	if first || ev.Source != protocol.FromSignal || p.nth == 1 {
		c.toldOfKill(p, ev)
	}
}

// stops begins a drain.
func (c *Checker) stops(p *process) {
	p.stopping, p.stopAt = true, c.local
	p.stood = p.standsUntil >= c.now
}

// toldOfKill takes in when SIGKILL comes, by what the worker is told.
func (c *Checker) toldOfKill(p *process, ev *protocol.Event) {
	at := ev.At
	if at == protocol.Never && (p.killAt == protocol.Never || ev.Source == protocol.FromSignal) {
		at = c.local.Add(p.cfg.Grace)
	}
	if at < p.killAt {
		p.killAt = at
		p.tight = at.Sub(c.local) < p.cfg.Reserve
	}
}

// goes watches a worker say that it is going. One that says so unasked drains by itself.
func (c *Checker) goes(seat int32, p *process, e *protocol.Effect) {
	p.going = true
	if !p.stopping {
		if c.sent&sentFirstStop == 0 {
			p.killAt = e.At.Add(p.cfg.Grace)
		}
		c.stops(p)
	}
	if p.ledger {
		return
	}
	p.ledger = true
	all := c.slotsOf(seat)
	for i := range all {
		all[i].owed = !all[i].free() || int32(i) == c.ending
	}
	if p.open || p.closing {
		p.owed = 1
	}
}

// cancels watches the cancel of a handler. (finish-what-fits, escalates-by-repeat)
func (c *Checker) cancels(seat int32, p *process, e *protocol.Effect) {
	s := c.slotAt(seat, e.Slot)
	if s == nil {
		return
	}
	s.told, s.cause = true, e.Cause
	switch e.Cause {
	case protocol.ErrLeaseLost:
		c.occasions[ToldBeforeLeaseEnds]++ // it was told, the lease had not ended under it
	case protocol.ErrDraining:
		k := &p.cfg.Kinds[s.kind]
		fits := p.killAt.Add(-p.cfg.Reserve).Add(-k.Gap).Add(-k.Undo)
		if c.must(FinishWhatFits, e.At >= fits) {
			c.breaks(FinishWhatFits, e.Job, seat, "worker %d cancelled job %d at %v although it had until %v", seat, e.Job, c.now, fits)
		}
	case protocol.ErrHurry:
		again := c.event.Kind == protocol.StopAsked && c.event.Source == protocol.FromSignal && p.nth == 2
		if c.must(EscalatesByRepeat, again) {
			c.breaks(EscalatesByRepeat, e.Job, seat, "worker %d hurried although no signal had come for the second time", seat)
		}
	}
}

// toldSoftly watches the first notice. (told-softly)
func (c *Checker) toldSoftly(seat int32) {
	all := c.slotsOf(seat)
	for i := range all {
		if s := &all[i]; s.runs && !s.told && c.must(ToldSoftly, s.softly) {
			c.breaks(ToldSoftly, s.job, seat, "worker %d was told to stop and did not tell the handler of job %d", seat, s.job)
		}
	}
}

// toldToHurry watches the second of a signal: whoever sends it means what runs. (escalates-by-repeat)
func (c *Checker) toldToHurry(seat int32) {
	all := c.slotsOf(seat)
	for i := range all {
		if s := &all[i]; s.runs && c.must(EscalatesByRepeat, s.told) {
			c.breaks(EscalatesByRepeat, s.job, seat, "worker %d was sent %v for the second time and lets job %d go on", seat, c.event.Signal, s.job)
		}
	}
}

// line watches the ledger. (ledger-complete, ledger-true)
func (c *Checker) line(seat int32, p *process, e *protocol.Effect) {
	if !p.ledger {
		return
	}
	owed, fits := false, false
	if s := c.slotAt(seat, e.Slot); s != nil {
		owed, s.owed = s.owed, false
		fits = c.becameOfJob(s, e)
	} else {
		owed = p.owed > 0
		p.owed--
		fits = c.becameOfRequest(p, e.Outcome)
	}
	if c.must(LedgerTrue, fits) {
		c.breaks(LedgerTrue, e.Job, seat, "worker %d wrote into its ledger that job %d (0 is a claim request) was %v, which it was not", seat, e.Job, e.Outcome)
	}
	if c.must(LedgerComplete, owed) {
		c.breaks(LedgerComplete, e.Job, seat, "worker %d wrote a line (%v) about what was not open at its stop, or had its line already", seat, e.Outcome)
	}
}

// becameOfJob reports whether an outcome is what became of the job in a slot, as far as it shows.
func (c *Checker) becameOfJob(s *slot, e *protocol.Effect) bool {
	ev := &c.event
	mine := ev.Job == s.job && ev.Token == s.token
	settled := mine && ev.Kind == protocol.SettleAnswered && took(ev.Code)
	if ev.Kind == protocol.UndoReturned && ev.Slot == e.Slot && s.judged != protocol.NoCode {
		settled = took(s.judged) // before the stop, and its undo ran on
	}
	switch e.Outcome {
	case protocol.WasFinished:
		return settled && s.verb == protocol.Ack
	case protocol.WasFailed:
		return settled && s.verb == protocol.Fail
	case protocol.WasReleased:
		return settled && s.verb == protocol.Release && s.returned && s.reason != protocol.BecauseYield
	case protocol.WasHandedBack:
		return settled && s.verb == protocol.Release && (!s.returned || s.reason == protocol.BecauseYield)
	case protocol.WasRefused:
		return settled && s.verb == protocol.Refuse
	case protocol.WasQuarantined:
		return settled && s.verb == protocol.Quarantine
	case protocol.WasSuperseded:
		return mine && s.offered && elsewhere(ev.Code) || ev.Kind == protocol.UndoReturned && ev.Slot == e.Slot && elsewhere(s.judged)
	case protocol.WasLost:
		return !s.runs && !s.settles && s.judged == protocol.NoCode
	case protocol.WasLeaked:
		return s.runs || s.undoes || e.Slot == c.ending // what was due came before its end
	case protocol.WasUnsettled:
		return !s.runs
	default:
		return false
	}
}

// took reports whether a broker that answers with a code has taken a settling.
func took(c protocol.Code) bool { return c == protocol.OK || c == protocol.Repeat }

// elsewhere reports whether a broker that answers with a code knows another end of the claim.
func elsewhere(c protocol.Code) bool { return c == protocol.Stale || c == protocol.Closed }

// becameOfRequest reports whether an outcome is what became of a worker's claim request.
func (c *Checker) becameOfRequest(p *process, o protocol.Outcome) bool {
	ev := &c.event
	mine := ev.Seq == p.asked
	switch o {
	case protocol.WasAnswered:
		return mine && ev.Kind == protocol.ClaimAnswered && !p.gaveBack
	case protocol.WasHandedBack:
		return mine && ev.Kind == protocol.ClaimAnswered && p.gaveBack
	case protocol.WasWithdrawn:
		return mine && ev.Kind == protocol.WithdrawAnswered && ev.Code == protocol.OK
	default:
		return o == protocol.WasUnsettled
	}
}

// exits watches a process leave by itself. (ledger-complete, escalates-by-repeat,
// exit-zero-holds-nothing)
func (c *Checker) exits(seat int32, p *process, e *protocol.Effect) {
	p.exited, p.status = true, e.Status
	if p.stopping {
		c.occasions[ExitBeforeKill]++ // it did
	}
	all := c.slotsOf(seat)
	for i := range all {
		if s := &all[i]; s.owed && c.must(LedgerComplete, false) {
			c.breaks(LedgerComplete, s.job, seat, "worker %d exited and its ledger says nothing of job %d", seat, s.job)
		}
	}
	if p.ledger && c.must(LedgerComplete, p.owed <= 0) {
		c.breaks(LedgerComplete, 0, seat, "worker %d exited and its ledger says nothing of a claim request", seat)
	}
	if e.Status == protocol.ExitAtOnce {
		third := c.event.Kind == protocol.StopAsked && c.event.Signal == protocol.SIGINT && p.nth >= 3
		if c.must(EscalatesByRepeat, third) {
			c.breaks(EscalatesByRepeat, 0, seat, "worker %d exited at once although SIGINT had not come for the third time", seat)
		}
	}
	if e.Status == protocol.ExitClean {
		key := c.held(seat, p)
		if c.must(ExitZeroHoldsNothing, key == 0) {
			c.breaks(ExitZeroHoldsNothing, key, seat, "worker %d exited with status 0 and holds job %d", seat, key)
		}
	}
}

// held returns a job that a process holds by the broker's clock, or 0.
func (c *Checker) held(seat int32, p *process) (held protocol.JobKey) {
	if p.holds <= 0 {
		return 0
	}
	c.jobs.Each(func(n uint64, j *job) {
		if held == 0 && j.open && j.seat == seat && j.life == p.life && j.lease > c.now {
			held = protocol.JobKey(n)
		}
	})
	return held
}

func (c *Checker) exitedClean(seat int32) bool {
	p := &c.procs[seat]
	return p.exited && p.status == protocol.ExitClean
}

// killed watches SIGKILL. (exit-before-kill)
func (c *Checker) killed(local protocol.Instant, seat int32, p *process) {
	if !p.stopping || p.stood || p.standsUntil >= c.now || p.tight || p.killAt == protocol.Never {
		return
	}
	slack := p.killAt.Sub(p.stopAt)/1_000_000*protocol.Duration(p.cfg.DriftPPM+1) + 1
	if c.must(ExitBeforeKill, local < p.killAt.Add(-slack)) {
		c.breaks(ExitBeforeKill, 0, seat, "worker %d was still there at the SIGKILL it was told of", seat)
	}
}
