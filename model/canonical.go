package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// AppendCanonical appends the state of b to buf for a search that must recognise equal
// states: instants relative to now, and tokens, request numbers and incarnations by rank.
// Payloads, which never change, and whatever decides nothing under b's configuration are
// left out, and so is the journal: a search has a broker forget a write at once. Two brokers
// with the same configuration, jobs and bytes behave alike from now on, up to those numbers;
// not so with MoverPeriod, which counts from the clock's zero, or BackoffSpread, a hash of
// tokens.
//
// It is the parts below in order; a search that renames seats writes them by itself.
func (b *Broker) AppendCanonical(buf []byte, now protocol.Instant, ranks *protocol.Ranks) []byte {
	buf = b.AppendJobs(buf, now, ranks)
	for seat := range b.members.newest.Places() {
		buf = b.AppendSeat(buf, seat, now, ranks)
	}
	return b.AppendWaiting(buf, ranks)
}

// AppendJobs appends the part of the canonical form that is about jobs: first those that may
// still be handed out, then those that have ended.
func (b *Broker) AppendJobs(buf []byte, now protocol.Instant, ranks *protocol.Ranks) []byte {
	c := canonical{protocol.FormWriter{Buf: buf, Now: now}, ranks}
	ended := 0
	b.jobs.Each(func(job uint64, row *JobRow) {
		if row.State.Terminal() {
			ended++
			return
		}
		c.row(b, protocol.JobKey(job), row)
	})
	if ended > 0 {
		b.jobs.Each(func(job uint64, row *JobRow) {
			if row.State.Terminal() {
				c.row(b, protocol.JobKey(job), row)
			}
		})
	}
	c.Num(0)
	for i := range b.leases.entries.size { // of leases that end at once the older grant is noticed first
		if l := b.leases.entries.at(i); !b.void(*l) {
			c.Num(ranks.Job(l.job))
		}
	}
	c.Num(0)
	if b.forgets() {
		for i := range b.finished.size {
			if job := *b.finished.at(i); b.Job(job) != nil {
				c.Num(ranks.Job(job))
			}
		}
		c.Num(0)
	}
	c.At(b.sweepAt)
	if b.cfg.Deviations.Has(deviation.LimitLeaks) {
		c.Num(uint64(b.leaked))
	}
	return c.Buf
}

// AppendSeat appends the part that is about the lives of one seat, and does not name it.
func (b *Broker) AppendSeat(buf []byte, seat int, now protocol.Instant, ranks *protocol.Ranks) []byte {
	c := canonical{protocol.FormWriter{Buf: buf, Now: now}, ranks}
	for _, m := range b.members.lives(seat) {
		c.member(b, m)
	}
	return c.Buf
}

// AppendWaiting appends the part that says in which order requests wait.
func (b *Broker) AppendWaiting(buf []byte, ranks *protocol.Ranks) []byte {
	c := canonical{protocol.FormWriter{Buf: buf}, ranks}
	for _, l := range b.members.waiters {
		for i := l.head; i != nobody; i = b.members.row(i).next {
			m := b.members.row(i)
			c.Num(2*ranks.Seat(int(m.Seat)) + b.members.life(m) + 1)
		}
	}
	c.Num(0)
	return c.Buf
}

// forgets reports whether rows of jobs that ended are dropped at some time.
func (b *Broker) forgets() bool { return b.cfg.MaxMessageAge != protocol.Forever }

// canonical is a writer of the canonical form of a broker.
type canonical struct {
	protocol.FormWriter
	ranks *protocol.Ranks
}

// Bits beside a job's state and a member's row.
const (
	cancelBit  = 0x80
	parksBit   = 0x40
	renewedBit = 0x20

	knownBit  = 1
	goingBit  = 2
	parkedBit = 4
)

