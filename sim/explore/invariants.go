package explore

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// The invariants are those of package invariant, which watches runs of the simulator. Here
// they are looked for in every state, and in every step between two, at the broker's rows,
// at what runs and at what is sent; never at what a machine believes.

// Checked returns the invariants that are looked for. The others are about what only a whole
// run shows, or about what a small world does not have.
func Checked() []invariant.ID {
	return []invariant.ID{
		invariant.StopClaiming, invariant.NoStartAfterStop, invariant.FinishWhatFits, invariant.ExitBeforeKill,
		invariant.NoStaleEffect, invariant.UndoBeforeRelease, invariant.SharedUndoWhileHeld, invariant.ResourcesFreed,
		invariant.SettledAfterReturn, invariant.NotBesideItself, invariant.LeaseKeptWhileHandled, invariant.ToldBeforeLeaseEnds,
		invariant.SettledUntilAnswered, invariant.EscalatesByRepeat, invariant.UnderstoodOnly, invariant.SavedBeforeCommit,
		invariant.ProgressSurvives, invariant.UndoneNotResumed, invariant.ToldSoftly, invariant.LateAcksCounted,
		invariant.AckedOnlyIfFinished, invariant.EndsAsReturned, invariant.LedgerComplete, invariant.LedgerTrue,
		invariant.DrainSpendsNoBudget, invariant.NoJobLost,
		invariant.OneOpenClaim, invariant.FreedInTime, invariant.TokensGrow, invariant.ReturnsToNewer, invariant.ExitZeroHoldsNothing, invariant.DoneAfterFaults,
	}
}

// Broken is an invariant that does not hold; its zero value says that all do.
type Broken struct {
	Invariant string
	What      string
}

func (b Broken) String() string {
	if b.Invariant == "" {
		return ""
	}
	return b.Invariant + ": " + b.What
}

// breaks notes what the action at hand broke. The first counts.
func (st *state) breaks(id invariant.ID, format string, args ...any) {
	if st.broken.Invariant == "" {
		st.broken = broken(id, format, args...)
	}
}

func broken(id invariant.ID, format string, args ...any) Broken {
	what := fmt.Sprintf(format, args...)
	if rule := id.Rule(); rule != 0 {
		what += fmt.Sprintf(" (rule %d)", rule)
	}
	return Broken{id.String(), what}
}

func (e *engine) watchStart(st *state, i int, f *protocol.Effect) {
	w := &st.workers[i]
	returns := e.world.Policy.LateClaim == protocol.ReturnLateClaim
	switch {
	case w.stopped && returns:
		st.breaks(invariant.NoStartAfterStop, "worker %d started job %d after the stop", i, f.Job)
	case w.quiet && returns:
		st.breaks(invariant.NoStartAfterStop, "worker %d started job %d in quiet", i, f.Job)
	case st.broker.Job(f.Job).Version != 0:
		st.breaks(invariant.UnderstoodOnly, "worker %d runs job %d, whose version it does not understand", i, f.Job)
	}
	for k := range w.hands {
		if h := &w.hands[k]; h.state != idle && h.job == f.Job {
			st.breaks(invariant.NotBesideItself, "worker %d started job %d beside an earlier execution of it", i, f.Job)
		}
	}
}

func (e *engine) watchCancel(st *state, i int, f *protocol.Effect) {
	w := &st.workers[i]
	p := &e.world.Policy
	switch {
	case f.Cause == protocol.ErrDraining && w.stopped && !w.hands[f.Slot].softened:
		st.breaks(invariant.ToldSoftly, "worker %d cancelled job %d, whose handler had not been told of the drain", i, f.Job)
	case f.Cause == protocol.ErrHurry && !w.hurried:
		st.breaks(invariant.EscalatesByRepeat, "worker %d hurried its handler, and no signal was repeated", i)
	case f.Cause == protocol.ErrDraining && p.OnStop == protocol.FinishOnStop && p.Deadline == protocol.DeadlineFromBudget && p.Estimates == protocol.NoEstimates:
		// It has to be cancelled in time to notice, to undo and to be settled, and not sooner.
		k := e.world.declared(f.Job)
		if at := w.killAt.Add(-ticks(e.world.Reserve + k.Undo + k.Gap)); st.now < at && w.killAt != protocol.Never && e.world.scriptHas(w.script, Later)+e.world.scriptHas(w.script, Context) == 0 {
			st.breaks(invariant.FinishWhatFits, "worker %d cancelled job %d %v before it had to", i, f.Job, at.Sub(st.now))
		}
	}
}

