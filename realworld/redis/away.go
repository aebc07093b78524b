package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol/worker"
)

var _ worker.Debtor = (*Broker)(nil)

// A partition whose node is away takes nothing with it but its own jobs: claims go on at the
// others, without waiting for it, until it answers again. What a call may have granted there whose
// answer did not come is owed back, and goes back as soon as it answers.

// absence is what is known of a partition that does not answer.
type absence struct {
	mu     sync.Mutex
	away   bool
	owed   map[uint64][]uint64 // by incarnation: the requests whose grants nobody knows
	warned time.Time           // of an answer that is an error
}

// silent reports whether an error means that nobody is there to answer, rather than being an
// answer.
func silent(err error) bool {
	var said *rueidis.RedisError
	if !errors.As(err, &said) {
		return err != nil
	}
	for _, prefix := range []string{"LOADING", "BUSY ", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOREPLICAS", "TRYAGAIN"} {
		if strings.HasPrefix(said.Error(), prefix) {
			return true
		}
	}
	return false
}

// misses takes in that a call to a partition of several failed. One that was cancelled says
// nothing about it.
func (p *partition) misses(err error) {
	if errors.Is(err, context.Canceled) || p.queue.broker.way.over.Err() != nil {
		return
	}
	log := p.queue.broker.opt.Logger
	a := &p.absence
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case silent(err):
		if !a.away {
			a.away = true
			log.Warn("redis: a partition does not answer; the queue goes on with the others", "queue", p.queue.config.Name, "partition", p.number, "error", err)
			p.queue.broker.lookFor(p)
		}
	case time.Since(a.warned) > time.Minute:
		a.warned = time.Now()
		log.Warn("redis: a partition answers with an error; the queue goes on with the others", "queue", p.queue.config.Name, "partition", p.number, "error", err)
	}
}

// isAway reports whether a partition did not answer and others can be asked instead.
func (p *partition) isAway() bool {
	if !p.gone() {
		return false
	}
	for _, other := range p.queue.partitions {
		if !other.gone() {
			return true
		}
	}
	return false
}

func (p *partition) gone() bool {
	p.absence.mu.Lock()
	defer p.absence.mu.Unlock()
	return p.absence.away
}

// EachPartition calls f for the partitions of queues that have several, in no order of the queues:
// away is one that did not answer and has not since, and that the others are claimed from without.
func (b *Broker) EachPartition(f func(queue string, partition int, away bool)) {
	for name, q := range b.queues {
		for _, p := range q.partitions {
			if len(q.partitions) > 1 {
				f(name, p.number, p.gone())
			}
		}
	}
}

// returns takes in that a partition answers again.
func (p *partition) returns(ctx context.Context) {
	p.repayAll(ctx)
	a := &p.absence
	a.mu.Lock()
	was := a.away
	a.away = false
	a.mu.Unlock()
	if was {
		p.queue.broker.opt.Logger.Info("redis: a partition answers again", "queue", p.queue.config.Name, "partition", p.number)
		p.queue.broker.pokeAll(p.queue)
	}
}

// owe notes a request that may have been granted something here that nobody knows of. Nothing else
// is asked here before that is paid.
func (p *partition) owe(incarnation, seq uint64) {
	a := &p.absence
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owed == nil {
		a.owed = map[uint64][]uint64{}
	}
	if !slices.Contains(a.owed[incarnation], seq) {
		a.owed[incarnation] = append(a.owed[incarnation], seq)
	}
}

// owes returns the requests of which an incarnation owes what they may have been granted.
func (p *partition) owes(incarnation uint64) []uint64 {
	p.absence.mu.Lock()
	defer p.absence.mu.Unlock()
	return slices.Clone(p.absence.owed[incarnation])
}

// paid takes in that what a request was granted here is known, or went back.
func (p *partition) paid(incarnation, seq uint64) {
	a := &p.absence
	a.mu.Lock()
	defer a.mu.Unlock()
	owed := a.owed[incarnation]
	if len(owed) == 0 {
		return
	}
	if a.owed[incarnation] = slices.DeleteFunc(owed, func(s uint64) bool { return s == seq }); len(a.owed[incarnation]) == 0 {
		delete(a.owed, incarnation)
	}
}

// repay withdraws what an incarnation owes from requests before a number.
func (p *partition) repay(ctx context.Context, incarnation, before uint64) error {
	for _, seq := range p.owes(incarnation) {
		if seq >= before {
			continue
		}
		if _, err := p.withdraw(ctx, incarnation, seq); err != nil {
			return fmt.Errorf("what request %d was granted is not known: %w", seq, err)
		}
	}
	return nil
}

func (p *partition) repayAll(ctx context.Context) {
	p.absence.mu.Lock()
	owing := make([]uint64, 0, len(p.absence.owed))
	for incarnation := range p.absence.owed {
		owing = append(owing, incarnation)
	}
	p.absence.mu.Unlock()
	for _, incarnation := range owing {
		if err := p.repay(ctx, incarnation, math.MaxUint64); err != nil {
			p.queue.broker.opt.Logger.Warn("redis: what a request was granted whose answer did not come is left to its lease for now",
				"queue", p.queue.config.Name, "partition", p.number, "error", err)
		}
	}
}

func (p *partition) withdraw(ctx context.Context, incarnation, seq uint64) (jobs int, err error) {
	n, err := p.run(ctx, &p.queue.broker.scripts.withdraw, strconv.FormatUint(incarnation, 10), strconv.FormatUint(seq, 10)).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("redis: withdraw: %w", err)
	}
	p.paid(incarnation, seq)
	return int(n), nil
}

// Repay is worker.Debtor's.
func (b *Broker) Repay(ctx context.Context, incarnation uint64, queue string) error {
	q, err := b.Queue(queue)
	if err != nil {
		return err
	}
	return q.missing(q.each(func(p *partition) error { return p.repay(ctx, incarnation, math.MaxUint64) }))
}

// each calls f for every partition at once, and returns what failed. Of a queue with several
// those that failed are missed.
func (q *Queue) each(f func(p *partition) error) (failed map[*partition]error) {
	if len(q.partitions) == 1 {
		if err := f(q.partitions[0]); err != nil {
			return map[*partition]error{q.partitions[0]: err}
		}
		return nil
	}
	var mu sync.Mutex
	var calls sync.WaitGroup
	for _, p := range q.partitions {
		calls.Go(func() {
			err := f(p)
			if err == nil {
				return
			}
			p.misses(err)
			mu.Lock()
			defer mu.Unlock()
			if failed == nil {
				failed = map[*partition]error{}
			}
			failed[p] = err
		})
	}
	calls.Wait()
	return failed
}

// PartitionsError says which partitions of a queue did not answer a call that was about all of
// them. The others did.
type PartitionsError struct {
	Queue      string
	Partitions []int // ascending
	Err        error // what each of them said
}

func (e *PartitionsError) Error() string {
	return fmt.Sprintf("redis: partitions %v of queue %q do not answer: %v", e.Partitions, e.Queue, e.Err)
}

// Unwrap returns what the partitions said.
func (e *PartitionsError) Unwrap() error { return e.Err }

// missing makes an error of what failed, nil if nothing did.
func (q *Queue) missing(failed map[*partition]error) error {
	if len(failed) == 0 {
		return nil
	}
	e := &PartitionsError{Queue: q.config.Name}
	var errs []error
	for _, p := range q.partitions {
		if err := failed[p]; err != nil {
			e.Partitions = append(e.Partitions, p.number)
			errs = append(errs, err)
		}
	}
	if len(q.partitions) == 1 {
		return errs[0]
	}
	e.Err = errors.Join(errs...)
	return e
}
