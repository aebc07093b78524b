package main

import (
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// deployWatch follows one rollout: whom it stops, what becomes of their jobs, when the
// stopped are gone, and when the jobs that it interrupted go on.
type deployWatch struct {
	teller
	deploy   int64
	begun    int64 // rollouts so far
	rolled   bool  // it has come to its end
	leaving  map[int32]bool
	waiting  map[protocol.JobKey]protocol.Instant // interrupted jobs, since when they stand still
	began    protocol.Instant
	now      protocol.Instant
	stopped  int
	killed   int
	outcomes [16]int // by protocol.Outcome
	cut      int     // executions killed with their process
	stalls   int
	total    protocol.Duration
	longest  protocol.Duration
	slowest  protocol.JobKey
}

func newDeployWatch(deploy int64, scn *scene, t *timeline) *deployWatch {
	return &deployWatch{
		teller: newTeller(scn, t), deploy: deploy,
		leaving: make(map[int32]bool), waiting: make(map[protocol.JobKey]protocol.Instant),
	}
}

func (w *deployWatch) active() bool { return w.begun >= w.deploy }

func (w *deployWatch) see(o *sim.Observation) {
	switch o.Kind {
	case sim.SawEvent:
		if w.begun == w.deploy && o.Event.Kind == protocol.StopAsked {
			w.follow(o)
			w.tell(o)
		}
	case sim.SawEffect:
		if w.active() && o.Effect.Kind == protocol.Start {
			w.lives[o.Seat] = o.Life // for the line that says where a job goes on
		}
	case sim.SawRecord:
		if o.Record.Kind == meter.RolloutBegan {
			w.begun = int64(o.Record.Deploy)
			if w.begun == w.deploy {
				w.began = o.At
				w.out.say(o.At, theRollout, 0, "deploy %d begins", w.deploy)
			} else if w.begun > w.deploy && !w.rolled && w.active() {
				w.rolled = true
				w.out.say(o.At, theRollout, 0, "deploy %d is overtaken by the next one", w.deploy)
			}
		}
		if w.active() {
			w.now = o.At
			w.seeRecord(o)
		}
	}
}

func (w *deployWatch) seeRecord(o *sim.Observation) {
	r := &o.Record
	switch r.Kind {
	case meter.RolloutFinished:
		if w.begun == w.deploy {
			w.rolled = true
			w.out.say(o.At, theRollout, 0, "deploy %d is done: every worker is new and ready after %s", w.deploy, brief(r.Span))
		}
	case meter.StopAsked:
		if w.begun == w.deploy {
			w.leaving[r.Seat] = true
			w.stopped++
		}
	case meter.ExecutionEnded:
		if !w.leaving[r.Seat] {
			return
		}
		w.tell(o)
		if r.How == meter.Interrupted || r.How == meter.Killed {
			w.waiting[r.Job] = o.At
			if r.How == meter.Killed {
				w.cut++
			}
		}
	case meter.LedgerLine:
		if w.leaving[r.Seat] && int(r.Outcome) < len(w.outcomes) {
			w.outcomes[r.Outcome]++
			if r.Job != 0 {
				w.out.say(o.At, who{r.Seat, w.lives[r.Seat]}, r.Job, "ledger: job %d %v, %s after the stop", r.Job, r.Outcome, brief(r.Span))
			}
		}
	case meter.ProcessExited, meter.ProcessKilled, meter.ProcessCrashed:
		if w.leaving[r.Seat] {
			delete(w.leaving, r.Seat)
			if r.Kind == meter.ProcessKilled {
				w.killed++
			}
			w.tell(o)
		}
	case meter.ExecutionStarted:
		w.goesOn(o)
	case meter.JobFinished, meter.JobDead, meter.JobQuarantined, meter.JobCancelled:
		delete(w.waiting, r.Job)
	}
}

// goesOn tells that a job that the deploy interrupted runs again.
func (w *deployWatch) goesOn(o *sim.Observation) {
	r := &o.Record
	since, ok := w.waiting[r.Job]
	if !ok {
		return
	}
	delete(w.waiting, r.Job)
	stall := o.At.Sub(since)
	w.stalls++
	w.total += stall
	if stall > w.longest {
		w.longest, w.slowest = stall, r.Job
	}
	w.out.say(o.At, who{r.Seat, w.lives[r.Seat]}, r.Job, "job %d goes on here after %s", r.Job, brief(stall))
}

func (w *deployWatch) done() bool {
	return w.active() && w.rolled && len(w.leaving) == 0 && len(w.waiting) == 0
}

// close sums the deploy up.
func (w *deployWatch) close() {
	say := func(format string, args ...any) { w.out.say(w.now, theRollout, 0, format, args...) }
	say("in all %s stopped, %d of them killed at the end of the grace", plural(w.stopped, "worker"), w.killed)
	for outcome, n := range w.outcomes {
		if n > 0 {
			say("  ledger: %d %v", n, protocol.Outcome(outcome))
		}
	}
	if w.cut > 0 {
		say("  %s killed with their process", plural(w.cut, "handler"))
	}
	if w.stalls > 0 {
		say("  %s went on after %s on average; the longest stall was job %d's, %s",
			plural(w.stalls, "interrupted job"), brief(w.total/protocol.Duration(w.stalls)), w.slowest, brief(w.longest))
	}
	if n := len(w.waiting); n > 0 {
		say("  %s did not go on by then", plural(n, "interrupted job"))
	}
}

func (w *deployWatch) missed() error {
	if w.active() {
		return nil
	}
	if w.begun == 0 {
		return misuse("--deploy %d: no deploy began by then", w.deploy)
	}
	return misuse("--deploy %d did not begin by then; there were deploys 1 to %d", w.deploy, w.begun)
}
