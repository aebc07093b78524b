package protocol

import "encoding/binary"

// Ranks replaces numbers that only ever grow by their order, so that two states which
// differ in nothing else are the same to a search. The world gives them, over the broker,
// the machines and the messages together.
type Ranks interface {
	Token(job JobKey, token Token) uint64
	Seq(queue int, seq uint64) uint64
	Incarnation(n uint64) uint64
}

// saturation is where counters of repetitions stop to matter: the backoff has reached its
// maximum well before, while Max is no more than 256 times Min.
const saturation = 8

// Counts from which on signals of a number stop to matter: the third SIGTERM does nothing,
// and after the third SIGINT there is no machine left.
const (
	termsThatMatter = 2
	intsThatMatter  = 3
)

// AppendCanonical appends the state of m to buf: deadlines relative to now, tokens, request
// numbers and incarnations by rank, counters saturated, and nothing that no later step reads.
// Two machines with the same Config and the same bytes behave alike from now on, up to
// those numbers and to the Span of ledger lines, which counts from the stop.
func (m *Machine) AppendCanonical(buf []byte, now Instant, ranks Ranks) []byte {
	c := canonical{buf: buf, now: now, ranks: ranks}
	c.bytes(byte(m.phase), min(m.retries, saturation), min(m.settleTries, saturation), m.status, min(m.termGroups, termsThatMatter), min(m.interrupts, intsThatMatter))
	c.flag(m.wantsQuiet)
	c.num(ranks.Incarnation(m.incarnation))
	for _, t := range [...]Instant{m.retryAt, m.renewAt, m.settleAt, m.judgeAt, m.budget.undoBy, m.budget.settleBy, m.budget.exitBy, m.budget.killAt} {
		c.at(t)
	}
	c.atIf(m.termGroups == 1 && now < m.termAt.Add(signalWindow), m.termAt)
	c.atIf(now < m.doubtTo, m.doubtTo)
	c.atIf(m.surplus > 0 && now < m.surplusTo, m.surplusTo)
	if m.surplus > 0 && now < m.surplusTo {
		c.num(uint64(m.surplus))
	}
	if m.seed != 0 {
		c.num(m.seed)
		c.num(uint64(m.draws))
	}
	for i := range m.slots {
		c.slot(m, &m.slots[i])
	}
	for q := range m.requests {
		c.request(q, &m.requests[q])
	}
	for _, b := range m.buckets {
		c.num(uint64(b))
	}
	return c.buf
}

// canonical is a writer of canonical bytes.
type canonical struct {
	buf   []byte
	now   Instant
	ranks Ranks
}

func (c *canonical) bytes(b ...byte) { c.buf = append(c.buf, b...) }
func (c *canonical) num(n uint64)    { c.buf = binary.AppendUvarint(c.buf, n) }

func (c *canonical) flag(b bool) {
	if b {
		c.bytes(1)
	} else {
		c.bytes(0)
	}
}

func (c *canonical) at(t Instant) {
	if t == Never {
		c.bytes(0)
		return
	}
	c.buf = binary.AppendVarint(append(c.buf, 1), int64(t.Sub(c.now)))
}

// atIf writes an instant that only means something under a condition.
func (c *canonical) atIf(meant bool, t Instant) {
	if meant {
		c.at(t)
	} else {
		c.bytes(2)
	}
}

func (c *canonical) slot(m *Machine, s *Slot) {
	c.bytes(byte(s.state))
	if s.state == SlotFree {
		return
	}
	c.bytes(s.queue, byte(s.verb), byte(s.reason), byte(s.cause), min(s.missed, saturation))
	c.num(uint64(s.flags))
	c.num(uint64(s.job))
	c.num(c.ranks.Token(s.job, s.token))
	c.num(uint64(s.kind))
	c.num(uint64(s.version))
	c.num(uint64(s.cursor))
	c.atIf(s.renewable() && s.state != SlotSettling, s.trust)
	c.atIf(s.has(renewing), s.asked)
	switch {
	case s.state == SlotUndoing:
		c.at(s.mark)
	case s.state == SlotCancelled || s.state == SlotZombie:
		// Only a worker that serves looks at how long a handler has been silent, and a
		// lease is as long as it looks back.
		c.atIf(!m.phase.Stopping(), max(s.mark, c.now.Add(-m.cfg.Lease)))
	}
	judged := m.cfg.Policy.Estimates == Adaptive || int(s.kind) < len(m.cfg.Kinds) && m.cfg.Kinds[s.kind].Timeout > 0
	if judged && s.state == SlotRunning {
		c.at(s.started)
		c.at(s.progress)
	}
}

func (c *canonical) request(q int, r *Request) {
	c.bytes(byte(r.state), min(r.empties, saturation), min(r.tries, saturation))
	c.num(uint64(r.want))
	c.num(uint64(r.granted))
	c.flag(r.handedBack)
	c.flag(r.inLedger)
	c.num(c.ranks.Seq(q, r.seq))
	if r.state == RequestNone {
		c.at(max(r.due, c.now))
	} else {
		c.at(r.due)
	}
	c.atIf(r.state == RequestAsked, r.sent)
}
