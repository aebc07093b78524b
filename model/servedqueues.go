package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// servedQueues are the systems with a server of their own between the workers and the jobs.
var servedQueues = []QueuePreset{
	{
		Preset: Preset{
			Name: "temporal", About: "cancels at once and reports it; the server's timeouts bring back the rest, as a further attempt",
			Policy: protocol.Policy{OnStop: protocol.CancelOnStop}, Rescue: RescueByExpiry,
			Deviations: unsaid.With(deviation.InterruptionFails),
		},
		Source: "temporalio/sdk-go (2026-08-21): internal/internal_worker_base.go, internal_task_pollers.go, internal_task_handlers.go, internal_worker.go",
		set: func(q *Queue) {
			// The heartbeat timeout is the user's; 30 s is where the SDK's throttle stands without
			// one, and beats are sent at 80% of it.
			q.Lease, q.Heartbeat = 30*protocol.Second, 24*protocol.Second
			q.ExpiryFails, q.MaxFailures = true, 0                                         // attempts without limit
			q.Backoff = protocol.Backoff{Min: protocol.Second, Max: 100 * protocol.Second} // the server's default retry policy
		},
	},
	{
		Preset: Preset{
			Name: "faktory", About: "cancels after 25 s, then waits without limit; an interrupted handler is a failure, and so is an expired reservation",
			// The tail of an hour outlives every supervisor.
			Policy: waitsThenStops(25*protocol.Second, protocol.Hour), Reserve: 2 * protocol.Hour,
			Rescue: RescueBySweep, Deviations: trusting.With(deviation.InterruptionFails).With(deviation.SettleUnfenced), // ACK and FAIL carry a job id alone
		},
		Source: "contribsys/faktory (2026-06-30): manager/working.go, server/workers.go, server/task_runner.go; contribsys/faktory_worker_go (2025-09-22): manager.go, runner.go",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 30*protocol.Minute, NoHeartbeat // reserve_for 1800 s; BEAT keeps the worker, not the job
			q.SweepPeriod, q.SweepSlack = 15*protocol.Second, 0
			q.ExpiryFails, q.MaxFailures = true, 26 // 25 retries
			sidekiqBackoff(q)                       // the same formula (manager/retry.go)
			q.Park = 2 * protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "shoryuken", About: "SQS: TERM waits 8 s, then kills; messages that arrive after it stay invisible",
			Policy: dying(returning(waitsThenStops(8*protocol.Second, atOnce))), Reserve: 2 * atOnce,
			Rescue: RescueByExpiry, Deviations: trusting.With(deviation.LateClaimDropped),
		},
		Source: "ruby-shoryuken/shoryuken: lib/shoryuken/launcher.rb, runner.rb, options.rb; SQS documentation",
		set:    sqs,
	},
	{
		Preset: Preset{
			Name: "sqs-consumer", About: "SQS: stop returns at once and the process leaves; nothing is made visible again",
			Policy: protocol.Policy{OnStop: protocol.DieOnStop}, Rescue: RescueByExpiry, Deviations: trusting,
		},
		Source: "bbc/sqs-consumer: src/consumer.ts; SQS documentation",
		set:    sqs,
	},
}

// sqs is Amazon's queue with its defaults: visibility 30 s, long poll up to 20 s. Extending
// the visibility is an option of both clients that is off. The receive count drives the
// dead-letter queue, which is the user's to configure.
func sqs(q *Queue) {
	q.Lease, q.Heartbeat = 30*protocol.Second, NoHeartbeat
	q.Park = 20 * protocol.Second
	q.CountAtClaim = true
	q.MaxFailures = 0 // a failed message comes back when its visibility ends; only receives are counted
}
