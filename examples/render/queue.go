package main

import (
	"context"
	"fmt"
	"time"

	"github.com/quiesce/quiesce/realworld/redis"
)

// open connects to the queue for a command that is over soon.
func open(ctx context.Context, c config) (*redis.Broker, *redis.Queue, error) {
	broker, err := redis.Open(ctx, redis.Options{URL: c.redis, Queues: c.queues()})
	if err != nil {
		return nil, nil, err
	}
	queue, err := broker.Queue(queueName)
	return broker, queue, err
}

// enqueue asks for a film of each name.
func enqueue(ctx context.Context, c config, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%w: which film? write render enqueue NAME", errUsage)
	}
	var jobs []redis.Job
	for _, name := range names {
		f := c.film
		f.Name = name
		if err := f.check(); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		job, err := f.job("film")
		if err != nil {
			return err
		}
		jobs = append(jobs, job)
	}
	broker, queue, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer broker.Close()
	added, err := queue.Enqueue(ctx, jobs...)
	for i, a := range added {
		if a.Existed {
			fmt.Printf("%s is job %d, and was asked for before\n", names[i], a.Job)
		} else {
			fmt.Printf("%s is job %d\n", names[i], a.Job)
		}
	}
	return err
}

// look prints the queue in numbers.
func look(ctx context.Context, c config) error {
	broker, queue, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer broker.Close()
	s, err := queue.Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("waiting %d (the oldest for %v), delayed %d, in progress %d, dead %d, quarantined %d\n",
		s.Ready, s.Oldest.Round(time.Second), s.Delayed, s.Claimed, s.Dead, s.Quarantined)
	fmt.Printf("so far: %d enqueued, %d done, %d handed back, %d expired, %d failed\n",
		s.Total.Enqueued, s.Total.Done, s.Total.Released, s.Total.Expired, s.Total.Failed)
	return nil
}
