package meter

import "github.com/quiesce/quiesce/protocol"

// Metric is one measured number of a run. Value is NaN-free: Valid is false when nothing
// was there to measure.
type Metric struct {
	Name     string
	Unit     string
	Value    float64
	Valid    bool
	N        int64 // observations behind a mean or quantile; 0 for counts
	Censored int64 // of those, counted to the end of the run: the value is a lower bound
	Percent  int   // of a quantile; 0 for everything else
}

// Metrics computes every metric of the contract, in its order.
func (r *Row) Metrics() []Metric {
	var all []Metric
	count := func(name string, c Count) {
		all = append(all, Metric{Name: name, Unit: "count", Value: float64(r.Counts[c]), Valid: true})
	}
	ratio := func(name, unit string, num, den float64) {
		m := Metric{Name: name, Unit: unit, Valid: den > 0}
		if m.Valid {
			m.Value = num / den
		}
		all = append(all, m)
	}
	seconds := func(name string, value float64, h *Histogram, censored int64) {
		all = append(all, Metric{Name: name, Unit: "s", Value: value, Valid: h.N > 0, N: h.N, Censored: censored})
	}
	quantile := func(name string, percent int, h *Histogram, censored int64) {
		seconds(name, h.Quantile(float64(percent)), h, censored)
		all[len(all)-1].Percent = percent
	}
	sum := func(s Sum) float64 { return float64(r.Sums[s]) / 1e6 }

	count("jobs_enqueued", JobsEnqueued)
	count("jobs_completed", JobsCompleted)
	count("jobs_dead_lettered", JobsDeadLettered)
	count("jobs_dead_lettered_by_interruptions", JobsDeadByInterruptions)
	count("jobs_stuck", JobsStuck)
	count("jobs_starving", JobsStarving)
	count("jobs_lost", JobsLost)
	count("jobs_cancelled", JobsCancelled)
	count("interruptions", Interruptions)
	ratio("interruptions_per_job_per_deploy", "1", float64(r.Counts[DeployInterruptions]), float64(r.Counts[JobDeployPairs]))
	count("released", Released)
	count("reclaimed_by_expiry", ReclaimedByExpiry)
	for reason := protocol.NoReason + 1; reason < protocol.Reasons; reason++ {
		all = append(all, Metric{Name: "interruptions_" + underscored(reason.String()), Unit: "count", Value: float64(r.ByReason[reason]), Valid: true})
	}

	var censored int64
	for _, c := range r.Censored {
		censored += c
	}
	h := &r.AllStalls
	seconds("stall_seconds_mean", h.Mean(), h, censored)
	quantile("stall_seconds_p50", 50, h, censored)
	quantile("stall_seconds_p90", 90, h, censored)
	quantile("stall_seconds_p99", 99, h, censored)
	seconds("stall_seconds_max", float64(h.Max)/1e6, h, censored)
	for _, c := range []Cause{ByDeploy, ByCrash, ByRefusal, ByLease, ByOther} {
		h := &r.Stalls[c]
		seconds(c.String()+"_stall_seconds_mean", h.Mean(), h, r.Censored[c])
		if c == ByDeploy { // What a lease is chosen by is looked at more closely.
			quantile("deploy_stall_seconds_p50", 50, h, r.Censored[c])
			quantile("deploy_stall_seconds_p90", 90, h, r.Censored[c])
		}
		quantile(c.String()+"_stall_seconds_p99", 99, h, r.Censored[c])
	}
	n := float64(r.AllStalls.N)
	ratio("stall_held_seconds_mean", "s", sum(HeldTime), n)
	ratio("stall_undo_seconds_mean", "s", sum(UndoTime), n)
	ratio("stall_queued_seconds_mean", "s", sum(QueuedTime), n)
	ratio("stall_share", "1", sum(StalledTime), sum(BegunTime))
	ratio("delay_seconds_per_job", "s", sum(DelayTime), float64(r.Counts[JobsDelayed]))

	count("executions_started", ExecutionsStarted)
	count("redone_executions", RedoneExecutions)
	count("overlapping_executions", OverlappingExecutions)
	all = append(all, Metric{Name: "overlap_seconds", Unit: "s", Value: sum(OverlapTime), Valid: true})
	count("effects_applied_twice", EffectsAppliedTwice)
	all = append(all, Metric{Name: "redone_work_seconds", Unit: "s", Value: sum(RedoneWork), Valid: true})
	count("batches", BatchesDone)
	count("batches_never_completed", BatchesNeverCompleted)
	count("batches_completed_early", BatchesCompletedEarly)
	count("attempts_eroded", AttemptsEroded)
	ratio("attempts_eroded_per_job", "1", float64(r.Counts[AttemptsEroded]), float64(r.Counts[JobsEnqueued]))

	count("finished_in_grace", FinishedInGrace)
	count("cancelled", CancelledByDrain)
	count("undone", UndoneJobs)
	count("quarantined", QuarantinedJobs)
	count("refused", RefusedJobs)
	count("leaked", LeakedHandlers)
	count("acked_after_cancel", AckedAfterCancel)
	count("leases_lost", LeasesLost)
	count("unsettled", UnsettledClaims)
	count("superseded", SupersededClaims)
	count("surplus", SurplusJobs)
	count("withdrawn", WithdrawnJobs)
	count("timeouts", Timeouts)
	count("failures", Failures)
	quantile("exit_seconds_p50", 50, &r.ExitTime, 0)
	quantile("exit_seconds_p99", 99, &r.ExitTime, 0)
	count("killed_at_grace", KilledAtGrace)
	count("stops", Stops)
	count("crashes", Crashes)
	count("rollouts", Rollouts)
	quantile("queue_wait_seconds_p50", 50, &r.QueueWait, 0)
	quantile("queue_wait_seconds_p99", 99, &r.QueueWait, 0)
	ratio("rollout_seconds", "s", sum(RolloutTime), float64(r.Counts[RolloutsFinished]))
	// Nothing in this version holds a leader lease.
	all = append(all, Metric{Name: "leader_gap_seconds_max", Unit: "s"})
	count("events", Events)
	return all
}

func underscored(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '-' {
			b[i] = '_'
		}
	}
	return string(b)
}
