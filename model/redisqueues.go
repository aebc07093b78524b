package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// sidekiqBackoff is the wait after a failure of Sidekiq and of those that took it over: 15 s
// and a random part of up to 29 s the first time (sidekiq/sidekiq lib/sidekiq/job_retry.rb).
// Theirs grows with the fourth power of the failures, ours doubles: only the first is exact.
func sidekiqBackoff(q *Queue) {
	q.Backoff = protocol.Backoff{Min: 15 * protocol.Second, Max: 4 * 24 * protocol.Hour}
	q.BackoffSpread = 29 * protocol.Second
}

// redisQueues are the systems that keep their jobs in Redis.
var redisQueues = []QueuePreset{
	{
		Preset: Preset{
			Name: "asynq", About: "waits 8 s and requeues before it cancels; an expired lease is a retry with backoff",
			Policy: waitsThenStops(8*protocol.Second, 500*protocol.Millisecond), Reserve: protocol.Second, // after the abort the rest of the shutdown; the half second is ours
			Rescue: RescueBySweep, Deviations: unsaid.With(deviation.ReleaseBeforeReturn),
		},
		Source: "hibiken/asynq (2026-05-14): server.go, processor.go, heartbeat.go, recoverer.go, forwarder.go, internal/rdb/rdb.go",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 30*protocol.Second, 5*protocol.Second // internal/base/base.go, heartbeat.go
			q.SweepPeriod, q.SweepSlack = protocol.Minute, 30*protocol.Second
			q.Park = protocol.Second // an empty queue is polled once a second (processor.go)
			q.ExpiryFails, q.MaxFailures = true, 26
			sidekiqBackoff(q) // the same formula (server.go, DefaultRetryDelayFunc)
			q.MoverPeriod = 5 * protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "sidekiq", About: "waits 25 s, pushes back what still runs and then kills it; claiming deletes a job, so SIGKILL loses it",
			Policy: returning(waitsThenStops(25*protocol.Second, 3*protocol.Second)), Reserve: 6 * protocol.Second, // 3 s for ensure blocks
			Rescue: LostWithHolder, Deviations: trusting.With(deviation.ReleaseBeforeReturn),
		},
		Source: "sidekiq/sidekiq (2026-08-17): lib/sidekiq/config.rb, manager.rb, fetch.rb, processor.rb, job_retry.rb",
		set: func(q *Queue) {
			q.Heartbeat = NoHeartbeat
			q.Park = 2 * protocol.Second // a blocking pop (fetch.rb)
			q.MaxFailures = 26           // 25 retries
			sidekiqBackoff(q)
		},
	},
	{
		Preset: Preset{
			Name: "sidekiq-pro", About: "sidekiq with super_fetch: a dead process's private list is found at the boot of another, at most hourly",
			Policy: returning(waitsThenStops(25*protocol.Second, 3*protocol.Second)), Reserve: 6 * protocol.Second,
			Rescue: RescueBySweep, Deviations: trusting.With(deviation.ReleaseBeforeReturn),
		},
		Source: "sidekiq/sidekiq Pro-Changes.md and Ent-Changes.md (closed source); issues 3273, 3196",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = protocol.Minute, 10*protocol.Second // the process's beat and its key (issue 3196)
			q.SweepPeriod, q.SweepAtBoot = protocol.Hour, true         // issue 3273
			q.Park = 2 * protocol.Second
			q.Poison = 3 // poison pills are recognised and killed; the number is our reading of Pro-Changes.md
			q.MaxFailures = 26
			sidekiqBackoff(q)
		},
	},
	{
		Preset: Preset{
			Name: "bullmq", About: "waits without limit, hands nothing back; a second stall fails the job for good",
			Policy: waitsForever, Rescue: RescueBySweep, Deviations: trusting, // a failed renewal is an event, not a cancel
		},
		Source: "taskforcesh/bullmq (2026-08-21): src/classes/worker.ts, lock-manager.ts, src/commands/moveStalledJobsToWait-9.lua",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 30*protocol.Second, 15*protocol.Second // lockDuration, lockRenewTime (worker.ts)
			q.SweepPeriod, q.SweepSlack = 30*protocol.Second, 0           // stalledInterval
			q.Park = 5 * protocol.Second                                  // drainDelay
			q.Poison = 2                                                  // maxStalledCount 1: the second stall is one too many
		},
	},
	{
		Preset: Preset{
			Name: "celery", About: "late acks on Redis: a warm shutdown without limit, over an hour of visibility that nothing renews",
			Policy: waitsForever, Rescue: RescueBySweep, Deviations: trusting,
		},
		Source: "celery/celery (2026-08-08): celery/apps/worker.py, celery/worker/worker.py; celery/kombu transport/redis.py, transport/virtual/base.py",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = protocol.Hour, NoHeartbeat    // visibility_timeout 3600 s
			q.SweepPeriod, q.SweepSlack = 100*protocol.Second, 0 // every 10 s, one time in 10 (kombu transport/redis.py)
			q.Park = protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "celery-early-ack", About: "celery's default: a task is acknowledged before it runs, so SIGKILL loses it",
			Policy: waitsForever, Rescue: LostWithHolder, Deviations: trusting,
		},
		Source: "celery/celery (2026-08-08): celery/worker/worker.py, docs/userguide/workers.rst",
		set: func(q *Queue) {
			q.Heartbeat = NoHeartbeat
			q.Park = protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "machinery", About: "waits without limit; claiming deletes a job, so SIGKILL loses it",
			Policy: waitsForever, Rescue: LostWithHolder, Deviations: trusting,
		},
		Source: "RichardKnop/machinery (2025-11-15): v1/worker.go, v1/brokers/redis/goredis.go",
		set: func(q *Queue) {
			q.Heartbeat = NoHeartbeat
			q.Park = protocol.Second
		},
	},
	{
		Preset: Preset{
			Name: "rq", About: "waits without limit; a job whose worker vanished is moved to the failed registry",
			Policy: waitsForever, Rescue: RescueBySweep, Deviations: trusting,
		},
		Source: "rq/rq (2026-08-02): rq/worker/base.py, rq/defaults.py",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 90*protocol.Second, 30*protocol.Second // interval 30 s, and 60 s more
			q.SweepPeriod, q.SweepSlack = 10*protocol.Minute, 0           // DEFAULT_MAINTENANCE_TASK_INTERVAL
			q.OnExpiry = BuryExpired                                      // without a Retry policy
		},
	},
	{
		Preset: Preset{
			Name: "dramatiq", About: "waits 600 s, far beyond any grace; requeues what it had only prefetched",
			Policy: dying(returning(waitsThenStops(10*protocol.Minute, atOnce))), Reserve: 2 * atOnce,
			Rescue: RescueBySweep, Deviations: trusting,
		},
		Source: "Bogdanp/dramatiq (2026-08-13): dramatiq/worker.py, cli.py, brokers/redis.py, middleware/shutdown.py",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = protocol.Minute, protocol.Second // heartbeat_timeout 60 s; every command is a beat, about one a second
			q.SweepPeriod, q.SweepSlack = protocol.Minute, 0        // one command in a thousand: about a minute for seventeen workers, our estimate
			q.Park = protocol.Second
			q.MaxFailures = 21 // 20 retries
		},
	},
	{
		Preset: Preset{
			Name: "arq", About: "cancels at once and runs the job again; every pickup spends one of five tries",
			Policy: protocol.Policy{OnStop: protocol.CancelOnStop, LateClaim: protocol.RunLateClaim, Deadline: protocol.NoDeadline},
			Rescue: RescueByExpiry, Deviations: trusting,
		},
		Source: "python-arq/arq (2024-08-29): arq/worker.py",
		set: func(q *Queue) {
			q.Lease, q.Heartbeat = 310*protocol.Second, NoHeartbeat // the in-progress key: the longest job timeout, 300 s, and 10 s
			q.CountAtClaim, q.MaxAttempts = true, 5
			q.Park = protocol.Second // it polls every 0.5 s, which is a waiting claim as far as a stall is concerned
		},
	},
}
