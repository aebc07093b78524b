package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Kind makes job river's payload.
func (job) Kind() string { return kind }

type riverSystem struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx] // that only inserts
}

func newRiver(ctx context.Context, server string) (system, error) {
	cfg, err := pgxpool.ParseConfig(server)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 60
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &riverSystem{pool: pool, client: client}, nil
}

func (s *riverSystem) Add(ctx context.Context, jobs []job) error {
	if len(jobs) == 1 {
		_, err := s.client.Insert(ctx, jobs[0], nil)
		return err
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, j := range jobs {
		params[i].Args = j
	}
	_, err := s.client.InsertManyFast(ctx, params)
	return err
}

// Left asks for all jobs that have not ended.
func (s *riverSystem) Left(ctx context.Context) ([]int, error) {
	rows, err := s.pool.Query(ctx, "SELECT (args->>'id')::int FROM river_job WHERE state <> 'completed'")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

type riverWorker struct {
	river.WorkerDefaults[job]
	handle func(context.Context, job) error
}

func (w *riverWorker) Work(ctx context.Context, j *river.Job[job]) error {
	return w.handle(ctx, j.Args)
}

func (s *riverSystem) Work(ctx context.Context, o options, handle func(context.Context, job) error) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{handle: handle})
	cfg := &river.Config{
		Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.slots}},
	}
	if o.best {
		cfg.FetchCooldown, cfg.FetchPollInterval = time.Millisecond, 100*time.Millisecond // the least it takes
		cfg.SoftStopTimeout = o.grace - o.grace/6
		// A crash is noticed by nothing but a job's age: 1 h unless set. It must be longer than
		// any job takes, or the job runs twice.
		cfg.JobTimeout, cfg.RescueStuckJobsAfter = o.longest, o.longest
	}
	client, err := river.NewClient(riverpgxv5.New(s.pool), cfg)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}
