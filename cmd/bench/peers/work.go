package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

func fill(ctx context.Context, s system, o options) error {
	jobs := make([]job, len(o.sleeps))
	for i, d := range o.sleeps {
		jobs[i] = job{ID: i, Sleep: d}
	}
	return s.Add(ctx, jobs)
}

// work runs jobs that sleep, notices a cancel at once, and says what happens.
func work(s system, o options) error {
	ctx, stop := stopSignals()
	defer stop()
	var mu sync.Mutex
	say := func(what string, j job) {
		mu.Lock()
		defer mu.Unlock()
		print(map[string]any{"event": what, "job": j.ID, "pid": os.Getpid(), "at": time.Now().UnixNano()})
	}
	err := s.Work(ctx, o, func(ctx context.Context, j job) error {
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
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers: stopping:", err) // some say so when they are cut short
	}
	return nil
}

func left(ctx context.Context, s system) error {
	jobs, err := s.Left(ctx)
	if err != nil {
		return err
	}
	return print(map[string][]int{"left": jobs})
}