// watchHurry looks at what a signal that came again did: whoever sends it means what runs.
func (e *engine) watchHurry(st *state, i int) {
	w := &st.workers[i]
	for k := range w.hands {
		if h := &w.hands[k]; !w.dead && h.state == working {
			st.breaks(invariant.EscalatesByRepeat, "worker %d was sent SIGINT again and lets job %d go on", i, h.job)
		}
	}
}

// watchSent looks at what is sent to the broker about a claim.
func (e *engine) watchSent(st *state, i int, f *protocol.Effect) {
	switch f.Kind {
	case protocol.Renew:
		e.watchCursor(st, i, f)
	case protocol.Settle:
		e.watchSettle(st, i, f)
		e.watchEnding(st, i, f)
		e.watchCursor(st, i, f)
	}
}

// watchSettle looks at how a claim ends when it is first said.
func (e *engine) watchSettle(st *state, i int, f *protocol.Effect) {
	h := &st.workers[i].hands[f.Slot]
	if h.state == back && h.job == f.Job && f.Verb != protocol.Quarantine && f.Verb != protocol.Ack {
		st.breaks(invariant.ResourcesFreed, "worker %d handed job %d back, and what its handler left is not undone", i, f.Job)
	}
}

// watchLateAck looks at what a worker made of a handler that finished although it was told to
// stop.
func (e *engine) watchLateAck(st *state, i, k int) {
	acked, counted := false, false
	for _, f := range e.fx.All() {
		acked = acked || f.Kind == protocol.Settle && f.Verb == protocol.Ack && int(f.Slot) == k
		counted = counted || f.Kind == protocol.Note && f.Note == protocol.AckedAfterCancel
	}
	if acked && !counted {
		st.breaks(invariant.LateAcksCounted, "worker %d acked a job after its cancel and did not count it", i)
	}
}

func (e *engine) watchExit(st *state, i int, f *protocol.Effect) {
	w := &st.workers[i]
	switch {
	case w.stopped && w.owed != 0 && w.owed != owesUnknown && e.world.Policy.OnStop != protocol.DieOnStop:
		st.breaks(invariant.LedgerComplete, "worker %d exited, and what was open at the stop is not what its ledger has lines of", i)
	case f.Status == protocol.ExitAtOnce && e.world.scriptHas(w.script, Int) < 3:
		st.breaks(invariant.EscalatesByRepeat, "worker %d exited at once, and SIGINT did not come three times", i)
	case f.Status == protocol.ExitUnsettled && w.stopped && e.calm(st, w):
		st.breaks(invariant.SettledUntilAnswered, "worker %d exited with a claim unsettled, and nothing went wrong on the way to the broker", i)
	}
}

// calm reports whether nothing stood in the way of a drain: everything came through, nobody
// slept, SIGKILL stayed where it was, and handlers and hooks came back in time.
func (e *engine) calm(st *state, w *worker) bool {
	return st.used[losses]+st.used[failures]+st.used[pauses] == 0 && !st.astray() && !w.tardy && !e.undoing(w) &&
		e.world.scriptHas(w.script, Nearer)+e.world.scriptHas(w.script, Sooner) == 0 && !e.dies() && !e.world.NoWithdraw
}

// dies reports whether the policy is to leave everything to the lease.
func (e *engine) dies() bool {
	return e.world.Policy.OnStop == protocol.DieOnStop || e.world.Policy.AtDeadline == protocol.DieAtDeadline
}

