package protocol

import (
	"encoding/binary"

	"github.com/quiesce/quiesce/internal/deviation"
)

// Ranks replaces numbers that only ever grow by their order, so that two states which
// differ in nothing else are the same to a search. The world gives them, over the broker,
// the machines and the messages together. Jobs are renamed only where the new names are as
// good as the old ones: jobs that have ended, say, for which no order matters any more.
type Ranks interface {
	Job(job JobKey) uint64
	Token(job JobKey, token Token) uint64
	Seq(queue int, seq uint64) uint64
	Incarnation(n uint64) uint64
}

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
// makes such a machine of the bytes.
func (m *Machine) AppendCanonical(buf []byte, now Instant, ranks Ranks) []byte {
	c := canonical{buf: buf, now: now, ranks: ranks}
	retry := m.cfg.Retry.steps()
	c.bytes(byte(m.phase), min(m.retries, max(retry, 1)), min(m.settleTries, retry), m.status, min(m.termGroups, termsThatMatter), min(m.interrupts, intsThatMatter))
	c.flag(m.wantsQuiet)
	c.flag(m.more)
	c.num(ranks.Incarnation(m.incarnation))
	for _, t := range [...]Instant{m.retryAt, m.renewAt, m.settleAt, m.judgeAt, m.budget.undoBy, m.budget.settleBy, m.budget.exitBy, m.budget.killAt} {
		c.at(t)
	}
	c.atIf(m.termGroups == 1 && now < m.termAt.Add(signalWindow), m.termAt)
	c.atIf(now < m.doubtTo, m.doubtTo)
	c.num(uint64(m.surplus))
	if m.surplus > 0 {
		c.at(max(m.surplusTo, now))
	}
	c.num(m.seed)
	if m.seed != 0 {
		c.num(uint64(m.draws))
	}
	for _, b := range m.buckets {
		c.num(uint64(b))
	}
	for i := range m.slots {
		c.slot(m, &m.slots[i])
	}
	for q := range m.requests {
		c.request(m, q, &m.requests[q])
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

// at writes an instant; most are Never.
func (c *canonical) at(t Instant) {
	if t == Never {
		c.buf = append(c.buf, never)
		return
	}
	c.buf = AppendRelative(c.buf, t, c.now)
}

// atIf writes an instant that only means something under a condition.
func (c *canonical) atIf(meant bool, t Instant) {
	if meant {
		c.at(t)
	} else {
		c.bytes(meaningless)
	}
}

// An instant in canonical form is one byte when it is Never or a few whole seconds from now,
// as nearly all are in a world made for a search; others are a mark and the difference.
const (
	never       = 0
	apart       = 1   // a difference in nanoseconds follows
	whole       = 2   // the fewest seconds from now that are one byte
	meaningless = 255 // no instant at all

	mostBefore = 60
	mostAfter  = meaningless - 1 - whole - mostBefore
)

// AppendRelative appends an instant to buf, relative to now. Never stays Never.
func AppendRelative(buf []byte, t, now Instant) []byte {
	if t == Never {
		return append(buf, never)
	}
	d := t.Sub(now)
	if s := d / Second; s*Second == d && s >= -mostBefore && s <= mostAfter {
		return append(buf, byte(whole+mostBefore+s))
	}
	return binary.AppendVarint(append(buf, apart), int64(d))
}

// ReadRelative reads what AppendRelative wrote and returns the instant, counted from now,
// and what follows it in buf.
func ReadRelative(buf []byte, now Instant) (Instant, []byte) {
	switch b := buf[0]; b {
	case never:
		return Never, buf[1:]
	case apart:
		d, n := binary.Varint(buf[1:])
		return now.Add(Duration(d)), buf[1+n:]
	default:
		return now.Add(Duration(int64(b)-whole-mostBefore) * Second), buf[1:]
	}
}

func (c *canonical) slot(m *Machine, s *Slot) {
	c.bytes(byte(s.state))
	if s.state == SlotFree {
		return
	}
	missed := uint8(0)
	if s.state == SlotRunning {
		missed = min(s.missed, missesThatMatter)
	}
	c.bytes(s.queue, byte(s.verb), byte(s.reason), byte(s.cause), missed)
	c.num(uint64(s.flags))
	c.num(c.ranks.Job(s.job))
	c.num(c.ranks.Token(s.job, s.token))
	c.num(uint64(s.kind))
	c.num(uint64(s.version))
	c.num(uint64(s.cursor))
	c.atIf(s.renewable() && (s.state != SlotSettling || s.undoTrusts()), s.trust)
	c.atIf(s.has(renewing), s.asked)
	switch {
	case s.state == SlotUndoing:
		c.at(s.mark)
	case s.silent():
		// Only a worker that serves looks at how long a handler has been silent, and a
		// lease is as long as it looks back.
		c.atIf(!m.phase.Stopping(), max(s.mark, c.now.Add(-m.cfg.Lease)))
	}
	started, progress := m.timed(s)
	if started {
		c.at(s.started)
	}
	if progress {
		c.at(s.progress)
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

func (c *canonical) request(m *Machine, q int, r *Request) {
	tries := uint8(0)
	switch r.state {
	case RequestAsked:
		tries = min(r.tries, repeatsThatMatter)
	case RequestWithdrawing:
		tries = min(r.tries, m.cfg.Retry.steps())
	}
	c.bytes(byte(r.state), min(r.empties, m.cfg.Poll.steps()), tries)
	if r.state == RequestAsked || m.deviates(deviation.AnyAnswerCounts) {
		c.num(uint64(r.want))
		c.num(uint64(r.granted))
		c.flag(r.handedBack)
	}
	c.flag(r.inLedger)
	c.num(c.ranks.Seq(q, r.seq))
	if r.state == RequestNone {
		c.at(max(r.due, c.now))
	} else {
		c.at(r.due)
	}
	c.atIf(r.state == RequestAsked, r.sent)
}
