package model

import (
	"github.com/quiesce/quiesce/internal/prefetch"
	"github.com/quiesce/quiesce/protocol"
)

// member is the broker's one bounded row of a worker's life: the highest claim request that
// is closed and what the newest was given.
type member struct {
	Member
	closed     uint64            // requests up to this one are answered no more
	seq        uint64            // the newest request
	waited     protocol.Duration // by the newest request until it was granted; while it is parked, less the instant since when
	going      bool
	parked     bool
	prev, next int32 // places of neighbours among the parked of one generation; -1 is none
	// What the newest request was given, in order: one job, which is all that a worker with one slot
	// asks for, and places in memberTable.granted plus one of the next and the last of the others;
	// 0 is none.
	given                grant
	nextGrant, lastGrant uint32
}

type grant struct {
	job   protocol.JobKey
	token protocol.Token
}

// grantNode is a grant in the list of its member; next is like member.nextGrant.
type grantNode struct {
	grant
	next uint32
}

// memberTable holds two lives per seat, the present and the one before it: a message lives
// shorter than a life, so nobody asks after older ones.
type memberTable struct {
	seats   int32       // how many there may be
	lives   [][2]uint32 // by seat, the older life and the newer: places in rows plus one; 0 is none
	rows    Slab[member]
	granted Slab[grantNode]
	waiters []waitList // by ascending generation
	slots   int32      // jobs in one claim answer at most
}

// Places in memberTable.lives. The only life of a seat is the newer.
const (
	olderLife = iota
	newerLife
)

// waitList is the parked requests of one generation, longest waiting first, by their places.
type waitList struct {
	generation uint32
	head, tail int32
}

// firstSeats are known from the beginning, so that equal brokers of small fleets are of one size.
// Room for others is made when somebody sits there.
const firstSeats = 1024

func (t *memberTable) init(seats, slots int) {
	t.seats, t.slots = int32(seats), int32(slots)
	t.lives = make([][2]uint32, min(seats, firstSeats))
}

// row returns the member at a place of a list.
func (t *memberTable) row(place int32) *member { return t.rows.At(uint32(place)) }

// each calls f for both lives of every seat, in order; m is nil for one that was not yet.
func (t *memberTable) each(f func(m *member)) {
	for seat := range t.lives {
		for _, place := range t.lives[seat] {
			if place == 0 {
				f(nil)
			} else {
				f(t.rows.At(place - 1))
			}
		}
	}
}

// grant notes what the newest request of m was given.
func (t *memberTable) grant(m *member, g grant) {
	if m.given.job == 0 {
		m.given = g
		return
	}
	place := t.granted.Put(grantNode{grant: g}) + 1
	if m.lastGrant == 0 {
		m.nextGrant = place
	} else {
		t.granted.At(m.lastGrant - 1).next = place
	}
	m.lastGrant = place
}

// ungrant forgets what the newest request of m was given.
func (t *memberTable) ungrant(m *member) {
	for place := m.nextGrant; place != 0; {
		next := t.granted.At(place - 1).next
		t.granted.Free(place - 1)
		place = next
	}
	m.given, m.nextGrant, m.lastGrant = grant{}, 0, 0
}

// eachGrant calls f for what the newest request of m was given, in order.
func (t *memberTable) eachGrant(m *member, f func(g grant)) {
	if m.given.job != 0 {
		f(m.given)
	}
	for place := m.nextGrant; place != 0; {
		n := t.granted.At(place - 1)
		f(n.grant)
		place = n.next
	}
}

// find returns the row of a life, or nil when it is not known.
func (t *memberTable) find(who Member) *member {
	if who.Incarnation == 0 || who.Seat < 0 || int(who.Seat) >= len(t.lives) {
		return nil
	}
	for k := newerLife; k >= olderLife; k-- { // hardly anybody asks after the older
		if place := t.lives[who.Seat][k]; place != 0 {
			if m := t.rows.At(place - 1); m.Incarnation == who.Incarnation {
				return m
			}
		}
	}
	return nil
}

// foresee has the memory fetched that find will read for the newer life of a seat, in two steps.
func (t *memberTable) foresee(seat int32, step int) {
	if seat < 0 || int(seat) >= len(t.lives) {
		return
	}
	switch of := &t.lives[seat]; step {
	case 0:
		prefetch.All(of)
	case 1:
		if place := of[newerLife]; place != 0 {
			t.rows.Foresee(place - 1)
		}
	}
}

// place returns where a member's row lies.
func (t *memberTable) place(m *member) int32 {
	of := t.lives[m.Seat]
	if t.rows.At(of[newerLife]-1) == m {
		return int32(of[newerLife] - 1)
	}
	return int32(of[olderLife] - 1)
}

// parkedAt returns since when the newest request of a member is parked.
func (m *member) parkedAt() protocol.Instant { return protocol.Instant(-m.waited) }

// park appends the newest request of a member to the waiters of its generation.
func (t *memberTable) park(since protocol.Instant, m *member) {
	i := t.place(m)
	l := t.list(m.Generation)
	m.parked = true
	m.waited = -protocol.Duration(since)
	m.prev, m.next = l.tail, -1
	if l.tail >= 0 {
		t.row(l.tail).next = i
	} else {
		l.head = i
	}
	l.tail = i
}

