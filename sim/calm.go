package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// RunCalm runs a world on after its end while nothing goes wrong any more: no arrival, deploy or
// fault begins, nothing is lost or doubled, and handlers do what they should. What has begun
// goes on to its end. It stops when every job has come to its end, when one goes round, or after
// a limit by which all of them must have ended, and has the checker, if there is one, judge it
// (done-after-faults).
// It is called after Run, whose row it leaves as it is.
func (w *World) RunCalm() error {
	w.calm, w.rnd.calm = true, true
	until := w.now.Add(w.calmLimit())
	given := w.deliveries()
	for w.now < until && !w.allEnded() && !w.goesRound(given) {
		if err := w.runTo(min(w.now.Add(w.sc.Queue.Lease), until), nil); err != nil {
			return err
		}
	}
	if w.check != nil {
		w.check.FinishCalm(w.now)
	}
	return nil
}

// calmLimit is long enough for everything that is there: all work one after the other, each job
// with its longest waits, on workers that may have to wait for a rollout and a lease first.
func (w *World) calmLimit() protocol.Duration {
	q := &w.sc.Queue
	each := 2*q.Lease + q.Backoff.Max + q.MaxMessageAge + 2*w.configs[0].Park
	grace := w.sc.Supervisor.Allowed() + w.sc.Supervisor.PreStop + protocol.Duration(w.sc.Fleet.Start.Max())
	sum := 10*q.Lease + q.SweepPeriod + q.SweepSlack + protocol.Duration(w.fleet.seats)*min(grace, protocol.Hour)
	for i := range w.fleet.used() {
		p := w.fleet.at(i)
		sum += max(p.pausedUntil.Sub(w.now), p.partitionedUntil.Sub(w.now), p.blockedUntil.Sub(w.now), 0)
	}
	w.broker.EachJob(func(_ protocol.JobKey, row *model.JobRow) {
		if !row.State.Terminal() {
			sum += protocol.Duration(max(q.MaxFailures, 1)+2) * (each + row.Work) // it may fail as often as it may
		}
	})
	return sum
}

func (w *World) allEnded() bool {
	all := true
	w.broker.EachJob(func(_ protocol.JobKey, row *model.JobRow) { all = all && row.State.Terminal() })
	return all
}

// roundAndRound is how often a job may be handed out while nothing goes wrong: far more often
// than it can fail, or be handed back by who is still to be stopped.
const roundAndRound = 500

// deliveries returns how often each job has been handed out.
func (w *World) deliveries() map[protocol.JobKey]uint16 {
	n := map[protocol.JobKey]uint16{}
	w.broker.EachJob(func(job protocol.JobKey, row *model.JobRow) { n[job] = row.Deliveries })
	return n
}

// goesRound reports whether a job is handed out and handed back for ever, by how often it had
// been handed out before.
func (w *World) goesRound(given map[protocol.JobKey]uint16) bool {
	round := false
	w.broker.EachJob(func(job protocol.JobKey, row *model.JobRow) {
		round = round || !row.State.Terminal() && row.Deliveries-given[job] > roundAndRound
	})
	return round
}

// beginsTrouble reports whether an event begins what a calm world does not have.
func beginsTrouble(kind eventKind) bool {
	switch kind {
	case evArrival, evDeploy, evCrash, evPause, evPartition, evSlow, evFailover, evEvict, evPreempt, evScaleIn, evNodeFault:
		return true
	default:
		return false
	}
}

// ForkAt lets chance be another from an instant on: what is drawn then follows from seed. It
// is called before Run. What was drawn before, and is yet to come, stays.
func (w *World) ForkAt(at protocol.Instant, seed uint64) { w.forkAt, w.fork = at, seed }

// LogChances makes w remember the address of everything of some probability that happened:
// overridden with 0 it does not. It is called before Run; Chances returns them.
func (w *World) LogChances() { w.rnd.log = new([]Address) }

// Chances returns what LogChances remembered, in order.
func (w *World) Chances() []Address {
	if w.rnd.log == nil {
		return nil
	}
	return *w.rnd.log
}
