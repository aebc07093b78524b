package explore

import "github.com/quiesce/quiesce/protocol"

// ranks orders the numbers that only ever grow, over broker, machines and messages together:
// tokens by job, request numbers and incarnations by seat. It also says by which names jobs
// and seats go.
type ranks struct {
	protocol.Ranks // of what follows
	jobs           [maxJobs + 1]uint8
	seats          [maxWorkers]uint8
	tokens         [maxJobs + 1]protocol.Numbers
	seqs           [maxWorkers]protocol.Numbers
	lives          [maxWorkers]protocol.Numbers
	broker         brokerNumbers
}

func (r *ranks) init() {
	r.Ranks = protocol.Ranks{Jobs: r.jobs[:], Seats: r.seats[:], Tokens: r.tokens[:], Seqs: r.seqs[:], Lives: r.lives[:]}
}

// brokerNumbers are the numbers of a broker as it was read, all of them small.
type brokerNumbers struct {
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
		r.lives[i].Add(w.member.Incarnation)
		if w.dead {
			continue
		}
		r.seqs[i].Add(w.request[0].Seq())
		for k := range e.slots {
			if s := &w.slots[k]; s.State() != protocol.SlotFree {
				r.tokens[s.Job()].Add(uint64(s.Token()))
			}
			if h := &w.hands[k]; h.state != idle {
				r.tokens[h.job].Add(uint64(h.token))
			}
		}
	}
	for k := range st.messages {
		m := &st.messages[k]
		r.tokens[m.job].Add(uint64(m.token))
		r.lives[m.worker].Add(m.from.Incarnation)
		if m.numbered() {
			r.seqs[m.worker].Add(m.seq)
		}
		for _, g := range m.grants[:m.n] {
			r.tokens[g.job].Add(uint64(g.token))
		}
	}
}

func (r *ranks) collectBroker(e *engine, st *state, asRead bool) {
	if asRead {
		r.reset(e, r.ofBroker(e, st))
		return
	}
	r.reset(e, &brokerNumbers{})
	st.broker.AddNumbers(&r.Ranks)
}

func (r *ranks) reset(e *engine, to *brokerNumbers) {
	for j := 1; j <= e.world.Jobs; j++ {
		r.tokens[j].Reset(to.tokens[j])
	}
	for i := range e.world.Workers {
		r.seqs[i].Reset(to.seqs[i])
		r.lives[i].Reset(to.lives[i])
	}
}

// ofBroker returns the numbers of a broker that is as it was read.
func (r *ranks) ofBroker(e *engine, st *state) *brokerNumbers {
	read := &r.broker
	if read.known {
		return read
	}
	r.reset(e, read)
	st.broker.AddNumbers(&r.Ranks)
	read.known = true
	for j := 1; j <= e.world.Jobs; j++ {
		read.tokens[j] = r.tokens[j].Small()
	}
	for i := range st.workers {
		read.seqs[i], read.lives[i] = r.seqs[i].Small(), r.lives[i].Small()
	}
	return read
}

// settled returns the workers, as bits, about whom every number that was there when the state was
// read still has its rank: none has gone, and those that came are greater.
func (r *ranks) settled(e *engine) (workers uint8) {
	if !r.given(e) {
		return 0
	}
	for i := range e.world.Workers {
		if r.seqs[i].Dense(clocked) && r.lives[i].Dense(clocked) {
			workers |= 1 << i
		}
	}
	return workers
}

// given reports whether every token that was there has its rank.
func (r *ranks) given(e *engine) bool {
	for j := 1; j <= e.world.Jobs; j++ {
		if !r.tokens[j].Dense(clocked) {
			return false
		}
	}
	return true
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
