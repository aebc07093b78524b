package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// standing says how a claim stands towards a job: OK when it is the newest and open,
// Expired when its lease ran out and nobody took the job yet, Closed when it was settled,
// Stale when there is a newer token or the broker knows of no such claim.
func (b *Broker) standing(now protocol.Instant, row *JobRow, token protocol.Token) protocol.Code {
	switch {
	case row == nil || token == 0 || row.Token != token:
		return protocol.Stale
	case row.Verb != protocol.NoVerb:
		return protocol.Closed
	case row.State != JobClaimed || b.cfg.Rescue == RescueByExpiry && row.Lease <= now:
		return protocol.Expired
	default:
		return protocol.OK
	}
}

// renew extends an open lease, and keeps the cursor that rides on it.
func (b *Broker) renew(now protocol.Instant, req Request, out *Outbox) {
	e := &req.Effect
	row := b.Job(e.Job)
	code := b.standing(now, row, e.Token)
	if b.cfg.Deviations.Has(deviation.RenewResurrects) && row != nil && row.State == JobReady && row.Token == e.Token {
		row.State, row.Verb = JobClaimed, protocol.NoVerb
		code = protocol.OK
	}
	if code == protocol.OK {
		b.record(now, e.Job, row)
		from := now
		if b.cfg.Deviations.Has(deviation.WorkersClock) {
			from = e.At
		}
		b.lease(e.Job, row, from.Add(b.cfg.Lease))
		row.renewed = true
		if b.cfg.Deviations.Has(deviation.OwnerByName) {
			b.keepEarlierLives(now, req.From)
		}
		b.keep(row, e.Cursor)
		if row.Cancel {
			code = protocol.CancelOrder
		}
	}
	b.answer(req.From, protocol.Renewed(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor), out)
}

// keepEarlierLives extends the leases of what earlier lives in a seat hold.
func (b *Broker) keepEarlierLives(now protocol.Instant, who Member) {
	b.eachLease(func(job protocol.JobKey, row *JobRow) {
		if row.Owner.Seat == who.Seat && row.Owner != who {
			b.record(now, job, row)
			b.lease(job, row, now.Add(b.cfg.Lease))
		}
	})
}

func (b *Broker) save(now protocol.Instant, req Request, out *Outbox) {
	e := &req.Effect
	row := b.Job(e.Job)
	code := b.standing(now, row, e.Token)
	if code == protocol.OK {
		b.record(now, e.Job, row)
		b.keep(row, e.Cursor)
	}
	b.answer(req.From, protocol.Saved(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor), out)
}

// keep stores a cursor: progress that proves the job is no poison.
func (b *Broker) keep(row *JobRow, cursor protocol.Cursor) {
	if cursor != 0 {
		row.Cursor, row.Poison, row.Fruitless = cursor, 0, 0
	}
}

// settle ends a claim with a verb, once: a repeat is told so, another verb comes too late,
// an older token changes nothing. An expired claim may be settled until the next one, so
// that finished work is not redone.
func (b *Broker) settle(now protocol.Instant, req Request, out *Outbox) {
	e := &req.Effect
	row := b.Job(e.Job)
	code := b.standing(now, row, e.Token)
	if b.cfg.Deviations.Has(deviation.SettleUnfenced) && code == protocol.Stale && row != nil && !row.State.Terminal() {
		code = protocol.OK
	}
	if b.cfg.Deviations.Has(deviation.ReadThenRelease) && code == protocol.Stale && row != nil && b.readBefore(row, e) {
		code = protocol.OK
	}
	if b.cfg.Deviations.Has(deviation.ReleaseInTwoSteps) && code == protocol.OK && e.Verb == protocol.Release && row.Leased() {
		b.record(now, e.Job, row)
		b.unlease(row)
		row.Lease = now
		code = protocol.Unknown // so that its worker comes back for the second step
	}
	switch {
	case code == protocol.Expired && row.State.Terminal() && (e.Verb != protocol.Ack || row.State == JobCancelledByOperator):
		code = protocol.Closed // expiry ended the job, or an operator did: only finished work brings it back
	case code == protocol.Closed && row.Verb == e.Verb:
		code = protocol.Repeat
	case code == protocol.OK || code == protocol.Expired:
		b.record(now, e.Job, row)
		b.keep(row, e.Cursor)
		b.apply(now, e, row, out)
		code = protocol.OK
	}
	b.answer(req.From, protocol.Settled(int(e.Slot), e.Job, e.Token, code), out)
}

