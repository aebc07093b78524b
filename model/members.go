package model

import "github.com/quiesce/quiesce/protocol"

// member is the broker's one bounded row of a worker's life: the highest claim request that
// is closed and what the newest was given.
type member struct {
	Member
	closed     uint64            // requests up to this one are answered no more
	seq        uint64            // the newest request
	waited     protocol.Duration // by the newest request until it was granted; while it is parked, less the instant since when
	going      bool
	parked     bool
	prev, next place  // of neighbours among the parked of one generation
	past       uint32 // of a newest life, the place of the one before it in memberTable.before plus one; 0 is none
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
// shorter than a life, so nobody asks after older ones. The present one lies at its seat's number,
// so that nothing has to be read before it.
type memberTable struct {
	seats   int32        // how many there may be
	newest  Slab[member] // by seat; of one that was not yet the incarnation is 0
	before  Slab[member] // of those that were before them
	granted Slab[grantNode]
	waiters []waitList // by ascending generation
	slots   int32      // jobs in one claim answer at most
}

// place says where a member's row lies: the newest life of a seat at the seat's number, an older one
// at pastPlace of that in memberTable.before.
type place = int32

// nobody is the place of none.
const nobody place = -1

func pastPlace(in uint32) place { return -2 - place(in) }

// waitList is the parked requests of one generation, longest waiting first, by their places.
type waitList struct {
	generation uint32
	head, tail place
}

// firstSeats are known from the beginning, so that equal brokers of small fleets are of one size.
// Room for others is made when somebody sits there.
const firstSeats = 1024

func (t *memberTable) init(seats, slots int) {
	t.seats, t.slots = int32(seats), int32(slots)
	t.know(min(seats, firstSeats))
}

// know makes room for the lives of so many seats.
func (t *memberTable) know(seats int) {
	for t.newest.Places() < seats {
		t.newest.New()
	}
}

// row returns the member at a place.
func (t *memberTable) row(at place) *member {
	if at >= 0 {
		return t.newest.At(uint32(at))
	}
	return t.before.At(uint32(-2 - at))
}

// place returns where a member's row lies.
func (t *memberTable) place(m *member) place {
	newest := t.newest.At(uint32(m.Seat))
	if newest == m {
		return m.Seat
	}
	return pastPlace(newest.past - 1)
}

// lives returns the two lives of a seat, the older first; nil is one that was not yet.
func (t *memberTable) lives(seat int) (lives [2]*member) {
	m := t.newest.At(uint32(seat))
	if m.Incarnation != 0 {
		lives[1] = m
	}
	if m.past != 0 {
		lives[0] = t.before.At(m.past - 1)
	}
	return lives
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
	if who.Incarnation == 0 || who.Seat < 0 || int(who.Seat) >= t.newest.Places() {
		return nil
	}
	m := t.newest.At(uint32(who.Seat))
	if m.Incarnation == who.Incarnation {
		return m
	}
	if m.past != 0 { // hardly anybody asks after the older
		if m = t.before.At(m.past - 1); m.Incarnation == who.Incarnation {
			return m
		}
	}
	return nil
}

// foresee has the memory fetched that find will read for the newest life of a seat.
func (t *memberTable) foresee(seat int32) {
	if seat >= 0 && int(seat) < t.newest.Places() {
		t.newest.Foresee(uint32(seat))
	}
}

// parkedAt returns since when the newest request of a member is parked.
func (m *member) parkedAt() protocol.Instant { return protocol.Instant(-m.waited) }

// park appends the newest request of a member to the waiters of its generation.
func (t *memberTable) park(since protocol.Instant, m *member) {
	i := t.place(m)
	l := t.list(m.Generation)
	m.parked = true
	m.waited = -protocol.Duration(since)
	m.prev, m.next = l.tail, nobody
	if l.tail != nobody {
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
	t.waiters[k] = waitList{generation: generation, head: nobody, tail: nobody}
	return &t.waiters[k]
}

// unpark takes it from there, if it is parked.
func (t *memberTable) unpark(now protocol.Instant, m *member) {
	if !m.parked {
		return
	}
	t.link(m, m.next, m.prev)
	for k := range t.waiters {
		if t.waiters[k].head == nobody {
			t.waiters = append(t.waiters[:k], t.waiters[k+1:]...)
			break
		}
	}
	m.prev, m.next, m.parked = nobody, nobody, false
	m.waited += protocol.Duration(now)
}

// link has who is before a parked member followed by one place, and who is behind it preceded by another.
func (t *memberTable) link(m *member, next, prev place) {
	l := t.list(m.Generation)
	if m.prev != nobody {
		t.row(m.prev).next = next
	} else {
		l.head = next
	}
	if m.next != nobody {
		t.row(m.next).prev = prev
	} else {
		l.tail = prev
	}
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
	dst.waiters = append(dst.waiters[:0], t.waiters...)
	t.newest.CopyTo(&dst.newest)
	t.before.CopyTo(&dst.before)
	t.granted.CopyTo(&dst.granted)
}

func (b *Broker) register(now protocol.Instant, who Member, out *Outbox) {
	t := &b.members
	if who.Seat < 0 || who.Seat >= t.seats {
		b.answer(who, protocol.RegisteredAs(0, protocol.Refused), out)
		return
	}
	t.know(int(who.Seat) + 1)
	for _, m := range t.lives(int(who.Seat)) {
		if m != nil && m.Nonce == who.Nonce {
			who.Incarnation = m.Incarnation
			b.answer(who, protocol.RegisteredAs(m.Incarnation, protocol.OK), out)
			return
		}
	}
	b.serial++
	who.Incarnation = b.serial
	t.seat(now, who)
	b.answer(who, protocol.RegisteredAs(who.Incarnation, protocol.OK), out)
	if b.cfg.SweepAtBoot {
		b.sweep(now, out)
	}
}

// seat begins a life. The one in its seat before it makes room, and has the room of the one before
// that, which nobody asks after any more.
func (t *memberTable) seat(now protocol.Instant, who Member) {
	m := t.newest.At(uint32(who.Seat))
	past := m.past
	if m.Incarnation != 0 {
		if past == 0 {
			past = t.before.New() + 1
		} else {
			oldest := t.before.At(past - 1)
			t.unpark(now, oldest)
			t.ungrant(oldest)
		}
		t.moveTo(m, past-1)
	}
	*m = member{Member: who, prev: nobody, next: nobody, past: past}
}

// moveTo moves a newest life to a place in before.
func (t *memberTable) moveTo(m *member, in uint32) {
	if at := pastPlace(in); m.parked {
		t.link(m, at, at)
	}
	*t.before.At(in) = *m
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
