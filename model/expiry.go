package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// Deadline returns when the broker next has something to do by itself: only while somebody
// waits does it matter that a job became claimable, so leases of an idle queue cost nothing.
func (b *Broker) Deadline() protocol.Instant {
	at := protocol.Never
	for k := range b.members.waiters {
		at = min(at, b.members.row(b.members.waiters[k].head).parkedAt().Add(b.cfg.Park))
	}
	if len(b.members.waiters) > 0 {
		if b.leases.running > 0 && b.cfg.Rescue == RescueByExpiry {
			at = min(at, b.leases.entries.peek().until)
		}
		if len(b.delayed) > 0 {
			at = min(at, b.delayed[0].at)
		}
	}
	if b.leases.running > 0 {
		at = min(at, b.sweepAt)
	}
	return at
}

// NextSweep returns when claims are swept next, if anybody holds one then; Never where leases
// are freed otherwise.
func (b *Broker) NextSweep() protocol.Instant { return b.sweepAt }

// Tick does what is due: frees what expired or was delayed, ends long polls, forgets rows.
func (b *Broker) Tick(now protocol.Instant, out *Outbox) {
	b.wake(now, out)
	for {
		m := b.longestParked()
		if m == nil || m.parkedAt().Add(b.cfg.Park) > now {
			return
		}
		b.endPoll(now, m, out)
	}
}

// EndPoll answers the waiting request of a life with what it was granted, which is nothing:
// it has waited for as long as it wanted to, which may be less than Park. A request that is
// not waiting is left alone.
func (b *Broker) EndPoll(now protocol.Instant, who Member, seq uint64, out *Outbox) {
	if m := b.members.find(who); m != nil && m.parked && m.seq == seq {
		b.endPoll(now, m, out)
	}
}

func (b *Broker) endPoll(now protocol.Instant, m *member, out *Outbox) {
	b.members.unpark(now, m)
	b.answerClaim(now, m, out)
}

func (b *Broker) longestParked() *member {
	var m *member
	for k := range b.members.waiters {
		if w := b.members.row(b.members.waiters[k].head); m == nil || w.parkedAt() < m.parkedAt() {
			m = w
		}
	}
	return m
}

// wake makes claimable what became so by the passing of time.
func (b *Broker) wake(now protocol.Instant, out *Outbox) {
	for b.cfg.Rescue == RescueByExpiry && b.leases.running > 0 {
		first := b.leases.entries.peek()
		if first.until > now {
			break
		}
		b.expire(now, first.job, b.Job(first.job), out)
	}
	if b.sweepAt <= now {
		b.sweep(now, out)
		missed := now.Sub(b.sweepAt) / b.cfg.SweepPeriod // while no lease was out
		b.sweepAt = b.sweepAt.Add((missed + 1) * b.cfg.SweepPeriod)
	}
	for len(b.delayed) > 0 && b.delayed[0].at <= now {
		d := b.delayed.pop()
		if row := b.Job(d.job); row != nil && row.State == JobDelayed && row.Due == d.at {
			b.record(now, d.job, row)
			b.makeReady(now, d.job, row, out)
		}
	}
	for b.finished.size > 0 {
		job := b.finished.peek()
		row := b.Job(job)
		if row != nil && row.State.Terminal() && row.Due > now {
			break
		}
		b.finished.pop()
		b.foreseeFinished()
		if row != nil && row.State.Terminal() {
			b.jobs.Drop(uint64(job))
		}
	}
	b.refill(now, out)
}

// foreseeFinished has the memory fetched of the jobs that are forgotten after the next one, which is
// looked at at once, in two steps each.
func (b *Broker) foreseeFinished() {
	for step := range min(2, b.finished.size-1) {
		b.jobs.Foresee(uint64(*b.finished.at(1 + step)), 1-step)
	}
}

