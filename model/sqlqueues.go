package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// sqlQueues are the systems that keep their jobs in a SQL database.
var sqlQueues = []QueuePreset{
	{
		Preset: Preset{
			Name: "river", About: "waits without limit, without any lease; rescued an hour after the start",
			Policy: waitsForever, Rescue: RescueBySweep,
			Deviations: trusting.With(deviation.SettleUnfenced), // a finish compares no attempt and no claimer
		},
		Source: "riverqueue/river (2026-08-07): client.go, producer.go, internal/maintenance/job_rescuer.go, riverdriver/.../river_job.sql; pull 1290",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = protocol.Hour, NoHeartbeat   // RescueStuckJobsAfter, counted from the start
			q.SweepPeriod, q.SweepSlack = 30*protocol.Second, 0 // the rescuer's interval, on the leader
			q.CountAtClaim, q.MaxAttempts = true, 25
			q.ReleaseRestores = true // since pull 1290
			q.Park = protocol.Second // FetchPollInterval
		},
	},
	{
		Preset: Preset{
			Name: "oban", About: "waits 15 s, then its jobs are killed and stay executing; Lifeline rescues them an hour after the start",
			Policy: dying(returning(waitsThenStops(15*protocol.Second, atOnce))), Reserve: 2 * atOnce,
			Rescue: RescueBySweep, Deviations: trusting.With(deviation.SettleUnfenced), // writes go by job id
		},
		Source: "oban-bg/oban (2026-08-18): lib/oban/config.ex, queues/producer.ex, queues/watchman.ex, lifeline.ex, engines/basic.ex",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = protocol.Hour, NoHeartbeat // rescue_after, 60 min from the start
			q.SweepPeriod, q.SweepSlack = protocol.Minute, 0
			q.CountAtClaim, q.MaxAttempts = true, 20
			q.Park = protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "pg-boss", About: "waits 30 s, then fails the jobs that run and aborts them; each spends one of two retries",
			Policy: waitsThenStops(30*protocol.Second, 500*protocol.Millisecond), Reserve: protocol.Second, // closing the pool; the half second is ours
			Rescue:     RescueBySweep,
			Deviations: trusting.With(deviation.ReleaseBeforeReturn).With(deviation.InterruptionFails), // fail precedes abort
		},
		Source: "timgit/pg-boss (2026-08-03): src/index.ts, manager.ts, worker.ts, boss.ts, attorney.ts, plans.ts; pull 673",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 15*protocol.Minute, NoHeartbeat // expireInSeconds 900; heartbeats are an option
			q.SweepPeriod, q.SweepSlack = protocol.Minute, 0
			q.ExpiryFails, q.MaxFailures = true, 3 // retryLimit 2
			q.Backoff = protocol.Backoff{}         // retryDelay 0
			q.Park = 2 * protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "good-job", About: "waits without limit; the lock of a dead worker ends with its database session",
			Policy: waitsForever, Rescue: RescueByExpiry, Deviations: trusting,
		},
		Source: "bensheldon/good_job (2026-07-19): lib/good_job/cli.rb, scheduler.rb, configuration.rb, app/models/good_job/job.rb",
		set: func(q *Queue) {
			// A session that is not closed lives until TCP gives it up: two hours of keepalive and
			// nine probes of 75 s (Linux, tcp(7)). As long as it lives it holds its locks.
			q.Lease, q.Heartbeat = 2*protocol.Hour+9*75*protocol.Second, 75*protocol.Second
			q.FreedByHangup = true
			q.Park, q.Poll = NoLongPoll, 10*protocol.Second // poll_interval
		},
	},
	{
		Preset: Preset{
			Name: "solid-queue", About: "waits 5 s, then deregisters, which releases its claims; a job whose process crashed is failed, not retried",
			Policy: returning(waitsThenStops(5*protocol.Second, atOnce)), Reserve: 2 * atOnce, // the supervisor's QUIT, after the same 5 s, ends the process
			Rescue: RescueBySweep, Deviations: unsaid.With(deviation.ReleaseBeforeReturn),
		},
		Source: "rails/solid_queue (2026-07-24): lib/solid_queue/supervisor.rb, worker.rb, pool.rb, processes/registrable.rb, app/models/solid_queue/process/prunable.rb",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 5*protocol.Minute, protocol.Minute // process_alive_threshold, process_heartbeat_interval
			q.SweepPeriod, q.SweepSlack = 5*protocol.Minute, 0
			q.OnExpiry = BuryExpired
			q.Park = protocol.Second // it polls every 0.1 s, which is a waiting claim as far as a stall is concerned
		},
	},
	{
		Preset: Preset{
			Name: "graphile", About: "waits 5 s, then aborts the jobs and fails them; a crash holds the lock for four hours",
			Policy: waitsThenStops(5*protocol.Second, 5*protocol.Second), Reserve: 10 * protocol.Second, // the tail is ours
			Rescue: RescueBySweep, Deviations: trusting.With(deviation.InterruptionFails),
		},
		Source: "graphile/worker (2026-07-08): src/main.ts, src/config.ts, src/sql/resetLockedAt.ts, website/docs/pro/recovery.md",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 4*protocol.Hour, NoHeartbeat
			q.SweepPeriod, q.SweepSlack = 10*protocol.Minute, 0 // every 8 to 10 min at random; the longest
			q.CountAtClaim, q.MaxAttempts = true, 25
			q.Park = 2 * protocol.Second // pollInterval
		},
	},
}