func (c *canonical) row(b *Broker, job protocol.JobKey, row *JobRow) {
	state := byte(row.State)
	if row.Cancel {
		state |= cancelBit
	}
	if row.Parks && row.State == JobClaimed { // it says nothing about a claim whose lease is over
		state |= parksBit
	}
	if row.renewed && row.State == JobClaimed && b.tellsRenewed() {
		state |= renewedBit
	}
	c.Num(c.ranks.Job(job))
	c.Buf = append(c.Buf, state, byte(row.Verb))
	c.Num(c.ranks.Token(job, row.Token))
	switch row.State {
	case JobDone, JobCancelledByOperator:
		c.At(row.Due)
		return // nothing else decides anything any more
	case JobClaimed:
		c.At(max(row.Lease, c.Now.Add(-b.cfg.SweepSlack))) // how long before it ended decides nothing
	case JobDelayed:
		c.At(max(row.Due, c.Now))
	}
	c.Nums(uint64(row.Cursor), uint64(row.Poison), uint64(row.Failures), uint64(min(row.Fruitless, uint16(b.cfg.Starving))))
	if b.cfg.CountAtClaim {
		c.Num(uint64(row.Deliveries - row.Restored))
	}
	if b.owned(row) {
		o, seat := &row.Owner, int(row.Owner.Seat)
		c.Nums(c.ranks.Seat(seat)+1, o.Nonce, c.ranks.Incarnation(seat, o.Incarnation), uint64(o.Generation))
	}
}

// tellsRenewed reports whether it matters that a claim was renewed.
func (b *Broker) tellsRenewed() bool {
	return b.cfg.Deviations.Has(deviation.SweepsNewcomers) || b.cfg.Deviations.Has(deviation.ReadThenRelease)
}

// owned reports whether it matters who holds the newest claim: while the claim is open, and
// while the job waits for its delay, because it then prefers newer workers than that one.
func (b *Broker) owned(row *JobRow) bool {
	if row.Token == 0 {
		return false
	}
	return row.Verb == protocol.NoVerb || row.State == JobDelayed || b.cfg.Deviations.Has(deviation.RenewResurrects)
}

func (c *canonical) member(b *Broker, m *member) {
	if m == nil {
		c.Byte(0)
		return
	}
	flags := byte(knownBit)
	if m.going {
		flags |= goingBit
	}
	if m.parked {
		flags |= parkedBit
	}
	r, seat := c.ranks, int(m.Seat)
	c.Nums(uint64(flags), m.Nonce, r.Incarnation(seat, m.Incarnation), uint64(m.Generation), r.Seq(seat, m.closed), r.Seq(seat, m.seq))
	switch {
	case m.parked:
		c.At(m.parkedAt())
	case m.seq > m.closed: // it may be repeated
		c.At(c.Now.Add(m.waited))
		b.members.eachGrant(m, func(g grant) {
			if row := b.Job(g.job); row != nil && row.Token == g.token && row.Verb == protocol.NoVerb && !row.State.Terminal() {
				c.Num(c.ranks.Job(g.job))
			}
		})
		c.Num(0)
	}
}

// life says whether a member is the older life of its seat, 0, or the newer, 1.
func (t *memberTable) life(m *member) uint64 {
	if t.place(m) == m.Seat {
		return 1
	}
	return 0
}

// AddNumbers adds every token, request number and incarnation that b remembers to ranks.
func (b *Broker) AddNumbers(ranks *protocol.Ranks) {
	b.AddJobNumbers(ranks)
	for seat := range b.members.newest.Places() {
		b.AddSeatNumbers(seat, ranks)
	}
}

// AddJobNumbers adds those of the part of the canonical form that is about jobs.
func (b *Broker) AddJobNumbers(ranks *protocol.Ranks) {
	b.jobs.Each(func(job uint64, row *JobRow) {
		ranks.Tokens[job].Add(uint64(row.Token))
		if b.owned(row) && row.State != JobDone && row.State != JobCancelledByOperator {
			ranks.Lives[row.Owner.Seat].Add(row.Owner.Incarnation)
		}
	})
}

// AddSeatNumbers adds those of the part that is about the lives of one seat.
func (b *Broker) AddSeatNumbers(seat int, ranks *protocol.Ranks) {
	for _, m := range b.members.lives(seat) {
		if m != nil {
			ranks.Seqs[seat].Add(m.closed)
			ranks.Seqs[seat].Add(m.seq)
			ranks.Lives[seat].Add(m.Incarnation)
		}
	}
}

// EachWaiting calls f for every request that waits, in the order in which they do, with whose
// it is and whether that is the newer of the two lives that are known of its seat.
func (b *Broker) EachWaiting(f func(place int, who Member, newer bool)) {
	place := 0
	for _, l := range b.members.waiters {
		for i := l.head; i != nobody; i = b.members.row(i).next {
			m := b.members.row(i)
			f(place, m.Member, b.members.life(m) == 1)
			place++
		}
	}
}
