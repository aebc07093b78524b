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
	known   bool
	head    []byte // the faults that are used up now, and what was added to the past
	process []byte
	mail    mail
}

// mail is what changes on the wire of a worker.
type mail struct {
	taken *message
	sent  [mostSent][]byte // or answered
	n     int
	marks marks // of those, and of the process if it changed
}

// changeOf returns what is remembered under a key, or under the same of a step that asks for what the
// broker knows of jobs.
func (e *engine) changeOf(key hash, s *site, jobs []byte) (ch change) {
	r := e.memo.get(key)
	if r == nil {
		r = e.memo.get(e.asking(key, s, jobs))
	}
	if r == nil {
		return ch
	}
	ch.known = true
	ch.mail.marks, r = readMarks(r)
	ch.head, r = r[:headSize], r[headSize:]
	ch.mail.n, r = int(r[0]), r[1:]
	for k := range ch.mail.n {
		ch.mail.sent[k], r = readPart(r)
	}
	ch.process = r
	return ch
}

// appendHead appends the head of the state that was read last, after a change.
func (c *coder) appendHead(b, head []byte) []byte {
	b = append(b, head[:budgets]...)
	for k := budgets; k < headSize; k++ {
		b = append(b, c.old[k]|head[k])
	}
	return b
}

// recallWorker puts together a state in which a worker is as is remembered. With symmetry it is none if
// the workers would go in another order.
func (e *engine) recallWorker(st *state, s *site) []byte {
	p, c, i := &e.parts, &e.coder, s.worker
	ch := e.changeOf(s.key, s, nil)
	if !ch.known && e.doAlone(st, s) {
		ch = e.changeOf(s.key, s, nil)
	}
	if !ch.known {
		return nil
	}
	all := p.broker.marks
	for k := range st.workers {
		if k != i {
			all.add(p.workers[k].ofSeat(k))
		}
	}
	at := &c.places[i]
	b := c.appendHead(c.form[:0], ch.head)
	b = append(b, c.old[headSize:at[1]]...)
	b = append(b, ch.process...)
	ch.mail.taken = s.taken
	b, is := e.appendMail(b, st, i, &ch.mail, ch.process[0]&deadBit != 0)
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
// and the broker's answers are on it, or one of them was heard at once, which is remembered by itself.
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
	jobs, record := readPart(record[8:])
	var mails [maxWorkers]mail
	hearer := -1
	var heard change
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
			hearer = i
			heard = e.changeOf(e.hearing(i, answer), s, jobs)
			if !heard.known {
				if e.hearAlone(st, i, s, answer, jobs) {
					return e.recallBroker(st, s) // what is read here may have been written over
				}
				return nil
			}
		case m.n == len(m.sent):
			return nil
		default:
			m.sent[m.n] = answer
			m.n++
			m.marks.add(is)
		}
	}
	var b []byte
	if hearer >= 0 {
		b = c.appendHead(c.form[:0], heard.head)
		mails[hearer] = heard.mail
	} else {
		b = append(c.form[:0], c.old[:headSize]...)
	}
	if s.taken != nil {
		mails[s.worker].taken = s.taken
	}
	b = append(b, jobs...)
	last, end := 0, 0
	for i := range st.workers {
		begin, at := len(b), &c.places[i]
		var seat []byte
		seat, record = readPart(record)
		b = append(b, seat...)
		is := p.workers[i]
		switch m := &mails[i]; {
		case i == hearer:
			b = append(b, heard.process...)
			b, is = e.appendMail(b, st, i, m, heard.process[0]&deadBit != 0)
		case m.taken == nil && m.n == 0:
			b = append(b, c.old[at[1]:at[3]]...)
		default:
			m.marks.add(p.processes[i].marks)
			b, is = e.appendMail(append(b, c.old[at[1]:at[2]]...), st, i, m, false)
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

// appendMail appends the messages of a worker in their order, and returns the marks of the worker. On
// its way to who has died is nothing.
func (e *engine) appendMail(b []byte, st *state, i int, m *mail, dead bool) ([]byte, marks) {
	p, c := &e.parts, &e.coder
	sent := m.sent[:m.n]
	slices.SortFunc(sent, bytes.Compare)
	count, is := len(b), m.marks
	b = append(b, byte(m.n))
	for k := range st.messages {
		msg := &st.messages[k]
		if int(msg.worker) != i || msg == m.taken || dead && msg.kind == toWorker {
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