// tolerated is how many messages may be lost without any lease being lost: as many renewals
// in a row as leave time for another one while the lease is trusted. It is negative when the
// wire is too slow for the lease.
func (w *World) tolerated() int {
	return (w.Lease-1-2*w.MessageLife-1)/w.Heartbeat - 1
}

// watchHandOver looks at who is given a job that has just come back while a worker of a newer
// generation than the one that gave it back is waiting.
func (e *engine) watchHandOver(st *state, m *message) {
	for k := range e.out.Answers {
		a := &e.out.Answers[k]
		if a.Event.Kind == protocol.Granted && a.Event.Job == m.job && a.To.Generation <= m.from.Generation {
			st.breaks(invariant.ReturnsToNewer, "job %d came back and went to worker %d, which is as old as the one it came from", m.job, a.To.Seat)
		}
	}
}

// leaseEnds are the ends of the leases of all jobs.
func (e *engine) leaseEnds(st *state) (ends [maxJobs]protocol.Instant) {
	for k := range ends[:e.world.Jobs] {
		ends[k] = st.broker.Job(protocol.JobKey(k + 1)).Lease
	}
	return ends
}

// watchRenewal looks at what else a renewal keeps: a job that its holder does not renew is to
// be freed at the end of its lease.
func (e *engine) watchRenewal(st *state, m *message, before [maxJobs]protocol.Instant) {
	for k, end := range e.leaseEnds(st) {
		if job := protocol.JobKey(k + 1); job != m.job && end > before[k] {
			st.breaks(invariant.FreedInTime, "worker %d renewed job %d, and job %d is held longer with it", m.worker, m.job, job)
		}
	}
}

func (e *engine) undoing(w *worker) bool {
	for k := range w.hands {
		if w.hands[k].state == undoing {
			return true
		}
	}
	return false
}

func (w *World) scriptHas(script int8, n Nudge) int {
	if script == 0 {
		return 0
	}
	count := 0
	for _, x := range w.Scripts[script-1] {
		if x == n {
			count++
		}
	}
	return count
}

// check names an invariant that does not hold in st, if any.
func (e *engine) check(st *state) Broken {
	if st.astray() {
		return Broken{}
	}
	for job := protocol.JobKey(1); int(job) <= e.world.Jobs; job++ {
		row := st.broker.Job(job)
		if row == nil {
			return broken(invariant.NoJobLost, "job %d is nowhere", job)
		}
		if b := e.checkEnd(st, job, row); b.Invariant != "" {
			return b
		}
		if b := e.checkHolder(st, job, row); b.Invariant != "" {
			return b
		}
		for i := range st.workers {
			if b := e.checkWorker(st, i, job, row); b.Invariant != "" {
				return b
			}
		}
	}
	return Broken{}
}

// checkEnd looks at how a job ended and what it was charged.
func (e *engine) checkEnd(st *state, job protocol.JobKey, row *model.JobRow) Broken {
	switch {
	case row.State == model.JobDone && !st.past.finished.has(job):
		return broken(invariant.AckedOnlyIfFinished, "job %d is acked although no handler finished it", job)
	case row.Failures > 0 && !st.past.failed.has(job):
		return broken(invariant.DrainSpendsNoBudget, "job %d was charged a failure although no handler failed", job)
	case row.State == model.JobCancelledByOperator && !st.past.ordered.has(job):
		return broken(invariant.DrainSpendsNoBudget, "job %d was cancelled for good and no operator asked for it", job)
	case row.Poison > 0 && !st.past.hurt:
		return broken(invariant.DrainSpendsNoBudget, "job %d was charged poison by a drain", job)
	case row.State == model.JobDead && !st.past.failed.has(job) && !st.past.hurt:
		return broken(invariant.DrainSpendsNoBudget, "job %d was dead-lettered although nothing failed", job)
	case row.State == model.JobQuarantined && !st.past.undone.has(job):
		return broken(invariant.NoJobLost, "job %d was parked although there was nothing to undo", job)
	}
	return Broken{}
}

