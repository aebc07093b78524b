package model

import "github.com/quiesce/quiesce/protocol"

// extend is a renewal or a save: both need a claim that is held.
func (s *spec) extend(now protocol.Instant, req Request) {
	e := &req.Effect
	j := s.job(e.Job)
	code := protocol.OK
	switch {
	case !s.newest(j, e.Token):
		code = protocol.Stale
	case j.Verb != protocol.NoVerb:
		code = protocol.Closed
	case !s.holds(now, j, e.Token):
		code = protocol.Expired
	default:
		s.keep(j, e.Cursor)
		if e.Kind == protocol.Renew {
			j.Lease, j.leased = now.Add(s.cfg.Lease), s.next()
			if j.Cancel {
				code = protocol.CancelOrder
			}
		}
	}
	if e.Kind == protocol.Renew {
		s.say(req.From, protocol.Renewed(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor))
	} else {
		s.say(req.From, protocol.Saved(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor))
	}
}

func (s *spec) keep(j *specJob, cursor protocol.Cursor) {
	if cursor != 0 {
		j.Cursor, j.Poison, j.Fruitless = cursor, 0, 0
	}
}

func (s *spec) settle(now protocol.Instant, req Request) {
	e := &req.Effect
	j := s.job(e.Job)
	code := protocol.OK
	switch {
	case !s.newest(j, e.Token):
		code = protocol.Stale
	case j.Verb == e.Verb:
		code = protocol.Repeat
	case j.Verb != protocol.NoVerb:
		code = protocol.Closed
	case j.State == JobCancelledByOperator:
		code = protocol.Closed
	case (j.State == JobDead || j.State == JobQuarantined) && e.Verb != protocol.Ack:
		code = protocol.Closed
	default:
		s.keep(j, e.Cursor)
		s.apply(now, j, e)
	}
	s.say(req.From, protocol.Settled(int(e.Slot), e.Job, e.Token, code))
}

func (s *spec) apply(now protocol.Instant, j *specJob, e *protocol.Effect) {
	switch e.Verb {
	case protocol.Ack:
		s.close(now, j, e.Verb, e.Reason, false)
		j.State, j.Due = JobDone, now.Add(s.cfg.MaxMessageAge)
		s.fact(Fact{Kind: Finished, Job: j.id, Token: j.Token, At: now})
	case protocol.Quarantine:
		s.close(now, j, e.Verb, e.Reason, false)
		j.State = JobQuarantined
		s.fact(Fact{Kind: Quarantined, Job: j.id, Token: j.Token, At: now})
	case protocol.Fail:
		s.close(now, j, e.Verb, e.Reason, e.Reason != protocol.NoReason)
		j.Poison, j.Fruitless = 0, 0
		if wait, over := s.fail(j); over || s.spent(j) {
			s.bury(now, j, e.Reason)
		} else {
			s.putBack(now, j, wait)
		}
	case protocol.Refuse:
		s.release(now, j, protocol.Refuse, protocol.BecauseRefused, e.Span)
	default:
		s.release(now, j, protocol.Release, e.Reason, e.Span)
	}
}

// fail counts a failure and says how long the job waits after it, or that it was the last.
func (s *spec) fail(j *specJob) (wait protocol.Duration, over bool) {
	j.Failures++
	wait = s.cfg.Backoff.Min
	for range j.Failures - 1 {
		wait = min(2*wait, s.cfg.Backoff.Max)
	}
	wait = min(wait, s.cfg.Backoff.Max)
	if s.cfg.BackoffSpread > 0 {
		wait += spreadOf(j.id, j.Token, s.cfg.BackoffSpread)
	}
	return wait, s.cfg.MaxFailures > 0 && int(j.Failures) >= s.cfg.MaxFailures
}

// spreadOf asks a broker, since a hash cannot be written in any other way.
func spreadOf(job protocol.JobKey, token protocol.Token, spread protocol.Duration) protocol.Duration {
	b := &Broker{cfg: &BrokerConfig{Habits: Habits{BackoffSpread: spread}}}
	return b.retryAfter(job, &JobRow{Token: token})
}

