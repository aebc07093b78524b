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

func (s *asynqSystem) Work(ctx context.Context, slots int, best bool, grace time.Duration, handle func(context.Context, job) error) error {
	cfg := asynq.Config{Concurrency: slots, LogLevel: asynq.FatalLevel}
	if best {
		// ShutdownTimeout: 8 s unless set; whatever runs then is put back, not cancelled.
		// Retries of what was interrupted come at once and not after the usual backoff.
		cfg.ShutdownTimeout = grace - grace/6
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
