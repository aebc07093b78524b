package explore

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/quiesce/quiesce/model"
)

// recall returns the form of the state to which an action leads, valid until the next call, if it is
// remembered what comes of it. st is the state that was read last.
func (e *engine) recall(st *state, s *site) (form []byte) {
	if s.kind == anywhere {
		return nil
	}
	switch record := e.memo.get(s.key); {
	case record == nil:
	case s.kind == atWorker:
		form = e.recallWorker(st, s.worker, record)
	default:
		form = e.recallBroker(st, s, record)
	}
	e.memo.tell(form != nil)
	return form
}

// recallWorker puts together a state in which head, process and messages of a worker are as a record
// says. With symmetry it is none if the workers would go in another order.
func (e *engine) recallWorker(st *state, i int, record []byte) []byte {
	c, at := &e.coder, &e.coder.places[i]
	is, record := readMarks(record)
	all := e.parts.broker.marks
	for k := range st.workers {
		if k != i {
			all.add(e.parts.workers[k].marks.ofSeat(k))
		}
	}
	if all.add(is.ofSeat(i)); !all.settled() {
		return nil
	}
	b := append(c.form[:0], record[:headSize]...)
	b = append(b, c.old[headSize:at[1]]...)
	b = append(b, record[headSize:]...)
	end := len(b)
	b = append(b, c.old[at[3]:]...)
	c.form = b
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

// mail is what changes on the wire of a worker.
type mail struct {
	taken   *message
	answers [3][]byte
	n       int
	marks   marks // of the answers
}

// recallBroker puts together a state in which the broker is as a record says, a message is off the wire
// and the broker's answers are on it, or one of them was heard at once, which is remembered by itself.
func (e *engine) recallBroker(st *state, s *site, record []byte) []byte {
	p, c := &e.parts, &e.coder
	all, record := readMarks(record)
	if binary.LittleEndian.Uint64(record)&p.all.tokens != 0 {
		return nil // what is given a rank that somebody has now
	}
	record = record[8:]
	var mails [maxWorkers]mail
	if s.taken != nil {
		mails[s.worker].taken = s.taken
	}
	hearer := -1
	var heard []byte
	n, record := record[0], record[1:]
	for ; n > 0; n-- {
		who := model.Member{Seat: int32(record[0]), Nonce: uint64(record[1])}
		is, rest := readMarks(record[2:])
		var answer []byte
		answer, record = readPart(rest)
		i := int(who.Seat)
		m := &mails[i]
		switch {
		case !st.hears(who):
		case e.hearsAtOnce(st, who):
			if hearer >= 0 {
				return nil
			}
			hearer, heard = i, answer
		case m.n == len(m.answers):
			return nil
		default:
			m.answers[m.n] = answer
			m.n++
			m.marks.add(is)
		}
	}
	head := c.old[:headSize]
	var process []byte // and messages of who hears something at once
	if hearer >= 0 {
		if process = e.memo.get(e.hearing(hearer, s, heard)); process == nil {
			return nil
		}
		var is marks
		is, process = readMarks(process)
		all.add(is.ofSeat(hearer))
		head, process = process[:headSize], process[headSize:]
	}
	b := append(c.form[:0], head...)
	jobs, record := readPart(record)
	b = append(b, jobs...)
	last, end := 0, 0
	for i := range st.workers {
		begin, at := len(b), &c.places[i]
		var seat []byte
		seat, record = readPart(record)
		b = append(b, seat...)
		switch m := &mails[i]; {
		case i == hearer:
			b = append(b, process...)
		case m.taken == nil && m.n == 0:
			b = append(b, c.old[at[1]:at[3]]...)
			all.add(p.workers[i].marks.ofSeat(i))
		default:
			var is marks
			b, is = e.appendMail(append(b, c.old[at[1]:at[2]]...), st, i, m)
			all.add(is.ofSeat(i))
		}
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

// appendMail appends the messages of a worker in their order, and returns the marks of the worker.
func (e *engine) appendMail(b []byte, st *state, i int, m *mail) ([]byte, marks) {
	p, c := &e.parts, &e.coder
	answers := m.answers[:m.n]
	slices.SortFunc(answers, bytes.Compare)
	count := c.old[c.places[i][2]] + byte(m.n)
	if m.taken != nil {
		count--
	}
	b = append(b, count)
	is := p.processes[i].marks
	is.add(m.marks)
	for k := range st.messages {
		msg := &st.messages[k]
		if int(msg.worker) != i || msg == m.taken {
			continue
		}
		is.add(p.messages[k])
		old := c.bytesOf(msg)
		for len(answers) > 0 && bytes.Compare(answers[0], old) < 0 {
			b, answers = append(b, answers[0]...), answers[1:]
		}
		b = append(b, old...)
	}
	for _, a := range answers {
		b = append(b, a...)
	}
	return b, is
}
