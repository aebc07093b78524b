package invariant

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Asked tells what the broker is about to be asked; Did tells what came of it.
func (c *Checker) Asked(now protocol.Instant, req *model.Request) {
	c.now, c.asking = now, true
	c.request = question{req.Effect.Kind, req.Effect.Token, req.From.Seat, uint32(req.From.Nonce)}
	p := &c.procs[req.From.Seat]
	if req.Effect.Kind == protocol.Withdraw && p.life == uint32(req.From.Nonce) {
		c.unpark(p)
	}
}

// HungUp tells that the broker learns of the end of a connection.
func (c *Checker) HungUp(now protocol.Instant, who model.Member) {
	c.now = now
	if p := &c.procs[who.Seat]; p.life == uint32(who.Nonce) {
		c.unpark(p)
	}
}

// Did tells what the broker did, by request or by itself.
func (c *Checker) Did(now protocol.Instant, out *model.Outbox) {
	c.now = now
	handedOut := false
	for i := range out.Facts {
		handedOut = handedOut || out.Facts[i].Kind == model.Claimed
		c.fact(&out.Facts[i])
	}
	answered := false
	for i := range out.Answers {
		a := &out.Answers[i]
		if a.Event.Kind == protocol.ClaimAnswered {
			if p := &c.procs[a.To.Seat]; p.life == uint32(a.To.Nonce) {
				c.unpark(p)
			}
			answered = answered || c.asking && a.To.Seat == c.request.seat
			continue
		}
		c.answer(a)
	}
	if c.asks(protocol.Claim) && !answered {
		if p := &c.procs[c.request.seat]; p.up && p.life == c.request.life {
			c.park(p)
		}
	}
	c.asking = false
	c.freed(handedOut)
}

// asks reports whether the broker handles a request of a kind.
func (c *Checker) asks(kind protocol.EffectKind) bool { return c.asking && c.request.kind == kind }

func (c *Checker) fact(f *model.Fact) {
	j := c.jobs.Get(uint64(f.Job))
	if j == nil {
		if f.Kind != model.Claimed {
			return
		}
		j = c.jobs.Put(uint64(f.Job)) // forgotten here already, and not by the broker
	}
	switch f.Kind {
	case model.Claimed:
		c.claimed(f, j)
	case model.LeaseRanOut:
		c.ranOut(f, j)
	case model.ClaimSettled:
		c.claimSettled(f, j)
	case model.Finished, model.DeadLettered, model.Quarantined:
		c.end(f.Job, j)
	case model.JobCancelled:
		// Nobody in these worlds orders a cancel.
		if c.must(NoJobLost, false) {
			c.breaks(NoJobLost, f.Job, -1, "job %d was cancelled for good and no operator had asked for it", f.Job)
		}
		c.end(f.Job, j)
	case model.Forgotten:
		j.over, j.open = false, false
	}
}

// claimed watches a grant. (tokens-grow, one-open-claim, returns-to-newer,
// drain-spends-no-budget, exit-zero-holds-nothing)
func (c *Checker) claimed(f *model.Fact, j *job) {
	if c.must(TokensGrow, f.Token > j.token) {
		c.breaks(TokensGrow, f.Job, f.Seat, "job %d was claimed under token %d after token %d", f.Job, f.Token, j.token)
	}
	if c.must(OneOpenClaim, !j.open || j.lease <= c.now) {
		c.breaks(OneOpenClaim, f.Job, f.Seat, "worker %d was given job %d while worker %d held it until %v", f.Seat, f.Job, j.seat, j.lease)
	}
	if row := c.broker.Job(f.Job); row != nil && c.must(DrainSpendsNoBudget, row.Failures <= j.failures) {
		c.breaks(DrainSpendsNoBudget, f.Job, f.Seat, "job %d was charged %d failures and its handlers made %d", f.Job, row.Failures, j.failures)
	}
	c.closeClaim(j)
	p := &c.procs[f.Seat]
	mine := p.up && p.life == uint32(f.Nonce)
	if mine && p.parked {
		c.unpark(p)
		if j.token != 0 && !c.asks(protocol.Claim) && c.must(ReturnsToNewer, p.gen > j.gen || !c.waitsNewer(j.gen)) {
			c.breaks(ReturnsToNewer, f.Job, f.Seat, "job %d came back and went to worker %d, which is about to be stopped as well, while newer ones waited", f.Job, f.Seat)
		}
	}
	gen := p.gen
	if past := p.lifeOf(uint32(f.Nonce)); past != nil {
		gen = past.gen // it asked before it went, and another has its seat
		if past.clean && c.must(ExitZeroHoldsNothing, false) {
			c.breaks(ExitZeroHoldsNothing, f.Job, f.Seat, "worker %d was given job %d after it had exited with status 0", f.Seat, f.Job)
		}
	}
	j.token, j.seat, j.life, j.gen = f.Token, f.Seat, uint32(f.Nonce), gen
	j.open, j.over = true, false
	c.keeps(f.Job, j)
	if mine {
		p.holds++
	}
}

