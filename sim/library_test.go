package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
)

// begins is how much of the larger scenarios is run here; it is enough to see what they show.
var begins = map[string]protocol.Duration{
	"mixed-kinds": protocol.Hour, "two-loads": protocol.Hour, "deaf-handlers": protocol.Hour, "broker-failover": 2 * protocol.Hour,
	"heartbeat-resurrects-lease": protocol.Hour, "claim-after-stop": 100 * protocol.Minute,
	"attempt-erosion": 4 * protocol.Hour, "deploys-eat-attempts": 90 * protocol.Minute,
}

// measured runs a library scenario once under one of its columns, with what its comments
// propose to change.
func measured(t *testing.T, scenario, column string, changes ...func(*model.Scenario)) map[string]float64 {
	sc, err := scenarios.Load(scenario)
	require.NoError(t, err)
	require.Contains(t, sc.Policies, column, "the column is one of the file")
	if span, ok := begins[scenario]; ok {
		sc.Duration = span
		sc.Warmup = min(sc.Warmup, span/10)
	}
	for _, change := range changes {
		change(sc)
	}
	preset, under, err := sc.Under(column)
	require.NoError(t, err)
	w, err := sim.NewWorld(under, preset, 1, nil)
	require.NoError(t, err)
	row, err := w.Run(nil)
	require.NoError(t, err)
	values := map[string]float64{}
	for _, m := range row.Metrics() {
		if m.Valid {
			values[m.Name] = m.Value
		}
	}
	return values
}

// symptom is what a reported fault looks like in numbers: at least so much under the faulty
// column, at most so much under ours. A metric that was not measured is 0: nothing stalled.
type symptom struct {
	metric string
	faulty float64
	ours   float64
}

