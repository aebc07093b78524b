package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// Counts of attempts from which on more of them make no difference.
const (
	repeatsThatMatter = 2 // of a claim request: repeated once, then withdrawn
	missesThatMatter  = 2 // of renewals: from then on the lease is distrusted
)

// steps is the number of repetitions after which a backoff has reached its maximum, and from
// which on their count does not matter.
func (b Backoff) steps() uint8 {
	n := uint8(0)
	for d := b.Min; d < b.Max && n < 255; n++ {
		d += min(d, b.Max-d)
	}
	return n
}

// Counts from which on signals of a number stop to matter: the third SIGTERM does nothing,
// and after the third SIGINT there is no machine left.
const (
	termsThatMatter = 2
	intsThatMatter  = 3
)

// AppendCanonical appends the state of m to buf: deadlines relative to now, tokens, request
// numbers and incarnations by rank, counters saturated, and nothing that no later step reads.
// Two machines with the same Config and the same bytes behave alike from now on, up to
// those numbers and to the Span of ledger lines, which counts from the stop. ReadCanonical
// makes such a machine of the bytes. The machine does not know its seat; ranks does.
func (m *Machine) AppendCanonical(buf []byte, now Instant, ranks *Ranks, seat int) []byte {
	c := canonical{FormWriter{Buf: buf, Now: now}, ranks, seat}
	retry := m.cfg.Retry.steps()
	c.Buf = append(c.Buf,
		byte(m.phase), min(m.retries, max(retry, 1)), min(m.settleTries, retry), m.status,
		min(m.termGroups, termsThatMatter), min(m.interrupts, intsThatMatter), oneIf(m.wantsQuiet), oneIf(m.more))
	c.Num(ranks.Incarnation(seat, m.incarnation))
	b := &m.budget
	c.Ats(m.againAt, m.renewAt, m.settleAt, b.undoBy, b.settleBy, b.exitBy, b.killAt)
	c.AtIf(m.termGroups == 1 && now < m.termAt.Add(signalWindow), m.termAt)
	c.AtIf(now < m.doubtTo, m.doubtTo)
	c.Num(uint64(m.surplus))
	if m.surplus > 0 {
		c.At(max(m.surplusTo, now))
	}
	c.Num(m.seed)
	if m.seed != 0 {
		c.Num(uint64(m.draws))
	}
	for _, b := range m.histograms.all() {
		c.Num(uint64(b))
	}
	for i := range m.slots {
		c.slot(m, &m.slots[i])
	}
	for q := range m.requests {
		c.request(m, &m.requests[q])
	}
	return c.Buf
}

// canonical is a writer of the canonical form of a machine in some seat.
type canonical struct {
	FormWriter
	ranks *Ranks
	seat  int
}

func (c *canonical) slot(m *Machine, s *Slot) {
	c.Byte(byte(s.state))
	if s.state == SlotFree {
		return
	}
	missed := uint8(0)
	if s.state == SlotRunning {
		missed = min(s.missed, missesThatMatter)
	}
	c.Buf = append(c.Buf, s.queue, byte(s.verb), byte(s.reason), byte(s.cause), missed)
	c.Nums(uint64(s.flags), c.ranks.Job(s.job), c.ranks.Token(s.job, s.token), uint64(s.kind), uint64(s.cursor))
	c.AtIf(s.renewable() && (s.state != SlotSettling || s.undoTrusts()), s.trust)
	c.AtIf(s.has(renewing), s.asked)
	switch {
	case s.state == SlotUndoing:
		c.At(s.mark)
	case s.silent():
		// Only a worker that serves looks at how long a handler has been silent, and a
		// lease is as long as it looks back.
		c.AtIf(!m.phase.Stopping(), max(s.mark, c.Now.Add(-m.cfg.Lease)))
	}
	started, progress := m.timed(s)
	if started {
		c.At(s.mark)
	}
	if progress {
		c.At(s.progress)
	}
}

// silent reports whether the slot holds up a worker that would take jobs: it waits for a
// handler that was told to stop, or for undo hooks that outlived their slice.
func (s *Slot) silent() bool {
	return s.state == SlotCancelled || s.state == SlotZombie || s.state == SlotSettling && s.has(undoRuns)
}

// timed reports whether it matters when the execution in a slot started, and since when it
// has not saved anything.
func (m *Machine) timed(s *Slot) (started, progress bool) {
	if s.state != SlotRunning {
		return false, false
	}
	limited := int(s.kind) < len(m.cfg.Kinds) && m.cfg.Kinds[s.kind].Timeout > 0
	return limited, m.cfg.Policy.Estimates == Adaptive
}

func (c *canonical) request(m *Machine, r *Request) {
	tries := uint8(0)
	switch r.state {
	case RequestAsked:
		tries = min(r.tries, repeatsThatMatter)
	case RequestWithdrawing:
		tries = min(r.tries, m.cfg.Retry.steps())
	}
	c.Buf = append(c.Buf, byte(r.state), min(r.empties, m.cfg.Poll.steps()), tries)
	if r.state == RequestAsked || m.deviates(deviation.AnyAnswerCounts) {
		c.Num(uint64(r.want))
		c.Num(uint64(r.granted))
		c.Flag(r.handedBack)
	}
	c.Flag(r.inLedger)
	c.Num(c.ranks.Seq(c.seat, r.seq))
	if r.state == RequestNone {
		c.At(max(r.due, c.Now))
	} else {
		c.At(r.due)
	}
	c.AtIf(r.state == RequestAsked, r.sent)
}
