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
	reached  protocol.Duration // the furthest any execution came
	token    protocol.Token    // of the newest claim
	running  int32             // executions that work at this instant
	paused   int32             // executions whose process stands still
	deploy   int32             // the rollout that interrupted it last
	started  bool              // at least once
	executed bool              // under the newest claim
	cause    Cause
	ended    bool
	served   bool // finished, or cancelled by an operator: its delay is known

	// The open interruption.
	open      bool
	openCause Cause
	from      protocol.Instant
	undoneAt  protocol.Instant
	freedAt   protocol.Instant // claimable since; Never while it is held
}

// since is when the newest claim stopped to be of use: the later of its grant and the last
// instant a live execution worked under it.
func (j *job) since(now protocol.Instant) protocol.Instant {
	switch {
	case !j.executed:
		return j.granted
	case j.running > 0:
		return now
	default:
		return max(j.granted, j.stopped)
	}
}

func (m *Meter) jobRecord(j *job, r Record) {
	switch r.Kind {
	case ClaimGranted:
		j.granted, j.token, j.executed = r.At, r.Token, false
	case ExecutionStarted:
		m.started(j, r)
	case ExecutionEnded:
		m.stopped(j, r)
	case ExecutionPaused:
		m.works(j, r.At, -1)
		j.paused++
		if r.Token == j.token {
			j.stopped = r.At
		}
	case ExecutionResumed:
		j.paused--
		m.works(j, r.At, +1)
	case UndoEnded:
		if j.open && r.Token == j.token {
			j.undoneAt = r.At
		}
	case ClaimEnded:
		m.claimEnded(j, r)
	case LeaseExpired:
		m.expired(j, r)
	case JobFinished:
		m.finished(j, r)
	case JobDead:
		m.count(r.At, JobsDeadLettered, 1)
		if r.Reason != protocol.NoReason {
			m.count(r.At, JobsDeadByInterruptions, 1)
		}
		m.end(j, r)
	case JobQuarantined:
		m.count(r.At, QuarantinedJobs, 1)
		m.end(j, r)
	case JobCancelled:
		m.count(r.At, JobsCancelled, 1)
		j.served = true
		m.end(j, r)
	case JobStarving:
		m.count(r.At, JobsStarving, 1)
	case JobForgotten:
		j.ended, j.served = false, false
	}
}

func (m *Meter) started(j *job, r Record) {
	if r.Token > j.token { // a claim whose grant was not seen
		j.granted, j.token, j.executed = r.At, r.Token, false
	}
	if !j.started {
		j.started = true
		m.begun.add(&m.window, r.At, 1)
		if m.measured(j.enqueued) {
			m.row.QueueWait.record(r.At.Sub(j.enqueued))
		}
	}
	if r.Token == j.token {
		j.executed = true
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
	m.works(j, r.At, -1)
	if again := min(r.Work, j.reached); again > r.Span {
		if m.measured(r.At) {
			m.row.Sums[RedoneWork] += micros(again - r.Span)
		}
		m.count(r.At, EffectsAppliedTwice, effectsBetween(r, again))
	}
	j.reached = max(j.reached, r.Work)
	if r.Token != j.token {
		return
	}
	j.stopped, j.cause = r.At, r.Cause
	if r.How == Interrupted || r.How == Killed {
		m.interrupt(j, j.since(r.At), r.Cause, r.Deploy)
	}
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

// effectsBetween counts the unfenced effects between the start of an execution and a point
// of its work. Effect k of n falls at k/n of the work.
func effectsBetween(r Record, to protocol.Duration) int64 {
	if r.Total <= 0 {
		return 0
	}
	position := func(d protocol.Duration) int64 {
		hi, lo := bits.Mul64(uint64(d), uint64(r.Count))
		n, _ := bits.Div64(hi, lo, uint64(r.Total))
		return int64(n)
	}
	return position(min(to, r.Total)) - position(min(r.Span, r.Total))
}

func (m *Meter) overlap(from, to protocol.Instant) {
	from, to = max(from, m.window.From), min(to, m.window.Until)
	if to > from {
		m.row.Sums[OverlapTime] += micros(to.Sub(from))
	}
}

// interrupt opens a stall, unless the job waits already since an earlier interruption.
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
	if j.open {
		return
	}
	j.open, j.openCause, j.from, j.undoneAt, j.freedAt = true, cause, since, since, protocol.Never
	m.stalled.add(&m.window, since, 1)
}

func (m *Meter) claimEnded(j *job, r Record) {
	if r.Token != j.token {
		return
	}
	switch r.Verb {
	case protocol.Ack:
		m.cancelStall(j, r.At)
	case protocol.Fail:
		m.count(r.At, Failures, 1)
		m.cancelStall(j, r.At)
	case protocol.Quarantine:
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
	m.handedBack(j, r)
}

func (m *Meter) finished(j *job, r Record) {
	if j.served {
		return
	}
	if m.measured(j.enqueued) {
		m.count(r.At, JobsCompleted, 1)
		m.delay(r.At.Sub(j.enqueued) - j.reached)
	}
	j.served = true
	m.end(j, r)
	m.ended = append(m.ended, endedJob{r.At, r.Job})
}

func (m *Meter) end(j *job, r Record) {
	m.cancelStall(j, r.At)
	if j.started && !j.ended {
		m.begun.add(&m.window, r.At, -1)
	}
	j.ended = true
}

// cancelStall closes an interruption that turned out to be none: the job needs no next
// execution.
func (m *Meter) cancelStall(j *job, at protocol.Instant) {
	if j.open {
		j.open = false
		m.stalled.add(&m.window, at, -1)
	}
}

// closeStall ends a stall with the start of the next execution, or with the run (censored).
func (m *Meter) closeStall(j *job, at protocol.Instant, censored bool) {
	j.open = false
	m.stalled.add(&m.window, at, -1)
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
		queued = max(at.Sub(max(j.freedAt, j.undoneAt)), 0)
	}
	m.row.Sums[UndoTime] += micros(undo)
	m.row.Sums[QueuedTime] += micros(queued)
	m.row.Sums[HeldTime] += micros(max(stall-undo-queued, 0))
	if censored {
		m.row.Censored[j.openCause]++
	}
}
