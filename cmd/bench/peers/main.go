// Command peers runs foreign job queues under the measures of cmd/bench, which starts it. It
// is a module of its own, so that what the peers need is in nobody's go.mod.
//
//	peers throughput --system asynq --server unix:/tmp/redis.sock --slots 100 --jobs 50000
//	peers enqueue    --system river --server postgres://… --clients 50 --jobs 20000 [--bulk 1000]
//	peers latency    --system asynq --server … --slots 10 --rate 100 --jobs 1000
//	peers fill       --system asynq --server … --sleeps 5s,20s,…   jobs 0, 1, … of these lengths
//	peers clients    --server … [--rounds 61]   Redis clients on the call that settles and claims
//	peers work       --system asynq --server … --slots 20 [--best] until it is told to stop
//
// The first three print one JSON object, clients a line for each size. work prints a line of JSON for everything that
// happens to a job, as it happens: a process that is killed must have said what it did.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// job is the payload of every job here.
type job struct {
	ID    int           `json:"id"`
	Sleep time.Duration `json:"sleep,omitempty"` // how long its handler works
	Added int64         `json:"added,omitempty"` // Unix nanoseconds
}

// system is a job queue.
type system interface {
	// Add enqueues jobs, in one call as far as the system has one for several.
	Add(ctx context.Context, jobs []job) error
	// Work runs handle on jobs, slots at once, until ctx is done, and then stops as the
	// system's documentation says. best takes the best of its public settings, not the
	// defaults; grace is what they may be set to.
	Work(ctx context.Context, slots int, best bool, grace time.Duration, handle func(ctx context.Context, j job) error) error
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
	grace                            time.Duration
	sleeps                           []time.Duration
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to measure: throughput, enqueue, latency, fill, clients or work")
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
	}
	return fmt.Errorf("%q cannot be measured; write throughput, enqueue, latency, fill, clients or work", args[0])
}

func print(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

type rate struct {
	Jobs      int     `json:"jobs"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

func since(began time.Time, jobs int) rate {
	took := time.Since(began).Seconds()
	return rate{Jobs: jobs, Seconds: took, PerSecond: float64(jobs) / took}
}

// throughput enqueues no-op jobs and measures from the first start of one to the last end.
func throughput(ctx context.Context, s system, o options) error {
	if err := addAll(ctx, s, o.jobs, 50, 1000); err != nil {
		return err
	}
	var (
		done    atomic.Int64
		first   sync.Once
		began   time.Time
		allDone = make(chan struct{})
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan error, 1)
	go func() {
		stopped <- s.Work(ctx, o.slots, true, time.Minute, func(context.Context, job) error {
			first.Do(func() { began = time.Now() })
			if done.Add(1) == int64(o.jobs) {
				close(allDone)
			}
			return nil
		})
	}()
	select {
	case err := <-stopped:
		return fmt.Errorf("stopped before all jobs were done: %w", err)
	case <-allDone:
	}
	r := since(began, o.jobs)
	cancel()
	<-stopped
	return print(r)
}

func enqueue(ctx context.Context, s system, o options) error {
	began := time.Now()
	if err := addAll(ctx, s, o.jobs, o.clients, o.bulk); err != nil {
		return err
	}
	return print(since(began, o.jobs))
}

// addAll enqueues no-op jobs by several clients at once, bulk in a call.
func addAll(ctx context.Context, s system, n, clients, bulk int) error {
	var next atomic.Int64
	errs := make(chan error, clients)
	for range clients {
		go func() {
			for {
				from := int(next.Add(int64(bulk))) - bulk
				if from >= n {
					errs <- nil
					return
				}
				jobs := make([]job, min(bulk, n-from))
				for i := range jobs {
					jobs[i].ID = from + i
				}
				if err := s.Add(ctx, jobs); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var err error
	for range clients {
		err = errors.Join(err, <-errs)
	}
	return err
}

// latency enqueues jobs at a steady rate and measures how long each takes to start.
func latency(ctx context.Context, s system, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waits := make(chan time.Duration, o.jobs)
	stopped := make(chan error, 1)
	go func() {
		stopped <- s.Work(ctx, o.slots, true, time.Minute, func(_ context.Context, j job) error {
			waits <- time.Duration(time.Now().UnixNano() - j.Added)
			return nil
		})
	}()
	time.Sleep(2 * time.Second) // for the workers to be up
	tick := time.NewTicker(time.Second / time.Duration(o.rate))
	defer tick.Stop()
	for i := range o.jobs {
		<-tick.C
		if err := s.Add(ctx, []job{{ID: i, Added: time.Now().UnixNano()}}); err != nil {
			return err
		}
	}
	all := make([]time.Duration, o.jobs)
	for i := range all {
		all[i] = <-waits
	}
	cancel()
	<-stopped
	slices.Sort(all)
	return print(map[string]any{"jobs": o.jobs, "p50_ms": milliseconds(all[len(all)/2]), "p99_ms": milliseconds(all[len(all)*99/100])})
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func fill(ctx context.Context, s system, o options) error {
	jobs := make([]job, len(o.sleeps))
	for i, d := range o.sleeps {
		jobs[i] = job{ID: i, Sleep: d}
	}
	return s.Add(ctx, jobs)
}

// work runs jobs that sleep, looks for a cancel every 10 ms, and says what happens.
func work(s system, o options) error {
	ctx, stop := stopSignals()
	defer stop()
	var mu sync.Mutex
	say := func(what string, j job) {
		mu.Lock()
		defer mu.Unlock()
		print(map[string]any{"event": what, "job": j.ID, "pid": os.Getpid(), "at": time.Now().UnixNano()})
	}
	err := s.Work(ctx, o.slots, o.best, o.grace, func(ctx context.Context, j job) error {
		say("started", j)
		for end := time.Now().Add(j.Sleep); time.Now().Before(end); {
			select {
			case <-ctx.Done():
				say("interrupted", j)
				return context.Cause(ctx)
			case <-time.After(min(10*time.Millisecond, time.Until(end))):
			}
		}
		say("finished", j)
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers: stopping:", err) // some say so when they are cut short
	}
	return nil
}
