package explore

import (
	"encoding/binary"

	"github.com/quiesce/quiesce/model"
)

// said is an answer of the broker's, and to whom.
type said struct {
	to      model.Member
	message message
}

// part is what is known of a part of the state that is expanded.
type part struct {
	known bool
	hash  hash
	marks marks
}

// parts are those of the state that is expanded.
type parts struct {
	broker    part // with what is about seats there
	processes [maxWorkers]part

	known    bool             // what follows is
	workers  [maxWorkers]part // head, process and messages
	messages []marks          // of each
	all      marks
	open     bool // an answer that takes no time is on the wire

	// What the action at hand had the broker do.
	calls int
	said  []said
}

// look looks at the parts of the state that was read last.
func (e *engine) look(st *state) {
	p, c := &e.parts, &e.coder
	if b := &p.broker; !b.known {
		b.known, b.hash = true, hashOf(c.old[headSize:c.places[0][0]])
		for i := range st.workers {
			b.hash = b.hash.with(hashOf(c.old[c.places[i][0]:c.places[i][1]]), 0)
		}
		b.hash = b.hash.with(hashOf(c.old[c.places[len(st.workers)-1][3]:]), 0)
		b.marks, _ = e.marker.broker(e, st)
	}
	head := hashOf(c.old[:headSize])
	p.messages, p.all, p.open = p.messages[:0], p.broker.marks, false
	k := 0
	for i := range st.workers {
		at, process := &c.places[i], &p.processes[i]
		if !process.known {
			*process = part{true, hashOf(c.old[at[1]:at[2]]), e.marker.process(e, &st.workers[i], i)}
		}
		w := part{true, head.with(process.hash, 0).with(hashOf(c.old[at[2]:at[3]]), 0), process.marks}
		for ; k < len(st.messages) && int(st.messages[k].worker) == i; k++ {
			m := &st.messages[k]
			is := e.marker.message(m)
			p.messages = append(p.messages, is)
			w.marks.add(is)
			p.open = p.open || e.world.Prompt && m.kind == toWorker && !st.held(m)
		}
		p.workers[i] = w
		p.all.add(w.marks.ofSeat(i))
	}
	p.known = true
}

// site is where an action happens, and under which key it is remembered what comes of it.
type site struct {
	kind   siteKind
	worker int      // none is -1
	taken  *message // off the wire
	key    hash
}

type siteKind uint8

const (
	anywhere siteKind = iota // it is not remembered
	atWorker
	atBroker
)

// hears is in a key how a worker hears an answer at once. In others it is a kind of action.
const hears = 1 << 8

// siteOf returns where an action happens.
func (e *engine) siteOf(st *state, a action) (s site) {
	p := &e.parts
	if e.memo.off {
		return s
	}
	if !p.known {
		e.look(st)
	}
	s.worker = int(a.a)
	what := uint64(0) // of the worker's slots and messages
	switch a.kind {
	case passTime, cancelJob, double, failover:
		return s
	case tickBroker:
		s.worker = -1
	case deliver, lose, breakCall:
		s.taken = &st.messages[a.a]
		s.worker = int(s.taken.worker)
		what = e.coder.placeOf(s.taken)
	case comeBack, saveProgress, cancelSlot, lie:
		s.worker, what = s.worker/maxSlots, uint64(s.worker%maxSlots)
	}
	switch {
	case a.kind != tickBroker && (a.kind != deliver || s.taken.kind == toWorker):
		s.kind, s.key = atWorker, p.workers[s.worker].hash.with(hash{}, uint64(a.kind)|uint64(a.b)<<16|what<<32)
	case p.open: // it may come before or after what the broker says
	case s.taken == nil:
		s.kind, s.key = atBroker, p.broker.hash
	default:
		s.kind, s.key = atBroker, p.broker.hash.with(hashOf(e.coder.bytesOf(s.taken)), uint64(1+s.worker))
	}
	return s
}

// bytesOf is a message of the state that was read last, in its form.
func (c *coder) bytesOf(m *message) []byte { return c.old[m.place : m.place+m.size] }

// placeOf is where among those of its worker it is there.
func (c *coder) placeOf(m *message) uint64 { return uint64(int(m.place) - c.places[m.worker][2]) }

