package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis"
)

// Run runs a plan to its end and returns what was measured. It takes the run's time divided
// by the speed. Nothing of it is left in Redis, and no process.
func Run(ctx context.Context, plan Plan) (*meter.Row, *Account, error) {
	if err := Check(plan.Scenario, &plan.Preset, plan.Speed); err != nil {
		return nil, nil, err
	}
	if plan.command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("fleet: %w", err)
		}
		plan.command = []string{self}
	}
	namespace := "fleet-" + uuid.NewString()
	options := redis.Options{
		URL: plan.URL, Namespace: namespace, Queues: []redis.QueueConfig{plan.queue()}, Timeout: replyWithin,
	}
	broker, err := redis.Open(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	defer broker.Close()
	queue, err := broker.Queue(queueName)
	if err != nil {
		return nil, nil, err
	}
	s := newSupervisor(&plan, queue, namespace)
	for _, c := range s.configs { // what a worker refuses, every process would
		if _, err := (&process{config: c}).newWorker(paced{broker, plan.Speed}, slog.New(slog.DiscardHandler)); err != nil {
			return nil, nil, fmt.Errorf("fleet: %s: %w", plan.Scenario.Name, err)
		}
	}
	row, account, err := s.carryOut(ctx)
	return row, account, errors.Join(err, clean(plan.URL, namespace))
}

// queue is the scenario's queue in real time.
func (p *Plan) queue() redis.QueueConfig {
	q := &p.Scenario.Queue
	real := func(d protocol.Duration) time.Duration { return shortened(time.Duration(d), p.Speed) }
	orNever := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	c := redis.QueueConfig{
		Name: queueName, Lease: real(q.Lease),
		MaxFailures: orNever(q.MaxFailures), Poison: orNever(q.Poison), Starving: orNever(q.Starving),
		BackoffMin: real(q.Backoff.Min), BackoffMax: real(q.Backoff.Max), Spread: -1,
	}
	if p.lease > 0 {
		c.Lease = time.Duration(p.lease)
	}
	if q.OnExpiry == model.QuarantineExpired {
		c.OnExpiry = redis.QuarantineExpired
	}
	return c
}

func newSupervisor(plan *Plan, queue *redis.Queue, namespace string) *supervisor {
	sc := plan.Scenario
	s := &supervisor{
		plan: plan, sc: sc, end: protocol.Instant(sc.Duration), command: plan.command, namespace: namespace,
		reports: make(chan report, 64), wanted: sc.Fleet.Workers, origin: time.Now().UnixNano(),
		configs: [2]processConfig{plan.configOf(0), plan.configOf(1)},
	}
	s.clock = newClock(s.origin, plan.Speed)
	s.jobs = newEnqueuer(plan, queue, s.clock)
	n := Seats(sc)
	s.seats, s.numbers = make([]*life, n), make([]int, n)
	for i := n - 1; i >= 0; i-- {
		s.empty = append(s.empty, int32(i))
	}
	for i := range s.configs {
		s.configs[i].Queue = plan.queue()
	}
	return s
}

// carryOut runs the fleet and draws up the account.
func (s *supervisor) carryOut(ctx context.Context) (*meter.Row, *Account, error) {
	go s.jobs.run(ctx)
	err := s.run(ctx)
	jobs := s.jobs.close()
	if err != nil {
		return nil, nil, err
	}
	b := newLedger(s, jobs)
	b.account.Times = b.times()
	for i, st := range b.jobs {
		info, ok, err := s.jobs.queue.Job(ctx, jobs[i].key)
		if err != nil {
			return nil, nil, fmt.Errorf("fleet: %w", err)
		}
		if ok {
			st.info = info
		}
	}
	b.settleAll()
	return b.measure(), &b.account, nil
}

// measure feeds the laboratory's meter.
func (b *ledger) measure() *meter.Row {
	sc := b.sc
	cooldown := sc.Cooldown
	if cooldown == 0 {
		cooldown = 2 * sc.Queue.Lease
	}
	m := meter.New(meter.Window{
		From: protocol.Instant(sc.Warmup), Until: protocol.Instant(sc.Duration), Cooldown: cooldown, Keep: sc.Duration,
	})
	for _, r := range b.records {
		m.Add(r)
	}
	row := m.Finish(b.ending)
	row.ByReason[protocol.BecauseWithdrawn] += int64(b.account.Withdrawn)
	return row
}

// clean removes what a run has left in Redis.
func clean(url, namespace string) error {
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, pattern := range []string{namespace + ":*", "{" + namespace + "}:*"} {
		for cursor := uint64(0); ; {
			page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
			if err != nil {
				return fmt.Errorf("fleet: what the run left in Redis could not be removed: %w", err)
			}
			if len(page.Elements) > 0 {
				if err := client.Do(ctx, client.B().Unlink().Key(page.Elements...).Build()).Error(); err != nil {
					return fmt.Errorf("fleet: what the run left in Redis could not be removed: %w", err)
				}
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}
