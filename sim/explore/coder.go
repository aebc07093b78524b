package explore

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// parts is what a form says about one worker, but for its seat: its rows at the broker, its
// process, its messages. With symmetry last comes what sets it apart otherwise.
type parts [4][]byte

const (
	ofSeat = iota
	ofProcess
	ofMessages
	ofOthers
)

// coder writes states down in canonical form and reads them back. In that form instants are
// relative, numbers that only grow are replaced by their ranks, and messages are in an order
// of their own, since the order on the wire decides nothing; so a world without a horizon
// still has finitely many states. With symmetry jobs that have ended and workers go by
// canonical names, too.
type coder struct {
	ranks    ranks
	own      [maxWorkers]ofWorker
	buf      []byte
	parts    [maxWorkers]parts
	written  [maxWorkers]parts // memory for those that are not copied
	order    [maxWorkers]int   // of the seats in the form
	message  []byte
	spans    [][2]int
	symmetry bool

	// The form that was read last and where in it what is about each worker begins: its rows
	// at the broker, its process, its messages, and what comes next.
	old    []byte
	places [maxWorkers][4]int
}

func (c *coder) init(e *engine) {
	for i := range c.own {
		c.own[i] = ofWorker{&c.ranks, i}
	}
	c.spans = make([][2]int, 0, 64)
}

// encode returns the canonical form of st, valid until the next call.
func (e *engine) encode(st *state) []byte {
	c := &e.coder
	c.ranks.collect(e, st, false)
	if c.symmetry {
		e.renameJobs(st)
	}
	for i := range st.workers {
		e.writeSeat(st, i)
		e.writeProcess(st, i)
		e.writeMessages(st, i)
	}
	return e.assemble(st, false)
}

// What is written about a worker is kept in memory of its own until it is put together.

func (e *engine) writeSeat(st *state, i int) {
	c := &e.coder
	c.written[i][ofSeat] = st.broker.AppendSeat(c.written[i][ofSeat][:0], i, st.now, &c.ranks)
	c.parts[i][ofSeat] = c.written[i][ofSeat]
}

func (e *engine) writeProcess(st *state, i int) {
	c := &e.coder
	c.written[i][ofProcess] = e.appendProcess(c.written[i][ofProcess][:0], st, i)
	c.parts[i][ofProcess] = c.written[i][ofProcess]
}

func (e *engine) writeMessages(st *state, i int) {
	c := &e.coder
	c.written[i][ofMessages] = e.appendMessages(c.written[i][ofMessages][:0], st, i)
	c.parts[i][ofMessages] = c.written[i][ofMessages]
}

// encodeChild is encode for a state that came of the one that was read last. Most of it has
// not changed, and is copied.
func (e *engine) encodeChild(st *state) []byte {
	c := &e.coder
	c.ranks.collect(e, st, !st.answered)
	same := st.now == base && c.ranks.settled(e)
	if c.symmetry {
		e.renameJobs(st)
		for j := 1; j <= e.world.Jobs; j++ {
			same = same && c.ranks.jobs[j] == uint8(j)
		}
	}
	for i := range st.workers {
		at := &c.places[i]
		if same && !st.answered {
			c.parts[i][ofSeat] = c.old[at[0]:at[1]]
		} else {
			e.writeSeat(st, i)
		}
		if same && st.touched&(1<<i) == 0 {
			c.parts[i][ofProcess] = c.old[at[1]:at[2]]
		} else {
			e.writeProcess(st, i)
		}
		if same && st.wired&(1<<i) == 0 {
			c.parts[i][ofMessages] = c.old[at[2]:at[3]]
		} else {
			e.writeMessages(st, i)
		}
	}
	return e.assemble(st, same && !st.answered)
}

