package explore

import "github.com/quiesce/quiesce/protocol"

// marks are the numbers that a part of a state has, by rank: a byte of tokens for each job, and for
// each seat a byte of request numbers and one of incarnations. The highest bit of a byte stands for
// all that do not fit. What is about one worker has marks as of the first seat.
type marks struct{ tokens, seats uint64 }

func (m *marks) add(n marks) {
	m.tokens |= n.tokens
	m.seats |= n.seats
}

// ofSeat are marks of the first seat as those of another.
func (m marks) ofSeat(i int) marks { return marks{m.tokens, m.seats << (8 * i)} }

func (m *marks) addToken(job protocol.JobKey, ranks uint64) {
	if ranks != 0 {
		m.tokens |= fit(ranks) << (8 * (job - 1))
	}
}

func (m *marks) addSeq(i int, ranks uint64)  { m.seats |= fit(ranks) << (8 * i) }
func (m *marks) addLife(i int, ranks uint64) { m.seats |= fit(ranks) << (8 * (maxWorkers + i)) }

// fit puts ranks, one bit each from the first on, into a byte.
func fit(ranks uint64) uint64 {
	if ranks > 0x7f {
		return 0x80
	}
	return ranks
}

// settled reports whether the numbers of a whole state are 1, 2, 3 and so on, and fit.
func (m marks) settled() bool {
	const lowest, highest = 0x0101010101010101, 0x8080808080808080
	return (m.tokens|m.seats)&highest == 0 && m.tokens&(m.tokens+lowest)|m.seats&(m.seats+lowest) == 0
}

// marker finds the marks of the parts of a state whose ranks have been collected and are settled.
type marker struct {
	ranks *ranks
	own   ranks           // of the broker's numbers, by themselves
	gone  [maxWorkers]int // how many of the lowest request numbers of each seat nobody has any more
}

func (m *marker) init(r *ranks) {
	m.ranks = r
	m.own.init()
}

// rank is that of a number, as a bit.
func (m *marker) rank(in *protocol.Numbers, x uint64) uint64 {
	switch {
	case x == 0:
		return 0
	case x < clocked:
		return 1 << min(x-1, 63)
	default:
		return 1 << min(in.Rank(x)-1, 63)
	}
}

// seq is that of the number of a request.
func (m *marker) seq(i int, x uint64) uint64 {
	return m.rank(&m.ranks.seqs[i], x-min(x, uint64(m.gone[i])))
}

func (m *marker) process(e *engine, w *worker, i int) (is marks) {
	r := m.ranks
	is.addLife(0, m.rank(&r.lives[i], w.member.Incarnation))
	if w.dead {
		return is
	}
	is.addSeq(0, m.seq(i, w.request[0].Seq()))
	for k := range e.slots {
		if s := &w.slots[k]; s.State() != protocol.SlotFree {
			is.addToken(s.Job(), m.rank(&r.tokens[s.Job()], uint64(s.Token())))
		}
		if h := &w.hands[k]; h.state != idle {
			is.addToken(h.job, m.rank(&r.tokens[h.job], uint64(h.token)))
		}
	}
	return is
}

func (m *marker) message(msg *message) (is marks) {
	r, i := m.ranks, msg.worker
	is.addToken(msg.job, m.rank(&r.tokens[msg.job], uint64(msg.token)))
	is.addLife(0, m.rank(&r.lives[i], msg.from.Incarnation))
	if msg.numbered() {
		is.addSeq(0, m.seq(int(i), msg.seq))
	}
	for _, g := range msg.grants[:msg.n] {
		is.addToken(g.job, m.rank(&r.tokens[g.job], uint64(g.token)))
	}
	return is
}

// broker finds those of a broker that is as it was read, whose numbers are their ranks.
func (m *marker) broker(e *engine, st *state) (is marks) {
	read := m.ranks.ofBroker(e, st)
	for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
		is.addToken(j, read.tokens[j]>>1)
	}
	for i := range st.workers {
		is.addSeq(i, read.seqs[i]>>1)
		is.addLife(i, read.lives[i]>>1)
	}
	return is
}

// asked finds the marks of what a broker that was asked something knows of jobs and of some seats, and
// which tokens came since the state was read.
func (m *marker) asked(e *engine, st *state, seats uint8) (is marks, given uint64) {
	own, r := &m.own, m.ranks
	for j := 1; j <= e.world.Jobs; j++ {
		own.tokens[j].Reset(0)
	}
	for i := range st.workers {
		own.seqs[i].Reset(0)
		own.lives[i].Reset(0)
	}
	st.broker.AddJobNumbers(&own.Ranks)
	for i := range st.workers {
		if seats&(1<<i) != 0 {
			st.broker.AddSeatNumbers(i, &own.Ranks)
		}
	}
	var fresh marks
	for j := protocol.JobKey(1); int(j) <= e.world.Jobs; j++ {
		ranks := own.tokens[j].RanksIn(&r.tokens[j])
		is.addToken(j, ranks)
		fresh.addToken(j, ranks&^(own.tokens[j].Small()>>1))
	}
	for i := range st.workers {
		is.addSeq(i, own.seqs[i].RanksIn(&r.seqs[i])>>m.gone[i])
		is.addLife(i, own.lives[i].RanksIn(&r.lives[i]))
	}
	return is, fresh.tokens
}

// seat finds those of what the broker knows of a seat, as it was read.
func (m *marker) seat(st *state, i int) (is marks) {
	own := &m.own
	own.seqs[i].Reset(0)
	own.lives[i].Reset(0)
	st.broker.AddSeatNumbers(i, &own.Ranks)
	is.addSeq(0, own.seqs[i].Small()>>1)
	is.addLife(0, own.lives[i].Small()>>1)
	return is
}

// known reports whether the numbers of a message are in the state, so that they have ranks.
func (r *ranks) known(m *message) bool {
	ok := r.tokens[m.job].Has(uint64(m.token))
	switch {
	case m.numbered():
		ok = ok && r.seqs[m.worker].Has(m.seq)
	case m.registers():
		ok = ok && r.lives[m.worker].Has(m.seq)
	}
	for _, g := range m.grants[:m.n] {
		ok = ok && r.tokens[g.job].Has(uint64(g.token))
	}
	return ok
}
