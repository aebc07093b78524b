package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// jobQueue is a job queue that is measured.
type jobQueue interface {
	// empty begins anew: nothing is enqueued and nothing else runs.
	empty(ctx context.Context) error
	// enqueue adds jobs with a payload of about 100 bytes that do nothing.
	enqueue(ctx context.Context, how way, jobs int) (rate, error)
	// work runs so many jobs that are enqueued, slots at once, from the first start to the
	// last end.
	work(ctx context.Context, slots, jobs int) (rate, error)
	// latency enqueues so many jobs at a steady rate, and measures how long each takes to
	// start in a worker of 10 slots.
	latency(ctx context.Context, perSecond, jobs int) (waits, error)
	// used is what the queue's server has used and done.
	used(ctx context.Context) (usage, error)
}

// usage is what a server has used and done. What is not known is 0.
type usage struct {
	cpu   time.Duration
	calls float64 // of scripts
}

// way is how jobs are enqueued.
type way struct{ clients, bulk int }

// rate is what jobs cost.
type rate struct {
	PerSecond float64 `json:"jobs_per_second"`
	ServerCPU float64 `json:"server_cpu_us_per_job,omitempty"`
	ClientCPU float64 `json:"client_cpu_us_per_job"`
	PerCall   float64 `json:"jobs_per_script_call,omitempty"`
}

// waits are quantiles of a latency.
type waits struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

func quantiles(all []time.Duration) waits {
	slices.Sort(all)
	return waits{milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100])}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// latencySlots is how many slots the worker has whose latency is measured.
const latencySlots = 10

// costs measures the server's part of f's costs.
func costs(ctx context.Context, q jobQueue, jobs int, f func() (rate, error)) (rate, error) {
	before, err := q.used(ctx)
	if err != nil {
		return rate{}, err
	}
	r, err := f()
	if err != nil {
		return rate{}, err
	}
	after, err := q.used(ctx)
	r.ServerCPU = (after.cpu - before.cpu).Seconds() * 1e6 / float64(jobs)
	if calls := after.calls - before.calls; calls > 0 {
		r.PerCall = float64(jobs) / calls
	}
	return r, err
}

// asynqQueue is asynq on the Redis that the others have.
type asynqQueue struct {
	peerQueue
	server *redisServer
}

func (q asynqQueue) empty(ctx context.Context) error { return q.server.empty(ctx) }

func (q asynqQueue) used(ctx context.Context) (usage, error) { return q.server.used(ctx) }

// riverQueue is river on a Postgres.
type riverQueue struct {
	peerQueue
	server *postgres
}

// empty takes a new database: river keeps what has ended for a day.
func (q *riverQueue) empty(ctx context.Context) (err error) {
	if q.peer.server, err = q.server.fresh(ctx); err != nil {
		return err
	}
	return q.peer.ask(ctx, nil, "left") // which makes its tables
}

func (q *riverQueue) used(context.Context) (usage, error) { return usage{cpu: q.server.cpu()}, nil }

// peerQueue is a foreign queue, in a process of its own.
type peerQueue struct{ peer peer }

func (q peerQueue) enqueue(ctx context.Context, how way, jobs int) (r rate, err error) {
	return r, q.peer.ask(ctx, &r, "enqueue", numbers("clients", how.clients, "bulk", how.bulk, "jobs", jobs)...)
}

func (q peerQueue) work(ctx context.Context, slots, jobs int) (r rate, err error) {
	return r, q.peer.ask(ctx, &r, "throughput", numbers("slots", slots, "jobs", jobs)...)
}

func (q peerQueue) latency(ctx context.Context, perSecond, jobs int) (w waits, err error) {
	return w, q.peer.ask(ctx, &w, "latency", numbers("slots", latencySlots, "rate", perSecond, "jobs", jobs)...)
}

// numbers makes flags of names and numbers in turn.
func numbers(pairs ...any) []string {
	var flags []string
	for i := 0; i < len(pairs); i += 2 {
		flags = append(flags, fmt.Sprintf("--%s=%s", pairs[i], strconv.Itoa(pairs[i+1].(int))))
	}
	return flags
}
