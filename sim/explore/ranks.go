package explore

import (
	"math/bits"

	"github.com/quiesce/quiesce/protocol"
)

// numbers is a small set of numbers that only ever grow. Zero, which means that there is
// none, is not in it. All are small in a state that was read, and a step brings few others.
type numbers struct {
	small uint64 // one bit each
	n     int    // of large
	large [16]uint64
}

// smallNumbers are those that are kept as bits.
const smallNumbers = 64

func (s *numbers) add(x uint64) {
	if x < smallNumbers {
		s.small |= 1 << x &^ 1
		return
	}
	k := s.n
	for k > 0 && s.large[k-1] > x {
		k--
	}
	if k > 0 && s.large[k-1] == x {
		return
	}
	copy(s.large[k+1:s.n+1], s.large[k:s.n])
	s.large[k] = x
	s.n++
}

// rank replaces a number by its place.
func (s *numbers) rank(x uint64) uint64 {
	if x < smallNumbers {
		return uint64(bits.OnesCount64(s.small&(1<<x-1))) + min(x, 1)
	}
	r := uint64(bits.OnesCount64(s.small)) + 1
	for k := 0; k < s.n && s.large[k] < x; k++ {
		r++
	}
	return r
}

// ranks orders the numbers that only ever grow, over broker, machines and messages together:
// tokens by job, request numbers and incarnations by seat. It also says by which names jobs
// and seats go.
type ranks struct {
	tokens [maxJobs + 1]numbers
	seqs   [maxWorkers]numbers
	lives  [maxWorkers]numbers
	jobs   [maxJobs + 1]uint8
	seats  [maxWorkers]uint8
	broker atBroker
}

// atBroker are the numbers of a broker as it was read, all of them small.
type atBroker struct {
	known  bool
	tokens [maxJobs + 1]uint64
	seqs   [maxWorkers]uint64
	lives  [maxWorkers]uint64
}

// collect takes in the numbers of a state, whose broker may be the one that was read last.
func (r *ranks) collect(e *engine, st *state, asRead bool) {
	for j := 1; j <= e.world.Jobs; j++ {
		r.jobs[j] = uint8(j)
	}
	for i := range st.workers {
		r.seats[i] = uint8(i)
	}
	r.collectBroker(e, st, asRead)
	for i := range st.workers {
		w := &st.workers[i]
		r.lives[i].add(w.member.Incarnation)
		if w.dead {
			continue
		}
		r.seqs[i].add(w.request[0].Seq())
		for k := range e.slots {
			if s := &w.slots[k]; s.State() != protocol.SlotFree {
				r.tokens[s.Job()].add(uint64(s.Token()))
			}
			if h := &w.hands[k]; h.state != idle {
				r.tokens[h.job].add(uint64(h.token))
			}
		}
	}
	for k := range st.messages {
		m := &st.messages[k]
		r.tokens[m.job].add(uint64(m.token))
		r.lives[m.worker].add(m.from.Incarnation)
		if m.numbered() {
			r.seqs[m.worker].add(m.seq)
		}
		for _, g := range m.grants[:m.n] {
			r.tokens[g.job].add(uint64(g.token))
		}
	}
}

func (r *ranks) collectBroker(e *engine, st *state, asRead bool) {
	read := &r.broker
	if !asRead {
		read = &atBroker{}
	}
	for j := 1; j <= e.world.Jobs; j++ {
		r.tokens[j].small, r.tokens[j].n = read.tokens[j], 0
	}
	for i := range st.workers {
		r.seqs[i].small, r.seqs[i].n = read.seqs[i], 0
		r.lives[i].small, r.lives[i].n = read.lives[i], 0
	}
	if read.known {
		return
	}
	st.broker.EachNumber(
		func(job protocol.JobKey, t protocol.Token) { r.tokens[job].add(uint64(t)) },
		func(seat int, n uint64) { r.seqs[seat].add(n) },
		func(seat int, n uint64) { r.lives[seat].add(n) })
	read.known = true
	for j := 1; j <= e.world.Jobs; j++ {
		read.tokens[j] = r.tokens[j].small
	}
	for i := range st.workers {
		read.seqs[i], read.lives[i] = r.seqs[i].small, r.lives[i].small
	}
}

// settled reports whether every number that was there when the state was read still has its
// rank: none has gone, and those that came are greater.
func (r *ranks) settled(e *engine) bool {
	for j := 1; j <= e.world.Jobs; j++ {
		if !r.tokens[j].dense() {
			return false
		}
	}
	for i := range e.world.Workers {
		if !r.seqs[i].dense() || !r.lives[i].dense() {
			return false
		}
	}
	return true
}

// dense reports whether the numbers are 1, 2, 3 and so on, but for tokens that the clock gave.
func (s *numbers) dense() bool {
	return s.small&(s.small+2) == 0 && (s.n == 0 || s.large[0] >= clocked)
}

// clocked is less than any token given at base or later.
const clocked = uint64(base) / uint64(protocol.Microsecond)

// numbered reports whether a message carries the number of a claim request.
func (m *message) numbered() bool {
	if m.kind == toBroker {
		return m.tag == uint8(protocol.Claim) || m.tag == uint8(protocol.Withdraw)
	}
	return m.kind == toWorker && (m.tag == uint8(protocol.ClaimAnswered) || m.tag == uint8(protocol.WithdrawAnswered))
}

// dated reports whether it matters when a message was first sent: trust is counted from it.
// Of the others some say how long something is to wait.
func (m *message) dated() bool {
	if m.kind == toBroker {
		return m.tag == uint8(protocol.Renew) || m.tag == uint8(protocol.Save)
	}
	return m.tag == uint8(protocol.RenewAnswered) || m.tag == uint8(protocol.SaveAnswered)
}

// registers reports whether a message carries a new incarnation.
func (m *message) registers() bool {
	return m.kind == toWorker && m.tag == uint8(protocol.Registered)
}

// Job implements protocol.Ranks and model.Ranks.
func (r *ranks) Job(job protocol.JobKey) uint64 { return uint64(r.jobs[job]) }

// Token implements protocol.Ranks and model.Ranks.
func (r *ranks) Token(job protocol.JobKey, t protocol.Token) uint64 {
	return r.tokens[job].rank(uint64(t))
}

// Seat implements model.Ranks.
func (r *ranks) Seat(seat int) uint64 { return uint64(r.seats[seat]) }

// Seq implements model.Ranks.
func (r *ranks) Seq(seat int, n uint64) uint64 { return r.seqs[seat].rank(n) }

// Incarnation implements model.Ranks.
func (r *ranks) Incarnation(seat int, n uint64) uint64 { return r.lives[seat].rank(n) }

// ofWorker is what the machine in one seat is told of ranks.
type ofWorker struct {
	*ranks
	seat int
}

// Seq implements protocol.Ranks.
func (o *ofWorker) Seq(_ int, n uint64) uint64 { return o.seqs[o.seat].rank(n) }

// Incarnation implements protocol.Ranks.
func (o *ofWorker) Incarnation(n uint64) uint64 { return o.lives[o.seat].rank(n) }
