package meter

import (
	"math/bits"

	"github.com/quiesce/quiesce/protocol"
)

// job is what the meter keeps of a job that has not ended, in one line of memory. Most jobs are
// claimed, executed and finished once; what only others need is in their trouble.
type job struct {
	enqueued protocol.Instant
	lastUse  protocol.Instant  // of the newest claim: the last instant an execution under it worked, its grant before there is one
	base     protocol.Duration // the earliest point from which an execution that ended had begun: one that saved a cursor may end after its successor
	reached  protocol.Duration // the furthest any execution that ended came
	token    protocol.Token    // of the newest claim
	endedAt  protocol.Instant
	trouble  uint32 // its place in Meter.troubles plus one; 0 is none so far
	running  int16  // executions that work at this instant
	paused   int16  // executions whose process stands still
	started  bool   // at least once
	executed bool   // under the newest claim
	busy     bool   // at this instant, under the newest claim
	open     bool   // it is interrupted: its trouble says since when

	// Its end, which an ack or a failover can take back.
	ended     bool
	served    bool // finished, or cancelled by an operator: its delay is known
	blameless bool // dead-lettered by interruptions
	endedAs   Count
}

// trouble is what the meter keeps of a job that was interrupted, or executed twice at once.
type trouble struct {
	twice  protocol.Instant  // since when two executions run at once
	deploy int32             // the rollout that interrupted it last
	beyond protocol.Duration // how much further an execution came that went on when it was finished

	// The open interruption.
	cause    Cause
	levelled bool // counted among the stalled
	working  bool // the execution under the interrupted claim goes on
	token    protocol.Token
	from     protocol.Instant
	undoneAt protocol.Instant
	freedAt  protocol.Instant  // claimable since; Never while it is held
	unheard  protocol.Duration // since freedAt, under claims that nobody heard of and that expired
}

// troubleOf returns a job's trouble, which begins here if it had none.
func (m *Meter) troubleOf(j *job) *trouble {
	if j.trouble == 0 {
		j.trouble = m.troubles.Put(trouble{}) + 1
	}
	return m.troubles.At(j.trouble - 1)
}

// drop forgets a job.
func (m *Meter) drop(key protocol.JobKey, j *job) {
	if j.trouble != 0 {
		m.troubles.Free(j.trouble - 1)
	}
	m.jobs.Drop(uint64(key))
}

// since is when the newest claim stopped to be of use: the later of its grant and the last
// instant a live execution worked under it.
func (j *job) since(now protocol.Instant) protocol.Instant {
	if j.executed && j.busy {
		return now
	}
	return j.lastUse
}

func (m *Meter) jobRecord(j *job, r Record) {
	switch r.Kind {
	case ClaimGranted:
		j.claimed(r)
	case ExecutionStarted:
		m.started(j, r)
	case ExecutionEnded:
		m.stopped(j, r)
	case ExecutionPaused:
		m.works(j, r.At, -1)
		j.paused++
		m.workedUntil(j, r)
	case ExecutionResumed:
		j.paused--
		m.works(j, r.At, +1)
		m.worksAgain(j, r)
	case UndoEnded:
		m.undone(j, r)
	case ClaimEnded:
		m.claimEnded(j, r)
	case LeaseExpired:
		m.expired(j, r)
	case JobFinished:
		m.finished(j, r)
	case JobDead:
		j.blameless = r.Reason != protocol.NoReason
		m.end(j, r.At, JobsDeadLettered)
	case JobQuarantined:
		m.end(j, r.At, QuarantinedJobs)
	case JobCancelled:
		m.end(j, r.At, JobsCancelled)
	case JobStarving:
		m.count(r.At, JobsStarving, 1)
	case JobForgotten:
		m.revive(j, r.At)
	}
}

func (m *Meter) started(j *job, r Record) {
	if r.Token > j.token { // a claim whose grant was not seen
		j.claimed(r)
	}
	if !j.started {
		j.started = true
		m.begun.add(&m.window, r.At, 1)
		if m.measured(j.enqueued) {
			m.row.QueueWait.record(r.At.Sub(j.enqueued))
		}
	}
	if r.Token == j.token {
		j.executed, j.busy = true, true
	}
	m.count(r.At, ExecutionsStarted, 1)
	if j.reached > r.Work {
		m.count(r.At, RedoneExecutions, 1)
	}
	m.works(j, r.At, +1)
	if j.open {
		m.closeStall(j, r.At, false)
	}
}

