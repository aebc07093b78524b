package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

var _ worker.Poster = (*Broker)(nil)

// Post is worker.Poster's: settlements and the claim after them go with one call. Where some
// partitions do not answer the codes of their claims are Unknown.
func (b *Broker) Post(ctx context.Context, settlements []worker.Settlement, answered func([]protocol.Code, error)) {
	p := &post{answered: answered, codes: allStale(len(settlements)), open: 1, over: make(chan struct{})}
	if one := b.only(settlements); one != nil {
		p.send(one, settlements, p.codes, nil)
	} else {
		b.scatter(p)
		_ = byPartition(b, settlements, func(s *worker.Settlement) protocol.JobKey { return s.Job }, func(part *partition, index []int) error {
			some := make([]worker.Settlement, len(index))
			p.mu.Lock()
			for k, i := range index {
				some[k] = settlements[i]
				p.codes[i] = protocol.Unknown // until it answers
			}
			p.mu.Unlock()
			p.send(part, some, make([]protocol.Code, len(index)), index)
			return nil
		})
	}
	stop := context.AfterFunc(ctx, func() { p.end(fmt.Errorf("redis: settle: %w", ctx.Err())) }) // it may have been done
	p.mu.Lock()
	p.stop = stop
	p.mu.Unlock()
	p.part(nil)
}

// post is a Post under way: in one part, or in one for each partition and batch.
type post struct {
	answered func([]protocol.Code, error)
	once     sync.Once
	over     chan struct{} // closed when answered has come back

	mu      sync.Mutex
	codes   []protocol.Code
	errs    []error
	open    int         // parts that are not answered, and one until all are sent
	answers int         // parts that are
	stop    func() bool // of the end of its time
}

// send hands a part to its lane. Its codes belong where index says, if it does.
func (p *post) send(to *partition, items []worker.Settlement, codes []protocol.Code, index []int) {
	p.mu.Lock()
	p.open++
	p.mu.Unlock()
	to.lane.post(&settleCall{items: items, codes: codes, answered: func(err error) {
		if err == nil {
			p.mu.Lock()
			p.answers++
			for k, i := range index {
				p.codes[i] = codes[k]
			}
			p.mu.Unlock()
		} else if index != nil {
			to.misses(err)
		}
		p.part(err)
	}})
}

// part takes in that one part is over.
func (p *post) part(err error) {
	p.mu.Lock()
	p.errs = append(p.errs, err)
	p.open--
	last, stop := p.open == 0, p.stop
	p.mu.Unlock()
	if last {
		stop()
		p.end(errors.Join(p.errs...))
	}
}

func (p *post) end(err error) {
	p.once.Do(func() {
		p.mu.Lock()
		some := p.answers > 0 || err == nil
		codes := p.codes
		if err != nil && some {
			codes = slices.Clone(codes) // answers may still come
		}
		p.mu.Unlock()
		if some {
			p.answered(codes, nil)
		} else {
			p.answered(nil, err)
		}
		close(p.over)
	})
}

// scatter notes a post in several parts: no lane knows when all of it is answered, so claims
// that come later wait for it themselves.
func (b *Broker) scatter(p *post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scattered = slices.DeleteFunc(b.scattered, func(old *post) bool {
		select {
		case <-old.over:
			return true
		default:
			return false
		}
	})
	b.scattered = append(b.scattered, p)
}

// earlier returns the posts in several parts that a claim must not overtake.
func (b *Broker) earlier() []*post {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.scattered)
}
