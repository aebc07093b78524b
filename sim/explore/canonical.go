package explore

import (
	"encoding/binary"
	"sort"

	"github.com/quiesce/quiesce/protocol"
)

// ranks orders the numbers that only ever grow, over broker, machines and messages together.
type ranks struct {
	tokens       [][]uint64 // by job
	seqs         [][]uint64 // by worker
	incarnations []uint64
	worker       int // whose request numbers a machine's Seq means
}

func (r *ranks) collect(st *state, jobs int) {
	r.tokens = reset(r.tokens, jobs+1)
	r.seqs = reset(r.seqs, len(st.workers))
	r.incarnations = append(r.incarnations[:0], 0)
	token := func(job protocol.JobKey, t protocol.Token) {
		if int(job) < len(r.tokens) {
			r.tokens[job] = append(r.tokens[job], uint64(t))
		}
	}
	seq := func(worker int, n uint64) { r.seqs[worker] = append(r.seqs[worker], n) }
	st.broker.EachNumber(token, seq, func(n uint64) { r.incarnations = append(r.incarnations, n) })
	for i := range st.workers {
		w := &st.workers[i]
		r.incarnations = append(r.incarnations, w.machine.Incarnation())
		for k := range w.machine.Slots() {
			token(w.machine.Slots()[k].Job(), w.machine.Slots()[k].Token())
		}
		token(w.job, w.token)
		seq(i, w.machine.Requests()[0].Seq())
	}
	for k := range st.messages {
		m := &st.messages[k]
		token(m.request.Effect.Job, m.request.Effect.Token)
		if e := &m.request.Effect; m.toBroker && (e.Kind == protocol.Claim || e.Kind == protocol.Withdraw) {
			seq(int(m.worker), e.Seq)
		}
		for _, ev := range m.parts[:m.n] {
			token(ev.Job, ev.Token)
			if ev.Kind == protocol.Granted || ev.Kind == protocol.ClaimAnswered || ev.Kind == protocol.WithdrawAnswered {
				seq(int(m.worker), ev.Seq)
			}
		}
	}
	for _, list := range r.tokens {
		sortUnique(list)
	}
	for _, list := range r.seqs {
		sortUnique(list)
	}
	sortUnique(r.incarnations)
}

func reset(lists [][]uint64, n int) [][]uint64 {
	for len(lists) < n {
		lists = append(lists, nil)
	}
	lists = lists[:n]
	for i := range lists {
		lists[i] = append(lists[i][:0], 0)
	}
	return lists
}

func sortUnique(a []uint64) { sort.Slice(a, func(i, j int) bool { return a[i] < a[j] }) }

// rank is how many different smaller numbers there are.
func rank(a []uint64, n uint64) uint64 {
	r := uint64(0)
	for i := 0; i < len(a) && a[i] < n; i++ {
		if i == 0 || a[i] != a[i-1] {
			r++
		}
	}
	return r
}

// Token implements protocol.Ranks.
func (r *ranks) Token(job protocol.JobKey, t protocol.Token) uint64 {
	return rank(r.tokens[job], uint64(t))
}

// Seq implements protocol.Ranks. The broker gives the seat; a machine gives its queue, of
// which there is one.
func (r *ranks) Seq(seat int, n uint64) uint64 {
	return rank(r.seqs[max(seat, r.worker)], n)
}

// Incarnation implements protocol.Ranks.
func (r *ranks) Incarnation(n uint64) uint64 { return rank(r.incarnations, n) }

// key appends the canonical form of st: equal states have equal keys.
func (s *search) key(st *state) []byte {
	r := &s.ranks
	r.collect(st, s.world.Jobs)
	buf := append(s.buf[:0], byte(st.stops), byte(st.losses), byte(st.doubles), byte(st.crashes))
	buf = binary.AppendUvarint(buf, uint64(st.returned))
	if st.hurt {
		buf = append(buf, 1)
	}
	r.worker = 0
	buf = st.broker.AppendCanonical(buf, st.now, r)
	for i := range st.workers {
		w := &st.workers[i]
		flags := byte(w.handler)
		if w.stopped {
			flags |= 16
		}
		if w.dead {
			flags |= 32
		}
		if w.clean {
			flags |= 64
		}
		buf = append(buf, flags)
		if w.dead {
			continue
		}
		r.worker = i
		buf = w.machine.AppendCanonical(buf, st.now, r)
		if w.handler != idle {
			buf = binary.AppendUvarint(buf, uint64(w.job))
			buf = binary.AppendUvarint(buf, r.Token(w.job, w.token))
		}
		if w.killAt != protocol.Never {
			buf = binary.AppendVarint(buf, int64(w.killAt-st.now))
		}
	}
	s.keys = s.keys[:0]
	for k := range st.messages {
		s.keys = append(s.keys, string(s.messageKey(st.now, &st.messages[k])))
	}
	sort.Strings(s.keys) // the order on the wire decides nothing
	for _, k := range s.keys {
		buf = append(buf, k...)
	}
	s.buf = buf
	return buf
}

func (s *search) messageKey(now protocol.Instant, m *message) []byte {
	r := &s.ranks
	var a [96]byte
	b := append(a[:0], byte(m.worker), byte(m.n))
	b = binary.AppendVarint(b, int64(m.due-now))
	if m.toBroker {
		e := &m.request.Effect
		hangup := byte(0)
		if m.hangup {
			hangup = 1
		}
		b = append(b, 1, hangup, byte(e.Kind), byte(e.Verb), byte(e.Reason), byte(e.Slot))
		b = binary.AppendUvarint(b, uint64(e.Job))
		b = binary.AppendUvarint(b, r.Token(e.Job, e.Token))
		if e.Kind == protocol.Claim || e.Kind == protocol.Withdraw {
			b = binary.AppendUvarint(b, rank(r.seqs[m.worker], e.Seq))
		}
		if e.Kind == protocol.Renew {
			b = binary.AppendVarint(b, int64(e.At-now))
		}
		return b
	}
	for _, ev := range m.parts[:m.n] {
		b = append(b, byte(ev.Kind), byte(ev.Code), byte(ev.Slot))
		b = binary.AppendUvarint(b, uint64(ev.Job))
		b = binary.AppendUvarint(b, r.Token(ev.Job, ev.Token))
		if ev.Kind == protocol.Granted || ev.Kind == protocol.ClaimAnswered || ev.Kind == protocol.WithdrawAnswered {
			b = binary.AppendUvarint(b, rank(r.seqs[m.worker], ev.Seq))
			b = binary.AppendVarint(b, int64(ev.Span))
		}
		if ev.Kind == protocol.RenewAnswered {
			b = binary.AppendVarint(b, int64(ev.Sent-now))
		}
	}
	return b
}
