package model

import (
	"encoding/binary"

	"github.com/quiesce/quiesce/protocol"
)

// AppendCanonical appends the state of b to buf for a search that must recognise equal
// states: instants relative to now, and tokens, request numbers and incarnations by rank.
// Rows of jobs that were forgotten, and counters that decide nothing under b's
// configuration, are left out.
func (b *Broker) AppendCanonical(buf []byte, now protocol.Instant, ranks protocol.Ranks) []byte {
	num := func(n uint64) { buf = binary.AppendUvarint(buf, n) }
	at := func(t protocol.Instant) { buf = binary.AppendVarint(buf, int64(t-now)) }
	b.EachJob(func(job protocol.JobKey, row *JobRow) {
		num(uint64(job))
		state := byte(row.State)
		if row.Cancel {
			state |= 0x80
		}
		buf = append(buf, state, byte(row.Verb), byte(row.Poison), byte(row.Failures))
		num(uint64(min(int(row.Fruitless), b.cfg.Starving)))
		num(ranks.Token(job, row.Token))
		num(uint64(row.Cursor))
		num(ranks.Incarnation(row.Owner.Incarnation))
		if b.cfg.CountAtClaim {
			num(uint64(row.Deliveries - row.Restored))
		}
		switch row.State {
		case JobClaimed:
			at(max(row.Lease, now)) // how long ago it ended decides nothing
		case JobDelayed:
			at(max(row.Due, now))
		}
	})
	b.members.each(func(m *member) {
		if m == nil {
			buf = append(buf, 0)
			return
		}
		flags := byte(1)
		if m.going {
			flags |= 2
		}
		if m.parked {
			flags |= 4
		}
		buf = append(buf, flags)
		num(ranks.Incarnation(m.Incarnation))
		num(ranks.Seq(int(m.Seat), m.closed))
		num(ranks.Seq(int(m.Seat), m.seq))
		if m.parked {
			at(m.parkedAt)
		}
		b.members.eachGrant(m, func(g grant) {
			if row := b.Job(g.job); row != nil && row.Token == g.token && row.Verb == protocol.NoVerb && !row.State.Terminal() {
				num(uint64(g.job) + 1)
				num(uint64(m.parkedFor))
			}
		})
		buf = append(buf, 0)
	})
	for _, l := range b.members.waiters {
		for i := l.head; i >= 0; i = b.members.row(i).next {
			num(ranks.Incarnation(b.members.row(i).Incarnation))
		}
	}
	return buf
}

// EachNumber calls f with every token, request number and incarnation that b remembers, for
// whoever ranks them.
func (b *Broker) EachNumber(token func(protocol.JobKey, protocol.Token), seq func(seat int, seq uint64), incarnation func(uint64)) {
	b.EachJob(func(job protocol.JobKey, row *JobRow) {
		token(job, row.Token)
		incarnation(row.Owner.Incarnation)
	})
	b.members.each(func(m *member) {
		if m != nil {
			seq(int(m.Seat), m.closed)
			seq(int(m.Seat), m.seq)
			incarnation(m.Incarnation)
		}
	})
}