// assemble puts the parts together. What is about the broker is copied if it is the same as
// in the form that was read last.
func (e *engine) assemble(st *state, same bool) []byte {
	c := &e.coder
	for i := range st.workers {
		c.order[i] = i
	}
	if c.symmetry {
		e.renameSeats(st)
		for i := range st.workers {
			same = same && c.order[i] == i
		}
	}
	buf := c.buf[:0]
	for _, n := range st.used {
		buf = append(buf, byte(n))
	}
	hurt := byte(0)
	if st.hurt {
		hurt = 1
	}
	buf = append(buf, c.set(st.finished), c.set(st.failed), c.set(st.undone), c.set(st.ordered), hurt)
	if same {
		buf = append(buf, c.old[len(buf):c.places[0][0]]...)
	} else {
		buf = st.broker.AppendJobs(buf, st.now, &c.ranks)
	}
	for i := range st.workers {
		p := &c.parts[c.order[i]]
		buf = append(append(append(buf, p[ofSeat]...), p[ofProcess]...), p[ofMessages]...)
	}
	if same {
		buf = append(buf, c.old[c.places[len(st.workers)-1][3]:]...)
	} else {
		buf = st.broker.AppendWaiting(buf, &c.ranks)
	}
	c.buf = buf
	return buf
}

// set renames the jobs of a set.
func (c *coder) set(s jobSet) byte {
	if !c.symmetry || s == 0 {
		return byte(s)
	}
	var t jobSet
	for j := protocol.JobKey(1); j <= maxJobs; j++ {
		if s.has(j) {
			t.add(protocol.JobKey(c.ranks.jobs[j]))
		}
	}
	return byte(t)
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
	buf = append(buf,
		bit(w.stopped, stoppedBit)|bit(w.signalled, signalledBit)|bit(w.hurried, hurriedBit)|bit(w.shaken, shakenBit)|
			bit(w.quiet, quietBit)|bit(w.dead, deadBit)|bit(w.clean, cleanBit)|bit(w.paused, pausedBit),
		w.lives<<5|byte(w.owed&7)<<2|bit(w.tardy, 2)|bit(w.told, 1), byte(w.member.Generation), byte(c.ranks.lives[i].rank(w.member.Incarnation)))
	if !w.dead {
		buf = append(buf, byte(w.script), byte(w.next), byte(w.waiting))
		buf = protocol.AppendRelative(buf, max(w.killAt, st.now), st.now)
		if w.paused {
			buf = protocol.AppendRelative(buf, w.pausedUntil, st.now)
		}
		buf = w.machine.AppendCanonical(buf, st.now, &c.own[i])
		for k := range e.slots {
			h := &w.hands[k]
			buf = append(buf, byte(h.state)|bit(h.shared, 8)|bit(h.saved, 16)|bit(h.excused, 32)|bit(h.softened, 64))
			if h.state != idle {
				buf = append(buf, c.ranks.jobs[h.job], byte(c.ranks.Token(h.job, h.token)))
			}
		}
	}
	return buf
}

// appendMessages appends a worker's messages, sorted by what they look like.
func (e *engine) appendMessages(buf []byte, st *state, i int) []byte {
	c := &e.coder
	all, spans := c.message[:0], c.spans[:0]
	for k := range st.messages {
		m := &st.messages[k]
		if int(m.worker) != i {
			continue
		}
		from := len(all)
		all = c.appendMessage(all, st, m)
		at := len(spans)
		spans = append(spans, [2]int{})
		for at > 0 && bytes.Compare(all[spans[at-1][0]:spans[at-1][1]], all[from:]) > 0 {
			spans[at] = spans[at-1]
			at--
		}
		spans[at] = [2]int{from, len(all)}
	}
	buf = append(buf, byte(len(spans)))
	for _, s := range spans {
		buf = append(buf, all[s[0]:s[1]]...)
	}
	c.message, c.spans = all, spans
	return buf
}

func (c *coder) appendMessage(b []byte, st *state, m *message) []byte {
	r := &c.ranks
	b = append(b, byte(m.kind)|bit(m.copied, 4), m.tag)
	b = protocol.AppendRelative(b, max(m.due, st.now), st.now)
	if m.kind != toWorker {
		b = append(b, byte(m.from.Nonce), byte(m.from.Generation), byte(r.lives[m.worker].rank(m.from.Incarnation)))
	}
	if m.kind == hangup {
		return b
	}
	if m.kind == toWorker {
		b = append(b, byte(m.code), byte(m.n))
		for _, g := range m.grants[:m.n] {
			b = append(b, r.jobs[g.job], byte(g.version), byte(r.Token(g.job, g.token)))
		}
	}
	switch {
	case m.registers():
		b = append(b, byte(r.lives[m.worker].rank(m.seq)))
	case m.numbered():
		b = append(b, byte(r.seqs[m.worker].rank(m.seq)), byte(m.want))
		b = protocol.AppendRelative(b, st.now.Add(m.span), st.now)
	case m.job != 0:
		b = append(b, byte(m.slot+1), byte(m.verb), byte(m.reason), byte(m.cursor), r.jobs[m.job], byte(r.Token(m.job, m.token)))
		if m.dated() {
			b = protocol.AppendRelative(b, m.at, st.now)
		} else {
			b = protocol.AppendRelative(b, st.now.Add(m.span), st.now)
		}
	}
	return b
}