func (c *Checker) closeClaim(j *job) {
	if !j.open {
		return
	}
	j.open = false
	if p := &c.procs[j.seat]; p.up && p.life == j.life {
		p.holds--
	}
}

// ranOut watches the end of a lease. (one-open-claim, lease-kept-while-handled,
// told-before-lease-ends, shared-undo-while-held, drain-spends-no-budget; freed-in-time held here)
func (c *Checker) ranOut(f *model.Fact, j *job) {
	c.occasions[FreedInTime]++
	if c.must(OneOpenClaim, j.lease <= c.now) {
		c.breaks(OneOpenClaim, f.Job, f.Seat, "the broker took job %d back at %v from worker %d, which held it until %v", f.Job, c.now, f.Seat, j.lease)
	}
	c.closeClaim(j)
	p := &c.procs[f.Seat]
	if p.up && p.life == uint32(f.Nonce) {
		if s := c.running(f.Seat, f.Job, f.Token); s != nil {
			c.leaseEnded(p, s, f, j)
		}
	}
	if f.Reason != protocol.BecauseExpired {
		return
	}
	silent := p.life == uint32(f.Nonce) && p.stopping && !p.going
	if past := p.lifeOf(uint32(f.Nonce)); past != nil {
		silent = past.silent
	}
	if c.must(DrainSpendsNoBudget, !silent) {
		c.breaks(DrainSpendsNoBudget, f.Job, f.Seat, "job %d was charged poison by the drain of worker %d, which had not said that it was going", f.Job, f.Seat)
	}
}

// leaseEnded judges a lease that ran out under a handler or its undo.
func (c *Checker) leaseEnded(p *process, s *slot, f *model.Fact, j *job) {
	if s.runs && p.scheduled(j.lease.Add(-p.cfg.Lease), c.now) {
		last := s.renewed
		if last.at > j.lease {
			last = s.before
		}
		if last.at < s.started.at {
			last = s.started
		}
		next := p.cfg.Heartbeat
		if next < protocol.Forever/2 {
			next += next/1_000_000*protocol.Duration(max(p.drift, -p.drift)+1) + 1
		}
		due := s.trust > last.local.Add(p.cfg.Heartbeat) // it still trusted its lease when the next was due
		if c.must(LeaseKeptWhileHandled, !due || j.lease.Sub(last.at) <= next) {
			c.breaks(LeaseKeptWhileHandled, f.Job, f.Seat, "the lease of job %d ran out at %v while worker %d handled it: the last renewal was sent at %v", f.Job, j.lease, f.Seat, last.at)
		}
	}
	if p.standsUntil >= c.now {
		return
	}
	if s.runs && c.must(ToldBeforeLeaseEnds, s.told) {
		c.breaks(ToldBeforeLeaseEnds, f.Job, f.Seat, "the lease of job %d ran out at %v and its handler in worker %d works on untold", f.Job, j.lease, f.Seat)
	}
	if s.undoes && c.must(SharedUndoWhileHeld, !s.shared) {
		c.breaks(SharedUndoWhileHeld, f.Job, f.Seat, "the lease of job %d ran out at %v and worker %d goes on undoing under shared names", f.Job, j.lease, f.Seat)
	}
}

