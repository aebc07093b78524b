package main

import "github.com/quiesce/quiesce/sim/lab"

// style is how a metric's numbers are written.
type style uint8

const (
	asCount     style = iota
	asSeconds         // a length of time
	asShare           // a percentage
	asRatio           // a small number
	asRare            // a count of what should never happen: zero is "0 of 2.6M jobs", not a bare 0
	asRareBatch       // likewise, of batches
)

// line is one metric of the table, in words.
type line struct {
	metric string
	label  string
	style  style
	when   when
}

type when uint8

const (
	ifAny    when = iota // unless nothing of it happened under any policy
	always               // even then
	inFull               // only in the table of a single run
	headline             // like ifAny, and among the paired differences
)

type group struct {
	title string
	lines []line
}

// occasions returns in how many jobs, or batches, over all replications, what is counted in a style
// could have happened.
func (s style) occasions(metrics []lab.Estimate) float64 {
	if s == asRareBatch {
		return total(metrics, "batches")
	}
	return total(metrics, "jobs_enqueued")
}

// per says what the chance of an event that should never happen is a chance of, as JSON names it; of
// other styles it is empty.
func (s style) per() string {
	switch s {
	case asRare:
		return "per_job"
	case asRareBatch:
		return "per_batch"
	}
	return ""
}

// catalogue is the table's rows by the question that they answer. Metrics that are missing
// here appear under their names at the end of a single run's table.
var catalogue = []group{
	{"What a deploy costs", []line{
		{"deploy_stall_seconds_mean", "stall of an interrupted job, mean", asSeconds, headline},
		{"deploy_stall_seconds_p50", "stall, median", asSeconds, inFull},
		{"deploy_stall_seconds_p90", "stall, 90th percentile", asSeconds, inFull},
		{"deploy_stall_seconds_p99", "stall, 99th percentile", asSeconds, ifAny},
		{"interruptions_per_job_per_deploy", "interruptions per job it hits", asRatio, ifAny},
		{"finished_in_grace", "jobs finished within the grace", asCount, ifAny},
		{"cancelled", "handlers cancelled", asCount, ifAny},
		{"undone", "handlers undone", asCount, inFull},
	}},
	{"What a crash costs", []line{
		{"crash_stall_seconds_mean", "stall of an interrupted job, mean", asSeconds, headline},
		{"crash_stall_seconds_p99", "stall, 99th percentile", asSeconds, ifAny},
		{"crashes", "crashes", asCount, ifAny},
	}},
	{"What else interrupts", []line{
		{"lease_stall_seconds_mean", "stall after a pause or partition, mean", asSeconds, headline},
		{"lease_stall_seconds_p99", "99th percentile", asSeconds, inFull},
		{"leases_lost", "leases lost by living workers", asCount, ifAny},
		{"refusal_stall_seconds_mean", "stall after a refusal, mean", asSeconds, ifAny},
		{"refusal_stall_seconds_p99", "99th percentile", asSeconds, inFull},
		{"refused", "jobs refused as not understood", asCount, ifAny},
		{"other_stall_seconds_mean", "stall for other reasons, mean", asSeconds, ifAny},
		{"other_stall_seconds_p99", "99th percentile", asSeconds, inFull},
		{"withdrawn", "jobs withdrawn with a lost answer", asCount, ifAny},
		{"surplus", "surplus jobs sent back", asCount, inFull},
		{"timeouts", "timeouts", asCount, ifAny},
		{"failures", "failures", asCount, ifAny},
		{"jobs_cancelled", "jobs cancelled for good", asCount, ifAny},
	}},
	{"How interrupted jobs come back", []line{
		{"released", "handed back by their worker", asCount, ifAny},
		{"reclaimed_by_expiry", "by the end of their lease", asCount, ifAny},
	}},
	{"What jobs feel", []line{
		{"delay_seconds_per_job", "delay per job, over all jobs", asSeconds, headline},
		{"stall_share", "started jobs that stand still", asShare, headline},
		{"stall_seconds_mean", "stall, whatever the cause, mean", asSeconds, inFull},
		{"stall_seconds_p50", "median", asSeconds, inFull},
		{"stall_seconds_p90", "90th percentile", asSeconds, inFull},
		{"stall_seconds_p99", "99th percentile", asSeconds, inFull},
		{"stall_seconds_max", "longest", asSeconds, inFull},
		{"stall_held_seconds_mean", "of it held by nobody alive, mean", asSeconds, inFull},
		{"stall_undo_seconds_mean", "of it undoing, mean", asSeconds, inFull},
		{"stall_queued_seconds_mean", "of it queued, mean", asSeconds, inFull},
		{"queue_wait_seconds_p50", "wait for the first start, median", asSeconds, ifAny},
		{"queue_wait_seconds_p99", "wait for the first start, p99", asSeconds, ifAny},
	}},
	{"Work done twice", []line{
		{"redone_executions", "executions that redo work", asCount, ifAny},
		{"redone_work_seconds", "work redone", asSeconds, headline},
		{"overlapping_executions", "executions that overlap another", asRare, ifAny},
		{"overlap_seconds", "time overlapped", asSeconds, ifAny},
		{"effects_applied_twice", "unfenced effects applied twice", asRare, ifAny},
		{"executions_started", "executions started", asCount, inFull},
	}},
	{"Budgets", []line{
		{"attempts_eroded", "attempts eroded by interruptions", asRare, headline},
		{"attempts_eroded_per_job", "per job", asRatio, inFull},
		{"jobs_dead_lettered_by_interruptions", "dead-lettered by interruptions", asRare, ifAny},
		{"jobs_dead_lettered", "dead-lettered, whatever the reason", asRare, ifAny},
		{"jobs_starving", "jobs starving", asRare, ifAny},
	}},
	{"Left behind", []line{
		{"jobs_stuck", "jobs stuck", asRare, always},
		{"jobs_lost", "jobs lost", asRare, always},
		{"quarantined", "jobs quarantined", asRare, ifAny},
		{"batches_never_completed", "batches never completed", asRareBatch, ifAny},
		{"batches_completed_early", "batches completed too early", asRareBatch, ifAny},
		{"leaked", "handlers leaked", asRare, ifAny},
		{"unsettled", "claims unsettled", asRare, ifAny},
		{"superseded", "settlings superseded", asCount, inFull},
		{"acked_after_cancel", "acked after the cancel", asCount, ifAny},
	}},
	{"How workers leave", []line{
		{"exit_seconds_p50", "from SIGTERM to exit, median", asSeconds, ifAny},
		{"exit_seconds_p99", "from SIGTERM to exit, p99", asSeconds, ifAny},
		{"killed_at_grace", "workers killed at the end of the grace", asCount, ifAny},
		{"rollout_seconds", "rollout, mean", asSeconds, headline},
		{"stops", "workers stopped", asCount, inFull},
		{"rollouts", "rollouts", asCount, inFull},
	}},
	{"The run", []line{
		{"jobs_enqueued", "jobs that arrived", asCount, inFull},
		{"jobs_completed", "jobs completed", asCount, inFull},
		{"batches", "batches whose jobs were all acked", asCount, inFull},
		{"interruptions", "interruptions", asCount, inFull},
		{"events", "events simulated", asCount, inFull},
	}},
}