// renameSeats puts the workers in an order that does not depend on their seats: by all that
// is about them. Two that are equal in it are the same in all but name.
func (e *engine) renameSeats(st *state) {
	c := &e.coder
	n := len(st.workers)
	for i := range n {
		c.written[i][ofOthers] = append(c.written[i][ofOthers][:0], byte(e.ownedBy(st, i)), 0, 0)
		c.parts[i][ofOthers] = c.written[i][ofOthers]
	}
	st.broker.EachWaiting(func(place, seat int, newer bool) {
		c.parts[seat][ofOthers][1+int(bit(newer, 1))] = byte(place + 1)
	})
	for i := 1; i < n; i++ {
		for k := i; k > 0 && c.parts[c.order[k-1]].compare(&c.parts[c.order[k]]) > 0; k-- {
			c.order[k-1], c.order[k] = c.order[k], c.order[k-1]
		}
	}
	for k := range n {
		c.ranks.seats[c.order[k]] = uint8(k)
	}
}

// compare puts parts in some order.
func (p *parts) compare(q *parts) int {
	for k := range p {
		if d := bytes.Compare(p[k], q[k]); d != 0 {
			return d
		}
	}
	return 0
}

// ownedBy is the set of jobs whose newest claim is a seat's, by their canonical names.
func (e *engine) ownedBy(st *state, seat int) jobSet {
	var s jobSet
	for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
		if row := st.broker.Job(j); row.Token != 0 && int(row.Owner.Seat) == seat && !row.State.Terminal() {
			s.add(protocol.JobKey(e.coder.ranks.jobs[j]))
		}
	}
	return s
}

// renameJobs numbers the jobs that may still be handed out as they come, and after them
// those that have ended: the order of these decides nothing any more.
func (e *engine) renameJobs(st *state) {
	if e.world.Foreign > 0 {
		return // they are not alike
	}
	n := uint8(0)
	for _, ended := range [...]bool{false, true} {
		for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
			if st.broker.Job(j).State.Terminal() == ended {
				n++
				e.coder.ranks.jobs[j] = n
			}
		}
	}
}

// digest shortens a canonical form to 128 bits, of which a search keeps 101: among a billion
// states two different ones share them with a probability below 10^-12. The mixing is that of
// wyhash (Wang Yi, 2019), twice with different secrets.
func digest(key []byte) (a, b uint64) {
	const s1, s2, s3, s4 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3
	a, b = uint64(len(key))^s1, s2
	for len(key) >= 16 {
		x, y := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:])
		a = mix(x^s1^a, y^s2)
		b = mix(x^s3, y^s4^b)
		key = key[16:]
	}
	var last [16]byte
	copy(last[:], key)
	x, y := binary.LittleEndian.Uint64(last[:]), binary.LittleEndian.Uint64(last[8:])
	a = mix(mix(x^s1^a, y^s2), s3)
	b = mix(mix(x^s3, y^s4^b), s1)
	return a, b
}

func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// reader reads a canonical form.
type reader struct {
	buf []byte
	now protocol.Instant
}

func (r *reader) byte() byte {
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *reader) at() (t protocol.Instant) {
	t, r.buf = protocol.ReadRelative(r.buf, r.now)
	return t
}

func (r *reader) span() protocol.Duration { return r.at().Sub(r.now) }

