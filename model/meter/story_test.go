package meter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// Every story is about job 1 and is measured from 0:10 to 16:40, with a cooldown of 100 s.
var window = Window{From: at(10), Until: at(1000), Cooldown: 100 * protocol.Second, Keep: 60 * protocol.Second}

func at(s float64) protocol.Instant { return protocol.Instant(s * 1e9) }

func span(s float64) protocol.Duration { return protocol.Duration(s * 1e9) }

func fact(kind Kind, s float64, token protocol.Token) Record {
	return Record{Kind: kind, At: at(s), Job: 1, Token: token}
}

func enqueued(s float64) Record                      { return fact(JobEnqueued, s, 0) }
func granted(s float64, token protocol.Token) Record { return fact(ClaimGranted, s, token) }
func paused(s float64, token protocol.Token) Record  { return fact(ExecutionPaused, s, token) }
func resumed(s float64, token protocol.Token) Record { return fact(ExecutionResumed, s, token) }
func undone(s float64, token protocol.Token) Record  { return fact(UndoEnded, s, token) }
func finished(s float64) Record                      { return fact(JobFinished, s, 0) }

func started(s float64, token protocol.Token, base float64) Record {
	r := fact(ExecutionStarted, s, token)
	r.Work = span(base)
	return r
}

// ended is the end of an execution that came from base to reached, of 40 s of work with four
// effects.
func ended(s float64, token protocol.Token, how How, cause Cause, base, reached float64) Record {
	r := fact(ExecutionEnded, s, token)
	r.How, r.Cause, r.Span, r.Work, r.Total, r.Count = how, cause, span(base), span(reached), span(40), 4
	return r
}

func settled(s float64, token protocol.Token, verb protocol.Verb, reason protocol.Reason, cause Cause) Record {
	r := fact(ClaimEnded, s, token)
	r.Verb, r.Reason, r.Cause = verb, reason, cause
	return r
}

func acked(s float64, token protocol.Token) Record {
	return settled(s, token, protocol.Ack, protocol.NoReason, ByOther)
}

func expired(s float64, token protocol.Token, cause Cause) Record {
	r := fact(LeaseExpired, s, token)
	r.Reason, r.Cause, r.Eroded = protocol.BecauseExpired, cause, true
	return r
}

func duringRollout(n int32, r Record) Record {
	r.Deploy = n
	return r
}

func killedWhilePaused(r Record) Record {
	r.Paused = true
	return r
}

func buried(s float64, reason protocol.Reason) Record {
	r := fact(JobDead, s, 0)
	r.Reason = reason
	return r
}

// values are metrics by name.
type values map[string]float64

const invalid = -1 // a metric of which nothing was measured

