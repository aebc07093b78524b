package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/record"
	"github.com/quiesce/quiesce/realworld/redis"
)

// own is this module's queue, in this process.
type own struct {
	server *redisServer
	how    handling
}

// handling is who works on jobs.
type handling uint8

const (
	byWorker    handling = iota // a worker.Worker
	byRecorded                  // a worker.Worker with a flight recorder
	byOneThread                 // a worker.Worker that runs Go code on one thread at a time
	byNobody                    // a loop that calls the broker, with nothing in between: the limit
)

const (
	queueName = "default"
	kind      = "job"
	// payloadBytes is as in the peers.
	payloadBytes = 100
	// ownGrace is of workers that are stopped when nothing is left to do.
	ownGrace = 10 * time.Second
)

func (q own) empty(ctx context.Context) error {
	runtime.GC() // what was measured before is not to be paid for now
	return q.server.empty(ctx)
}

func (q own) used(ctx context.Context) (usage, error) { return q.server.used(ctx) }

func (q own) open(ctx context.Context) (*redis.Broker, *redis.Queue, error) {
	b, err := redis.Open(ctx, redis.Options{URL: q.server.URL(), Queues: []redis.QueueConfig{{Name: queueName}}})
	if err != nil {
		return nil, nil, err
	}
	queue, err := b.Queue(queueName)
	return b, queue, err
}

// stopwatch measures from its making.
type stopwatch struct {
	began time.Time
	used  time.Duration
}

func startWatch() stopwatch { return stopwatch{time.Now(), cpuTime()} }

func (m stopwatch) rate(jobs int) rate {
	took, used := time.Since(m.began), cpuTime()-m.used
	return rate{PerSecond: float64(jobs) / took.Seconds(), ClientCPU: used.Seconds() * 1e6 / float64(jobs)}
}

func (q own) enqueue(ctx context.Context, how way, jobs int) (rate, error) {
	b, queue, err := q.open(ctx)
	if err != nil {
		return rate{}, err
	}
	defer b.Close()
	batch := make([]redis.Job, how.bulk)
	for i := range batch {
		batch[i] = redis.Job{Kind: kind, Payload: make([]byte, payloadBytes)}
	}
	var next atomic.Int64
	errs := make([]error, how.clients)
	m := startWatch()
	var all sync.WaitGroup
	for c := range how.clients {
		all.Go(func() {
			for errs[c] == nil {
				from := int(next.Add(int64(how.bulk))) - how.bulk
				if from >= jobs {
					return
				}
				_, errs[c] = queue.Enqueue(ctx, batch[:min(how.bulk, jobs-from)]...)
			}
		})
	}
	all.Wait()
	return m.rate(jobs), errors.Join(errs...)
}

func (q own) work(ctx context.Context, slots, jobs int) (rate, error) {
	switch q.how {
	case byNobody:
		return q.workBare(ctx, slots, jobs)
	case byOneThread:
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	var (
		done    atomic.Int64
		first   sync.Once
		m       stopwatch
		allDone = make(chan struct{})
	)
	err := q.run(ctx, slots, func(context.Context, *worker.Job) error {
		first.Do(func() { m = startWatch() })
		if done.Add(1) == int64(jobs) {
			close(allDone)
		}
		return nil
	}, func(*redis.Queue) error { return waitFor(ctx, allDone) })
	return m.rate(jobs), err
}

func waitFor(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run has a worker run jobs for as long as during runs.
func (q own) run(ctx context.Context, slots int, handle worker.Handler, during func(*redis.Queue) error) error {
	b, queue, err := q.open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	o := worker.Options{Slots: slots, Grace: ownGrace, Logger: slog.New(slog.DiscardHandler)}
	if q.how == byRecorded {
		recorder, err := record.New(record.Options{Dir: q.server.Dir()})
		if err != nil {
			return err
		}
		o.Observers = []worker.Observer{recorder}
	}
	mux := worker.NewMux()
	mux.Handle(kind, handle)
	w, err := worker.New(b, mux, o)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working, nil) }()
	ready := make(chan error, 1)
	go func() { ready <- during(queue) }()
	select {
	case err = <-ready:
		stop()
		return errors.Join(err, <-ended)
	case err = <-ended:
		return fmt.Errorf("bench: the worker stopped before all jobs were done: %w", errors.Join(err, context.Cause(ctx)))
	}
}