// decode makes st, which is of this world, the state with a canonical form.
func (e *engine) decode(st *state, buf []byte) {
	r := reader{buf: buf, now: base}
	st.now = base
	for k := range st.used {
		st.used[k] = int8(r.byte())
	}
	st.finished, st.failed, st.undone, st.ordered = jobSet(r.byte()), jobSet(r.byte()), jobSet(r.byte()), jobSet(r.byte())
	st.hurt = r.byte() != 0
	st.messages = st.messages[:0]
	r.buf = st.broker.ReadJobs(base, r.buf)
	c := &e.coder
	c.old = buf
	c.ranks.broker = atBroker{}
	for i := range st.workers {
		at := &c.places[i]
		at[0] = len(buf) - len(r.buf)
		r.buf = st.broker.ReadSeat(base, i, r.buf)
		at[1] = len(buf) - len(r.buf)
		e.readProcess(&r, st, i)
		at[2] = len(buf) - len(r.buf)
		for n := r.byte(); n > 0; n-- {
			st.messages = append(st.messages, message{worker: int8(i)})
			e.readMessage(&r, &st.messages[len(st.messages)-1])
		}
		at[3] = len(buf) - len(r.buf)
	}
	st.broker.ReadWaiting(r.buf)
	st.clean()
}

func (e *engine) readProcess(r *reader, st *state, i int) {
	w := &st.workers[i]
	w.life = life{killAt: protocol.Never, pausedUntil: protocol.Never}
	flags := r.byte()
	w.stopped, w.signalled, w.hurried, w.shaken = flags&stoppedBit != 0, flags&signalledBit != 0, flags&hurriedBit != 0, flags&shakenBit != 0
	w.quiet, w.dead, w.clean, w.paused = flags&quietBit != 0, flags&deadBit != 0, flags&cleanBit != 0, flags&pausedBit != 0
	lives := r.byte()
	w.lives, w.owed, w.tardy, w.told = lives>>5, int8(lives>>2&7), lives&2 != 0, lives&1 != 0
	w.member = model.Member{Seat: int32(i), Nonce: uint64(w.lives), Generation: uint32(r.byte()), Incarnation: uint64(r.byte())}
	if !w.dead {
		w.script, w.next, w.waiting = int8(r.byte()), int8(r.byte()), int8(r.byte())
		w.killAt = r.at()
		if w.paused {
			w.pausedUntil = r.at()
		}
		r.buf = w.machine.ReadCanonical(&e.cfg, e.memory(w), base, r.buf)
		for k := range e.slots {
			h := &w.hands[k]
			b := r.byte()
			h.state, h.shared, h.saved, h.excused, h.softened = handState(b&7), b&8 != 0, b&16 != 0, b&32 != 0, b&64 != 0
			if h.state != idle {
				h.job, h.token = protocol.JobKey(r.byte()), protocol.Token(r.byte())
			}
		}
	}
}

func (e *engine) readMessage(r *reader, m *message) {
	b := r.byte()
	m.kind, m.copied, m.tag, m.due = messageKind(b&3), b&4 != 0, r.byte(), r.at()
	if m.kind != toWorker {
		m.from = model.Member{Seat: int32(m.worker), Nonce: uint64(r.byte()), Generation: uint32(r.byte()), Incarnation: uint64(r.byte())}
	}
	if m.kind == hangup {
		return
	}
	if m.kind == toWorker {
		m.code, m.n = protocol.Code(r.byte()), int8(r.byte())
		for k := range m.grants[:m.n] {
			m.grants[k] = grant{protocol.JobKey(r.byte()), 0, 0}
			m.grants[k].version, m.grants[k].token = uint16(r.byte()), protocol.Token(r.byte())
		}
	}
	switch {
	case m.registers():
		m.seq = uint64(r.byte())
	case m.numbered():
		m.seq, m.want, m.span = uint64(r.byte()), int32(r.byte()), r.span()
	case protocol.EffectKind(m.tag) == protocol.Register && m.kind == toBroker, protocol.EffectKind(m.tag) == protocol.Going && m.kind == toBroker:
	default:
		m.slot, m.verb, m.reason, m.cursor = int32(r.byte())-1, protocol.Verb(r.byte()), protocol.Reason(r.byte()), protocol.Cursor(r.byte())
		m.job, m.token = protocol.JobKey(r.byte()), protocol.Token(r.byte())
		if m.dated() {
			m.at = r.at()
		} else {
			m.span = r.span()
		}
	}
}
