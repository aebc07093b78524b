package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

const kind = "job"

type asynqSystem struct {
	redis  asynq.RedisClientOpt
	client *asynq.Client
}

func newAsynq(_ context.Context, server string) (system, error) {
	o := asynq.RedisClientOpt{Addr: server, PoolSize: 60}
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		o.Network, o.Addr = "unix", path
	}
	return &asynqSystem{redis: o, client: asynq.NewClient(o)}, nil
}

// Add has one call per job: asynq has none for several.
func (s *asynqSystem) Add(ctx context.Context, jobs []job) error {
	for _, j := range jobs {
		payload, err := json.Marshal(j)
		if err != nil {
			return err
		}
		if _, err := s.client.EnqueueContext(ctx, asynq.NewTask(kind, payload)); err != nil {
			return err
		}
	}
	return nil
}

// Left looks at every list of the queue. A page is as long as the longest queue here.
func (s *asynqSystem) Left(context.Context) ([]int, error) {
	look := asynq.NewInspector(s.redis)
	defer look.Close()
	var all []int
	page := asynq.PageSize(100_000)
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		look.ListPendingTasks, look.ListActiveTasks, look.ListScheduledTasks, look.ListRetryTasks, look.ListArchivedTasks,
	} {
		tasks, err := list("default", page)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			var j job
			if err := json.Unmarshal(t.Payload, &j); err != nil {
				return nil, err
			}
			all = append(all, j.ID)
		}
	}
	return all, nil
}

func (s *asynqSystem) Work(ctx context.Context, o options, handle func(context.Context, job) error) error {
	cfg := asynq.Config{Concurrency: o.slots, LogLevel: asynq.FatalLevel}
	if o.best {
		// ShutdownTimeout: 8 s unless set; whatever runs then is put back, not cancelled.
		// Retries of what was interrupted come at once and not after the usual backoff.
		cfg.ShutdownTimeout = o.grace - o.grace/6
		cfg.TaskCheckInterval = time.Millisecond // 1 s unless set: how long an idle worker sleeps
		cfg.DelayedTaskCheckInterval = time.Second
		cfg.RetryDelayFunc = func(int, error, *asynq.Task) time.Duration { return 0 }
	}
	server := asynq.NewServer(s.redis, cfg)
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		var j job
		if err := json.Unmarshal(t.Payload(), &j); err != nil {
			return err
		}
		return handle(ctx, j)
	}))
	if err != nil {
		return err
	}
	<-ctx.Done()
	server.Shutdown()
	return nil
}