// TestReportedFaultsAreThereUnderTheFaultySettingAndGoneUnderOurs plays the scenarios of
// faults that people reported.
func TestReportedFaultsAreThereUnderTheFaultySettingAndGoneUnderOurs(t *testing.T) {
	for _, c := range []struct {
		scenario, faulty string
		symptoms         []symptom
	}{
		{"heartbeat-stopped-at-stop", "today", []symptom{
			{"overlapping_executions", 10, 0}, {"effects_applied_twice", 10, 0}, {"reclaimed_by_expiry", 10, 0}}},
		{"claim-after-stop", "today", []symptom{{"stall_seconds_max", 590, 5}, {"reclaimed_by_expiry", 1, 0}}},
		{"deploys-eat-attempts", "arq", []symptom{
			{"jobs_dead_lettered_by_interruptions", 20, 0}, {"attempts_eroded", 200, 0}}},
		{"deaf-handlers", "hasty", []symptom{{"overlapping_executions", 50, 0}, {"overlap_seconds", 50, 0}}},
		{"lease-beyond-grace", "crash-only", []symptom{{"stall_seconds_max", 3600, 60}, {"stall_seconds_mean", 3600, 5}}},
		{"cancel-taken-for-final", "today", []symptom{{"jobs_cancelled", 20, 0}}},
		{"cancel-taken-for-final", "crash-only", []symptom{{"stall_seconds_mean", 15, 1}}},
		{"settle-under-cancelled-context", "today", []symptom{{"effects_applied_twice", 30, 0}, {"redone_executions", 30, 0}}},
		{"release-after-takeover", "today", []symptom{{"overlapping_executions", 50, 0}, {"overlap_seconds", 500, 0}}},
		{"heartbeat-resurrects-lease", "today", []symptom{{"stall_seconds_max", 60, 30}, {"reclaimed_by_expiry", 5, 0}}},
		{"grace-shorter-than-job", "today", []symptom{{"killed_at_grace", 50, 0}, {"stall_seconds_mean", 200, 1}}},
		{"grace-shorter-than-job", "finish-only", []symptom{{"killed_at_grace", 50, 0}, {"stall_seconds_mean", 200, 1}}},
		{"unknown-kind-dropped", "today", []symptom{{"stall_seconds_max", 1790, 180}, {"reclaimed_by_expiry", 50, 0}}},
		{"redone-effects", "crash-only", []symptom{{"effects_applied_twice", 100, 0}, {"redone_executions", 50, 0}}},
		{"poison-by-deploy", "solid-queue", []symptom{{"jobs_dead_lettered_by_interruptions", 100, 0}}},
		{"spot-preemption", "crash-only", []symptom{{"stall_seconds_mean", 200, 5}, {"attempts_eroded", 50, 0}}},
		{"spot-preemption", "finish-only", []symptom{{"stall_seconds_mean", 200, 5}, {"killed_at_grace", 20, 0}}},
		{"scale-in-busy-victim", "crash-only", []symptom{{"stall_seconds_mean", 400, 60}, {"reclaimed_by_expiry", 50, 0}}},
		{"scale-in-busy-victim", "finish-only", []symptom{{"stall_seconds_mean", 400, 60}, {"killed_at_grace", 50, 0}}},
		{"second-signal", "today", []symptom{{"stall_seconds_mean", 200, 0}, {"leaked", 80, 0}, {"reclaimed_by_expiry", 80, 0}}},
		{"drill", "drain", []symptom{{"jobs_stuck", 100, 0}, {"stall_seconds_mean", 600, 20}}},
		{"clocks-of-workers", "today", []symptom{
			{"overlapping_executions", 500, 0}, {"effects_applied_twice", 200, 0}, {"stall_seconds_max", 100, 61}}},
		{"escalation-waits", "today", []symptom{{"exit_seconds_p99", 500, 11}}},
		{"leases-forgotten", "today", []symptom{{"jobs_stuck", 100, 0}, {"stall_seconds_max", 10000, 600}}},
		{"release-in-two-steps", "today", []symptom{{"jobs_stuck", 50, 0}, {"stall_seconds_max", 3600, 75}}},
		{"reaper-drops-the-rest", "today", []symptom{{"jobs_lost", 50, 0}}},
		{"reaper-stops-at-the-living", "today", []symptom{{"stall_seconds_mean", 1200, 61}, {"stall_share", 0.05, 0.003}}},
		{"heartbeat-keeps-the-dead", "today", []symptom{{"stall_seconds_mean", 1200, 61}, {"stall_share", 0.05, 0.006}}},
		{"prefetch-ages-the-lease", "celery", []symptom{{"overlapping_executions", 8, 0}, {"effects_applied_twice", 8, 0}}},
		{"limit-leaks", "today", []symptom{{"delay_seconds_per_job", 1800, 5}}},
		{"herd-at-restart", "today", []symptom{{"queue_wait_seconds_p50", 0.15, 0.02}, {"delay_seconds_per_job", 0.6, 0.5}}},
		{"queues-stop-in-turn", "deaf", []symptom{
			{"killed_at_grace", 300, 0}, {"stall_seconds_mean", 200, 1}, {"attempts_eroded", 50, 0}}},
		{"reaper-takes-newcomers", "today", []symptom{
			{"overlapping_executions", 500, 0}, {"effects_applied_twice", 50, 0}, {"reclaimed_by_expiry", 500, 0}}},
		{"batch-counters", "after-ack", []symptom{{"batches_never_completed", 5, 0}}},
		{"batch-counters", "every-run", []symptom{{"batches_completed_early", 5, 0}, {"effects_applied_twice", 5, 0}}},
		{"rollout-bounce", "longest-waiting", []symptom{{"interruptions_per_job_per_deploy", 1.1, 1.05}}},
	} {
		t.Run(c.scenario+" under "+c.faulty, func(t *testing.T) {
			t.Parallel()
			faulty, ours := measured(t, c.scenario, c.faulty), measured(t, c.scenario, "hybrid")
			for _, s := range c.symptoms {
				assert.GreaterOrEqual(t, faulty[s.metric], s.faulty, "%s under %s", s.metric, c.faulty)
				assert.LessOrEqual(t, ours[s.metric], s.ours, "%s under hybrid", s.metric)
			}
			assert.Zero(t, ours["jobs_lost"])
			assert.Zero(t, ours["jobs_stuck"])
		})
	}
}

