package explore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// coder writes states down in canonical form and reads them back. In that form instants are
// relative, numbers that only grow are replaced by their ranks, and messages are in an order
// of their own, since the order on the wire decides nothing; so a world without a horizon
// still has finitely many states. With symmetry jobs that have ended and workers go by
// canonical names, too.
type coder struct {
	ranks    ranks
	form     []byte   // that is being written
	process  []byte   // that is made alone
	message  []byte   // messages that are not copied
	spans    [][2]int // where each of them is
	symmetry bool
	stamps   bool // the broker looks at when a settling was decided, which no sound one does

	// With symmetry: what is about the workers, before they are in order.
	workers []byte
	bounds  [maxWorkers + 1]int // of each in it
	others  [maxWorkers][3]byte // what sets each apart otherwise
	order   [maxWorkers]int     // of the seats in the form

	// The form that was read last and where in it what is about each worker begins: its rows
	// at the broker, its process, its messages, and what comes next. What is to be copied of it
	// next lies between from and to.
	old      []byte
	places   [maxWorkers][4]int
	from, to int

	// The same of the form that was written last, and in which bytes that is. Settled are the workers,
	// as bits, about whom it says what that of the state that was read says but for what an action
	// changed. It may have other names for jobs, and is ordered if it has none for seats.
	child            [maxWorkers][4]int
	workersIn        []byte
	jobsEnd          int // of what is about jobs, after the head
	waiting          int // where what is about waiting requests begins
	settled          uint8
	renamed, ordered bool
}

func (c *coder) init(e *engine) {
	c.ranks.init()
	c.spans = make([][2]int, 0, 64)
	for i := range c.order {
		c.order[i] = i // and stays so without symmetry
	}
	c.stamps = e.world.Deviations.Has(deviation.ReadThenRelease)
}

// stamped reports whether a message that is not dated matters by when it was sent after all.
func (c *coder) stamped(m *message) bool {
	return c.stamps && m.kind == toBroker && m.tag == uint8(protocol.Settle)
}

// encode returns the canonical form of st, valid until the next call.
func (e *engine) encode(st *state) []byte {
	e.coder.ranks.collect(e, st, false)
	e.renameJobs(st)
	return e.write(st, 0)
}

// encodeChild is encode for a state that came of the one that was read last. Most of it has
// not changed, and is copied.
func (e *engine) encodeChild(st *state) []byte {
	r := &e.coder.ranks
	r.collect(e, st, !st.answered)
	e.coder.renamed = e.renameJobs(st)
	if e.coder.renamed || st.now != base {
		return e.write(st, 0)
	}
	return e.write(st, r.settled(e))
}

// headSize is how long the part of a form is that is about the world as a whole.
const headSize = budgets + 5

// write writes a state down. Parts that no action touched are copied from the form that was
// read last, if they still look the same: those about some workers, as bits.
func (e *engine) write(st *state, same uint8) []byte {
	c := &e.coder
	c.settled, c.ordered = same, true
	if c.symmetry {
		buf := c.form
		c.form = c.workers[:0]
		for i := range st.workers {
			e.writeWorker(st, i, same)
			c.bounds[i+1] = len(c.flush())
		}
		c.workers, c.form = c.form, buf
		e.renameSeats(st)
		for i, seat := range c.order[:len(st.workers)] {
			c.ordered = c.ordered && seat == i
		}
	}
	kept := c.ordered && same == 1<<len(st.workers)-1 && !st.answered
	c.form = append(c.form[:0], st.used[:]...)
	p := &st.past
	c.form = appendPast(c.form, &past{c.set(p.finished), c.set(p.failed), c.set(p.undone), c.set(p.ordered), p.hurt})
	if kept {
		c.keep(headSize, c.places[0][0])
	} else {
		c.form = st.broker.AppendJobs(c.form, st.now, &c.ranks.Ranks)
	}
	c.jobsEnd = c.size()
	for i := range st.workers {
		if c.symmetry {
			seat := c.order[i]
			c.form = append(c.flush(), c.workers[c.bounds[seat]:c.bounds[seat+1]]...)
		} else {
			e.writeWorker(st, i, same)
		}
	}
	c.waiting = c.size()
	if kept {
		c.keep(c.places[len(st.workers)-1][3], len(c.old))
	} else {
		c.form = st.broker.AppendWaiting(c.flush(), &c.ranks.Ranks)
	}
	if c.workersIn = c.flush(); c.symmetry {
		c.workersIn = c.workers
	}
	return c.form
}

