package meter

import (
	"math/bits"

	"github.com/quiesce/quiesce/protocol"
)

// job is what the meter keeps of a job that has not ended.
type job struct {
	enqueued protocol.Instant
	granted  protocol.Instant  // of the newest claim
	stopped  protocol.Instant  // the last instant an execution under the newest claim worked
	twice    protocol.Instant  // since when two executions run at once
	base     protocol.Duration // the earliest point from which an execution that ended had begun: one that saved a cursor may end after its successor
	reached  protocol.Duration // the furthest any execution that ended came
	token    protocol.Token    // of the newest claim
	running  int32             // executions that work at this instant
	paused   int32             // executions whose process stands still
	deploy   int32             // the rollout that interrupted it last
	started  bool              // at least once
	executed bool              // under the newest claim
	busy     bool              // at this instant, under the newest claim

	// Its end, which an ack or a failover can take back.
	ended     bool
	served    bool // finished, or cancelled by an operator: its delay is known
	blameless bool // dead-lettered by interruptions
	endedAs   Count
	endedAt   protocol.Instant
	delayed   protocol.Duration // when it finished

	// The open interruption.
	open      bool
	levelled  bool // counted among the stalled
	working   bool // the execution under the interrupted claim goes on
	openCause Cause
	openToken protocol.Token
	from      protocol.Instant
	undoneAt  protocol.Instant
	freedAt   protocol.Instant  // claimable since; Never while it is held
	unheard   protocol.Duration // since freedAt, under claims that nobody heard of and that expired
}

// since is when the newest claim stopped to be of use: the later of its grant and the last
// instant a live execution worked under it.
func (j *job) since(now protocol.Instant) protocol.Instant {
	switch {
	case !j.executed:
		return j.granted
	case j.busy:
		return now
	default:
		return max(j.granted, j.stopped)
	}
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
		j.worksAgain(r)
	case UndoEnded:
		if j.open && r.Token == j.openToken {
			j.undoneAt = r.At
		}
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
	j.base, j.reached = min(j.base, r.Span), max(j.reached, r.Work)
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
		j.stopped, j.busy = r.At, false
	}
	if j.open && r.Token == j.openToken {
		j.working = false
		m.stallsFrom(j, r.At)
	}
}

func (m *Meter) stallsFrom(j *job, at protocol.Instant) {
	if j.levelled {
		m.stalled.add(&m.window, j.from, -1)
		m.stalled.add(&m.window, at, +1)
	}
	j.from, j.undoneAt = at, at
}

func (j *job) worksAgain(r Record) {
	if r.Token == j.token {
		j.busy = true
	}
	if j.open && r.Token == j.openToken {
		j.working = true
	}
}

func (j *job) claimed(r Record) {
	j.granted, j.token, j.executed, j.busy = r.At, r.Token, false, false
}

// works changes the number of executions of a job that work at once. One that begins to
// work beside another overlaps it; one whose process stands still overlaps nobody.
func (m *Meter) works(j *job, at protocol.Instant, d int32) {
	if d > 0 && j.running > 0 {
		m.count(at, OverlappingExecutions, 1)
		if j.running == 1 {
			j.twice = at
		}
	}
	j.running += d
	if d < 0 && j.running == 1 {
		m.overlap(j.twice, at)
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
	if cause == ByDeploy && deploy > 0 {
		if j.deploy != deploy {
			j.deploy = deploy
			m.count(since, JobDeployPairs, 1)
		}
		m.count(since, DeployInterruptions, 1)
	}
	m.count(since, Interruptions, 1)
	j.open, j.openCause, j.openToken, j.working = true, cause, j.token, j.busy
	j.from, j.undoneAt, j.freedAt, j.unheard = since, since, protocol.Never, 0
	// A share of the jobs that were started: one that never was is in neither part of it.
	if j.levelled = j.started; j.levelled {
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
	if j.freedAt == protocol.Never {
		j.freedAt = r.At
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
	if j.open && !j.executed && j.freedAt != protocol.Never {
		j.unheard += max(until.Sub(max(j.granted, j.freedAt, j.undoneAt)), 0)
	}
}

func (m *Meter) finished(j *job, r Record) {
	if j.served {
		return
	}
	m.revive(j, r.At) // dead-lettered or quarantined by expiry, while its holder finished it
	j.delayed = r.At.Sub(j.enqueued) - j.reached
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
		m.row.DelayOverTime.add(&m.window, j.enqueued, j.delayed, n)
		if m.measured(j.enqueued) {
			m.count(j.endedAt, JobsCompleted, n)
			m.delay(j.delayed, n)
		}
	}
}

// cancelStall closes an interruption that turned out to be none: the job needs no next
// execution.
func (m *Meter) cancelStall(j *job, at protocol.Instant) {
	if j.open {
		m.close(j, at)
	}
}

func (m *Meter) close(j *job, at protocol.Instant) {
	if j.working {
		m.stallsFrom(j, at)
	}
	j.open = false
	if j.levelled {
		m.stalled.add(&m.window, at, -1)
	}
}

// closeStall ends a stall with the start of the next execution, or with the run (censored).
func (m *Meter) closeStall(j *job, at protocol.Instant, censored bool) {
	m.close(j, at)
	m.row.StallOverTime.add(&m.window, j.from, at.Sub(j.from), 1)
	if j.from < m.window.From || j.from > m.window.Until.Add(-m.window.Cooldown) {
		return
	}
	stall := max(at.Sub(j.from), 0)
	s := &m.row.Stalls[j.openCause]
	s.record(stall)
	m.row.AllStalls.record(stall)
	undo := max(min(j.undoneAt, at).Sub(j.from), 0)
	queued := protocol.Duration(0)
	if j.freedAt != protocol.Never {
		queued = max(at.Sub(max(j.freedAt, j.undoneAt))-j.unheard, 0)
	}
	m.row.Sums[UndoTime] += micros(undo)
	m.row.Sums[QueuedTime] += micros(queued)
	m.row.Sums[HeldTime] += micros(max(stall-undo-queued, 0))
	if censored {
		m.row.Censored[j.openCause]++
	}
}
