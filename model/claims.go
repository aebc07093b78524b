package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// claim hands out jobs under a request's id. The same id is answered with what it was given
// already; a closed one with nothing.
func (b *Broker) claim(now protocol.Instant, req Request, out *Outbox) {
	m := b.members.find(req.From)
	seq := req.Effect.Seq
	switch {
	case m == nil || seq <= m.closed:
		b.answer(req.From, protocol.ClaimClosed(0, seq, protocol.Refused, 0), out)
	case seq == m.seq:
		// A repeat, also of one that is going: refused would tell it that it holds nothing.
		if !m.parked { // otherwise the answer is still to come
			b.answerClaim(now, m, out)
		}
	case m.going:
		b.answer(req.From, protocol.ClaimClosed(0, seq, protocol.Refused, 0), out)
	default:
		b.claimAnew(now, m, seq, min(req.Effect.Want, b.members.slots), out)
	}
}

// claimAnew closes the member's earlier requests and serves a new one: at once as far as
// there are jobs, otherwise by a long poll.
func (b *Broker) claimAnew(now protocol.Instant, m *member, seq uint64, want int32, out *Outbox) {
	b.members.unpark(now, m)
	m.seq, m.closed = seq, seq-1
	b.members.ungrant(m)
	m.waited = 0
	b.wake(now, out)
	granted := int32(0)
	for ; granted < want && !b.full(); granted++ {
		job, ok := b.takeReady()
		if !ok {
			break
		}
		b.grant(now, m, job, out)
	}
	if granted > 0 || want <= 0 || b.cfg.Park <= 0 {
		b.answerClaim(now, m, out)
		return
	}
	b.members.park(now, m)
}

// grant gives a job to the newest request of m under a new token.
func (b *Broker) grant(now protocol.Instant, m *member, job protocol.JobKey, out *Outbox) {
	row := b.Job(job)
	b.record(now, job, row)
	token := row.Token + 1
	// The clock keeps tokens apart even when a failover forgot the newest.
	if clock := protocol.Token(now / protocol.Instant(protocol.Microsecond)); clock > token && !b.cfg.Deviations.Has(deviation.TokenForgotten) {
		token = clock
	}
	row.Token, row.Owner, row.State = token, m.Member, JobClaimed
	row.Verb, row.Reason, row.Parks, row.renewed = protocol.NoVerb, protocol.NoReason, false, false
	row.Deliveries++
	b.lease(job, row, now.Add(b.cfg.Lease))
	b.members.grant(m, grant{job, token})
	out.Facts = append(out.Facts, Fact{Kind: Claimed, Job: job, Token: token, Seat: m.Seat, Nonce: m.Nonce, At: now})
}

// answerClaim answers the newest request of m with those of its grants that it still holds:
// a repeat must not start a job whose lease has run out meanwhile.
func (b *Broker) answerClaim(now protocol.Instant, m *member, out *Outbox) {
	b.members.eachGrant(m, func(g grant) {
		if row := b.Job(g.job); b.standing(now, row, g.token) == protocol.OK {
			out.Answers = append(out.Answers, Answer{To: m.Member, More: true,
				Event: protocol.GrantedJob(0, m.seq, g.job, g.token, row.Kind, row.Version, m.waited)})
		}
	})
	b.answer(m.Member, protocol.ClaimClosed(0, m.seq, protocol.OK, m.waited), out)
}

// grantParked answers a waiting request with one job.
func (b *Broker) grantParked(now protocol.Instant, m *member, job protocol.JobKey, out *Outbox) {
	b.members.unpark(now, m)
	b.grant(now, m, job, out)
	b.answerClaim(now, m, out)
}

// makeReady makes a job claimable again, in its old place, and wakes who waits for one.
func (b *Broker) makeReady(now protocol.Instant, job protocol.JobKey, row *JobRow, out *Outbox) {
	row.State = JobReady
	if w := b.members.waiting(row.Owner.Generation, b.prefersNewer(row)); w != nil && b.cfg.MaxClaims == 0 {
		b.grantParked(now, w, job, out)
		return
	}
	b.returned.push(job) // where claims are limited, older jobs may wait although workers do
}

// prefersNewer reports whether a job is to go to a newer worker than it was with.
func (b *Broker) prefersNewer(row *JobRow) bool {
	return row.Token != 0 && !b.cfg.Deviations.Has(deviation.BouncesJobs)
}

// full reports whether as many claims are open as may be.
func (b *Broker) full() bool {
	return b.cfg.MaxClaims > 0 && b.leases.running+b.leaked >= b.cfg.MaxClaims
}

// takeReady takes the claimable job that came first. An entry is stale when its job left the
// queue by another way: settled by its last holder after it expired, or cancelled.
func (b *Broker) takeReady() (protocol.JobKey, bool) {
	for b.fresh.size > 0 || len(b.returned) > 0 {
		var job protocol.JobKey
		if len(b.returned) == 0 || b.fresh.size > 0 && b.fresh.peek() < b.returned[0] {
			job = b.fresh.pop()
		} else {
			job = b.returned.pop()
		}
		if row := b.Job(job); row != nil && row.State == JobReady {
			return job, true
		}
	}
	return 0, false
}

// withdraw closes a request: what was handed out under it goes back, and should it arrive
// later it is refused.
func (b *Broker) withdraw(now protocol.Instant, req Request, out *Outbox) {
	m := b.members.find(req.From)
	if m == nil {
		b.answer(req.From, protocol.WithdrawClosed(0, req.Effect.Seq, protocol.OK, 0), out)
		return
	}
	seq := req.Effect.Seq
	if m.seq <= seq {
		b.members.unpark(now, m)
	}
	freed := 0
	if seq == m.seq && seq > m.closed {
		b.members.eachGrant(m, func(g grant) {
			row := b.Job(g.job)
			if code := b.standing(now, row, g.token); code == protocol.OK || code == protocol.Expired && !row.State.Terminal() {
				freed++
				b.record(now, g.job, row)
				b.release(now, g.job, row, protocol.Release, protocol.BecauseWithdrawn, 0, out)
			}
		})
		b.members.ungrant(m)
	}
	m.closed = max(m.closed, seq)
	b.answer(req.From, protocol.WithdrawClosed(0, seq, protocol.OK, freed), out)
}