// claimSettled watches the end of a claim at the broker. (no-stale-effect,
// acked-only-if-finished, settled-after-return, drain-spends-no-budget)
func (c *Checker) claimSettled(f *model.Fact, j *job) {
	if r := &c.request; c.asks(protocol.Settle) && c.must(NoStaleEffect, r.token >= j.token) {
		c.breaks(NoStaleEffect, f.Job, r.seat, "worker %d ended the claim of worker %d on job %d: it came with token %d, the newest is %d", r.seat, j.seat, f.Job, r.token, j.token)
		c.closeClaim(j)
		return
	}
	if f.Verb == protocol.Ack && c.must(AckedOnlyIfFinished, j.finished == f.Token) {
		c.breaks(AckedOnlyIfFinished, f.Job, f.Seat, "job %d was acked although no handler had finished it under token %d", f.Job, f.Token)
	}
	if p := &c.procs[f.Seat]; p.up && p.life == uint32(f.Nonce) {
		s := c.running(f.Seat, f.Job, f.Token)
		if c.must(SettledAfterReturn, s == nil || !s.runs) {
			c.breaks(SettledAfterReturn, f.Job, f.Seat, "job %d was settled (%v) while its handler ran in worker %d", f.Job, f.Verb, f.Seat)
		}
	}
	switch f.Verb {
	case protocol.Fail:
		if c.must(DrainSpendsNoBudget, j.blamed >= f.Token) {
			c.breaks(DrainSpendsNoBudget, f.Job, f.Seat, "job %d was charged a failure by worker %d although its handler had not failed", f.Job, f.Seat)
		}
	case protocol.Release, protocol.Refuse:
		if c.must(DrainSpendsNoBudget, !f.Eroded) {
			c.breaks(DrainSpendsNoBudget, f.Job, f.Seat, "job %d was handed back by worker %d and lost an attempt", f.Job, f.Seat)
		}
	}
	c.closeClaim(j)
}

// answer watches what workers are told about claims. (no-stale-effect, claim-ends-once)
func (c *Checker) answer(a *model.Answer) {
	ev := &a.Event
	switch ev.Kind {
	case protocol.RenewAnswered, protocol.SaveAnswered:
	default:
		return
	}
	if ev.Code != protocol.OK && ev.Code != protocol.CancelOrder {
		return
	}
	j := c.jobs.Get(uint64(ev.Job))
	if j == nil {
		return
	}
	if c.must(NoStaleEffect, ev.Token >= j.token) {
		c.breaks(NoStaleEffect, ev.Job, a.To.Seat, "worker %d renewed or saved job %d under token %d, the newest is %d", a.To.Seat, ev.Job, ev.Token, j.token)
		return
	}
	if c.must(ClaimEndsOnce, j.open) {
		c.breaks(ClaimEndsOnce, ev.Job, a.To.Seat, "worker %d renewed its claim on job %d after it had ended", a.To.Seat, ev.Job)
	}
	if ev.Kind == protocol.RenewAnswered {
		c.keeps(ev.Job, j)
	}
}

// Finish tells that the run is over. (no-job-lost)
func (c *Checker) Finish(now protocol.Instant) {
	c.now = now
	c.jobs.Each(func(n uint64, j *job) {
		key := protocol.JobKey(n)
		if !j.over && c.must(NoJobLost, c.broker.Job(key) != nil) {
			c.breaks(NoJobLost, key, -1, "job %d came to no end, and the broker knows nothing of it", key)
		}
	})
}

// FinishCalm tells that nothing has gone wrong for long enough. (done-after-faults)
func (c *Checker) FinishCalm(now protocol.Instant) {
	c.Finish(now)
	c.jobs.Each(func(n uint64, j *job) {
		key := protocol.JobKey(n)
		if c.reasons[NoJobLost] != "" && c.broker.Job(key) == nil {
			return // it was forgotten, and that nobody promised
		}
		row := c.broker.Job(key) // a failover may have brought an end back that was told of before
		if c.must(DoneAfterFaults, j.over || row != nil && row.State.Terminal()) {
			c.breaks(DoneAfterFaults, key, j.seat, "nothing has gone wrong for long and job %d is not done: it is %s", key, c.whereabouts(key))
		}
	})
}

func (c *Checker) whereabouts(key protocol.JobKey) string {
	row := c.broker.Job(key)
	if row == nil {
		return "unknown to the broker"
	}
	return [...]string{"ready", "claimed", "delayed", "done", "dead", "parked", "cancelled"}[row.State]
}