func (m *Meter) stopped(j *job, r Record) {
	if r.Paused {
		j.paused--
	} else {
		m.works(j, r.At, -1)
	}
	if from, to := max(r.Span, j.base), min(r.Work, j.reached); to > from {
		if m.measured(r.At) {
			m.row.Sums[RedoneWork] += micros(to - from)
		}
		m.count(r.At, EffectsAppliedTwice, effectsBetween(r, from, to))
	}
	if j.reached == 0 {
		j.base = r.Span
	}
	j.base = min(j.base, r.Span)
	if further := r.Work - j.reached; further > 0 {
		j.reached = r.Work
		if j.ended && j.endedAs == JobsCompleted {
			m.troubleOf(j).beyond += further
		}
	}
	if !r.Paused {
		m.workedUntil(j, r)
	}
	if r.Token == j.token && !j.open && (r.How == Interrupted || r.How == Killed) {
		m.interrupt(j, j.since(r.At), r.Cause, r.Deploy)
	}
}

// workedUntil takes in that an execution stopped to work. Under an interrupted claim, whose
// lease ran out while it went on, the stall begins only here.
func (m *Meter) workedUntil(j *job, r Record) {
	if r.Token == j.token {
		j.busy = false
		if j.executed {
			j.lastUse = r.At
		}
	}
	if !j.open {
		return
	}
	if t := m.troubleOf(j); r.Token == t.token {
		t.working = false
		m.stallsFrom(t, r.At)
	}
}

func (m *Meter) stallsFrom(t *trouble, at protocol.Instant) {
	if t.levelled {
		m.stalled.add(&m.window, t.from, -1)
		m.stalled.add(&m.window, at, +1)
	}
	t.from, t.undoneAt = at, at
}

func (m *Meter) undone(j *job, r Record) {
	if !j.open {
		return
	}
	if t := m.troubleOf(j); r.Token == t.token {
		t.undoneAt = r.At
	}
}

func (m *Meter) worksAgain(j *job, r Record) {
	if r.Token == j.token {
		j.busy = true
	}
	if !j.open {
		return
	}
	if t := m.troubleOf(j); r.Token == t.token {
		t.working = true
	}
}

func (j *job) claimed(r Record) {
	j.lastUse, j.token, j.executed, j.busy = r.At, r.Token, false, false
}

// works changes the number of executions of a job that work at once. One that begins to
// work beside another overlaps it; one whose process stands still overlaps nobody.
func (m *Meter) works(j *job, at protocol.Instant, d int16) {
	if d > 0 && j.running > 0 {
		m.count(at, OverlappingExecutions, 1)
		if j.running == 1 {
			m.troubleOf(j).twice = at
		}
	}
	j.running += d
	if d < 0 && j.running == 1 {
		m.overlap(m.troubleOf(j).twice, at)
	}
}

// effectsBetween counts the unfenced effects of an execution between two points of its work.
// Effect k of n falls at k/n of the work.
func effectsBetween(r Record, from, to protocol.Duration) int64 {
	if r.Total <= 0 {
		return 0
	}
	position := func(d protocol.Duration) int64 {
		hi, lo := bits.Mul64(uint64(min(d, r.Total)), uint64(r.Count))
		n, _ := bits.Div64(hi, lo, uint64(r.Total))
		return int64(n)
	}
	return position(to) - position(from)
}

func (m *Meter) overlap(from, to protocol.Instant) {
	from, to = max(from, m.window.From), min(to, m.window.Until)
	if to > from {
		m.row.Sums[OverlapTime] += micros(to.Sub(from))
	}
}

// interrupt opens a stall. It is not called while one is open: a claim that is not run before
// it ends lengthens the stall before it.
func (m *Meter) interrupt(j *job, since protocol.Instant, cause Cause, deploy int32) {
	if j.ended {
		return
	}
	t := m.troubleOf(j)
	if cause == ByDeploy && deploy > 0 {
		if t.deploy != deploy {
			t.deploy = deploy
			m.count(since, JobDeployPairs, 1)
		}
		m.count(since, DeployInterruptions, 1)
	}
	m.count(since, Interruptions, 1)
	j.open = true
	t.cause, t.token, t.working = cause, j.token, j.busy
	t.from, t.undoneAt, t.freedAt, t.unheard = since, since, protocol.Never, 0
	// A share of the jobs that were started: one that never was is in neither part of it.
	if t.levelled = j.started; t.levelled {
		m.stalled.add(&m.window, since, 1)
	}
}

func (m *Meter) claimEnded(j *job, r Record) {
	if r.Token != j.token {
		return
	}
	switch r.Verb {
	case protocol.Ack, protocol.Quarantine: // the job's end comes with it
	case protocol.Fail:
		if r.Reason != protocol.NoReason { // an interruption that its worker reports as a failure
			m.handedBack(j, r)
			return
		}
		m.count(r.At, Failures, 1)
		m.cancelStall(j, r.At)
	case protocol.Refuse:
		m.count(r.At, RefusedJobs, 1)
		m.handedBack(j, r)
	default:
		m.count(r.At, Released, 1)
		m.handedBack(j, r)
	}
}