// latency gives every job the instant at which it was enqueued.
func (q own) latency(ctx context.Context, perSecond, jobs int) (waits, error) {
	started := make(chan time.Duration, jobs)
	all := make([]time.Duration, jobs)
	err := q.run(ctx, latencySlots, func(_ context.Context, j *worker.Job) error {
		started <- time.Duration(time.Now().UnixNano() - int64(binary.LittleEndian.Uint64(j.Payload)))
		return nil
	}, func(queue *redis.Queue) error {
		time.Sleep(2 * time.Second) // as the peers; the worker is up
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for range jobs {
			<-tick.C
			payload := binary.LittleEndian.AppendUint64(make([]byte, 0, payloadBytes), uint64(time.Now().UnixNano()))
			if _, err := queue.Enqueue(ctx, redis.Job{Kind: kind, Payload: payload[:payloadBytes]}); err != nil {
				return err
			}
		}
		for i := range all {
			select {
			case all[i] = <-started:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return waits{}, err
	}
	return quantiles(all), nil
}

// workBare is the limit: the very script calls that a worker's jobs take, without a worker.
// Each call settles the jobs of the one before and claims as many new ones. Of the two
// shapes in which slots jobs can be in flight, one call with all of them or two with half
// each, it is the faster.
func (q own) workBare(ctx context.Context, slots, jobs int) (rate, error) {
	if slots == 1 {
		return q.workLoops(ctx, 1, 1, jobs)
	}
	one, err := q.workLoops(ctx, 1, slots, jobs/2)
	if err != nil {
		return rate{}, err
	}
	two, err := q.workLoops(ctx, 2, slots/2, jobs-jobs/2)
	if err != nil {
		return rate{}, err
	}
	if two.PerSecond > one.PerSecond {
		return two, nil
	}
	return one, nil
}

// workLoops works off jobs by several loops, each with so many jobs at once.
func (q own) workLoops(ctx context.Context, loops, batch, jobs int) (rate, error) {
	b, _, err := q.open(ctx)
	if err != nil {
		return rate{}, err
	}
	defer b.Close()
	lives := make([]uint64, loops)
	for i := range lives {
		if lives[i], err = b.Register(ctx, worker.Life{Seat: fmt.Sprint("bare/", i), Nonce: uuid.New()}); err != nil {
			return rate{}, err
		}
	}
	var left atomic.Int64
	left.Store(int64(jobs))
	errs := make([]error, loops)
	m := startWatch()
	var all sync.WaitGroup
	for i, life := range lives {
		all.Go(func() { errs[i] = loop(ctx, b, life, batch, &left) })
	}
	all.Wait()
	return m.rate(jobs), errors.Join(errs...)
}

// loop claims and acks until nothing is left to claim.
func loop(ctx context.Context, b *redis.Broker, life uint64, batch int, left *atomic.Int64) error {
	var acks []worker.Settlement
	for seq := uint64(1); ; seq++ {
		want := takeUpTo(left, int64(batch))
		if want == 0 && len(acks) == 0 {
			return nil
		}
		settled := make(chan error, 1)
		go func() { settled <- settleAll(ctx, b, acks) }() // in one call with the claim: the lane gathers them
		var answer worker.ClaimAnswer
		var err error
		if want > 0 {
			answer, err = b.Claim(ctx, worker.ClaimRequest{Incarnation: life, Queue: queueName, Seq: seq, Want: int(want), Kinds: []worker.KindVersions{{Kind: kind}}})
			if err == nil && len(answer.Grants) != int(want) {
				err = fmt.Errorf("bench: %d jobs were claimed of %d that are there", len(answer.Grants), want)
			}
		}
		if err := errors.Join(err, <-settled); err != nil {
			return err
		}
		acks = acks[:0]
		for _, g := range answer.Grants {
			acks = append(acks, worker.Settlement{Job: g.Job, Token: g.Token, Verb: protocol.Ack})
		}
	}
}

func settleAll(ctx context.Context, b *redis.Broker, acks []worker.Settlement) error {
	if len(acks) == 0 {
		return nil
	}
	codes, err := b.Settle(ctx, acks)
	if err != nil {
		return err
	}
	for _, c := range codes {
		if c != protocol.OK {
			return fmt.Errorf("bench: an ack was answered %v", c)
		}
	}
	return nil
}

// takeUpTo takes up to n of what is left.
func takeUpTo(left *atomic.Int64, n int64) int64 {
	for {
		there := left.Load()
		take := min(there, n)
		if take == 0 || left.CompareAndSwap(there, there-take) {
			return take
		}
	}
}

// memory is how much memory of Redis a job takes that waits.
func memoryPerJob(ctx context.Context, q jobQueue, server *redisServer, jobs int) (float64, error) {
	if err := q.empty(ctx); err != nil {
		return 0, err
	}
	if _, err := q.enqueue(ctx, way{1, 1}, 1); err != nil { // what there is once
		return 0, err
	}
	before, err := server.memory(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := q.enqueue(ctx, way{10, 100}, jobs); err != nil {
		return 0, err
	}
	after, err := server.memory(ctx)
	return float64(after-before) / float64(jobs), err
}