// writeWorker writes what a form says about one worker, but for its seat.
func (e *engine) writeWorker(st *state, i int, settled uint8) {
	c, at, is := &e.coder, &e.coder.places[i], &e.coder.child[i]
	same := settled&(1<<i) != 0
	is[0] = c.size()
	if same && !st.answered {
		c.keep(at[0], at[1])
	} else {
		c.form = st.broker.AppendSeat(c.flush(), i, st.now, &c.ranks.Ranks)
	}
	is[1] = c.size()
	if same && st.touched&(1<<i) == 0 {
		c.keep(at[1], at[2])
	} else {
		c.form = e.appendProcess(c.flush(), st, i)
	}
	is[2] = c.size()
	if same && st.wired&(1<<i) == 0 {
		c.keep(at[2], at[3])
	} else {
		c.form = e.appendMessages(c.flush(), st, i, same)
	}
	is[3] = c.size()
}

// jobsOf is what the form that was read last says of jobs.
func (c *coder) jobsOf() []byte { return c.old[headSize:c.places[0][0]] }

// size is how long the form is by now, with what is to be copied.
func (c *coder) size() int { return len(c.form) + c.to - c.from }

// keep has a part of the form that was read last copied: what lies side by side at once.
func (c *coder) keep(from, to int) {
	if from != c.to {
		c.flush()
		c.from = from
	}
	c.to = to
}

// flush copies what is to be kept, and returns what is written by then.
func (c *coder) flush() []byte {
	if c.from < c.to {
		c.form = append(c.form, c.old[c.from:c.to]...)
		c.from = c.to
	}
	return c.form
}

func appendPast(b []byte, p *past) []byte {
	return append(b, byte(p.finished), byte(p.failed), byte(p.undone), byte(p.ordered), bit(p.hurt, 1))
}

// set renames the jobs of a set.
func (c *coder) set(s jobSet) jobSet {
	if !c.symmetry || s == 0 {
		return s
	}
	var t jobSet
	for j := protocol.JobKey(1); j <= maxJobs; j++ {
		if s.has(j) {
			t |= setOf(protocol.JobKey(c.ranks.jobs[j]))
		}
	}
	return t
}

// Bits of a worker.
const (
	stoppedBit = 1 << iota
	signalledBit
	hurriedBit
	shakenBit
	quietBit
	deadBit
	cleanBit
	pausedBit
)

func bit(b bool, as byte) byte {
	if b {
		return as
	}
	return 0
}

// appendProcess appends what a worker's process is and does.
func (e *engine) appendProcess(buf []byte, st *state, i int) []byte {
	c, w := &e.coder, &st.workers[i]
	f := protocol.FormWriter{Buf: buf, Now: st.now}
	f.Buf = append(f.Buf,
		bit(w.stopped, stoppedBit)|bit(w.signalled, signalledBit)|bit(w.hurried, hurriedBit)|bit(w.shaken, shakenBit)|
			bit(w.quiet, quietBit)|bit(w.dead, deadBit)|bit(w.clean, cleanBit)|bit(w.paused, pausedBit),
		w.lives<<5|byte(w.owed&7)<<2|bit(w.tardy, 2)|bit(w.told, 1),
		byte(w.member.Generation), byte(c.ranks.Incarnation(i, w.member.Incarnation)))
	if w.dead {
		return f.Buf
	}
	f.Buf = append(f.Buf, byte(w.script), byte(w.next), byte(w.waiting))
	f.At(max(w.killAt, st.now))
	if w.paused {
		f.At(w.pausedUntil)
	}
	f.Buf = w.machine.AppendCanonical(f.Buf, st.now, &c.ranks.Ranks, i)
	for k := range e.slots {
		h := &w.hands[k]
		f.Byte(byte(h.state) | bit(h.shared, 8) | bit(h.saved, 16) | bit(h.excused, 32) | bit(h.softened, 64) | bit(h.pending, 128))
		if h.state == idle {
			continue
		}
		f.Buf = append(f.Buf, c.ranks.jobs[h.job], byte(c.ranks.Token(h.job, h.token)))
		if e.judges {
			f.Buf = append(f.Buf, byte(h.cause)<<1|bit(h.lost, 1), byte(h.due.verb)<<4|byte(h.due.reason))
		}
	}
	return f.Buf
}