func TestStories(t *testing.T) {
	gone := Ending{}
	ready := Ending{Known: true}
	runs := Ending{Known: true, Claimed: true, Alive: true}
	held := Ending{Known: true, Claimed: true, Rescued: true, Cause: ByCrash}
	stuck := Ending{Known: true, Claimed: true, Cause: ByCrash}
	for _, story := range []struct {
		name    string
		records []Record
		end     Ending
		live    protocol.Duration
		want    values
	}{
		{name: "a job done at the first try waits once and stalls never", end: ready,
			records: []Record{enqueued(20), granted(21, 1), started(22, 1, 0), ended(62, 1, Succeeded, ByOther, 0, 40), acked(63, 1), finished(63)},
			want: values{"jobs_enqueued": 1, "jobs_completed": 1, "executions_started": 1, "interruptions": 0, "redone_executions": 0, "stall_seconds_mean": invalid,
				"queue_wait_seconds_p50": 2, "delay_seconds_per_job": 3, "stall_share": 0, "jobs_lost": 0}},
		{name: "a late claim that is never run stalls from its grant", end: runs,
			records: []Record{enqueued(20), granted(30, 1), settled(31, 1, protocol.Release, protocol.BecauseLate, ByDeploy), granted(39, 2), started(41, 2, 0)},
			want: values{"interruptions": 1, "interruptions_late_claim": 1, "released": 1, "deploy_stall_seconds_mean": 11, "stall_held_seconds_mean": 1, "stall_queued_seconds_mean": 10,
				"redone_executions": 0, "stall_share": 0, "queue_wait_seconds_p50": 21}},
		{name: "a job whose worker dies waits for its lease, and then for a claim", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(50, 1, Killed, ByCrash, 0, 30), expired(120, 1, ByCrash), granted(125, 2), started(125, 2, 0)},
			want: values{"interruptions": 1, "interruptions_expired": 1, "reclaimed_by_expiry": 1, "crash_stall_seconds_mean": 75, "stall_held_seconds_mean": 70, "stall_queued_seconds_mean": 5,
				"stall_undo_seconds_mean": 0, "deploy_stall_seconds_mean": invalid, "attempts_eroded": 1, "attempts_eroded_per_job": 1, "redone_executions": 1,
				"redone_work_seconds": 0, "stall_share": 75.0 / 980}},
		{name: "undoing is told apart from holding and queueing", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(50, 1, Interrupted, ByDeploy, 0, 30), undone(53, 1),
				settled(54, 1, protocol.Release, protocol.BecauseDrain, ByDeploy), granted(59, 2), started(60, 2, 0)},
			want: values{"deploy_stall_seconds_mean": 10, "stall_undo_seconds_mean": 3, "stall_held_seconds_mean": 1, "stall_queued_seconds_mean": 6, "interruptions": 1, "interruptions_drain": 1}},
		{name: "two executions that work at once overlap", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), granted(29, 2), started(30, 2, 0), ended(35, 1, Interrupted, ByLease, 0, 15)},
			want:    values{"overlapping_executions": 1, "overlap_seconds": 5, "interruptions": 0, "executions_started": 2}},
		{name: "three executions overlap as long as two of them work", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), granted(30, 2), started(30, 2, 0), granted(31, 3), started(31, 3, 0),
				ended(35, 1, Interrupted, ByLease, 0, 15), ended(37, 2, Interrupted, ByLease, 0, 7)},
			want: values{"overlapping_executions": 2, "overlap_seconds": 7}},
		{name: "overlap before the end of the warm-up is left out", end: runs,
			records: []Record{enqueued(1), granted(1, 1), started(1, 1, 0), granted(5, 2), started(5, 2, 0), ended(12, 1, Interrupted, ByLease, 0, 11)},
			want:    values{"overlapping_executions": 0, "overlap_seconds": 2}},
		{name: "an execution whose process stands still overlaps nobody, and stalls from then on", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), paused(25, 1), expired(40, 1, ByLease), granted(41, 2), started(41, 2, 0),
				resumed(50, 1), ended(52, 1, Interrupted, ByLease, 0, 7), ended(81, 2, Succeeded, ByOther, 0, 40), acked(81, 2), finished(81)},
			want: values{"lease_stall_seconds_mean": 16, "overlapping_executions": 1, "overlap_seconds": 2, "interruptions": 1, "jobs_completed": 1,
				"redone_work_seconds": 7}},
		{name: "a process that is killed while it stands still had stopped to work before", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), paused(25, 1), killedWhilePaused(ended(40, 1, Killed, ByCrash, 0, 5)), expired(50, 1, ByCrash), started(51, 2, 0)},
			want:    values{"crash_stall_seconds_mean": 26, "overlapping_executions": 0, "overlap_seconds": 0, "interruptions": 1}},
		{name: "nor is it counted as working, or as standing still, when others overlap later", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), paused(25, 1), killedWhilePaused(ended(40, 1, Killed, ByCrash, 0, 5)), expired(50, 1, ByCrash), started(51, 2, 0),
				expired(81, 2, ByLease), started(81, 3, 0), ended(84, 2, Interrupted, ByLease, 0, 33)},
			want: values{"overlapping_executions": 1, "overlap_seconds": 3}},
		{name: "a lease that runs out under an execution that goes on is one interruption, and stalls from its end", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), expired(50, 1, ByLease), ended(52, 1, Interrupted, ByLease, 0, 32), granted(60, 2), started(60, 2, 0)},
			want:    values{"interruptions": 1, "lease_stall_seconds_mean": 8, "stall_queued_seconds_mean": 8, "stall_share": 8.0 / 980}},
		{name: "an interruption counts from where its stall begins, also while the execution goes on", end: runs,
			records: []Record{enqueued(5), granted(5, 1), started(5, 1, 0), expired(35, 1, ByLease), ended(37, 1, Interrupted, ByLease, 0, 32), granted(60, 2), started(60, 2, 0)},
			want:    values{"interruptions": 1, "lease_stall_seconds_mean": 23}},
		{name: "an execution that goes on until the next one starts costs no stall", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), expired(50, 1, ByLease), granted(51, 2), started(55, 2, 0), ended(57, 1, Interrupted, ByLease, 0, 37)},
			want:    values{"interruptions": 1, "lease_stall_seconds_mean": 0, "overlap_seconds": 2, "stall_share": 0}},
		{name: "a stall that does not end is counted to the end of the run", end: stuck,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(500, 1, Killed, ByCrash, 0, 30)},
			want:    values{"interruptions": 1, "crash_stall_seconds_mean": 500, "stall_held_seconds_mean": 500, "jobs_stuck": 1, "delay_seconds_per_job": 980, "stall_share": 500.0 / 980}},
		{name: "a holder that died unnoticed leaves a stall as well", end: held,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40)},
			want:    values{"interruptions": 1, "crash_stall_seconds_mean": 940, "jobs_stuck": 0}},
		{name: "an interruption in the warm-up is left out, however long its stall", end: runs,
			records: []Record{enqueued(2), granted(2, 1), started(2, 1, 0), ended(5, 1, Killed, ByCrash, 0, 3), expired(80, 1, ByCrash), granted(81, 2), started(81, 2, 0)},
			want:    values{"interruptions": 0, "stall_seconds_mean": invalid, "reclaimed_by_expiry": 1, "jobs_enqueued": 0, "queue_wait_seconds_p50": invalid, "stall_share": 71.0 / 990}},
		{name: "an interruption in the cooldown is no stall, but happened", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(901, 1, Killed, ByCrash, 0, 3), expired(905, 1, ByCrash), granted(906, 2), started(906, 2, 0)},
			want:    values{"interruptions": 1, "stall_seconds_mean": invalid, "reclaimed_by_expiry": 1}},
		{name: "a late ack makes an interruption none that anybody waits for", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40), expired(90, 1, ByLease), acked(95, 1), finished(95)},
			want:    values{"interruptions": 1, "stall_seconds_mean": invalid, "jobs_completed": 1, "stall_share": 35.0 / 75}},
		{name: "an ack after expiry and a new claim changes nothing", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40), expired(90, 1, ByLease), granted(95, 2), acked(96, 1), started(97, 2, 0)},
			want:    values{"interruptions": 1, "lease_stall_seconds_mean": 37, "jobs_completed": 0}},
		{name: "a failure is no interruption", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Failed, ByOther, 0, 40), settled(60, 1, protocol.Fail, protocol.NoReason, ByOther), granted(70, 2), started(70, 2, 0)},
			want:    values{"interruptions": 0, "failures": 1, "stall_seconds_mean": invalid, "stall_share": 0, "redone_executions": 1}},
		{name: "a refusal has a cause and a stall of its own", end: runs,
			records: []Record{enqueued(20), granted(20, 1), settled(21, 1, protocol.Refuse, protocol.BecauseRefused, ByRefusal), granted(26, 2), started(26, 2, 0)},
			want:    values{"refused": 1, "released": 0, "interruptions_refused": 1, "refusal_stall_seconds_mean": 6, "interruptions": 1}},
		{name: "a yield is an interruption by nobody's fault", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Interrupted, ByOther, 0, 10), settled(31, 1, protocol.Release, protocol.BecauseYield, ByOther), granted(32, 2), started(33, 2, 0)},
			want:    values{"interruptions_yield": 1, "other_stall_seconds_mean": 3, "interruptions_per_job_per_deploy": invalid}},
		{name: "dead letter ends the wait, and its delay does not end", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Killed, ByCrash, 0, 10), expired(90, 1, ByCrash), buried(90, protocol.BecauseExpired)},
			want: values{"interruptions": 1, "stall_seconds_mean": invalid, "jobs_dead_lettered": 1, "jobs_dead_lettered_by_interruptions": 1,
				"stall_share": 60.0 / 70, "delay_seconds_per_job": 980}},
		{name: "a job dead-lettered for failures is not blamed on interruptions", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Failed, ByOther, 0, 40), settled(30, 1, protocol.Fail, protocol.NoReason, ByOther), buried(30, protocol.NoReason)},
			want:    values{"jobs_dead_lettered": 1, "jobs_dead_lettered_by_interruptions": 0}},
		{name: "an ack takes a job back from dead letter", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), expired(50, 1, ByLease), buried(50, protocol.BecauseExpired), ended(60, 1, Succeeded, ByOther, 0, 40), acked(61, 1), finished(61)},
			want: values{"jobs_dead_lettered": 0, "jobs_dead_lettered_by_interruptions": 0, "jobs_completed": 1, "delay_seconds_per_job": 1,
				"stall_seconds_mean": invalid}},
		{name: "a quarantined job is parked and waits for nobody", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Interrupted, ByDeploy, 0, 10), settled(32, 1, protocol.Quarantine, protocol.BecauseDrain, ByDeploy), fact(JobQuarantined, 32, 1)},
			want:    values{"quarantined": 1, "interruptions": 1, "stall_seconds_mean": invalid, "stall_share": 2.0 / 12}},
		{name: "a cancelled job waits for nobody, and its delay is nobody's", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Interrupted, ByOther, 0, 10), settled(31, 1, protocol.Release, protocol.BecauseCancelled, ByOther), fact(JobCancelled, 31, 1)},
			want:    values{"jobs_cancelled": 1, "interruptions_cancelled": 1, "stall_seconds_mean": invalid, "delay_seconds_per_job": invalid}},
		{name: "a job that one rollout hits twice has bounced", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), duringRollout(1, ended(30, 1, Killed, ByDeploy, 0, 10)), expired(40, 1, ByDeploy), granted(40, 2), started(40, 2, 0),
				duringRollout(1, ended(50, 2, Killed, ByDeploy, 0, 10)), expired(60, 2, ByDeploy), granted(60, 3), started(60, 3, 0)},
			want: values{"interruptions_per_job_per_deploy": 2, "interruptions": 2}},
		{name: "a job that two rollouts hit has not bounced", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), duringRollout(1, ended(30, 1, Killed, ByDeploy, 0, 10)), expired(40, 1, ByDeploy), granted(40, 2), started(40, 2, 0),
				duringRollout(2, ended(50, 2, Killed, ByDeploy, 0, 10)), expired(60, 2, ByDeploy), granted(60, 3), started(60, 3, 0)},
			want: values{"interruptions_per_job_per_deploy": 1, "interruptions": 2}},
		{name: "work and effects before the point reached are done twice", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(45, 1, Killed, ByCrash, 0, 25), expired(50, 1, ByCrash), granted(50, 2), started(50, 2, 0),
				ended(90, 2, Succeeded, ByOther, 0, 40), acked(90, 2), finished(90)},
			want: values{"redone_executions": 1, "redone_work_seconds": 25, "effects_applied_twice": 2, "delay_seconds_per_job": 30}},
		{name: "a saved cursor spares what lies before it", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(45, 1, Killed, ByCrash, 0, 25), expired(50, 1, ByCrash), granted(50, 2), started(50, 2, 15),
				ended(75, 2, Succeeded, ByOther, 15, 40), acked(75, 2), finished(75)},
			want: values{"redone_executions": 1, "redone_work_seconds": 10, "effects_applied_twice": 1}},
		{name: "who saved a cursor and ends after its successor did the part before it alone", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), granted(40, 2), started(40, 2, 15), ended(60, 2, Killed, ByCrash, 15, 35), ended(61, 1, Interrupted, ByLease, 0, 21)},
			want:    values{"redone_work_seconds": 6, "effects_applied_twice": 1}},
		{name: "until its lease was over, a claim that nobody heard of held the job", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(30, 1, Interrupted, ByDeploy, 0, 10), settled(30, 1, protocol.Release, protocol.BecauseDrain, ByDeploy),
				granted(33, 2), expired(83, 2, ByDeploy), granted(85, 3), started(86, 3, 0)},
			want: values{"interruptions": 1, "deploy_stall_seconds_mean": 56, "stall_queued_seconds_mean": 6, "stall_held_seconds_mean": 50}},
		{name: "a completion that a failover forgot is counted when it comes again", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40), acked(60, 1), finished(60), fact(JobForgotten, 62, 0), acked(64, 1), finished(64)},
			want:    values{"jobs_completed": 1, "jobs_lost": 0, "delay_seconds_per_job": 4}},
		{name: "a job whose end was forgotten is begun and not ended again, and can stall", end: runs,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40), acked(60, 1), finished(60), fact(JobForgotten, 62, 0),
				expired(90, 1, ByOther), granted(100, 2), started(100, 2, 0)},
			want: values{"jobs_completed": 0, "other_stall_seconds_mean": 40, "stall_share": 40.0 / 978}},
		{name: "a job of which a failover forgot everything is lost and not done", end: gone,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(60, 1, Succeeded, ByOther, 0, 40), acked(60, 1), finished(60), fact(JobForgotten, 62, 0)},
			want:    values{"jobs_completed": 0, "jobs_lost": 1}},
		{name: "what is taken back of a completion is what it was, however far another execution went on", end: ready,
			records: []Record{enqueued(20), granted(20, 1), started(20, 1, 0), granted(30, 2), started(30, 2, 0), ended(50, 2, Succeeded, ByOther, 0, 20), acked(50, 2), finished(50),
				ended(60, 1, Interrupted, ByLease, 0, 40), fact(JobForgotten, 62, 0)},
			want: values{"jobs_completed": 0, "delay_seconds_per_job": 980}},
		{name: "what a live execution has done is no delay", end: runs, live: span(20),
			records: []Record{enqueued(970), granted(975, 1), started(980, 1, 0)},
			want:    values{"delay_seconds_per_job": 10, "queue_wait_seconds_p50": 10}},
		{name: "starving is reported", end: runs,
			records: []Record{enqueued(20), fact(JobStarving, 30, 0)},
			want:    values{"jobs_starving": 1}},
	} {
		t.Run(story.name, func(t *testing.T) {
			m := New(window)
			for _, r := range story.records {
				m.Add(r)
			}
			row := m.Finish(func(job protocol.JobKey) (Ending, protocol.Duration) {
				require.Equal(t, protocol.JobKey(1), job)
				return story.end, story.live
			})
			requireMetrics(t, story.want, row)
		})
	}
}

