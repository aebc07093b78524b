package protocol

import (
	"encoding/binary"

	"github.com/quiesce/quiesce/internal/deviation"
)

// ReadCanonical makes m a machine with the canonical form at the start of buf, with ranks
// for tokens, request numbers and incarnations, and returns what follows it. cfg is the
// Config of the machine that wrote it, and mem has its size. The machine behaves like that
// one, shifted to now; a search keeps its millions of states in this form. The bytes must
// come from AppendCanonical: they are not checked.
func (m *Machine) ReadCanonical(cfg *Config, mem Memory, now Instant, buf []byte) []byte {
	r := canonicalReader{buf: buf, now: now}
	*m = Machine{cfg: cfg, slots: mem.Slots, requests: mem.Requests, buckets: mem.Buckets, stopAt: Never, doubtTo: now, termAt: Never}
	m.phase = Phase(r.byte())
	m.retries, m.settleTries, m.status, m.termGroups, m.interrupts = r.byte(), r.byte(), r.byte(), r.byte(), r.byte()
	m.wantsQuiet, m.more = r.flag(), r.flag()
	m.incarnation = r.num()
	m.retryAt, m.renewAt, m.settleAt, m.judgeAt = r.at(), r.at(), r.at(), r.at()
	m.budget = budget{r.at(), r.at(), r.at(), r.at()}
	if t, meant := r.atIf(); meant {
		m.termAt = t
	} else if m.termGroups > 0 {
		m.termAt = now.Add(-signalWindow)
	}
	if t, meant := r.atIf(); meant {
		m.doubtTo = t
	}
	if m.surplus = uint32(r.num()); m.surplus > 0 {
		m.surplusTo = r.at()
	}
	if m.seed = r.num(); m.seed != 0 {
		m.draws = uint32(r.num())
	}
	for i := range m.buckets {
		m.buckets[i] = Bucket(r.num())
	}
	for i := range m.slots {
		r.slot(m, &m.slots[i])
	}
	for q := range m.requests {
		r.request(m, &m.requests[q])
	}
	m.wake = m.soonest() // perhaps past: the process may have been paused
	return r.buf
}

// canonicalReader reads canonical bytes.
type canonicalReader struct {
	buf []byte
	now Instant
}

func (r *canonicalReader) byte() byte {
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *canonicalReader) flag() bool { return r.byte() != 0 }

func (r *canonicalReader) num() uint64 {
	if b := r.buf[0]; b < 0x80 {
		r.buf = r.buf[1:]
		return uint64(b)
	}
	n, length := binary.Uvarint(r.buf)
	r.buf = r.buf[length:]
	return n
}

func (r *canonicalReader) at() (t Instant) {
	if r.buf[0] == never {
		r.buf = r.buf[1:]
		return Never
	}
	t, r.buf = ReadRelative(r.buf, r.now)
	return t
}

func (r *canonicalReader) atIf() (t Instant, meant bool) {
	if r.buf[0] == meaningless {
		r.buf = r.buf[1:]
		return 0, false
	}
	return r.at(), true
}

func (r *canonicalReader) slot(m *Machine, s *Slot) {
	*s = Slot{state: SlotState(r.byte())}
	if s.state == SlotFree {
		return
	}
	s.queue, s.verb, s.reason, s.cause, s.missed = r.byte(), Verb(r.byte()), Reason(r.byte()), Cause(r.byte()), r.byte()
	s.flags = slotFlags(r.num())
	s.job, s.token = JobKey(r.num()), Token(r.num())
	s.kind, s.version, s.cursor = Kind(r.num()), uint16(r.num()), Cursor(r.num())
	s.trust, _ = r.atIf()
	s.asked, _ = r.atIf()
	switch {
	case s.state == SlotUndoing:
		s.mark = r.at()
	case s.silent():
		s.mark, _ = r.atIf()
	}
	started, progress := m.timed(s)
	if started {
		s.started = r.at()
	}
	if progress {
		s.progress = r.at()
	}
}

func (r *canonicalReader) request(m *Machine, q *Request) {
	*q = Request{state: RequestState(r.byte()), empties: r.byte(), tries: r.byte()}
	if q.state == RequestAsked || m.deviates(deviation.AnyAnswerCounts) {
		q.want, q.granted, q.handedBack = int32(r.num()), int32(r.num()), r.flag()
	}
	q.inLedger, q.seq = r.flag(), r.num()
	q.due = r.at()
	q.sent, _ = r.atIf()
}
