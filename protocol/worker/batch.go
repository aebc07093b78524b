package worker

import (
	"sync"

	"github.com/quiesce/quiesce/protocol"
)

// batcher sends together what gathered while the last call was out, and never waits for
// more to come. A call that does not come back although its time is over holds up nobody:
// the next one is made beside it.
type batcher[T any] struct {
	clock Clock
	limit protocol.Duration // of one call, after which it does not count as out any more
	send  func(load[T])

	mu    sync.Mutex
	next  load[T]
	out   bool
	until protocol.Instant // the end of the limit of the call that is out
	line  int              // calls of an older line have been given up
}

// load is what one call carries.
type load[T any] struct {
	items   []T
	effects []protocol.Effect // which the items are of
	cargo   []*Job            // whose cursors are among the items
}

func newBatcher[T any](clock Clock, limit protocol.Duration, send func(load[T])) *batcher[T] {
	return &batcher[T]{clock: clock, limit: limit, send: send}
}

// put adds an item to the next call. job is the one whose cursor it carries, or nil.
func (b *batcher[T]) put(item T, e protocol.Effect, job *Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next.items, b.next.effects = append(b.next.items, item), append(b.next.effects, e)
	if job != nil {
		b.next.cargo = append(b.next.cargo, job)
	}
	if !b.out || e.At > b.until {
		b.out, b.until = true, e.At.Add(b.limit)
		b.line++
		go b.run(b.line)
	}
}

// run makes calls until nothing is left to send, or its line was given up.
func (b *batcher[T]) run(line int) {
	size := 0
	for {
		b.mu.Lock()
		if b.line != line {
			b.mu.Unlock()
			return
		}
		l := b.next
		b.out = len(l.items) > 0
		if !b.out {
			b.mu.Unlock()
			return
		}
		if size > 0 {
			b.until = b.clock.Now().Add(b.limit) // of a second call: the first began when it was put
		}
		size = len(l.items)
		b.next = load[T]{items: make([]T, 0, size), effects: make([]protocol.Effect, 0, size)}
		b.mu.Unlock()
		b.send(l)
	}
}