// hearing is the key of what comes of it that a worker hears an answer at once.
func (e *engine) hearing(i int, s *site, answer []byte) hash {
	what := uint64(0)
	if s.taken != nil && s.worker == i {
		what = e.coder.placeOf(s.taken)
	}
	return e.parts.workers[i].hash.with(hashOf(answer), hears|what<<32)
}

// hearsAtOnce reports whether an answer to a life takes no time.
func (e *engine) hearsAtOnce(st *state, m model.Member) bool {
	return e.world.Prompt && st.hears(m) && !st.workers[m.Seat].paused
}

// remember notes what came of an action: c came of st, and its form was written last.
func (e *engine) remember(st, c *state, s *site) {
	p := &e.parts
	if !e.coder.alike || c.asked {
		return
	}
	switch s.kind {
	case atWorker:
		if p.calls == 0 && (c.touched|c.wired)&^(1<<s.worker) == 0 {
			e.rememberWorker(c, s.worker, s.key, false)
		}
	case atBroker:
		if e.coder.ordered { // rows at the broker name seats
			e.rememberCall(st, c, s)
		}
	}
}

// rememberCall notes what the broker did, and what the one worker made of it that heard of it at
// once. There is not more than one of either.
func (e *engine) rememberCall(st, c *state, s *site) {
	p := &e.parts
	hearer := -1
	var heard *message
	var touched, wired uint8
	if s.taken != nil {
		wired = 1 << s.worker
	}
	for k := range p.said {
		a := &p.said[k]
		i := int(a.to.Seat)
		wired |= 1 << i
		if !e.coder.ranks.known(&a.message) {
			return
		}
		if e.hearsAtOnce(st, a.to) {
			if hearer >= 0 {
				return
			}
			hearer, heard, touched = i, &a.message, 1<<i
		}
	}
	if p.calls != 1 || c.touched&^touched != 0 || c.wired&^wired != 0 {
		return
	}
	e.rememberBroker(c, s.key)
	if hearer >= 0 {
		w := &e.coder
		w.message = w.appendMessage(w.message[:0], c, heard)
		e.rememberWorker(c, hearer, e.hearing(hearer, s, w.message), true)
	}
}

// rememberWorker notes what became of head, process and messages of a worker. A number that nobody
// had before can only be from an answer, or it would have another rank beside others.
func (e *engine) rememberWorker(c *state, i int, key hash, heard bool) {
	w := &e.coder
	e.marker.fresh = false
	is := e.marker.process(e, &c.workers[i], i)
	for k := range c.messages {
		if m := &c.messages[k]; int(m.worker) == i {
			is.add(e.marker.message(m))
		}
	}
	if e.marker.fresh && !heard {
		return
	}
	b := appendMarks(e.memo.begin(key), is)
	b = append(b, w.form[:headSize]...)
	e.memo.put(append(b, w.workersIn[w.child[i][1]:w.child[i][3]]...))
}

// rememberBroker notes what became of the broker, and what it said.
func (e *engine) rememberBroker(c *state, key hash) {
	w, p := &e.coder, &e.parts
	is, given := e.marker.broker(e, c)
	b := binary.LittleEndian.AppendUint64(appendMarks(e.memo.begin(key), is), given)
	b = append(b, byte(len(p.said)))
	for k := range p.said {
		a := &p.said[k]
		w.message = w.appendMessage(w.message[:0], c, &a.message)
		b = append(b, byte(a.to.Seat), byte(a.to.Nonce))
		b = appendPart(appendMarks(b, e.marker.message(&a.message)), w.message)
	}
	b = appendPart(b, w.form[headSize:w.jobsEnd])
	for i := range c.workers {
		b = appendPart(b, w.workersIn[w.child[i][0]:w.child[i][1]])
	}
	e.memo.put(append(b, w.form[w.waiting:]...))
}

func appendMarks(b []byte, m marks) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, m.tokens), m.seats)
}

func readMarks(b []byte) (marks, []byte) {
	return marks{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}, b[16:]
}

func appendPart(b, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(part))), part...)
}

func readPart(b []byte) (part, rest []byte) {
	end := 2 + binary.LittleEndian.Uint16(b)
	return b[2:end], b[end:]
}