// appendMessages appends a worker's messages, sorted by what they look like. Those that are in
// the form that was read last are copied from there, if they still look the same.
func (e *engine) appendMessages(buf []byte, st *state, i int, same bool) []byte {
	c := &e.coder
	n := byte(0)
	c.message, c.spans = c.message[:0], c.spans[:0]
	for k := range st.messages {
		if m := &st.messages[k]; int(m.worker) == i {
			n++
			if !same || m.size == 0 {
				c.writeMessage(st, m)
			}
		}
	}
	buf = append(buf, n)
	next := 0 // of those that were written
	if int(n) > len(c.spans) {
		for k := range st.messages {
			if m := &st.messages[k]; int(m.worker) == i && m.size > 0 {
				old := c.old[m.place : m.place+m.size]
				for next < len(c.spans) && bytes.Compare(c.messageAt(next), old) < 0 {
					buf = append(buf, c.messageAt(next)...)
					next++
				}
				buf = append(buf, old...)
			}
		}
	}
	for ; next < len(c.spans); next++ {
		buf = append(buf, c.messageAt(next)...)
	}
	return buf
}

// messageAt is the message that is in some place of those that were written.
func (c *coder) messageAt(k int) []byte { return c.message[c.spans[k][0]:c.spans[k][1]] }

// writeMessage writes a message down and puts it in its place among those that were.
func (c *coder) writeMessage(st *state, m *message) {
	from := len(c.message)
	c.message = c.appendMessage(c.message, st, m)
	at := len(c.spans)
	c.spans = append(c.spans, [2]int{})
	for at > 0 && bytes.Compare(c.messageAt(at-1), c.message[from:]) > 0 {
		c.spans[at] = c.spans[at-1]
		at--
	}
	c.spans[at] = [2]int{from, len(c.message)}
}

func (c *coder) appendMessage(b []byte, st *state, m *message) []byte {
	r := &c.ranks
	f := protocol.FormWriter{Buf: b, Now: st.now}
	f.Buf = append(f.Buf, byte(m.kind)|bit(m.copied, 4), m.tag)
	f.At(max(m.due, st.now))
	if m.kind != toWorker {
		f.Buf = append(f.Buf, byte(m.from.Nonce), byte(m.from.Generation), byte(r.lives[m.worker].Rank(m.from.Incarnation)))
	}
	if m.kind == hangup {
		return f.Buf
	}
	if m.kind == toWorker {
		f.Buf = append(f.Buf, byte(m.code), byte(m.n))
		for _, g := range m.grants[:m.n] {
			f.Buf = append(f.Buf, r.jobs[g.job], byte(g.version), byte(r.tokens[g.job].Rank(uint64(g.token))))
		}
	}
	switch {
	case m.registers():
		f.Byte(byte(r.lives[m.worker].Rank(m.seq)))
	case m.numbered():
		f.Buf = append(f.Buf, byte(r.seqs[m.worker].Rank(m.seq)), byte(m.want))
		f.Span(m.span)
	case m.job != 0:
		f.Buf = append(f.Buf, byte(m.slot+1), byte(m.verb), byte(m.reason), byte(m.cursor),
			r.jobs[m.job], byte(r.tokens[m.job].Rank(uint64(m.token))))
		if m.dated() {
			f.At(m.at)
		} else {
			f.Span(m.span)
		}
		if c.stamped(m) {
			f.At(m.at)
		}
	}
	return f.Buf
}

// renameSeats puts the workers in an order that does not depend on their seats: by all that
// is about them. Two that are equal in it are the same in all but name.
func (e *engine) renameSeats(st *state) {
	c := &e.coder
	n := len(st.workers)
	for i := range n {
		c.order[i] = i
		c.others[i] = [3]byte{byte(e.ownedBy(st, i))}
	}
	st.broker.EachWaiting(func(place int, who model.Member, newer bool) {
		c.others[who.Seat][1+int(bit(newer, 1))] = byte(place + 1)
	})
	for i := 1; i < n; i++ {
		for k := i; k > 0 && c.compare(c.order[k-1], c.order[k]) > 0; k-- {
			c.order[k-1], c.order[k] = c.order[k], c.order[k-1]
		}
	}
	for k := range n {
		c.ranks.seats[c.order[k]] = uint8(k)
	}
}

// compare puts workers in some order.
func (c *coder) compare(i, k int) int {
	return cmp.Or(
		bytes.Compare(c.workers[c.bounds[i]:c.bounds[i+1]], c.workers[c.bounds[k]:c.bounds[k+1]]),
		bytes.Compare(c.others[i][:], c.others[k][:]))
}

