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
// maximum well before.
const saturation = 8

// AppendCanonical appends the state of m to buf: deadlines relative to now, tokens, request
// numbers and incarnations by rank, counters saturated. Two machines with the same Config
// and the same bytes behave alike from now on, up to those numbers.
func (m *Machine) AppendCanonical(buf []byte, now Instant, ranks Ranks) []byte {
	at := func(t Instant) {
		if t == Never {
			buf = append(buf, 0)
			return
		}
		buf = binary.AppendVarint(append(buf, 1), int64(t-now))
	}
	num := func(n uint64) { buf = binary.AppendUvarint(buf, n) }
	flag := func(b bool) {
		if b {
			buf = append(buf, 1)
		} else {
			buf = append(buf, 0)
		}
	}
	buf = append(buf, byte(m.phase), min(m.retries, saturation), min(m.settleTries, saturation), m.status, m.termGroups, m.interrupts)
	flag(m.wantsQuiet)
	num(ranks.Incarnation(m.incarnation))
	for _, t := range [...]Instant{m.retryAt, m.renewAt, m.settleAt, m.judgeAt, m.budget.undoBy, m.budget.settleBy, m.budget.exitBy, m.budget.killAt} {
		at(t)
	}
	if m.termAt != Never && now < m.termAt.Add(signalWindow) {
		at(m.termAt)
	} else {
		buf = append(buf, 2)
	}
	for i := range m.slots {
		s := &m.slots[i]
		buf = append(buf, byte(s.state))
		if s.state == SlotFree {
			continue
		}
		buf = append(buf, s.queue, byte(s.verb), byte(s.reason), byte(s.cause), min(s.missed, saturation))
		num(uint64(s.flags))
		num(uint64(s.job))
		num(ranks.Token(s.job, s.token))
		num(uint64(s.kind))
		num(uint64(s.version))
		num(uint64(s.cursor))
		at(s.trust)
		at(s.mark)
		if m.cfg.Policy.Estimates == Adaptive || int(s.kind) < len(m.cfg.Kinds) && m.cfg.Kinds[s.kind].Timeout > 0 {
			at(s.started)
			at(s.progress)
		}
	}
	for q := range m.requests {
		r := &m.requests[q]
		buf = append(buf, byte(r.state), min(r.empties, saturation), min(r.tries, saturation), byte(r.want), byte(r.granted))
		flag(r.inLedger)
		num(ranks.Seq(q, r.seq))
		if r.state == RequestNone && r.due <= now {
			at(now)
		} else {
			at(r.due)
		}
		if r.state == RequestAsked {
			at(r.sent)
		}
	}
	return buf
}
