package redis

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

var _ worker.Poster = (*Broker)(nil)

// Post is worker.Poster's: settlements and the claim after them go with one call. Where some
// partitions do not answer the codes of their claims are Unknown.
func (b *Broker) Post(_ context.Context, settlements []worker.Settlement, answered func([]protocol.Code, error)) {
	codes := allStale(len(settlements))
	if one := b.only(settlements); one != nil {
		one.lane.post(&settleCall{items: settlements, codes: codes, answered: func(err error) {
			if err != nil {
				codes = nil
			}
			answered(codes, err)
		}})
		return
	}
	p := &post{answered: answered, codes: codes, open: 1, over: make(chan struct{})}
	b.scatter(p)
	_ = byPartition(b, settlements, func(s *worker.Settlement) protocol.JobKey { return s.Job }, func(part *partition, index []int) error {
		p.send(part, settlements, index)
		return nil
	})
	b.crew.Go(func() { p.part(nil) }) // all others may be over
}

// post is a Post in several parts under way: one for each partition and batch.
type post struct {
	answered func([]protocol.Code, error)
	over     chan struct{} // closed when answered has come back

	mu      sync.Mutex
	codes   []protocol.Code
	errs    []error
	open    int // parts that are not answered, and one until all are sent
	answers int // parts that are
}

// send hands the settlements at some indices to their lane.
func (p *post) send(to *partition, settlements []worker.Settlement, index []int) {
	some, codes := make([]worker.Settlement, len(index)), make([]protocol.Code, len(index))
	p.mu.Lock()
	p.open++
	for k, i := range index {
		some[k] = settlements[i]
		p.codes[i] = protocol.Unknown // until it answers
	}
	p.mu.Unlock()
	to.lane.post(&settleCall{items: some, codes: codes, answered: func(err error) {
		if err == nil {
			p.mu.Lock()
			p.answers++
			for k, i := range index {
				p.codes[i] = codes[k]
			}
			p.mu.Unlock()
		} else {
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
	last := p.open == 0
	p.mu.Unlock()
	if !last {
		return
	}
	if err := errors.Join(p.errs...); err != nil && p.answers == 0 {
		p.answered(nil, err)
	} else {
		p.answered(p.codes, nil)
	}
	close(p.over)
}

// scatter notes a post in several parts: no lane knows when all of it is answered, so claims
// that come later wait for it themselves.
func (b *Broker) scatter(p *post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scattered = append(b.scattered, p)
}

// earlier returns the posts in several parts that a claim must not overtake.
func (b *Broker) earlier() []*post {
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
	return slices.Clone(b.scattered)
}