// list returns the waiters of a generation, making room for a new one in order.
func (t *memberTable) list(generation uint32) *waitList {
	k := len(t.waiters)
	for k > 0 && t.waiters[k-1].generation >= generation {
		k--
	}
	if k < len(t.waiters) && t.waiters[k].generation == generation {
		return &t.waiters[k]
	}
	t.waiters = append(t.waiters, waitList{})
	copy(t.waiters[k+1:], t.waiters[k:])
	t.waiters[k] = waitList{generation: generation, head: -1, tail: -1}
	return &t.waiters[k]
}

// unpark takes it from there, if it is parked.
func (t *memberTable) unpark(now protocol.Instant, m *member) {
	if !m.parked {
		return
	}
	for k := range t.waiters {
		l := &t.waiters[k]
		if l.generation != m.Generation {
			continue
		}
		if m.prev >= 0 {
			t.row(m.prev).next = m.next
		} else {
			l.head = m.next
		}
		if m.next >= 0 {
			t.row(m.next).prev = m.prev
		} else {
			l.tail = m.prev
		}
		if l.head < 0 {
			t.waiters = append(t.waiters[:k], t.waiters[k+1:]...)
		}
		break
	}
	m.prev, m.next, m.parked = -1, -1, false
	m.waited += protocol.Duration(now)
}

// waiting returns the request that is served next, or nil. A job that came back prefers a
// waiting worker of a newer generation than the one that handed it back, since older ones
// are about to be stopped themselves; it is a preference and never a condition.
func (t *memberTable) waiting(generation uint32, returned bool) *member {
	var any, newer *member
	for k := range t.waiters {
		m := t.row(t.waiters[k].head)
		if any == nil || m.parkedAt() < any.parkedAt() {
			any = m
		}
		if m.Generation > generation && (newer == nil || m.parkedAt() < newer.parkedAt()) {
			newer = m
		}
	}
	if returned && newer != nil {
		return newer
	}
	return any
}

func (t *memberTable) copyTo(dst *memberTable) {
	dst.seats, dst.slots = t.seats, t.slots
	dst.lives = append(dst.lives[:0], t.lives...)
	dst.waiters = append(dst.waiters[:0], t.waiters...)
	t.rows.CopyTo(&dst.rows)
	t.granted.CopyTo(&dst.granted)
}

func (b *Broker) register(now protocol.Instant, who Member, out *Outbox) {
	t := &b.members
	if who.Seat < 0 || who.Seat >= t.seats {
		b.answer(who, protocol.RegisteredAs(0, protocol.Refused), out)
		return
	}
	if beyond := int(who.Seat) + 1 - len(t.lives); beyond > 0 {
		t.lives = append(t.lives, make([][2]uint32, beyond)...)
	}
	for _, place := range t.lives[who.Seat] {
		if place == 0 {
			continue
		}
		if m := t.rows.At(place - 1); m.Nonce == who.Nonce {
			who.Incarnation = m.Incarnation
			b.answer(who, protocol.RegisteredAs(m.Incarnation, protocol.OK), out)
			return
		}
	}
	b.serial++
	who.Incarnation = b.serial
	*t.newest(now, who.Seat) = member{Member: who, prev: -1, next: -1}
	b.answer(who, protocol.RegisteredAs(who.Incarnation, protocol.OK), out)
	if b.cfg.SweepAtBoot {
		b.sweep(now, out)
	}
}

// newest returns the row for a new life in a seat, that of the older of two if there are two.
func (t *memberTable) newest(now protocol.Instant, seat int32) *member {
	of := &t.lives[seat]
	place := of[olderLife]
	if place == 0 {
		place = t.rows.New() + 1
	} else {
		m := t.rows.At(place - 1)
		t.unpark(now, m)
		t.ungrant(m)
	}
	of[olderLife], of[newerLife] = of[newerLife], place
	return t.rows.At(place - 1)
}

// going closes an incarnation for new claims. Expiry of its claims is an interruption from
// here on, not poison.
func (b *Broker) going(now protocol.Instant, who Member, out *Outbox) {
	m := b.members.find(who)
	if m == nil {
		return
	}
	m.going = true
	if m.parked {
		b.members.unpark(now, m)
		m.closed = m.seq
		b.answer(m.Member, protocol.ClaimClosed(0, m.seq, protocol.Refused, m.waited), out)
	}
}

// Hangup takes in that the connection of a life is gone. Nobody waits for its long poll any
// more, so no job is handed out to it; its claims stay as they are, unless they are bound to
// the connection.
func (b *Broker) Hangup(now protocol.Instant, who Member, out *Outbox) {
	m := b.members.find(who)
	if m == nil {
		return
	}
	if m.parked {
		b.members.unpark(now, m)
		m.closed = m.seq
	}
	if !b.cfg.FreedByHangup {
		return
	}
	b.eachLease(func(job protocol.JobKey, row *JobRow) {
		if row.Owner == m.Member {
			b.expire(now, job, row, out)
		}
	})
	b.refill(now, out)
}
