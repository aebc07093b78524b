package redis

import "sync"

// inquiry is which partitions a claim request was sent to, and which of them answered. All attempts
// of one request share it: what an earlier one was granted where the newest did not ask is known to
// nobody, either. Queues of one partition need none, for it's the protocol that repeats there.
type inquiry struct {
	seq uint64

	mu     sync.Mutex
	newest *claiming
	asked  map[*partition]bool // whether it has answered the newest attempt
}

// listen finds or makes the inquiry of a request.
func (b *Broker) listen(c *claiming) *inquiry {
	if len(c.queue.partitions) == 1 {
		return nil
	}
	who := going{c.req.Incarnation, c.req.Queue}
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.inquiries[who]
	if h == nil || h.seq != c.req.Seq {
		h = &inquiry{seq: c.req.Seq, asked: map[*partition]bool{}}
		b.inquiries[who] = h
	}
	h.mu.Lock()
	h.newest = c
	h.mu.Unlock()
	return h
}

// asks takes in that a partition is about to be asked.
func (c *claiming) asks(p *partition) {
	if h := c.inquiry; h != nil {
		h.mu.Lock()
		h.asked[p] = false
		h.mu.Unlock()
	}
}

// hears takes in how a partition answered. What it had granted before comes with an answer.
func (c *claiming) hears(p *partition, err error) {
	h := c.inquiry
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest != c || silent(err) {
		return
	}
	h.asked[p] = true
	if err == nil {
		p.paid(c.req.Incarnation, c.req.Seq)
	}
}

// over ends an attempt: what may have been granted where nobody heard of it is owed. If it failed
// that is everything, for its grants go no further.
func (c *claiming) over(failed bool) {
	h := c.inquiry
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest != c {
		return
	}
	for p, heard := range h.asked {
		if failed || !heard {
			p.owe(c.req.Incarnation, c.req.Seq)
		}
	}
}
