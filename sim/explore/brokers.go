package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// This file is about brokers that free leases by a sweep, and that fail over.

// astray reports whether workers were told things that the broker does not know of, or any more.
// What the one does and what the other has is then not compared.
func (st *state) astray() bool { return st.used[lies]+st.used[failovers] > 0 }

// forgettable reports whether a message asks for a write that a failover may lose. While a
// request waits none does: the copy would give it a job at the very instant of the write, under
// the same token, and every real clock has moved on by then.
func (st *state) forgettable(m *message) bool {
	if m.kind != toBroker || m.copied {
		return false
	}
	waits := false
	st.broker.EachWaiting(func(int, model.Member, bool) { waits = true })
	switch protocol.EffectKind(m.tag) {
	case protocol.Claim, protocol.Withdraw, protocol.Renew, protocol.Save, protocol.Settle:
		return !waits
	default:
		return false
	}
}

// failOver has the broker carry out a request and answer it, and then go on without it.
func (e *engine) failOver(st *state, m message) {
	st.used[failovers]++
	st.happens(past{hurt: true})
	e.handle(st, m)
	st.broker.Forget(st.now, st.now-1, &e.out)
	e.answerAll(st)
}

// watchTokens looks at the tokens of new claims: whatever was forgotten, none was given before.
func (e *engine) watchTokens(st *state) {
	for k := range e.out.Facts {
		if f := &e.out.Facts[k]; f.Kind == model.Claimed && f.Token <= st.newestToken(f.Job) {
			st.breaks(invariant.TokensGrow, "job %d was claimed by worker %d under a token that was given out before", f.Job, f.Seat)
		}
	}
}

// newestToken is the newest under which anybody works on a job, or that is on the wire.
func (st *state) newestToken(job protocol.JobKey) (newest protocol.Token) {
	for i := range st.workers {
		for k := range st.workers[i].hands {
			if h := &st.workers[i].hands[k]; h.state != idle && h.job == job {
				newest = max(newest, h.token)
			}
		}
	}
	for k := range st.messages {
		m := &st.messages[k]
		if m.job == job {
			newest = max(newest, m.token)
		}
		for _, g := range m.grants[:m.n] {
			if g.job == job {
				newest = max(newest, g.token)
			}
		}
	}
	return newest
}

// sweep is what a broker that sweeps had before it did something.
type sweep struct {
	ends [maxJobs]protocol.Instant // of the leases of all jobs
	next protocol.Instant          // sweep
}

func (e *engine) beforeSweep(st *state) (s sweep) {
	if e.world.Sweep > 0 {
		s = sweep{e.leaseEnds(st), st.broker.NextSweep()}
	}
	return s
}

// watchSweep looks at what a sweep did: it frees whatever was not renewed, leaves the rest to
// who holds it, and loses nothing. (one-open-claim, no-job-lost, freed-in-time)
func (e *engine) watchSweep(st *state, before *sweep) {
	if e.world.Sweep == 0 || st.broker.NextSweep() == before.next {
		return
	}
	for k := range e.out.Facts {
		if f := &e.out.Facts[k]; f.Kind == model.LeaseRanOut && before.ends[f.Job-1] > st.now {
			st.breaks(invariant.OneOpenClaim, "the broker took job %d back from worker %d, which held it for %v more", f.Job, f.Seat, before.ends[f.Job-1].Sub(st.now))
		}
	}
	for job := protocol.JobKey(1); int(job) <= e.world.Jobs; job++ {
		switch row := st.broker.Job(job); {
		case row == nil:
			st.breaks(invariant.NoJobLost, "job %d is nowhere", job)
		case row.State == model.JobClaimed && row.Lease.Add(e.brokerCfg.SweepSlack) <= st.now:
			st.breaks(invariant.FreedInTime, "job %d is still held for worker %d after a sweep, and its lease is long over", job, row.Owner.Seat)
		}
	}
}
