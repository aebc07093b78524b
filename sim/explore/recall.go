package explore

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/quiesce/quiesce/model"
)

// recall returns the form of the state to which an action leads, valid until the next call, if it is
// remembered what comes of it, or if what is new in that can be made alone. st is the state that was
// read last.
func (e *engine) recall(st *state, s *site) (form []byte) {
	switch s.kind {
	case atWorker:
		return e.recallWorker(st, s)
	case atBroker:
		return e.recallBroker(st, s)
	default:
		return nil
	}
}

// change is what became of a worker, as it is remembered.
type change struct {
	head    []byte // the faults that are used up now, and what was added to the past
	process []byte // none if it did not change
	taken   *message
	sent    [mostSent][]byte // or answered
	n       int
	marks   marks // of those, and of the process if it changed
}

// changeOf returns what is remembered under a key, or under the same of a step that asks for what the
// broker knows of jobs.
func (e *engine) changeOf(key hash, s *site, jobs []byte) (ch change, known bool) {
	r := e.memo.get(key)
	if r == nil {
		r = e.memo.get(e.asking(key, s, jobs))
	}
	if r == nil {
		return ch, false
	}
	ch.marks, r = readMarks(r)
	ch.head, r = r[:headSize], r[headSize:]
	ch.n, r = int(r[0]), r[1:]
	for k := range ch.n {
		ch.sent[k], r = readPart(r)
	}
	ch.process = r
	return ch, true
}

// changeHead has the head of a form say what one of a change says, too.
func changeHead(form, head []byte) {
	copy(form, head[:budgets])
	for k := budgets; k < headSize; k++ {
		form[k] |= head[k]
	}
}

// recallWorker puts together a state in which a worker is as is remembered. With symmetry it is none if
// the workers would go in another order.
func (e *engine) recallWorker(st *state, s *site) []byte {
	p, c, i := &e.parts, &e.coder, s.worker
	ch, known := e.changeOf(s.key, s, nil)
	if !known && e.doAlone(st, s) {
		ch, known = e.changeOf(s.key, s, nil)
	}
	if !known {
		return nil
	}
	all := p.broker.marks
	for k := range st.workers {
		if k != i {
			all.add(p.workers[k].ofSeat(k))
		}
	}
	at := &c.places[i]
	b := append(c.form[:0], c.old[:at[1]]...)
	changeHead(b, ch.head)
	ch.taken = s.taken
	b, is := e.appendWorker(b, st, i, &ch)
	all.add(is.ofSeat(i))
	end := len(b)
	b = append(b, c.old[at[3]:]...)
	c.form = b
	if !all.settled() {
		return nil
	}
	if c.symmetry {
		if i > 0 && bytes.Compare(c.old[c.places[i-1][0]:at[0]], b[at[0]:end]) >= 0 {
			return nil
		}
		if i+1 < len(st.workers) && bytes.Compare(b[at[0]:end], c.old[at[3]:c.places[i+1][3]]) >= 0 {
			return nil
		}
	}
	return b
}

// recallBroker puts together a state in which the broker is as is remembered, a message is off the wire
// and the broker's answers are on it, or were heard at once, which is remembered by itself.
func (e *engine) recallBroker(st *state, s *site) []byte {
	p, c := &e.parts, &e.coder
	record := e.memo.get(s.key)
	if s.known = record != nil; !s.known {
		return nil
	}
	all, record := readMarks(record)
	if binary.LittleEndian.Uint64(record)&p.all.tokens != 0 {
		return nil // what is given a rank that somebody has now
	}
	gone := [maxWorkers]int{}
	if s.taken != nil {
		gone[s.worker] = int(record[8])
	}
	jobs, record := readPart(record[9:])
	b := append(append(c.form[:0], c.old[:headSize]...), jobs...)
	var changes [maxWorkers]change
	n, record := record[0], record[1:]
	for ; n > 0; n-- {
		who := model.Member{Seat: int32(record[0]), Nonce: uint64(record[1])}
		is, rest := readMarks(record[2:])
		var answer []byte
		answer, record = readPart(rest)
		i := int(who.Seat)
		ch := &changes[i]
		switch {
		case !st.hears(who):
		case e.hearsAtOnce(st, who):
			if ch.process != nil {
				return nil // it hears of more than one thing
			}
			var known bool
			if *ch, known = e.changeOf(e.hearing(i, answer, gone[i]), s, jobs); !known {
				if e.hearAlone(st, i, s, answer, gone[i], jobs) {
					return e.recallBroker(st, s) // what is read here may have been written over
				}
				return nil
			}
			changeHead(b, ch.head)
		case ch.n == len(ch.sent):
			return nil
		default:
			ch.sent[ch.n] = answer
			ch.n++
			ch.marks.add(is)
		}
	}
	if s.taken != nil {
		ch := &changes[s.worker]
		if n := gone[s.worker]; n > 0 && ch.process == nil {
			other, known := e.changeOf(e.hearing(s.worker, nil, n), s, jobs)
			if !known {
				if e.hearAlone(st, s.worker, s, nil, n, jobs) {
					return e.recallBroker(st, s)
				}
				return nil
			}
			ch.process = other.process
			ch.marks.add(other.marks)
		}
		ch.taken = s.taken
	}
	last, end := 0, 0
	for i := range st.workers {
		begin, at := len(b), &c.places[i]
		if s.seats&(1<<i) != 0 {
			var seat []byte
			seat, record = readPart(record)
			b = append(b, seat...)
		} else {
			b = append(b, c.old[at[0]:at[1]]...)
			all.add(p.seats[i].marks.ofSeat(i))
		}
		is := p.workers[i]
		if ch := &changes[i]; ch.process == nil && ch.taken == nil && ch.n == 0 {
			b = append(b, c.old[at[1]:at[3]]...)
		} else {
			b, is = e.appendWorker(b, st, i, ch)
		}
		all.add(is.ofSeat(i))
		if c.symmetry && i > 0 && bytes.Compare(b[last:end], b[begin:]) >= 0 {
			return nil
		}
		last, end = begin, len(b)
	}
	b = append(b, record...)
	c.form = b
	if !all.settled() {
		return nil
	}
	return b
}

// appendWorker appends the process and the messages of a worker, these in their order, and returns the
// marks of both. On its way to who has died is nothing.
func (e *engine) appendWorker(b []byte, st *state, i int, ch *change) ([]byte, marks) {
	p, c := &e.parts, &e.coder
	is, process := ch.marks, ch.process
	if process == nil {
		process = c.old[c.places[i][1]:c.places[i][2]]
		is.add(p.processes[i].marks)
	}
	b = append(b, process...)
	dead := process[0]&deadBit != 0
	sent := ch.sent[:ch.n]
	slices.SortFunc(sent, bytes.Compare)
	count := len(b)
	b = append(b, byte(ch.n))
	for k := range st.messages {
		msg := &st.messages[k]
		if int(msg.worker) != i || msg == ch.taken || dead && msg.kind == toWorker {
			continue
		}
		b[count]++
		is.add(p.messages[k])
		old := c.bytesOf(msg)
		for len(sent) > 0 && bytes.Compare(sent[0], old) < 0 {
			b, sent = append(b, sent[0]...), sent[1:]
		}
		b = append(b, old...)
	}
	for _, a := range sent {
		b = append(b, a...)
	}
	return b, is
}
