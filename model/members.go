package model

import "github.com/quiesce/quiesce/protocol"

// member is the broker's one bounded row of a worker's life: the highest claim request that
// is closed and what the newest was given.
type member struct {
	Member
	known      bool
	going      bool
	closed     uint64 // requests up to this one are answered no more
	seq        uint64 // the newest request
	parkedAt   protocol.Instant
	parkedFor  protocol.Duration // how long the newest request waited before it was granted
	parked     bool
	prev, next int32 // neighbours among the parked of one generation; -1 is none
	grants     []grant
}

type grant struct {
	job   protocol.JobKey
	token protocol.Token
}

// memberTable holds two lives per seat, the present and the one before it: a message lives
// shorter than a life, so nobody asks after older ones.
type memberTable struct {
	rows    []member
	waiters []waitList // by ascending generation
	slots   int32      // jobs in one claim answer at most
}

// waitList is the parked requests of one generation, longest waiting first.
type waitList struct {
	generation uint32
	head, tail int32
}

func (t *memberTable) init(seats, slots int) {
	t.slots = int32(slots)
	t.rows = make([]member, 2*seats)
	grants := make([]grant, 2*seats*slots)
	for i := range t.rows {
		t.rows[i].grants = grants[i*slots : i*slots : (i+1)*slots]
		t.rows[i].prev, t.rows[i].next = -1, -1
	}
}

// find returns the row of a life, or nil when it is not known.
func (t *memberTable) find(who Member) *member {
	if who.Incarnation == 0 || who.Seat < 0 || int(who.Seat) >= len(t.rows)/2 {
		return nil
	}
	for i := 2 * who.Seat; i < 2*who.Seat+2; i++ {
		if m := &t.rows[i]; m.known && m.Incarnation == who.Incarnation {
			return m
		}
	}
	return nil
}

func (t *memberTable) index(m *member) int32 {
	i := 2 * m.Seat
	if &t.rows[i] == m {
		return i
	}
	return i + 1
}

// park appends a request to the waiters of its generation.
func (t *memberTable) park(m *member) {
	i := t.index(m)
	l := t.list(m.Generation)
	m.parked = true
	m.prev, m.next = l.tail, -1
	if l.tail >= 0 {
		t.rows[l.tail].next = i
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

func (t *memberTable) unpark(m *member) {
	if !m.parked {
		return
	}
	for k := range t.waiters {
		l := &t.waiters[k]
		if l.generation != m.Generation {
			continue
		}
		if m.prev >= 0 {
			t.rows[m.prev].next = m.next
		} else {
			l.head = m.next
		}
		if m.next >= 0 {
			t.rows[m.next].prev = m.prev
		} else {
			l.tail = m.prev
		}
		if l.head < 0 {
			t.waiters = append(t.waiters[:k], t.waiters[k+1:]...)
		}
		break
	}
	m.prev, m.next, m.parked = -1, -1, false
}

// waiting returns the request that is served next, or nil. A job that came back prefers a
// waiting worker of a newer generation than the one that handed it back, since older ones
// are about to be stopped themselves; it is a preference and never a condition.
func (t *memberTable) waiting(generation uint32, returned bool) *member {
	var any, newer *member
	for k := range t.waiters {
		m := &t.rows[t.waiters[k].head]
		if any == nil || m.parkedAt < any.parkedAt {
			any = m
		}
		if m.Generation > generation && (newer == nil || m.parkedAt < newer.parkedAt) {
			newer = m
		}
	}
	if returned && newer != nil {
		return newer
	}
	return any
}

func (t *memberTable) copyTo(dst *memberTable) {
	if len(dst.rows) != len(t.rows) || dst.slots != t.slots {
		dst.init(len(t.rows)/2, int(t.slots))
	}
	for i := range t.rows {
		grants := dst.rows[i].grants[:0]
		dst.rows[i] = t.rows[i]
		dst.rows[i].grants = append(grants, t.rows[i].grants...)
	}
	dst.waiters = append(dst.waiters[:0], t.waiters...)
}

func (b *Broker) register(now protocol.Instant, who Member, out *Outbox) {
	if who.Seat < 0 || int(who.Seat) >= len(b.members.rows)/2 {
		b.answer(who, protocol.RegisteredAs(0, protocol.Refused), out)
		return
	}
	oldest := &b.members.rows[2*who.Seat]
	for i := 2 * who.Seat; i < 2*who.Seat+2; i++ {
		m := &b.members.rows[i]
		if m.known && m.Nonce == who.Nonce {
			who.Incarnation = m.Incarnation
			b.answer(who, protocol.RegisteredAs(m.Incarnation, protocol.OK), out)
			return
		}
		if m.Incarnation < oldest.Incarnation {
			oldest = m
		}
	}
	b.members.unpark(oldest)
	b.serial++
	who.Incarnation = b.serial
	*oldest = member{Member: who, known: true, prev: -1, next: -1, grants: oldest.grants[:0]}
	b.answer(who, protocol.RegisteredAs(who.Incarnation, protocol.OK), out)
	if b.cfg.SweepAtBoot {
		b.sweep(now, out)
	}
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
		b.members.unpark(m)
		m.closed = m.seq
		b.answer(m.Member, protocol.ClaimClosed(0, m.seq, protocol.Refused, now.Sub(m.parkedAt)), out)
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
		b.members.unpark(m)
		m.closed = m.seq
	}
	if !b.cfg.FreedByHangup {
		return
	}
	for job := b.leases.head; job != 0; {
		row := b.Job(job)
		next := row.next
		if row.Owner == m.Member {
			b.expire(now, job, row, out)
		}
		job = next
	}
}