// readBefore reports whether a release was decided, and the job's holder looked up, before the
// newest claim was given out: while nobody has renewed it, the end of its lease tells when that was.
func (b *Broker) readBefore(row *JobRow, e *protocol.Effect) bool {
	return row.State == JobClaimed && e.Verb == protocol.Release && !row.renewed && e.At < row.Lease.Add(-b.cfg.Lease)
}

func (b *Broker) apply(now protocol.Instant, e *protocol.Effect, row *JobRow, out *Outbox) {
	switch e.Verb {
	case protocol.Ack:
		b.close(now, e, row, false, out)
		b.end(now, e.Job, row, JobDone)
		out.Facts = append(out.Facts, Fact{Kind: Finished, Job: e.Job, Token: e.Token, At: now})
	case protocol.Fail:
		// With a reason it is an interruption that its worker reports as a failure.
		b.close(now, e, row, e.Reason != protocol.NoReason, out)
		row.Failures++
		row.Poison, row.Fruitless = 0, 0
		if b.outOfFailures(row) || b.outOfAttempts(row) {
			b.bury(now, e.Job, row, e.Reason, out)
			return
		}
		b.putBack(now, e.Job, row, b.retryAfter(e.Job, row), out)
	case protocol.Quarantine:
		b.close(now, e, row, false, out)
		row.State = JobQuarantined
		out.Facts = append(out.Facts, Fact{Kind: Quarantined, Job: e.Job, Token: e.Token, At: now})
	case protocol.Refuse:
		b.release(now, e.Job, row, protocol.Refuse, protocol.BecauseRefused, e.Span, out)
	default:
		b.release(now, e.Job, row, protocol.Release, e.Reason, e.Span, out)
	}
}

// close ends the claim: its lease goes, its verb stays to answer repeats.
func (b *Broker) close(now protocol.Instant, e *protocol.Effect, row *JobRow, eroded bool, out *Outbox) {
	b.unlease(row)
	row.Verb, row.Reason = e.Verb, e.Reason
	out.Facts = append(out.Facts, Fact{Kind: ClaimSettled, Verb: e.Verb, Reason: e.Reason, Eroded: eroded,
		Job: e.Job, Token: row.Token, Seat: row.Owner.Seat, Nonce: row.Owner.Nonce, At: now})
}

// release hands a job back, unblamed. Only a handler's return clears poison, so reasons
// that come without one do not; they do not count towards starving either. Of a claim that
// had expired before, the interruption was counted then.
func (b *Broker) release(now protocol.Instant, job protocol.JobKey, row *JobRow, verb protocol.Verb, reason protocol.Reason, delay protocol.Duration, out *Outbox) {
	expired := row.State != JobClaimed // it is in the queue already, or waits for its backoff
	e := protocol.Effect{Job: job, Verb: verb, Reason: reason}
	b.close(now, &e, row, b.cfg.CountAtClaim && !b.cfg.ReleaseRestores && !expired, out)
	if b.cfg.ReleaseRestores && !expired {
		row.Restored++
	}
	switch reason {
	case protocol.BecauseLate, protocol.BecauseWithdrawn, protocol.BecauseRefused, protocol.BecauseBusy:
	case protocol.BecauseCancelled:
		b.cancel(now, job, row, out)
		return
	default:
		row.Poison = 0
		if !expired {
			b.countFruitless(now, job, row, out)
		}
	}
	switch {
	case b.outOfAttempts(row):
		b.bury(now, job, row, reason, out)
	case delay > 0 || !expired:
		b.putBack(now, job, row, delay, out)
	}
}