func requireMetrics(t *testing.T, want values, row *Row) {
	t.Helper()
	got := map[string]Metric{}
	for _, m := range row.Metrics() {
		got[m.Name] = m
	}
	for name, value := range want {
		m, ok := got[name]
		require.True(t, ok, "there is no metric %s", name)
		if value == invalid {
			assert.False(t, m.Valid, "%s is %v although nothing was measured", name, m.Value)
			continue
		}
		assert.True(t, m.Valid, "%s was not measured", name)
		assert.InDelta(t, value, m.Value, 0.001*value+1e-6, name)
	}
}

func TestAStallThatDoesNotEndIsMarkedAsALowerBound(t *testing.T) {
	m := New(window)
	for _, r := range []Record{enqueued(20), granted(20, 1), started(20, 1, 0), ended(500, 1, Killed, ByCrash, 0, 30), expired(600, 1, ByCrash)} {
		m.Add(r)
	}
	row := m.Finish(func(protocol.JobKey) (Ending, protocol.Duration) { return Ending{Known: true}, 0 })
	for _, metric := range row.Metrics() {
		switch metric.Name {
		case "stall_seconds_mean", "stall_seconds_max", "crash_stall_seconds_mean", "crash_stall_seconds_p99":
			assert.Equal(t, int64(1), metric.N, metric.Name)
			assert.Equal(t, int64(1), metric.Censored, metric.Name)
			assert.InDelta(t, 500, metric.Value, 0.5, metric.Name)
		case "deploy_stall_seconds_mean":
			assert.Zero(t, metric.Censored, metric.Name)
		}
	}
}