// TestADrilledDrainLosesNothingAndStallsForALeaseAtMost: what the killed drains leave behind
// is what a crash leaves.
func TestADrilledDrainLosesNothingAndStallsForALeaseAtMost(t *testing.T) {
	crash, ours := measured(t, "drill", "crash-only"), measured(t, "drill", "hybrid")
	assert.Positive(t, ours["reclaimed_by_expiry"], "drains are killed")
	assert.Less(t, ours["reclaimed_by_expiry"], crash["reclaimed_by_expiry"]/4)
	assert.LessOrEqual(t, ours["stall_seconds_max"], 70.0, "a lease of a minute, and a place in the queue")
	assert.Zero(t, ours["effects_applied_twice"])
}

// TestADrainWaitsForACounterThatIsWrittenAfterTheAck: what loses one is a process that dies, by
// itself or at the signal.
func TestADrainWaitsForACounterThatIsWrittenAfterTheAck(t *testing.T) {
	const scenario, column = "batch-counters", "after-ack"
	calm := func(sc *model.Scenario) { sc.Faults.Crash = 0 }
	dies := func(sc *model.Scenario) { sc.Variants[0].Policy.OnStop = protocol.DieOnStop }
	drained, died := measured(t, scenario, column, calm), measured(t, scenario, column, calm, dies)
	assert.Greater(t, drained["batches"], 50.0)
	assert.Zero(t, drained["batches_never_completed"])
	assert.Greater(t, died["batches_never_completed"], 5.0)
}

// TestACounterThatCountsAJobOnceIsRightThoughTheJobIsDoneTwice is the half of the remedy that the
// handler has.
func TestACounterThatCountsAJobOnceIsRightThoughTheJobIsDoneTwice(t *testing.T) {
	once := func(sc *model.Scenario) { sc.Variants[1].Queue.Counted = model.CountedByJob }
	got := measured(t, "batch-counters", "every-run", once)
	assert.Greater(t, got["effects_applied_twice"], 5.0)
	assert.Zero(t, got["batches_completed_early"]+got["batches_never_completed"])
}

// TestIdleVictimsLeaveNothingToHandBack is the half of the remedy that the autoscaler has.
func TestIdleVictimsLeaveNothingToHandBack(t *testing.T) {
	idle := func(sc *model.Scenario) { sc.Faults.ScaleIn.IdleFirst = true }
	for _, column := range []string{"crash-only", "finish-only", "hybrid"} {
		random, first := measured(t, "scale-in-busy-victim", column), measured(t, "scale-in-busy-victim", column, idle)
		assert.Less(t, first["interruptions"], random["interruptions"]/5, column)
	}
}

// TestAGraceThatNobodyToldOfIsKeptByNoWayOfWaiting, and what helps: to hand back at once, or
// to hear of it.
func TestAGraceThatNobodyToldOfIsKeptByNoWayOfWaiting(t *testing.T) {
	const scenario = "supervisor-shortens-grace"
	for _, waits := range []string{"finish-only", "hybrid"} {
		got := measured(t, scenario, waits)
		assert.Greater(t, got["killed_at_grace"], 50.0, waits)
		assert.Greater(t, got["stall_seconds_mean"], 200.0, waits)
		assert.Zero(t, got["jobs_lost"]+got["jobs_stuck"]+got["effects_applied_twice"], waits)
	}
	told := measured(t, scenario, "hybrid", func(sc *model.Scenario) {
		sc.Faults.Preempt = model.Preemption{Every: sc.Faults.Evict.Every, Notice: sc.Faults.Evict.Grace}
		sc.Faults.Evict = model.Eviction{}
	})
	for name, got := range map[string]map[string]float64{"release-now": measured(t, scenario, "release-now"), "hybrid, told": told} {
		assert.Greater(t, got["released"], 50.0, name)
		assert.Zero(t, got["killed_at_grace"], name)
		assert.Less(t, got["stall_seconds_mean"], 5.0, name)
	}
}

// TestAParentThatLeavesFirstVoidsTheDrainOfItsChildren, and what helps: to be faster than it, or
// that it waits.
func TestAParentThatLeavesFirstVoidsTheDrainOfItsChildren(t *testing.T) {
	const scenario = "parent-leaves-first"
	for _, waits := range []string{"finish-only", "hybrid"} {
		got := measured(t, scenario, waits)
		assert.Greater(t, got["killed_at_grace"], 50.0, waits)
		assert.Greater(t, got["stall_seconds_mean"], 200.0, waits)
		assert.Zero(t, got["jobs_lost"]+got["jobs_stuck"]+got["effects_applied_twice"], waits)
	}
	stays := func(sc *model.Scenario) { sc.Faults.Liveness = 0 }
	for name, got := range map[string]map[string]float64{"release-now": measured(t, scenario, "release-now"), "hybrid, waited for": measured(t, scenario, "hybrid", stays)} {
		assert.Zero(t, got["killed_at_grace"], name)
		assert.Less(t, got["stall_seconds_max"], 5.0, name)
	}
}

