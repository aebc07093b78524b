package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// ReadCanonical makes m a machine with the canonical form at the start of buf, with ranks
// for tokens, request numbers and incarnations, and returns what follows it. cfg is the
// Config of the machine that wrote it, and mem has its size. The machine behaves like that
// one, shifted to now; a search keeps its millions of states in this form. The bytes must
// come from AppendCanonical: they are not checked.
func (m *Machine) ReadCanonical(cfg *Config, mem Memory, now Instant, buf []byte) []byte {
	r := ReadForm(buf, now)
	*m = Machine{cfg: cfg, slots: mem.Slots, requests: mem.Requests, histograms: mem.Histograms, present: mem.Present, stopAt: Never, doubtTo: now, termAt: Never}
	m.phase = Phase(r.Byte())
	m.retries, m.settleTries, m.status, m.termGroups, m.interrupts = r.Byte(), r.Byte(), r.Byte(), r.Byte(), r.Byte()
	m.wantsQuiet, m.more = r.Flag(), r.Flag()
	m.incarnation = r.Num()
	m.againAt, m.renewAt, m.settleAt = r.At(), r.At(), r.At()
	m.budget = budget{r.At(), r.At(), r.At(), r.At()}
	if t, meant := r.AtIf(); meant {
		m.termAt = t
	} else if m.termGroups > 0 {
		m.termAt = now.Add(-signalWindow)
	}
	if t, meant := r.AtIf(); meant {
		m.doubtTo = t
	}
	if m.surplus = uint32(r.Num()); m.surplus > 0 {
		m.surplusTo = r.At()
	}
	if m.seed = r.Num(); m.seed != 0 {
		m.draws = uint32(r.Num())
	}
	buckets := m.histograms.all()
	for i := range buckets {
		buckets[i] = uint32(r.Num())
	}
	for i := range m.slots {
		m.readSlot(&r, &m.slots[i])
	}
	for q := range m.requests {
		m.readRequest(&r, &m.requests[q])
	}
	m.wake = m.soonest() // perhaps past: the process may have been paused
	return r.Rest()
}

func (m *Machine) readSlot(r *FormReader, s *Slot) {
	*s = Slot{state: SlotState(r.Byte())}
	if s.state == SlotFree {
		return
	}
	s.queue, s.verb, s.reason, s.cause, s.missed = r.Byte(), Verb(r.Byte()), Reason(r.Byte()), Cause(r.Byte()), r.Byte()
	s.flags = slotFlags(r.Num())
	s.job, s.token = JobKey(r.Num()), Token(r.Num())
	s.kind, s.cursor = Kind(r.Num()), Cursor(r.Num())
	s.trust, _ = r.AtIf()
	s.asked, _ = r.AtIf()
	switch {
	case s.state == SlotUndoing:
		s.mark = r.At()
	case s.silent():
		s.mark, _ = r.AtIf()
	}
	started, progress := m.timed(s)
	if started {
		s.mark = r.At()
	}
	if progress {
		s.progress = r.At()
	}
}

func (m *Machine) readRequest(r *FormReader, q *Request) {
	*q = Request{state: RequestState(r.Byte()), empties: r.Byte(), tries: r.Byte()}
	if q.state == RequestAsked || m.deviates(deviation.AnyAnswerCounts) {
		q.want, q.granted, q.handedBack = int32(r.Num()), int32(r.Num()), r.Flag()
	}
	q.inLedger, q.seq = r.Flag(), r.Num()
	q.due = r.At()
	q.sent, _ = r.AtIf()
}
