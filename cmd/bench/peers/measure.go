package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// payloadBytes is about how long the payload of a no-op job is.
const payloadBytes = 100

type rate struct {
	Jobs          int     `json:"jobs"`
	PerSecond     float64 `json:"jobs_per_second"`
	ClientCPUPerJ float64 `json:"client_cpu_us_per_job"` // of this process
}

// meter measures from its making.
type meter struct {
	began time.Time
	used  time.Duration
}

func start() meter { return meter{time.Now(), ownCPU()} }

func (m meter) rate(jobs int) rate {
	took, used := time.Since(m.began), ownCPU()-m.used
	return rate{Jobs: jobs, PerSecond: float64(jobs) / took.Seconds(), ClientCPUPerJ: used.Seconds() * 1e6 / float64(jobs)}
}

// throughput works off jobs that were enqueued before. It measures from the first start of
// one to the last end.
func throughput(ctx context.Context, s system, o options) error {
	var (
		done    atomic.Int64
		first   sync.Once
		began   meter
		allDone = make(chan struct{})
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan error, 1)
	o.best = true
	go func() {
		stopped <- s.Work(ctx, o, func(context.Context, job) error {
			first.Do(func() { began = start() })
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
	r := began.rate(o.jobs)
	cancel()
	<-stopped
	return print(r)
}

// enqueue adds no-op jobs by several clients at once, o.bulk in a call.
func enqueue(ctx context.Context, s system, o options) error {
	var next atomic.Int64
	errs := make(chan error, o.clients)
	began := start()
	for range o.clients {
		go func() {
			for {
				from := int(next.Add(int64(o.bulk))) - o.bulk
				if from >= o.jobs {
					errs <- nil
					return
				}
				jobs := make([]job, min(o.bulk, o.jobs-from))
				for i := range jobs {
					jobs[i] = job{ID: from + i, Fill: strings.Repeat("x", payloadBytes-24)}
				}
				if err := s.Add(ctx, jobs); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var err error
	for range o.clients {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	return print(began.rate(o.jobs))
}

// latency enqueues jobs at a steady rate and measures how long each takes to start.
func latency(ctx context.Context, s system, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waits := make(chan time.Duration, o.jobs)
	stopped := make(chan error, 1)
	o.best = true
	go func() {
		stopped <- s.Work(ctx, o, func(_ context.Context, j job) error {
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
	return print(map[string]any{"p50_ms": milliseconds(all[len(all)/2]), "p99_ms": milliseconds(all[len(all)*99/100])})
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