// TestWithoutPrefetchNothingWaitsBehindALongJob is the remedy that is in the worker: what it does
// not fetch another begins at once.
func TestWithoutPrefetchNothingWaitsBehindALongJob(t *testing.T) {
	none := func(sc *model.Scenario) { sc.Fleet.Prefetch = 0 }
	for _, column := range []string{"celery", "hybrid"} {
		ahead, at := measured(t, "prefetch-ages-the-lease", column), measured(t, "prefetch-ages-the-lease", column, none)
		assert.Greater(t, ahead["queue_wait_seconds_p50"], 2.0, column)
		assert.Less(t, at["queue_wait_seconds_p50"], 0.1, column)
		assert.Zero(t, at["overlapping_executions"], column)
	}
}

// TestALaterSecondSignalHurriesAndHandsBack: a supervisor that means it is obeyed, at no loss.
func TestALaterSecondSignalHurriesAndHandsBack(t *testing.T) {
	later := func(sc *model.Scenario) { sc.Supervisor.Repeat = 5 * protocol.Second }
	once, hurried := measured(t, "second-signal", "hybrid"), measured(t, "second-signal", "hybrid", later)
	assert.Zero(t, once["released"])
	assert.Greater(t, hurried["released"], 50.0)
	assert.Less(t, hurried["stall_seconds_max"], 5.0)
}

// TestWhereAClaimIsAnAttemptDeploysKillHealthyJobsUnderEveryPolicy: a setting of the broker
// that no way of stopping makes good.
func TestWhereAClaimIsAnAttemptDeploysKillHealthyJobsUnderEveryPolicy(t *testing.T) {
	for _, policy := range []string{"crash-only", "hybrid"} {
		assert.Positive(t, measured(t, "attempt-erosion", policy)["jobs_dead_lettered_by_interruptions"], policy)
	}
}

// TestWhatABrokerForgetsNoWayOfStoppingBringsBack: the row of the table where promises end.
func TestWhatABrokerForgetsNoWayOfStoppingBringsBack(t *testing.T) {
	crash, ours := measured(t, "broker-failover", "crash-only"), measured(t, "broker-failover", "hybrid")
	assert.Positive(t, ours["jobs_lost"])
	assert.Equal(t, crash["jobs_lost"], ours["jobs_lost"], "the same jobs, whatever workers do")
	assert.Less(t, ours["redone_executions"], crash["redone_executions"])
}

// TestKindsShareABudgetAndKeepTheirDeadlines: one grace over three kinds.
func TestKindsShareABudgetAndKeepTheirDeadlines(t *testing.T) {
	if testing.Short() {
		t.Skip("a second")
	}
	crash, finish, ours := measured(t, "mixed-kinds", "crash-only"), measured(t, "mixed-kinds", "finish-only"), measured(t, "mixed-kinds", "hybrid")
	assert.Greater(t, crash["stall_seconds_mean"], 60.0)
	assert.Greater(t, finish["killed_at_grace"], 50.0)
	assert.Zero(t, ours["killed_at_grace"])
	assert.Less(t, ours["stall_seconds_mean"], 2.0)
	assert.Positive(t, ours["undone"])
	assert.Zero(t, ours["quarantined"])
}

// TestAtTwoThirdsOfItsLoadAHandBackCostsLittle is one of the two loads.
func TestAtTwoThirdsOfItsLoadAHandBackCostsLittle(t *testing.T) {
	crash, ours := measured(t, "two-loads", "crash-only"), measured(t, "two-loads", "hybrid")
	assert.Greater(t, crash["stall_seconds_mean"], 50*ours["stall_seconds_mean"])
	assert.Less(t, ours["delay_seconds_per_job"], crash["delay_seconds_per_job"])
}