// putBack puts a job where it belongs now that nobody holds it. An operator's cancel that
// its holder never came to obey is carried out here, not handed to the next one.
func (b *Broker) putBack(now protocol.Instant, job protocol.JobKey, row *JobRow, delay protocol.Duration, out *Outbox) {
	switch {
	case row.Cancel:
		b.cancel(now, job, row, out)
	case delay > 0:
		b.delay(now, job, row, delay)
	default:
		b.makeReady(now, job, row, out)
	}
}

func (b *Broker) countFruitless(now protocol.Instant, job protocol.JobKey, row *JobRow, out *Outbox) {
	row.Fruitless++
	if int(row.Fruitless) == b.cfg.Starving && b.cfg.Starving > 0 {
		out.Facts = append(out.Facts, Fact{Kind: GrewStarving, Job: job, At: now})
	}
}

func (b *Broker) outOfAttempts(row *JobRow) bool {
	return b.cfg.CountAtClaim && b.cfg.MaxAttempts > 0 && int(row.Deliveries-row.Restored) >= b.cfg.MaxAttempts
}

func (b *Broker) outOfFailures(row *JobRow) bool {
	return b.cfg.MaxFailures > 0 && int(row.Failures) >= b.cfg.MaxFailures
}

// bury dead-letters a job; reason is that of the interruption that did it, or none when a
// failure did.
func (b *Broker) bury(now protocol.Instant, job protocol.JobKey, row *JobRow, reason protocol.Reason, out *Outbox) {
	row.State = JobDead
	out.Facts = append(out.Facts, Fact{Kind: DeadLettered, Reason: reason, Job: job, Token: row.Token, At: now})
}

func (b *Broker) cancel(now protocol.Instant, job protocol.JobKey, row *JobRow, out *Outbox) {
	b.end(now, job, row, JobCancelledByOperator)
	out.Facts = append(out.Facts, Fact{Kind: JobCancelled, Job: job, At: now})
}

func (b *Broker) delay(now protocol.Instant, job protocol.JobKey, row *JobRow, d protocol.Duration) {
	row.State = JobDelayed
	row.Due = b.seenByMover(now.Add(d))
	b.delayed.push(dueJob{row.Due, job})
}

// end takes a job out for good that nobody has a lease of. Its row stays for the longest life of a message, so that a
// late repeat is still recognised.
func (b *Broker) end(now protocol.Instant, job protocol.JobKey, row *JobRow, state JobState) {
	row.State = state
	row.Due = now.Add(b.cfg.MaxMessageAge)
	b.finished.push(job)
}

// retryAfter is the wait before the next attempt: it doubles with every failure. The broker
// draws nothing; what is added to spread the jobs is a hash of the job and its newest claim.
func (b *Broker) retryAfter(job protocol.JobKey, row *JobRow) protocol.Duration {
	d, most := b.cfg.Backoff.Min, b.cfg.Backoff.Max
	for n := row.Failures; n > 1 && d < most; n-- {
		if d > most/2 {
			d = most
			break
		}
		d *= 2
	}
	d = min(d, most)
	if b.cfg.BackoffSpread > 0 {
		x := uint64(job)*0x9e3779b97f4a7c15 ^ uint64(row.Token)
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // splitmix64, Steele et al. 2014
		x = (x ^ x>>27) * 0x94d049bb133111eb
		d += protocol.Duration((x ^ x>>31) % uint64(b.cfg.BackoffSpread+1))
	}
	return d
}

// seenByMover is when the mover first looks at a job that is due at an instant.
func (b *Broker) seenByMover(at protocol.Instant) protocol.Instant {
	period := protocol.Instant(b.cfg.MoverPeriod)
	if period <= 0 || at%period == 0 {
		return at
	}
	return at + period - at%period
}