// ownedBy is the set of jobs whose newest claim is a seat's, by their canonical names.
func (e *engine) ownedBy(st *state, seat int) jobSet {
	var s jobSet
	for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
		if row := st.broker.Job(j); row.Token != 0 && int(row.Owner.Seat) == seat && !row.State.Terminal() {
			s |= setOf(protocol.JobKey(e.coder.ranks.jobs[j]))
		}
	}
	return s
}

// renameJobs, with symmetry, numbers the jobs that may still be handed out as they come, and
// after them those that have ended: the order of these decides nothing any more. It reports
// whether any has another name now.
func (e *engine) renameJobs(st *state) (renamed bool) {
	if !e.coder.symmetry || e.world.Foreign+e.world.Others > 0 { // or they are not alike
		return false
	}
	n := uint8(0)
	for _, ended := range [...]bool{false, true} {
		for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
			if st.broker.Job(j).State.Terminal() == ended {
				n++
				e.coder.ranks.jobs[j] = n
				renamed = renamed || n != uint8(j)
			}
		}
	}
	return renamed
}

// digest shortens a canonical form to 128 bits, of which a search keeps 100: among a billion
// states two different ones share them with a probability below 10^-12. The mixing is that of
// wyhash (Wang Yi, 2019), twice with different secrets.
func digest(key []byte) (a, b uint64) {
	const s1, s2, s3, s4 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3
	a, b = uint64(len(key))^s1, s2
	rest := key
	for ; len(rest) >= 16; rest = rest[16:] {
		x, y := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		a = mix(x^s1^a, y^s2)
		b = mix(x^s3, y^s4^b)
	}
	x, y := lastOf(key, len(rest))
	a = mix(mix(x^s1^a, y^s2), s3)
	b = mix(mix(x^s3, y^s4^b), s1)
	return a, b
}

// lastOf is the last n bytes of a key, fewer than 16, and zeros after them.
func lastOf(key []byte, n int) (x, y uint64) {
	switch end := len(key) - 8; {
	case end < 0:
		for k, b := range key {
			x |= uint64(b) << (8 * k)
		}
		return x, 0
	case n < 8:
		return binary.LittleEndian.Uint64(key[end:]) >> (64 - 8*n), 0
	default:
		return binary.LittleEndian.Uint64(key[len(key)-n:]), binary.LittleEndian.Uint64(key[end:]) >> (128 - 8*n)
	}
}

func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// decode makes st, which is of this world, the state with a canonical form.
func (e *engine) decode(st *state, buf []byte) {
	e.forget()
	e.decodeNext(st, buf)
	st.clean()
}

// forget forgets the form that was read last.
func (e *engine) forget() { e.coder.old = nil }

// decodeNext is decode into the state that was read last, in which nothing has changed since.
// What the forms have in common is not read again. What is read counts as changed.
func (e *engine) decodeNext(st *state, buf []byte) {
	c := &e.coder
	st.now = base
	copy(st.used[:], buf)
	st.past = past{jobSet(buf[budgets]), jobSet(buf[budgets+1]), jobSet(buf[budgets+2]), jobSet(buf[budgets+3]), buf[budgets+4] != 0}
	at := headSize
	jobs := c.repeats(buf[at:], headSize, c.places[0][0])
	if jobs {
		at = c.places[0][0]
	} else {
		at = len(buf) - len(st.broker.ReadJobs(base, buf[at:]))
		st.answered = true
	}
	waiting := c.places[len(st.workers)-1][3]
	st.messages, st.wired = st.messages[:0], ^uint8(0)
	for i := range st.workers {
		was, is := c.places[i], &c.places[i]
		is[0] = at
		if jobs && c.repeats(buf[at:], was[0], was[1]) {
			at += was[1] - was[0]
		} else {
			at = len(buf) - len(st.broker.ReadSeat(base, i, buf[at:]))
			st.answered = true
			e.parts.seats[i].known = false
		}
		is[1] = at
		if c.repeats(buf[at:], was[1], was[2]) {
			at += was[2] - was[1]
		} else {
			at = len(buf) - len(e.readProcess(buf[at:], st, i))
			st.touched |= 1 << i
			e.parts.processes[i].known = false
		}
		is[2] = at
		at = c.readMessages(buf, at, st, i)
		is[3] = at
	}
	if st.answered || !bytes.Equal(buf[at:], c.old[waiting:]) {
		st.broker.ReadWaiting(buf[at:])
		st.answered = true
		c.ranks.broker = brokerNumbers{}
		e.parts.broker.known = false
	}
	e.parts.known = false
	c.old = buf
}

