package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/guard"
	"github.com/quiesce/quiesce/realworld/redis"
)

// sleepJob is the payload of a job that works for a while.
type sleepJob struct {
	ID    int           `json:"id"`
	Sleep time.Duration `json:"sleep"`
}

// workerOptions are those of a worker process that bench drain starts.
type workerOptions struct {
	server     string
	slots      int
	lease      time.Duration // 0 is the queue's default
	grace      time.Duration
	generation uint32
}

// flags are the arguments of a worker process.
func (o workerOptions) flags() []string {
	return []string{"--server", o.server, "--slots", strconv.Itoa(o.slots), "--lease", o.lease.String(),
		"--grace", o.grace.String(), "--generation", strconv.Itoa(int(o.generation))}
}

func (o workerOptions) queues() []redis.QueueConfig {
	return []redis.QueueConfig{{Name: queueName, Lease: o.lease}}
}

// workCommand is a worker process: it says what happens to jobs as peers work does.
func workCommand(out output) *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{Use: "work", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return work(cmd.Context(), o, out)
	}}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "URL of the Redis")
	f.IntVar(&o.slots, "slots", 1, "jobs at once")
	f.DurationVar(&o.lease, "lease", 0, "of a claim")
	f.DurationVar(&o.grace, "grace", 30*time.Second, "the supervisor's")
	f.Uint32Var(&o.generation, "generation", 0, "of the code")
	return cmd
}

func work(ctx context.Context, o workerOptions, out output) error {
	b, err := redis.Open(ctx, redis.Options{URL: o.server, Queues: o.queues()})
	if err != nil {
		return err
	}
	defer b.Close()
	telling, err := guard.Tell(o.queues())
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(what string, j sleepJob) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(out.stdout).Encode(occurrence{what, j.ID, os.Getpid(), time.Now().UnixNano()}) // nobody else is there to be told
	}
	mux := worker.NewMux()
	mux.Handle(kind, func(ctx context.Context, job *worker.Job) error {
		var j sleepJob
		if err := json.Unmarshal(job.Payload, &j); err != nil {
			return err
		}
		say("started", j)
		end := time.NewTimer(j.Sleep)
		defer end.Stop()
		select {
		case <-ctx.Done():
			say("interrupted", j)
			return context.Cause(ctx)
		case <-end.C:
			say("finished", j)
			return nil
		}
	})
	w, err := worker.New(b, mux, worker.Options{
		Seat: fmt.Sprint("bench/", o.generation), Generation: o.generation, Slots: o.slots, Grace: o.grace, Lease: o.lease,
		Logger: slog.New(slog.NewTextHandler(out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Observers: []worker.Observer{telling},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx, realworld.Signals())
}

// guardCommand is a guard that stands by a worker process, as simulate guard does.
func guardCommand() *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{Use: "guard", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
		status, err := guard.Run(guard.Options{Command: args, Release: func(ctx context.Context, dead guard.Life) (int, error) {
			b, err := redis.Open(ctx, redis.Options{URL: o.server, Queues: o.queues()})
			if err != nil {
				return 0, err
			}
			defer b.Close()
			return b.Abandon(ctx, dead.Incarnation, dead.Queue)
		}})
		if err == nil && status != 0 {
			err = errors.New("the worker ended with status " + strconv.Itoa(status))
		}
		return err
	}}
	cmd.Flags().StringVar(&o.server, "server", "", "URL of the Redis")
	return cmd
}
