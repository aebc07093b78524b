package explore

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
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
	jobs      hash             // of what the broker knows of jobs
	seats     [maxWorkers]part // what it knows of each seat
	concerned uint8            // of which seats it may see anything, whatever it does
	broker    part             // marks of all that, and the hash of jobs, of who waits, and of those seats
	processes [maxWorkers]part

	known    bool // what follows is
	used     hash // of the faults that are used up
	messages []marks
	workers  [maxWorkers]marks // of process and messages
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
		p.jobs = hashOf(c.jobsOf())
		b.known, b.hash = true, p.jobs.with(hashOf(c.old[c.places[len(st.workers)-1][3]:]), 0)
		b.marks = e.marker.broker(e, st)
		for i := range st.workers {
			if seat := &p.seats[i]; !seat.known {
				seat.known, seat.hash = true, hashOf(c.old[c.places[i][0]:c.places[i][1]])
				if e.world.Workers > few {
					seat.marks = e.marker.seat(st, i)
				}
			}
		}
		p.concerned = e.concerned(st)
		b.hash = p.withSeats(b.hash, p.concerned)
	}
	p.used = hashOf(c.old[:budgets])
	p.messages, p.all, p.open = p.messages[:0], p.broker.marks, false
	k := 0
	for i := range st.workers {
		at, process := &c.places[i], &p.processes[i]
		if !process.known {
			*process = part{true, hashOf(c.old[at[1]:at[2]]), e.marker.process(e, &st.workers[i], i)}
		}
		w := process.marks
		for ; k < len(st.messages) && int(st.messages[k].worker) == i; k++ {
			m := &st.messages[k]
			is := e.marker.message(m)
			p.messages = append(p.messages, is)
			w.add(is)
			p.open = p.open || e.world.Prompt && m.kind == toWorker && !st.held(m)
		}
		p.workers[i] = w
		p.all.add(w.ofSeat(i))
	}
	p.known = true
}

// few is of how many workers it does not pay to tell which seats the broker sees.
const few = 2

// withSeats is a hash with those of what the broker knows of some seats.
func (p *parts) withSeats(h hash, seats uint8) hash {
	for ; seats != 0; seats &= seats - 1 {
		i := bits.TrailingZeros8(seats)
		h = h.with(p.seats[i].hash, uint64(1+i))
	}
	return h
}

// concerned returns the seats of which the broker may see anything, or change it, whatever it does:
// those of who waits, and of whose claims are over, or may be by the next sweep. Of few workers it is
// nearly always all.
func (e *engine) concerned(st *state) (seats uint8) {
	if e.world.Workers <= few {
		return 1<<e.world.Workers - 1
	}
	st.broker.EachWaiting(func(_ int, who model.Member, _ bool) { seats |= 1 << who.Seat })
	for j := 1; j <= e.world.Jobs; j++ {
		if row := st.broker.Job(protocol.JobKey(j)); row.State == model.JobClaimed && (row.Lease <= st.now || e.world.Sweep > 0) {
			seats |= 1 << row.Owner.Seat
		}
	}
	return seats
}

// site is where an action happens, and under which key it is remembered what comes of it.
type site struct {
	action action
	kind   siteKind
	worker int      // none is -1
	taken  *message // off the wire
	key    hash
	seats  uint8 // at the broker: of which it sees anything
	known  bool  // what came of it there is remembered
}

type siteKind uint8

const (
	anywhere siteKind = iota // it is not remembered
	atWorker
	atBroker
)

// What is in a key beside what a process does, which is a kind of action.
const (
	hears = 1 << 8 // an answer, at once
	asks  = 1 << 9 // what the broker knows is looked at
)

// siteOf returns where an action happens.
func (e *engine) siteOf(st *state, a action) (s site) {
	p := &e.parts
	if e.memo.off {
		return s
	}
	if !p.known {
		e.look(st)
	}
	s.action, s.worker = a, int(a.a)
	slot := 0 // of the worker
	switch a.kind {
	case passTime, cancelJob, double, failover:
		return s
	case tickBroker:
		s.worker = -1
	case deliver, lose, breakCall:
		s.taken = &st.messages[a.a]
		s.worker = int(s.taken.worker)
	case comeBack, saveProgress, cancelSlot, lie:
		s.worker, slot = s.worker/maxSlots, s.worker%maxSlots
	}
	switch {
	case a.kind != tickBroker && (a.kind != deliver || s.taken.kind == toWorker):
		s.kind, s.key = atWorker, p.processes[s.worker].hash.with(p.used, uint64(a.kind)|uint64(a.b)<<16|uint64(slot)<<32)
		if s.taken != nil {
			s.key = s.key.with(hashOf(e.coder.bytesOf(s.taken)), 0)
		}
	case p.open: // it may come before or after what the broker says
	case s.taken == nil:
		s.kind, s.key, s.seats = atBroker, p.broker.hash, p.concerned
	default:
		s.kind, s.seats = atBroker, p.concerned|1<<s.worker
		s.key = p.withSeats(p.broker.hash, s.seats&^p.concerned)
		s.key = s.key.with(hashOf(e.coder.bytesOf(s.taken)), uint64(1+s.worker)|e.heldBeside(st, &s)<<8)
	}
	return s
}

// heldBeside tells, of a message with the number of a request, which such numbers its worker has beside
// it: whether any is in another message, and the marks of its process.
func (e *engine) heldBeside(st *state, s *site) (held uint64) {
	if !s.taken.numbered() {
		return 0
	}
	p := &e.parts
	for k := range st.messages {
		if m := &st.messages[k]; int(m.worker) == s.worker && m != s.taken && m.numbered() {
			return 1 << 8
		}
	}
	return p.processes[s.worker].marks.seats & 0xff
}