// repeats reports whether a form goes on with a part of the one that was read last. No part is
// the beginning of another.
func (c *coder) repeats(buf []byte, from, to int) bool {
	return c.old != nil && bytes.HasPrefix(buf, c.old[from:to])
}

// readMessages reads the messages of a worker, and returns where they end.
func (c *coder) readMessages(buf []byte, at int, st *state, i int) int {
	r := protocol.ReadForm(buf[at:], base)
	for n := r.Byte(); n > 0; n-- {
		from := at + r.Read()
		st.messages = append(st.messages, message{worker: int8(i), place: uint16(from)})
		m := &st.messages[len(st.messages)-1]
		c.readMessage(&r, m)
		m.size = uint16(at + r.Read() - from)
	}
	return at + r.Read()
}

func (e *engine) readProcess(buf []byte, st *state, i int) []byte {
	r := protocol.ReadForm(buf, base)
	w := &st.workers[i]
	w.life = life{killAt: protocol.Never, pausedUntil: protocol.Never}
	flags := r.Byte()
	w.stopped, w.signalled, w.hurried, w.shaken = flags&stoppedBit != 0, flags&signalledBit != 0, flags&hurriedBit != 0, flags&shakenBit != 0
	w.quiet, w.dead, w.clean, w.paused = flags&quietBit != 0, flags&deadBit != 0, flags&cleanBit != 0, flags&pausedBit != 0
	lives := r.Byte()
	w.lives, w.owed, w.tardy, w.told = lives>>5, int8(lives>>2&7), lives&2 != 0, lives&1 != 0
	w.member = model.Member{Seat: int32(i), Nonce: uint64(w.lives), Generation: uint32(r.Byte()), Incarnation: uint64(r.Byte())}
	if w.dead {
		return r.Rest()
	}
	w.script, w.next, w.waiting = int8(r.Byte()), int8(r.Byte()), int8(r.Byte())
	w.killAt = r.At()
	if w.paused {
		w.pausedUntil = r.At()
	}
	r = protocol.ReadForm(w.machine.ReadCanonical(&e.cfg, e.memory(w), base, r.Rest()), base)
	for k := range e.slots {
		h := &w.hands[k]
		b := r.Byte()
		h.state, h.shared, h.saved, h.excused, h.softened = handState(b&7), b&8 != 0, b&16 != 0, b&32 != 0, b&64 != 0
		h.pending = b&128 != 0
		if h.state == idle {
			continue
		}
		h.job, h.token = protocol.JobKey(r.Byte()), protocol.Token(r.Byte())
		if e.judges {
			said, due := r.Byte(), r.Byte()
			h.cause, h.lost = protocol.Cause(said>>1), said&1 != 0
			h.due = ending{protocol.Verb(due >> 4), protocol.Reason(due & 15)}
		}
	}
	return r.Rest()
}

func (c *coder) readMessage(r *protocol.FormReader, m *message) {
	b := r.Byte()
	m.kind, m.copied, m.tag, m.due = messageKind(b&3), b&4 != 0, r.Byte(), r.At()
	if m.kind != toWorker {
		m.from = model.Member{Seat: int32(m.worker), Nonce: uint64(r.Byte()), Generation: uint32(r.Byte()), Incarnation: uint64(r.Byte())}
	}
	if m.kind == hangup {
		return
	}
	if m.kind == toWorker {
		m.code, m.n = protocol.Code(r.Byte()), int8(r.Byte())
		for k := range m.grants[:m.n] {
			m.grants[k] = grant{protocol.JobKey(r.Byte()), 0, 0}
			m.grants[k].version, m.grants[k].token = uint16(r.Byte()), protocol.Token(r.Byte())
		}
	}
	switch {
	case m.registers():
		m.seq = uint64(r.Byte())
	case m.numbered():
		m.seq, m.want, m.span = uint64(r.Byte()), int32(r.Byte()), r.Span()
	case protocol.EffectKind(m.tag) == protocol.Register && m.kind == toBroker, protocol.EffectKind(m.tag) == protocol.Going && m.kind == toBroker:
	default:
		m.slot, m.verb, m.reason, m.cursor = int32(r.Byte())-1, protocol.Verb(r.Byte()), protocol.Reason(r.Byte()), protocol.Cursor(r.Byte())
		m.job, m.token = protocol.JobKey(r.Byte()), protocol.Token(r.Byte())
		if m.dated() {
			m.at = r.At()
		} else {
			m.span = r.Span()
		}
		if c.stamped(m) {
			m.at = r.At()
		}
	}
}