func TestProcessesAndRollouts(t *testing.T) {
	m := New(window)
	for _, r := range []Record{
		{Kind: StopAsked, At: at(5)}, // in the warm-up
		{Kind: ProcessExited, At: at(7), Span: span(2)},
		{Kind: StopAsked, At: at(20)}, {Kind: StopAsked, At: at(20)},
		{Kind: ProcessExited, At: at(23), Span: span(3)},
		{Kind: ProcessKilled, At: at(50), Span: span(30)},
		{Kind: ProcessCrashed, At: at(51)},
		{Kind: RolloutBegan, At: at(20)}, {Kind: RolloutFinished, At: at(60), Span: span(40)},
		{Kind: RolloutBegan, At: at(70)}, {Kind: RolloutFinished, At: at(90), Span: span(20)},
		{Kind: RolloutBegan, At: at(900)},
		{Kind: HandlerNoted, At: at(30), Note: protocol.FinishedInGrace},
		{Kind: HandlerNoted, At: at(30), Note: protocol.JobsWithdrawn, Count: 3},
		{Kind: HandlerNoted, At: at(30), Note: protocol.RenewalMissed, Count: 3}, // of no metric
		{Kind: LedgerLine, At: at(30)},
	} {
		m.Add(r)
	}
	row := m.Finish(nil)
	requireMetrics(t, values{"stops": 2, "killed_at_grace": 1, "crashes": 1, "exit_seconds_p50": 3, "exit_seconds_p99": 30,
		"rollouts": 3, "rollout_seconds": 30, "finished_in_grace": 1, "withdrawn": 3, "leader_gap_seconds_max": invalid}, row)
	assert.Equal(t, int64(1), row.Counts[LedgerLines])
}