// bytesOf is a message of the state that was read last, in its form.
func (c *coder) bytesOf(m *message) []byte { return c.old[m.place : m.place+m.size] }

// hearing is the key of what comes of it that a worker hears an answer at once, or nothing, and that some
// of its lowest request numbers are gone.
func (e *engine) hearing(i int, answer []byte, gone int) hash {
	return e.parts.processes[i].hash.with(e.parts.used, hears|uint64(gone)<<16).with(hashOf(answer), 0)
}

// asking is the key of what comes of a step for which it is looked at what the broker knows of jobs.
// For a step that is made at once after the broker's, that is what it knew before, too, and what it
// was asked.
func (e *engine) asking(key hash, s *site, jobs []byte) hash {
	key = key.with(e.parts.jobs, asks)
	if s.kind == atWorker {
		return key
	}
	if s.taken != nil {
		key = key.with(hashOf(e.coder.bytesOf(s.taken)), 0)
	}
	return key.with(hashOf(jobs), 0)
}

// hearsAtOnce reports whether an answer to a life takes no time.
func (e *engine) hearsAtOnce(st *state, m model.Member) bool {
	return e.world.Prompt && st.hears(m) && !st.workers[m.Seat].paused
}

// remember notes what the broker did in an action: c came of st, and its form was written last. Once it
// was asked, or told the time, and nobody was touched by it but who heard of it at once.
func (e *engine) remember(st, c *state, s *site) {
	p := &e.parts
	if s.kind != atBroker || s.known || !e.coder.ordered || p.calls != 1 { // rows at the broker name seats
		return
	}
	gone, ok := e.gone(c, s)
	if !ok {
		return
	}
	var touched, wired uint8
	if s.taken != nil {
		wired = 1 << s.worker
	}
	for k := range p.said {
		a := &p.said[k]
		if !e.coder.ranks.known(&a.message) {
			return
		}
		wired |= 1 << a.to.Seat
		if e.hearsAtOnce(st, a.to) {
			touched |= 1 << a.to.Seat
		}
	}
	if c.touched&^touched == 0 && c.wired&^wired == 0 && e.coder.keepsSeats(len(c.workers), ^s.seats) {
		e.rememberBroker(c, s, gone)
	}
}

// seatOf is what the form that was written last says of a seat at the broker.
func (c *coder) seatOf(i int) []byte { return c.workersIn[c.child[i][0]:c.child[i][1]] }

// keepsSeats reports whether that is what the form that was read last says of some seats.
func (c *coder) keepsSeats(n int, seats uint8) bool {
	for i := range n {
		if seats&(1<<i) != 0 && !bytes.Equal(c.seatOf(i), c.old[c.places[i][0]:c.places[i][1]]) {
			return false
		}
	}
	return true
}

// gone returns how many of the lowest request numbers of who asked the broker nobody has any more, if
// all others have their ranks: a claim closes the requests before it. The messages that it still has on
// the wire have none.
func (e *engine) gone(c *state, s *site) (n int, ok bool) {
	w := &e.coder
	switch all := uint8(1<<len(c.workers) - 1); {
	case w.renamed:
		return 0, false
	case w.settled == all:
		return 0, true
	case s.taken == nil || !s.taken.numbered() || !w.ranks.given(e) || w.settled|1<<s.worker != all || !w.ranks.lives[s.worker].Dense(clocked):
		return 0, false
	}
	for k := range c.messages {
		if m := &c.messages[k]; int(m.worker) == s.worker && m.size > 0 && m.numbered() {
			return 0, false
		}
	}
	return w.ranks.seqs[s.worker].Gone()
}

// mostSent is how many messages are remembered that an action puts on the wire of a worker.
const mostSent = 6

// rememberWorker notes what became of a worker's process, and what that sent, and reports whether it did.
func (e *engine) rememberWorker(c *state, i int, key hash, process []byte) bool {
	w := &e.coder
	is := e.marker.process(e, &c.workers[i], i)
	w.message, w.spans = w.message[:0], w.spans[:0]
	for k := range c.messages {
		if m := &c.messages[k]; int(m.worker) == i && m.size == 0 {
			is.add(e.marker.message(m))
			w.writeMessage(c, m)
		}
	}
	if len(w.spans) > mostSent {
		return false
	}
	b := appendMarks(e.memo.begin(key), is)
	b = appendPast(append(b, c.used[:]...), &c.news)
	b = append(b, byte(len(w.spans)))
	for k := range w.spans {
		b = appendPart(b, w.messageAt(k))
	}
	return e.memo.put(append(b, process...))
}

// rememberBroker notes what became of the broker, and what it said.
func (e *engine) rememberBroker(c *state, s *site, gone int) {
	w, p := &e.coder, &e.parts
	if gone > 0 {
		e.marker.gone[s.worker] = gone
		defer func() { e.marker.gone[s.worker] = 0 }()
	}
	is, given := e.marker.asked(e, c, s.seats)
	b := binary.LittleEndian.AppendUint64(appendMarks(e.memo.begin(s.key), is), given)
	b = append(b, byte(gone))
	b = appendPart(b, w.form[headSize:w.jobsEnd])
	b = append(b, byte(len(p.said)))
	for k := range p.said {
		a := &p.said[k]
		w.message = w.appendMessage(w.message[:0], c, &a.message)
		b = append(b, byte(a.to.Seat), byte(a.to.Nonce))
		b = appendPart(appendMarks(b, e.marker.message(&a.message)), w.message)
	}
	for i := range c.workers {
		if s.seats&(1<<i) != 0 {
			b = appendPart(b, w.seatOf(i))
		}
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
