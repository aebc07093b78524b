package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/protocol"
)

// Stats is a queue in numbers, over all of its partitions. Each partition's are of one
// instant.
type Stats struct {
	Ready       int // claimable
	Returned    int // of these: of normal priority, and handed back, expired, failed or delayed before; they go first
	Aside       int // of these: of a kind or version that who came across them did not understand
	Delayed     int
	Claimed     int
	Dead        int // dead-lettered
	Quarantined int
	Starving    int // ready, delayed or claimed, and interrupted again and again without progress

	Waiting int           // claim requests that sleep until there is something
	Oldest  time.Duration // since the oldest ready job was added, to a second and a hundredth

	Total Totals
}

// Totals are what was counted since the queue exists.
type Totals struct {
	Enqueued, Duplicates, Done, Failed, Released, Refused, Expired, Cut, Cancelled, Dead, Quarantined, Starving, Redriven int
}

func (t *Totals) add(name string, n int) {
	switch name {
	case "enqueued":
		t.Enqueued += n
	case "duplicates":
		t.Duplicates += n
	case "done":
		t.Done += n
	case "failed":
		t.Failed += n
	case "released":
		t.Released += n
	case "refused":
		t.Refused += n
	case "expired":
		t.Expired += n
	case "cut":
		t.Cut += n
	case "cancelled":
		t.Cancelled += n
	case "dead":
		t.Dead += n
	case "quarantined":
		t.Quarantined += n
	case "starving":
		t.Starving += n
	case "redriven":
		t.Redriven += n
	}
}

