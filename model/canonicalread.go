package model

import (
	"encoding/binary"

	"github.com/quiesce/quiesce/protocol"
)

// ReadCanonical makes b a broker with the canonical form at the start of buf, with ranks for
// tokens, request numbers and incarnations, and returns what follows it. b has the
// configuration of the broker that wrote it, as many seats, and the payloads of its jobs: a
// copy that has seen the same jobs come in. The broker behaves like that one, shifted to now.
// The bytes must come from AppendCanonical: they are not checked.
func (b *Broker) ReadCanonical(now protocol.Instant, buf []byte) []byte {
	buf = b.ReadJobs(now, buf)
	for seat := range b.members.lives {
		buf = b.ReadSeat(now, seat, buf)
	}
	return b.ReadWaiting(buf)
}

// ReadJobs reads what AppendJobs wrote.
func (b *Broker) ReadJobs(now protocol.Instant, buf []byte) []byte {
	r := canonicalReader{buf: buf, now: now}
	b.fresh.reset()
	b.finished.reset()
	b.returned, b.delayed = b.returned[:0], b.delayed[:0]
	b.leases = leaseList{}
	b.serial = 0
	for job := protocol.JobKey(r.num()); job != 0; job = protocol.JobKey(r.num()) {
		r.row(b, job)
	}
	for job := protocol.JobKey(r.num()); job != 0; job = protocol.JobKey(r.num()) {
		row := b.Job(job)
		b.lease(job, row, row.Lease)
	}
	if b.forgets() {
		for job := protocol.JobKey(r.num()); job != 0; job = protocol.JobKey(r.num()) {
			b.finished.push(job)
		}
	}
	b.sweepAt = r.at()
	return r.buf
}

// ReadSeat reads what AppendSeat wrote, after the jobs.
func (b *Broker) ReadSeat(now protocol.Instant, seat int, buf []byte) []byte {
	r := canonicalReader{buf: buf, now: now}
	for k := range 2 {
		r.member(b, int32(seat), k)
	}
	return r.buf
}

// ReadWaiting reads what AppendWaiting wrote, after the seats.
func (b *Broker) ReadWaiting(buf []byte) []byte {
	r := canonicalReader{buf: buf}
	b.members.waiters = b.members.waiters[:0]
	for i := r.num(); i != 0; i = r.num() {
		place := b.members.lives[(i-1)/2][(i-1)%2]
		b.members.park(b.members.row(int32(place - 1)))
	}
	return r.buf
}

// canonicalReader reads canonical bytes.
type canonicalReader struct {
	buf []byte
	now protocol.Instant
}

func (r *canonicalReader) byte() byte {
	c := r.buf[0]
	r.buf = r.buf[1:]
	return c
}

func (r *canonicalReader) num() uint64 {
	if c := r.buf[0]; c < 0x80 {
		r.buf = r.buf[1:]
		return uint64(c)
	}
	n, length := binary.Uvarint(r.buf)
	r.buf = r.buf[length:]
	return n
}

func (r *canonicalReader) at() (t protocol.Instant) {
	t, r.buf = protocol.ReadRelative(r.buf, r.now)
	return t
}

func (r *canonicalReader) row(b *Broker, job protocol.JobKey) {
	row := b.Job(job)
	if row == nil {
		row = b.jobs.Put(uint64(job))
	}
	*row = JobRow{Work: row.Work, Kind: row.Kind, Version: row.Version}
	state := r.byte()
	row.State, row.Cancel, row.Parks = JobState(state&^(cancelBit|parksBit)), state&cancelBit != 0, state&parksBit != 0
	row.Verb, row.Token = protocol.Verb(r.byte()), protocol.Token(r.num())
	switch row.State {
	case JobReady:
		b.returned.push(job)
	case JobClaimed:
		row.Lease = r.at()
	case JobDelayed:
		row.Due = r.at()
		b.delayed.push(dueJob{row.Due, job})
	case JobDone, JobCancelledByOperator:
		row.Due = r.at()
		return
	}
	row.Cursor = protocol.Cursor(r.num())
	row.Poison, row.Failures, row.Fruitless = uint16(r.num()), uint16(r.num()), uint16(r.num())
	if b.cfg.CountAtClaim {
		row.Deliveries = uint16(r.num())
	}
	if b.owned(row) {
		row.Owner = Member{Seat: int32(r.num()) - 1, Nonce: r.num(), Incarnation: r.num(), Generation: uint32(r.num())}
	}
}

// member reads life k of a seat.
func (r *canonicalReader) member(b *Broker, seat int32, k int) {
	t := &b.members
	place := &t.lives[seat][k]
	if *place != 0 {
		t.ungrant(t.row(int32(*place - 1)))
	}
	flags := r.byte()
	if flags == 0 {
		if *place != 0 {
			t.rows.Free(*place - 1)
			*place = 0
		}
		return
	}
	if *place == 0 {
		*place = t.rows.New() + 1
	}
	m := t.row(int32(*place - 1))
	*m = member{prev: -1, next: -1, going: flags&goingBit != 0}
	m.Member = Member{Seat: seat, Nonce: r.num(), Incarnation: r.num(), Generation: uint32(r.num())}
	m.closed, m.seq = r.num(), r.num()
	switch {
	case flags&parkedBit != 0:
		m.parkedAt = r.at()
	case m.seq > m.closed:
		m.parkedFor = r.at().Sub(r.now)
		for job := protocol.JobKey(r.num()); job != 0; job = protocol.JobKey(r.num()) {
			t.grant(m, grant{job, b.Job(job).Token})
		}
	}
	b.serial = max(b.serial, m.Incarnation)
}
