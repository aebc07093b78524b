package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol"
)

// Job is a job to enqueue.
type Job struct {
	Kind    string // not empty, without control characters
	Version uint16 // of the payload
	Payload []byte

	Priority int           // 3 is first, -3 last; jobs of one priority keep their order
	Delay    time.Duration // before it may be claimed

	// Unique, unless empty, keeps a second job with the same key out of the queue: until the
	// first has ended, which a dead-lettered or quarantined one has not; or, with UniqueFor,
	// for so long since it was added, whatever becomes of it.
	Unique    string
	UniqueFor time.Duration
}

// Priorities.
const (
	MaxPriority = 3
	MinPriority = -3
)

func (j *Job) check() error {
	var errs []error
	if j.Kind == "" || strings.ContainsFunc(j.Kind, func(r rune) bool { return r < ' ' }) {
		errs = append(errs, fmt.Errorf("redis: kind %q must not be empty or have control characters", j.Kind))
	}
	if j.Priority < MinPriority || j.Priority > MaxPriority {
		errs = append(errs, fmt.Errorf("redis: priority %d must be between %d and %d", j.Priority, MinPriority, MaxPriority))
	}
	if j.Delay < 0 || j.UniqueFor < 0 {
		errs = append(errs, fmt.Errorf("redis: delay %v and UniqueFor %v must not be negative", j.Delay, j.UniqueFor))
	}
	if j.UniqueFor > 0 && j.Unique == "" {
		errs = append(errs, fmt.Errorf("redis: UniqueFor %v without a Unique key", j.UniqueFor))
	}
	return errors.Join(errs...)
}

// plain reports whether a job goes behind the others and nowhere else.
func (j *Job) plain() bool { return j.Priority == 0 && j.Delay == 0 && j.Unique == "" }

// Added is what became of a job that was to be enqueued.
type Added struct {
	Job     protocol.JobKey
	Existed bool // a job with its unique key was there; Job is that one
}

// ErrFull is why a server adds no jobs: it has used the memory that it may use. It settles all
// the same, and hands out what it has.
var ErrFull = errors.New("the server's memory is full; raise its maxmemory, or wait until workers have caught up")

// outOfMemory makes Redis's own words for it an ErrFull.
func outOfMemory(err error) error {
	if said, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(said.Error(), "OOM ") {
		return ErrFull
	}
	return err
}

// Enqueue adds jobs and says in order what became of them. Of one call up to 1,000 jobs that
// are neither unique, delayed nor of another priority are added all or none. An error of the
// connection may mean that they were added.
func (q *Queue) Enqueue(ctx context.Context, jobs ...Job) ([]Added, error) {
	var errs []error
	for i := range jobs {
		if err := jobs[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("job %d: %w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	added := make([]Added, len(jobs))
	for from := 0; from < len(jobs); {
		n := min(len(jobs)-from, batchLimit)
		if err := q.add(ctx, jobs[from:from+n], added[from:from+n]); err != nil {
			return added[:from], fmt.Errorf("redis: enqueue: %w", err)
		}
		from += n
	}
	return added, nil
}

// add enqueues up to batchLimit jobs: plain ones into the partition whose turn it is, unique
// ones where their key belongs.
func (q *Queue) add(ctx context.Context, jobs []Job, added []Added) error {
	turn := q.turn()
	plain := true
	for i := range jobs {
		plain = plain && jobs[i].plain()
	}
	if plain {
		err := q.partitions[turn].addPlain(ctx, jobs, added)
		if err != nil && len(q.partitions) > 1 && ctx.Err() == nil && !errors.Is(err, ErrFull) {
			q.partitions[turn].misses(err)
		}
		return err
	}
	parts := map[*partition][]int{}
	for i := range jobs {
		p := q.partitions[turn]
		if key := jobs[i].Unique; key != "" {
			p = q.partitions[numberFor(key)%len(q.partitions)]
		}
		parts[p] = append(parts[p], i)
	}
	var errs []error
	for p, index := range parts {
		errs = append(errs, p.addMixed(ctx, jobs, added, index))
	}
	return errors.Join(errs...)
}

// turn is the partition that comes next, of those that answer.
func (q *Queue) turn() int {
	turn := 0
	for range q.partitions {
		if turn = int(q.next.Add(1)) % len(q.partitions); !q.partitions[turn].isAway() {
			break
		}
	}
	return turn
}

func (p *partition) addPlain(ctx context.Context, jobs []Job, added []Added) error {
	args := make([]string, 0, len(jobs))
	for i := range jobs {
		args = append(args, writeRecord(jobs[i].Kind, jobs[i].Version, jobs[i].Payload))
	}
	b := p.queue.broker
	first, err := b.run(ctx, &b.scripts.add, p.keys[:addKeys], args).AsInt64()
	if err != nil {
		return outOfMemory(err)
	}
	for i := range jobs {
		added[i].Job = jobKey(p.queue.number, p.number, uint64(first)+uint64(i))
	}
	return nil
}

func (p *partition) addMixed(ctx context.Context, jobs []Job, added []Added, index []int) error {
	args := make([]string, 0, 5*len(index))
	for _, i := range index {
		j := &jobs[i]
		args = append(args, strconv.Itoa(level(j.Priority)), micros(j.Delay), j.Unique, micros(j.UniqueFor), writeRecord(j.Kind, j.Version, j.Payload))
	}
	numbers, err := p.run(ctx, &p.queue.broker.scripts.enqueue, args...).AsStrSlice()
	if err != nil {
		return outOfMemory(err)
	}
	if len(numbers) != len(index) {
		return fmt.Errorf("%d numbers for %d jobs", len(numbers), len(index))
	}
	for k, i := range index {
		number, existed := strings.CutPrefix(numbers[k], "-")
		id, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return fmt.Errorf("number %q: %w", numbers[k], err)
		}
		added[i] = Added{jobKey(p.queue.number, p.number, id), existed}
	}
	return nil
}