// Stats counts. It costs a call per partition, whatever the number of jobs. With a
// *PartitionsError the sums are of the partitions that did answer.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	var mu sync.Mutex
	failed := q.each(func(p *partition) error {
		reply, err := p.run(ctx, &q.broker.scripts.stats).ToArray()
		if err != nil {
			return fmt.Errorf("redis: stats: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		return s.add(reply)
	})
	return s, q.missing(failed)
}

// add takes in what one partition says.
func (s *Stats) add(reply []rueidis.RedisMessage) error {
	f := &fields{parts: reply}
	for _, n := range []*int{
		&s.Ready, &s.Returned, &s.Aside, &s.Delayed, &s.Claimed, &s.Dead, &s.Quarantined, &s.Starving, &s.Waiting,
	} {
		*n += f.int()
	}
	s.Oldest = max(s.Oldest, time.Duration(f.int())*time.Microsecond)
	totals := &fields{parts: f.list()}
	for f.err == nil && totals.err == nil && len(totals.parts) > 0 {
		name := totals.text()
		s.Total.add(name, totals.int())
	}
	f.keep(totals.err)
	if f.err != nil {
		return fmt.Errorf("redis: stats: %w", f.err)
	}
	return nil
}

// Filter chooses among jobs. What is empty matches every one.
type Filter struct {
	Class string // of the newest failure's error
	Kind  string
	Build string // of the handler that failed
}

// Page says which part of a list is wanted.
type Page struct {
	Limit int    // 100, at most 1,000
	After string // Listing.Next of the page before; empty is the first
}

// Listing is a page of jobs, those first that have been there for longest. A job that comes
// or goes while one leafs may be missed or be there twice.
type Listing struct {
	Jobs []Info
	Next string // for the next page; empty when there is none
}

// DeadLetters lists dead-lettered jobs.
func (q *Queue) DeadLetters(ctx context.Context, filter Filter, page Page) (Listing, error) {
	return q.list(ctx, "dead", filter, page)
}

// Quarantined lists jobs that are parked because partial work could not be undone.
func (q *Queue) Quarantined(ctx context.Context, filter Filter, page Page) (Listing, error) {
	return q.list(ctx, "quarantined", filter, page)
}

// Starving lists jobs that were interrupted again and again without progress. They are ready,
// delayed or claimed all the same.
func (q *Queue) Starving(ctx context.Context, filter Filter, page Page) (Listing, error) {
	return q.list(ctx, "starving", filter, page)
}

func (q *Queue) list(ctx context.Context, which string, filter Filter, page Page) (Listing, error) {
	limit := page.Limit
	if limit == 0 {
		limit = 100
	}
	if limit < 0 || limit > batchLimit {
		return Listing{}, fmt.Errorf("redis: a page of %d jobs; there can be 1 to %d", page.Limit, batchLimit)
	}
	at, after, err := q.position(page.After)
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	for at < len(q.partitions) && len(l.Jobs) < limit {
		p := q.partitions[at]
		f, err := p.leaf(ctx, "list", which, limit-len(l.Jobs), after, filter)
		if err != nil {
			return Listing{}, fmt.Errorf("redis: list: %w", err)
		}
		for after = f.text(); f.err == nil && len(f.parts) > 0; {
			id, row := f.text(), f.list()
			var info Info
			n, err := strconv.ParseUint(id, 10, 64)
			f.keep(err)
			f.keep(info.read(q.broker, row))
			info.Job = jobKey(q.number, p.number, n)
			l.Jobs = append(l.Jobs, info)
		}
		if f.err != nil {
			return Listing{}, fmt.Errorf("redis: list: %w", f.err)
		}
		if after == "" {
			at++
		}
	}
	if at < len(q.partitions) {
		l.Next = fmt.Sprintf("%d %s", at, after)
	}
	return l, nil
}

// position reads what Listing.Next was: a partition, and where to go on in it.
func (q *Queue) position(next string) (partition int, after string, err error) {
	if next == "" {
		return 0, "", nil
	}
	number, after, _ := strings.Cut(next, " ")
	n, err := strconv.Atoi(number)
	score, id, two := strings.Cut(after, " ")
	_, bad1 := strconv.ParseUint(score, 10, 64)
	_, bad2 := strconv.ParseUint(id, 10, 64)
	if err != nil || n < 0 || n >= len(q.partitions) || after != "" && (!two || bad1 != nil || bad2 != nil) {
		return 0, "", fmt.Errorf("redis: After %q is not what a page of queue %q gave as Next", next, q.config.Name)
	}
	return n, after, nil
}

// leaf asks for one page, or redrives it.
func (p *partition) leaf(ctx context.Context, action, which string, limit int, after string, filter Filter) (*fields, error) {
	reply, err := p.run(ctx, &p.queue.broker.scripts.list, action, which, strconv.Itoa(limit), after, filter.Class, filter.Kind, filter.Build).ToArray()
	return &fields{parts: reply}, err
}

// Redrive makes up to most dead-lettered jobs claimable again, with all of their budgets, their
// cursor and their old place in the queue; negative is all. It returns how many: fewer than most
// means that no more match. They are claimable from then on, also when an error ends it.
func (q *Queue) Redrive(ctx context.Context, filter Filter, most int) (jobs int, err error) {
	for _, p := range q.partitions {
		for after, more := "", true; more && jobs != most; more = after != "" {
			limit := batchLimit
			if most >= 0 {
				limit = min(limit, most-jobs)
			}
			f, err := p.leaf(ctx, "redrive", "dead", limit, after, filter)
			if err == nil {
				after = f.text()
				jobs += len(f.parts)
				err = f.err
			}
			if err != nil {
				return jobs, fmt.Errorf("redis: redrive: %w", err)
			}
		}
	}
	return jobs, nil
}

// Requeue makes jobs that are dead-lettered or quarantined claimable again, as Redrive does. It
// returns how many of them were.
func (q *Queue) Requeue(ctx context.Context, jobs ...protocol.JobKey) (int, error) {
	return q.unpark(ctx, "requeue", jobs)
}

// Discard ends jobs that are dead-lettered or quarantined: they are cancelled. It returns how
// many of them were.
func (q *Queue) Discard(ctx context.Context, jobs ...protocol.JobKey) (int, error) {
	return q.unpark(ctx, "discard", jobs)
}

func (q *Queue) unpark(ctx context.Context, action string, jobs []protocol.JobKey) (n int, err error) {
	var freed atomic.Int64
	err = byPartition(q.broker, jobs, func(j *protocol.JobKey) protocol.JobKey { return *j }, func(p *partition, index []int) error {
		if p.queue != q {
			return nil
		}
		args := []string{action}
		for _, i := range index {
			args = append(args, idOf(jobs[i]))
		}
		some, err := p.run(ctx, &q.broker.scripts.requeue, args...).AsInt64()
		freed.Add(some)
		return err
	})
	n = int(freed.Load())
	if err != nil {
		return n, fmt.Errorf("redis: %s: %w", action, err)
	}
	return n, nil
}

// Mend looks through the whole queue for jobs that fell between its keys, as happens when
// somebody deletes keys or the server evicts them: claimed without a lease, or nowhere. They
// are claimable again, and it returns how many there were. Claims are looked through at the
// registration of a worker, too, once a lease. It costs a call for 500 jobs.
func (q *Queue) Mend(ctx context.Context) (jobs int, err error) {
	for _, p := range q.partitions {
		n, err := p.mend(ctx, "jobs")
		jobs += n
		if err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

// list reads a list within an answer.
func (f *fields) list() []rueidis.RedisMessage {
	m := f.next()
	if m == nil {
		return nil
	}
	l, err := m.ToArray()
	f.keep(err)
	return l
}