func TestEveryNoteHasItsMetric(t *testing.T) {
	names := map[protocol.NoteCode]string{
		protocol.FinishedInGrace: "finished_in_grace", protocol.AckedAfterCancel: "acked_after_cancel", protocol.CancelledByDrain: "cancelled",
		protocol.CancelledByTimeout: "timeouts", protocol.Undone: "undone", protocol.LeaseLost: "leases_lost", protocol.SurplusReleased: "surplus",
		protocol.JobsWithdrawn: "withdrawn", protocol.SettleSuperseded: "superseded", protocol.LeftUnsettled: "unsettled", protocol.HandlerLeaked: "leaked",
	}
	want, m := values{}, New(window)
	for code, name := range names {
		want[name] = float64(code)
		for range int(code) {
			m.Add(Record{Kind: HandlerNoted, At: at(30), Note: code, Count: 1})
		}
	}
	requireMetrics(t, want, m.Finish(nil))
}

func TestEndedJobsAreForgottenUnlessAZombieWorksOnThem(t *testing.T) {
	m := New(window)
	for job := protocol.JobKey(1); job <= 3000; job++ {
		s := 20 + float64(job)/100
		m.Add(Record{Kind: JobEnqueued, At: at(s), Job: job})
		m.Add(Record{Kind: ClaimGranted, At: at(s), Job: job, Token: 1})
		m.Add(Record{Kind: ExecutionStarted, At: at(s), Job: job, Token: 1})
		if job != 7 {
			m.Add(Record{Kind: ExecutionEnded, At: at(s), Job: job, Token: 1})
		}
		m.Add(Record{Kind: JobFinished, At: at(s), Job: job, Token: 1})
	}
	m.Add(Record{Kind: ProcessCrashed, At: at(200)})
	left := 0
	m.jobs.Each(func(n uint64, _ *job) {
		left++
		assert.Equal(t, uint64(7), n)
	})
	assert.Equal(t, 1, left)
	assert.Less(t, len(m.ended), 2000, "nor is the list of ended jobs kept")
	m.Add(Record{Kind: ExecutionEnded, At: at(201), Job: 7, Token: 1})
	m.Add(Record{Kind: ProcessCrashed, At: at(400)})
	assert.Nil(t, m.jobs.Get(7))
}
