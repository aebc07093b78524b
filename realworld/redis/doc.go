// Package redis is a job queue on Redis 7 for workers of package worker, and what is needed
// around it: adding jobs, looking at them, cancelling them.
//
//	broker, err := redis.Open(ctx, redis.Options{
//		URL:    "redis://localhost:6379",
//		Queues: []redis.QueueConfig{{Name: "default"}},
//	})
//	queue, err := broker.Queue("default")
//	added, err := queue.Enqueue(ctx, redis.Job{Kind: "render", Version: 1, Payload: payload})
//	w, err := worker.New(broker, mux, worker.Options{Slots: 10, Grace: 30 * time.Second})
//
// It answers as package model's reference broker does, which the conformance kit of package
// model/brokertest checks. Every operation is one script that runs atomically on Redis's own
// clock, on keys of one hash slot; a script carries a batch. docs/redis.md describes keys,
// scripts, costs, permissions and what holds under which fault.
//
// Where the reference broker hands a job to a request that waits, this one wakes the request
// and lets it ask again; so nothing is handed to a worker that has died while it waited.
package redis