// handedBack takes in that a claim ended without a result.
func (m *Meter) handedBack(j *job, r Record) {
	m.byReason(r)
	if !j.open {
		m.interrupt(j, j.since(r.At), r.Cause, r.Deploy)
	}
	if t := m.troubleOf(j); t.freedAt == protocol.Never {
		t.freedAt = r.At
	}
}

func (m *Meter) byReason(r Record) {
	if m.measured(r.At) {
		m.row.ByReason[r.Reason]++
		if r.Eroded {
			m.row.Counts[AttemptsEroded]++
		}
	}
}

func (m *Meter) expired(j *job, r Record) {
	if r.Token != j.token {
		return
	}
	m.count(r.At, ReclaimedByExpiry, 1)
	m.neverRan(j, r.At)
	m.handedBack(j, r)
}

// neverRan takes in that a stalled job was granted to somebody who never heard of it: until
// that lease was over it was held, not queued.
func (m *Meter) neverRan(j *job, until protocol.Instant) {
	if !j.open || j.executed {
		return
	}
	if t := m.troubleOf(j); t.freedAt != protocol.Never {
		t.unheard += max(until.Sub(max(j.lastUse, t.freedAt, t.undoneAt)), 0)
	}
}

func (m *Meter) finished(j *job, r Record) {
	if j.served {
		return
	}
	m.revive(j, r.At) // dead-lettered or quarantined by expiry, while its holder finished it
	if j.trouble != 0 {
		m.troubleOf(j).beyond = 0
	}
	m.end(j, r.At, JobsCompleted)
	m.ended = append(m.ended, endedJob{r.At, r.Job})
}

func (m *Meter) end(j *job, at protocol.Instant, as Count) {
	m.cancelStall(j, at)
	if j.started && !j.ended {
		m.begun.add(&m.window, at, -1)
	}
	j.ended, j.endedAs, j.endedAt = true, as, at
	j.served = as == JobsCompleted || as == JobsCancelled
	m.countEnd(j, +1)
}

// revive takes back that a job ended, so that every job ends in one way in the books.
func (m *Meter) revive(j *job, at protocol.Instant) {
	if !j.ended {
		return
	}
	m.countEnd(j, -1)
	j.ended, j.served = false, false
	if j.started {
		m.begun.add(&m.window, at, +1)
	}
}

func (m *Meter) countEnd(j *job, n int64) {
	switch {
	case j.endedAs != JobsCompleted:
		m.count(j.endedAt, j.endedAs, n)
		if j.endedAs == JobsDeadLettered && j.blameless {
			m.count(j.endedAt, JobsDeadByInterruptions, n)
		}
	default:
		d := m.delayOf(j)
		m.row.DelayOverTime.add(&m.window, j.enqueued, d, n)
		if m.measured(j.enqueued) {
			m.count(j.endedAt, JobsCompleted, n)
			m.delay(d, n)
		}
	}
}

// delayOf returns by how much a job was delayed when it was completed.
func (m *Meter) delayOf(j *job) protocol.Duration {
	d := j.endedAt.Sub(j.enqueued) - j.reached
	if j.trouble != 0 {
		d += m.troubleOf(j).beyond
	}
	return d
}

// cancelStall closes an interruption that turned out to be none: the job needs no next
// execution.
func (m *Meter) cancelStall(j *job, at protocol.Instant) {
	if j.open {
		m.close(j, at)
	}
}

// close ends the open interruption and returns what there was to know of it.
func (m *Meter) close(j *job, at protocol.Instant) *trouble {
	t := m.troubleOf(j)
	if t.working {
		m.stallsFrom(t, at)
	}
	j.open = false
	if t.levelled {
		m.stalled.add(&m.window, at, -1)
	}
	return t
}

// closeStall ends a stall with the start of the next execution, or with the run (censored).
func (m *Meter) closeStall(j *job, at protocol.Instant, censored bool) {
	t := m.close(j, at)
	m.row.StallOverTime.add(&m.window, t.from, at.Sub(t.from), 1)
	if t.from < m.window.From || t.from > m.window.Until.Add(-m.window.Cooldown) {
		return
	}
	stall := max(at.Sub(t.from), 0)
	s := &m.row.Stalls[t.cause]
	s.record(stall)
	m.row.AllStalls.record(stall)
	undo := max(min(t.undoneAt, at).Sub(t.from), 0)
	queued := protocol.Duration(0)
	if t.freedAt != protocol.Never {
		queued = max(at.Sub(max(t.freedAt, t.undoneAt))-t.unheard, 0)
	}
	m.row.Sums[UndoTime] += micros(undo)
	m.row.Sums[QueuedTime] += micros(queued)
	m.row.Sums[HeldTime] += micros(max(stall-undo-queued, 0))
	if censored {
		m.row.Censored[t.cause]++
	}
}