// sweep frees every claim whose lease ran out more than the slack ago.
func (b *Broker) sweep(now protocol.Instant, out *Outbox) {
	if b.cfg.Deviations.Has(deviation.SweepsNewcomers) {
		b.sweepNewcomers(now, out)
	}
	if b.cfg.Deviations.Has(deviation.SweepStopsAtLiving) {
		b.sweepByAge(now, out)
		return
	}
	for b.leases.running > 0 {
		first := b.leases.entries.peek()
		if first.until.Add(b.cfg.SweepSlack) > now {
			return
		}
		row := b.Job(first.job)
		owner := row.Owner
		b.expire(now, first.job, row, out)
		if b.cfg.Deviations.Has(deviation.SweepDropsRest) {
			b.dropClaims(now, owner)
		}
	}
}

// sweepNewcomers frees every claim that its holder has not renewed yet. What is granted
// meanwhile has a whole lease before it and is left alone.
func (b *Broker) sweepNewcomers(now protocol.Instant, out *Outbox) {
	b.eachLease(func(job protocol.JobKey, row *JobRow) {
		if !row.renewed && row.Lease.Add(-b.cfg.Lease) < now {
			b.expire(now, job, row, out)
		}
	})
}

// sweepByAge frees what is due among the oldest jobs, up to the first whose lease still runs.
func (b *Broker) sweepByAge(now protocol.Instant, out *Outbox) {
	for {
		oldest := protocol.JobKey(0)
		b.eachLease(func(job protocol.JobKey, _ *JobRow) {
			if oldest == 0 || job < oldest {
				oldest = job
			}
		})
		if oldest == 0 {
			return
		}
		row := b.Job(oldest)
		if row.Lease.Add(b.cfg.SweepSlack) > now {
			return
		}
		b.expire(now, oldest, row, out)
	}
}

// dropClaims deletes the jobs that a life of a worker still holds.
func (b *Broker) dropClaims(now protocol.Instant, owner Member) {
	b.eachLease(func(job protocol.JobKey, row *JobRow) {
		if row.Owner == owner {
			b.record(now, job, row)
			b.unlease(row)
			b.jobs.Drop(uint64(job))
		}
	})
}

// expire makes a job claimable whose lease ran out. The claim stays open: until the next
// one its holder may still settle. Under a worker that had said it was going this is an
// interruption like any other; otherwise it counts as poison.
func (b *Broker) expire(now protocol.Instant, job protocol.JobKey, row *JobRow, out *Outbox) {
	b.record(now, job, row)
	b.unlease(row)
	if b.cfg.Deviations.Has(deviation.LimitLeaks) {
		b.leaked++
	}
	reason := protocol.BecauseExpired
	if m := b.members.find(row.Owner); m != nil && m.going {
		reason = protocol.BecauseCut
	} else {
		row.Poison++
	}
	fails := b.cfg.ExpiryFails && reason == protocol.BecauseExpired
	row.State = JobReady
	out.Facts = append(out.Facts, Fact{Kind: LeaseRanOut, Reason: reason,
		Eroded: b.cfg.CountAtClaim || fails || b.cfg.Poison > 0 && reason == protocol.BecauseExpired,
		Job:    job, Token: row.Token, Seat: row.Owner.Seat, Nonce: row.Owner.Nonce, At: now})
	b.countFruitless(now, job, row, out)
	var wait protocol.Duration
	if fails {
		row.Failures++
		wait = b.retryAfter(job, row)
	}
	switch {
	case b.cfg.OnExpiry == QuarantineExpired, row.Parks:
		row.State = JobQuarantined
		out.Facts = append(out.Facts, Fact{Kind: Quarantined, Job: job, Token: row.Token, At: now})
	case b.cfg.OnExpiry == BuryExpired, b.outOfAttempts(row), b.cfg.Poison > 0 && int(row.Poison) >= b.cfg.Poison, fails && b.outOfFailures(row):
		b.bury(now, job, row, reason, out)
	default:
		b.putBack(now, job, row, wait, out)
	}
}
