package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// ReadCanonical makes b a broker with the canonical form at the start of buf, with ranks for
// tokens, request numbers and incarnations, and returns what follows it. b has the
// configuration of the broker that wrote it, as many seats, and the payloads of its jobs: a
// copy that has seen the same jobs come in. The broker behaves like that one, shifted to now.
// The bytes must come from AppendCanonical: they are not checked.
func (b *Broker) ReadCanonical(now protocol.Instant, buf []byte) []byte {
	buf = b.ReadJobs(now, buf)
	for seat := range b.members.newest.Places() {
		buf = b.ReadSeat(now, seat, buf)
	}
	return b.ReadWaiting(buf)
}

// ReadJobs reads what AppendJobs wrote. The seats and who waits have to be read after it.
func (b *Broker) ReadJobs(now protocol.Instant, buf []byte) []byte {
	r := protocol.ReadForm(buf, now)
	b.fresh.reset()
	b.finished.reset()
	b.returned, b.delayed = b.returned[:0], b.delayed[:0]
	b.leases.reset()
	b.journal, b.safe = b.journal[:0], 0
	for job := protocol.JobKey(r.Num()); job != 0; job = protocol.JobKey(r.Num()) {
		b.readRow(&r, job)
	}
	for job := protocol.JobKey(r.Num()); job != 0; job = protocol.JobKey(r.Num()) {
		row := b.Job(job)
		b.lease(job, row, row.Lease)
	}
	if b.forgets() {
		for job := protocol.JobKey(r.Num()); job != 0; job = protocol.JobKey(r.Num()) {
			b.finished.push(job)
		}
	}
	b.sweepAt = r.At()
	if b.cfg.Deviations.Has(deviation.LimitLeaks) {
		b.leaked = int(r.Num())
	}
	return r.Rest()
}

// ReadSeat reads what AppendSeat wrote, after the jobs: of one seat or of more, if of the others it
// would read again what it has read. Who waits has to be read after it.
func (b *Broker) ReadSeat(now protocol.Instant, seat int, buf []byte) []byte {
	r := protocol.ReadForm(buf, now)
	for k := range 2 {
		b.readMember(&r, int32(seat), k)
	}
	return r.Rest()
}

// ReadWaiting reads what AppendWaiting wrote, after the seats.
func (b *Broker) ReadWaiting(buf []byte) []byte {
	r := protocol.ReadForm(buf, 0)
	b.serial = 0
	for seat := range b.members.newest.Places() { // the older life in a seat has the lower number
		b.serial = max(b.serial, b.members.newest.At(uint32(seat)).Incarnation)
	}
	b.members.waiters = b.members.waiters[:0]
	for i := r.Num(); i != 0; i = r.Num() {
		m := b.members.lives(int(i-1) / 2)[(i-1)%2]
		b.members.park(m.parkedAt(), m)
	}
	return r.Rest()
}

func (b *Broker) readRow(r *protocol.FormReader, job protocol.JobKey) {
	row := b.Job(job)
	if row == nil {
		row = b.jobs.Put(uint64(job))
	}
	*row = JobRow{Work: row.Work, Kind: row.Kind, Version: row.Version}
	state := r.Byte()
	row.State, row.Cancel = JobState(state&^(cancelBit|parksBit|renewedBit)), state&cancelBit != 0
	row.Parks, row.renewed = state&parksBit != 0, state&renewedBit != 0
	row.Verb, row.Token = protocol.Verb(r.Byte()), protocol.Token(r.Num())
	switch row.State {
	case JobReady:
		b.returned.push(job)
	case JobClaimed:
		row.Lease = r.At()
	case JobDelayed:
		row.Due = r.At()
		b.delayed.push(dueJob{row.Due, job})
	case JobDone, JobCancelledByOperator:
		row.Due = r.At()
		return
	}
	row.Cursor = protocol.Cursor(r.Num())
	row.Poison, row.Failures, row.Fruitless = uint16(r.Num()), uint16(r.Num()), uint16(r.Num())
	if b.cfg.CountAtClaim {
		row.Deliveries = uint16(r.Num())
	}
	if b.owned(row) {
		row.Owner = Member{Seat: int32(r.Num()) - 1, Nonce: r.Num(), Incarnation: r.Num(), Generation: uint32(r.Num())}
	}
}

// readMember reads life k of a seat.
func (b *Broker) readMember(r *protocol.FormReader, seat int32, k int) {
	t := &b.members
	newest := t.newest.At(uint32(seat))
	m := t.lives(int(seat))[k]
	if m != nil {
		t.ungrant(m)
	}
	flags := r.Byte()
	switch {
	case flags == 0 && k == 1:
		newest.Incarnation = 0
		return
	case flags == 0:
		if m != nil {
			t.before.Free(newest.past - 1)
			newest.past = 0
		}
		return
	case k == 1:
		m = newest
	case m == nil:
		newest.past = t.before.New() + 1
		m = t.before.At(newest.past - 1)
	}
	*m = member{prev: nobody, next: nobody, past: m.past, going: flags&goingBit != 0}
	m.Member = Member{Seat: seat, Nonce: r.Num(), Incarnation: r.Num(), Generation: uint32(r.Num())}
	m.closed, m.seq = r.Num(), r.Num()
	switch {
	case flags&parkedBit != 0:
		m.waited = -protocol.Duration(r.At())
	case m.seq > m.closed:
		m.waited = r.Span()
		for job := protocol.JobKey(r.Num()); job != 0; job = protocol.JobKey(r.Num()) {
			t.grant(m, grant{job, b.Job(job).Token})
		}
	}
}