func (s *spec) close(now protocol.Instant, j *specJob, verb protocol.Verb, reason protocol.Reason, eroded bool) {
	j.Verb, j.Reason = verb, reason
	s.fact(Fact{Kind: ClaimSettled, Verb: verb, Reason: reason, Eroded: eroded, Job: j.id, Token: j.Token, Seat: j.Owner.Seat, Nonce: j.Owner.Nonce, At: now})
}

func (s *spec) release(now protocol.Instant, j *specJob, verb protocol.Verb, reason protocol.Reason, delay protocol.Duration) {
	expired := j.State == JobReady || j.State == JobDelayed
	s.close(now, j, verb, reason, s.cfg.CountAtClaim && !s.cfg.ReleaseRestores && !expired)
	if s.cfg.ReleaseRestores && !expired {
		j.Restored++
	}
	if reason == protocol.BecauseCancelled {
		s.cancel(now, j)
		return
	}
	ran := reason != protocol.BecauseLate && reason != protocol.BecauseWithdrawn && reason != protocol.BecauseRefused && reason != protocol.BecauseBusy
	if ran {
		j.Poison = 0
	}
	if ran && !expired {
		s.fruitless(now, j)
	}
	switch {
	case s.spent(j):
		s.bury(now, j, reason)
	case expired && delay == 0: // it is claimable already
	default:
		s.putBack(now, j, delay)
	}
}

func (s *spec) expire(now protocol.Instant, j *specJob) {
	reason := protocol.BecauseExpired
	if l := s.life(j.Owner); l != nil && l.going {
		reason = protocol.BecauseCut
	} else {
		j.Poison++
	}
	j.State = JobReady
	blamed := reason == protocol.BecauseExpired && (s.cfg.Poison > 0 || s.cfg.ExpiryFails)
	s.fact(Fact{Kind: LeaseRanOut, Reason: reason, Eroded: s.cfg.CountAtClaim || blamed,
		Job: j.id, Token: j.Token, Seat: j.Owner.Seat, Nonce: j.Owner.Nonce, At: now})
	s.fruitless(now, j)
	var wait protocol.Duration
	over := s.cfg.OnExpiry == BuryExpired || s.spent(j) || s.cfg.Poison > 0 && int(j.Poison) >= s.cfg.Poison
	if s.cfg.ExpiryFails && reason == protocol.BecauseExpired {
		var last bool
		wait, last = s.fail(j)
		over = over || last
	}
	switch {
	case s.cfg.OnExpiry == QuarantineExpired || j.Parks:
		j.State = JobQuarantined
		s.fact(Fact{Kind: Quarantined, Job: j.id, Token: j.Token, At: now})
	case over:
		s.bury(now, j, reason)
	default:
		s.putBack(now, j, wait)
	}
}

func (s *spec) putBack(now protocol.Instant, j *specJob, delay protocol.Duration) {
	switch {
	case j.Cancel:
		s.cancel(now, j)
	case delay > 0:
		j.State, j.Due = JobDelayed, now.Add(delay)
		for p := protocol.Instant(s.cfg.MoverPeriod); p > 0 && j.Due%p != 0; {
			j.Due++
		}
	default:
		s.ready(now, j)
	}
}

func (s *spec) cancel(now protocol.Instant, j *specJob) {
	j.State, j.Due = JobCancelledByOperator, now.Add(s.cfg.MaxMessageAge)
	s.fact(Fact{Kind: JobCancelled, Job: j.id, At: now})
}

func (s *spec) bury(now protocol.Instant, j *specJob, reason protocol.Reason) {
	j.State = JobDead
	s.fact(Fact{Kind: DeadLettered, Reason: reason, Job: j.id, Token: j.Token, At: now})
}

func (s *spec) spent(j *specJob) bool {
	return s.cfg.CountAtClaim && s.cfg.MaxAttempts > 0 && int(j.Deliveries)-int(j.Restored) >= s.cfg.MaxAttempts
}

func (s *spec) fruitless(now protocol.Instant, j *specJob) {
	if j.Fruitless++; s.cfg.Starving > 0 && int(j.Fruitless) == s.cfg.Starving {
		s.fact(Fact{Kind: GrewStarving, Job: j.id, At: now})
	}
}
