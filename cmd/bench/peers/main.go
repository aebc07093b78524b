// Command peers runs foreign job queues under the measures of cmd/bench, which starts it. It
// is a module of its own, so that what the peers need is in nobody's go.mod.
//
//	peers enqueue    --system river --server postgres://… --clients 50 --jobs 20000 [--bulk 1000]
//	peers throughput --system river --server postgres://… --slots 100 --jobs 20000   of those enqueued
//	peers latency    --system asynq --server unix:/tmp/redis.sock --slots 10 --rate 100 --jobs 1000
//	peers fill       --system asynq --server … --sleeps 5s,20s,…   jobs 0, 1, … of these lengths
//	peers work       --system asynq --server … --slots 20 [--best] until it is told to stop
//	peers left       --system asynq --server …   the numbers of the jobs that are still in the queue
//	peers clients    --server … [--rounds 61]   Redis clients on the call that settles and claims
//
// All but work and clients print one JSON object; clients prints one for each size. work
// prints a line of JSON for everything that happens to a job, as it happens: a process that
// is killed must have said what it did.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// job is the payload of every job here.
type job struct {
	ID    int           `json:"id"`
	Sleep time.Duration `json:"sleep,omitempty"` // how long its handler works
	Added int64         `json:"added,omitempty"` // Unix nanoseconds
	Fill  string        `json:"fill,omitempty"`  // makes the payload as long as the others'
}

// system is a job queue.
type system interface {
	// Add enqueues jobs, in one call as far as the system has one for several.
	Add(ctx context.Context, jobs []job) error
	// Left returns the jobs that the queue still has, whatever their state.
	Left(ctx context.Context) ([]int, error)
	// Work runs handle on jobs, o.slots at once, until ctx is done, and then stops as the
	// system's documentation says.
	Work(ctx context.Context, o options, handle func(ctx context.Context, j job) error) error
}

var systems = map[string]func(ctx context.Context, server string) (system, error){
	"asynq": newAsynq,
	"river": newRiver,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
}

type options struct {
	slots, jobs, clients, bulk, rate int
	best                             bool
	grace, longest                   time.Duration // for the best settings
	sleeps                           []time.Duration
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: enqueue, throughput, latency, fill, work, left or clients")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := f.String("system", "asynq", "asynq or river")
	server := f.String("server", "", "host:port or unix:PATH of a Redis, or the URL of a Postgres")
	rounds := f.Int("rounds", 61, "rounds of which the median counts")
	sleeps := f.String("sleeps", "", "lengths of the jobs, by comma")
	var o options
	f.IntVar(&o.slots, "slots", 10, "jobs at once")
	f.IntVar(&o.jobs, "jobs", 10_000, "how many jobs")
	f.IntVar(&o.clients, "clients", 1, "how many enqueue at once")
	f.IntVar(&o.bulk, "bulk", 1, "jobs in one call")
	f.IntVar(&o.rate, "rate", 100, "jobs a second")
	f.BoolVar(&o.best, "best", false, "the best public settings, not the defaults")
	f.DurationVar(&o.longest, "longest", time.Minute, "no job works for longer, for the best settings")
	f.DurationVar(&o.grace, "grace", 30*time.Second, "the supervisor's, for the best settings")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	for _, text := range strings.FieldsFunc(*sleeps, func(r rune) bool { return r == ',' }) {
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		o.sleeps = append(o.sleeps, d)
	}
	if args[0] == "clients" {
		return clients(context.Background(), *server, *rounds)
	}
	open, ok := systems[*name]
	if !ok {
		return fmt.Errorf("system %q is not known; write asynq or river", *name)
	}
	ctx := context.Background()
	s, err := open(ctx, *server)
	if err != nil {
		return err
	}
	switch args[0] {
	case "throughput":
		return throughput(ctx, s, o)
	case "enqueue":
		return enqueue(ctx, s, o)
	case "latency":
		return latency(ctx, s, o)
	case "fill":
		return fill(ctx, s, o)
	case "work":
		return work(s, o)
	case "left":
		return left(ctx, s)
	}
	return fmt.Errorf("%q is not known; write enqueue, throughput, latency, fill, work, left or clients", args[0])
}

func print(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
