package redis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// batchLimit is how many jobs one script call carries at most: Lua's stack holds about 8,000
// values, and a script holds everybody up while it runs.
const batchLimit = 1000

// byPartition splits a batch, and calls f for all partitions at once: one that does not answer
// keeps nobody waiting but for the end of its call. Jobs of queues that this broker does not know
// are left out.
func byPartition[T any](b *Broker, items []T, job func(*T) protocol.JobKey, f func(p *partition, index []int) error) error {
	if len(items) == 0 {
		return nil
	}
	first := b.of(job(&items[0]))
	parts := map[*partition][]int{}
	for i := range items {
		p := first
		if i > 0 {
			p = b.of(job(&items[i]))
		}
		if p != nil {
			parts[p] = append(parts[p], i)
		}
	}
	if len(parts) == 1 {
		for p, index := range parts {
			return inBatches(p, index, f)
		}
	}
	errs := make(chan error, len(parts))
	for p, index := range parts {
		go func() {
			err := inBatches(p, index, f)
			if err != nil && len(p.queue.partitions) > 1 {
				p.misses(err)
			}
			errs <- err
		}()
	}
	var all []error
	for range parts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func inBatches(p *partition, index []int, f func(p *partition, index []int) error) error {
	var errs []error
	for len(index) > 0 {
		n := min(len(index), batchLimit)
		errs = append(errs, f(p, index[:n]))
		index = index[n:]
	}
	return errors.Join(errs...)
}

func allStale(n int) []protocol.Code {
	codes := make([]protocol.Code, n)
	for i := range codes {
		codes[i] = protocol.Stale
	}
	return codes
}

// Renew extends leases, and keeps the cursors that ride along. Where some partitions do not answer
// the codes of their claims are Unknown.
func (b *Broker) Renew(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
	return b.extend(ctx, renewals, "1")
}

// Save keeps a cursor.
func (b *Broker) Save(ctx context.Context, save worker.Renewal) (protocol.Code, error) {
	codes, err := b.extend(ctx, []worker.Renewal{save}, "0")
	if err != nil {
		return protocol.Unknown, err
	}
	return codes[0], nil
}

func (b *Broker) extend(ctx context.Context, renewals []worker.Renewal, extend string) ([]protocol.Code, error) {
	codes := allStale(len(renewals))
	var answered atomic.Int64
	err := byPartition(b, renewals, func(r *worker.Renewal) protocol.JobKey { return r.Job }, func(p *partition, index []int) error {
		args := make([]string, 0, 1+3*len(index))
		args = append(args, extend)
		for _, i := range index {
			r := &renewals[i]
			args = append(args, idOf(r.Job), padded(r.Token), optional(r.Cursor))
		}
		letters, err := p.run(ctx, &b.scripts.renew, args...).ToString()
		if err == nil && len(letters) != len(index) {
			err = fmt.Errorf("%d codes for %d claims", len(letters), len(index))
		}
		if err != nil {
			for _, i := range index {
				codes[i] = protocol.Unknown
			}
			return fmt.Errorf("redis: renew: %w", err)
		}
		answered.Add(1)
		for k, i := range index {
			codes[i] = codeOf(letters[k])
		}
		return nil
	})
	if err != nil && answered.Load() == 0 {
		return nil, err
	}
	return codes, nil
}

// optional tells an empty value from none.
func optional(cursor []byte) string {
	if cursor == nil {
		return ""
	}
	return "c" + string(cursor)
}

// Settle ends claims. What is settled while a call is out goes with the next one, together
// with a claim request that waits to be sent.
func (b *Broker) Settle(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	type answer struct {
		codes []protocol.Code
		err   error
	}
	answered := make(chan answer, 1)
	b.Post(ctx, settlements, func(codes []protocol.Code, err error) { answered <- answer{codes, err} })
	select {
	case a := <-answered:
		return a.codes, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("redis: settle: %w", ctx.Err()) // it may have been done
	}
}

// only returns the partition of a batch that fits one call, or nil.
func (b *Broker) only(settlements []worker.Settlement) *partition {
	if len(settlements) == 0 || len(settlements) > batchLimit {
		return nil
	}
	p := b.of(settlements[0].Job)
	for i := range settlements {
		if b.of(settlements[i].Job) != p {
			return nil
		}
	}
	return p
}