// checkHolder looks for claims that somebody left behind who said that he had none.
func (e *engine) checkHolder(st *state, job protocol.JobKey, row *model.JobRow) Broken {
	if row.State != model.JobClaimed || row.Verb != protocol.NoVerb || row.Lease <= st.now {
		return Broken{}
	}
	if w := &st.workers[row.Owner.Seat]; w.dead && w.clean && row.Owner.Incarnation == w.member.Incarnation {
		return broken(invariant.ExitZeroHoldsNothing, "worker %d exited with status 0 and holds job %d", row.Owner.Seat, job)
	}
	return Broken{}
}

// checkWorker looks at what a worker does with a job.
func (e *engine) checkWorker(st *state, i int, job protocol.JobKey, row *model.JobRow) Broken {
	w := &st.workers[i]
	if w.dead {
		return Broken{}
	}
	for k := range e.slots {
		h := &w.hands[k]
		if h.state == idle || h.job != job {
			continue
		}
		asleep := w.paused || w.machine.Deadline() <= st.now // it had no chance yet
		switch {
		case h.token != row.Token:
			if asleep {
				continue
			}
			if h.state == working {
				return broken(invariant.ToldBeforeLeaseEnds, "worker %d works on job %d, which was given to somebody else", i, job)
			}
			if h.state == undoing && h.shared {
				return broken(invariant.SharedUndoWhileHeld, "worker %d undoes what is shared of job %d, which was given to somebody else", i, job)
			}
		case row.Verb != protocol.NoVerb && h.state != undoing:
			return broken(invariant.SettledAfterReturn, "job %d was settled (%v) while its handler runs", job, row.Verb)
		case row.Verb != protocol.NoVerb && row.Verb != protocol.Quarantine:
			return broken(invariant.UndoBeforeRelease, "job %d was settled (%v) while its undo runs", job, row.Verb)
		case row.Verb == protocol.NoVerb && e.leaseOver(st, row) && !asleep && !h.excused && int(st.used[losses]+st.used[failures]) <= e.world.tolerated():
			return broken(invariant.LeaseKeptWhileHandled, "the lease of job %d ended while worker %d is about it", job, i)
		}
	}
	return Broken{}
}

// leaseOver reports whether the lease of an open claim is over by the broker's clock.
func (e *engine) leaseOver(st *state, row *model.JobRow) bool {
	return row.State == model.JobReady || row.State == model.JobClaimed && row.Lease <= st.now
}

// nextLeaseEnd is when the next lease of an open claim ends.
func (e *engine) nextLeaseEnd(st *state) protocol.Instant {
	at := protocol.Never
	for job := protocol.JobKey(1); int(job) <= e.world.Jobs; job++ {
		if row := st.broker.Job(job); row.State == model.JobClaimed && row.Lease > st.now {
			at = min(at, row.Lease)
		}
	}
	return at
}

// ended reports whether every job has come to an end, or waits for somebody who understands it.
func (e *engine) ended(st *state) bool {
	for job := protocol.JobKey(1); int(job) <= e.world.Jobs; job++ {
		row := st.broker.Job(job)
		if !row.State.Terminal() && (row.Version == 0 || row.State == model.JobClaimed) {
			return false
		}
	}
	return true
}

// done reports whether nothing that is promised can break any more: every job has ended and
// nobody is about one.
func (e *engine) done(st *state) bool {
	if !e.ended(st) {
		return false
	}
	for i := range st.workers {
		w := &st.workers[i]
		for k := range e.slots {
			if !w.dead && w.machine.Slots()[k].State() != protocol.SlotFree {
				return false
			}
		}
	}
	return true
}

// served reports whether somebody is left, or will come, to do what is to be done. Otherwise
// nothing is promised about the jobs that are left.
func (e *engine) served(st *state) bool {
	for i := range st.workers {
		w := &st.workers[i]
		if w.dead && e.replaced(w) || !w.dead && w.told && e.world.Replace != ReplaceNobody || !w.dead && !w.stopped && !w.quiet {
			return true
		}
	}
	return false
}
