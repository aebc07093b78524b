package sim

import "github.com/quiesce/quiesce/protocol"

// entry is one pending event: when, in which order among equals, and where its content lies.
type entry struct {
	at  protocol.Instant
	ord uint64 // priority in the upper 8 bits, then the order of insertion
	ref int32
}

func (e *entry) before(f *entry) bool {
	return e.at < f.at || e.at == f.at && e.ord < f.ord
}

// eventQueue is a 4-ary heap of values: no pointers, no closures, and equal instants fire
// by priority and then in the order in which they were put.
type eventQueue struct {
	heap []entry
	seq  uint64
}

func (q *eventQueue) len() int { return len(q.heap) }

func (q *eventQueue) push(at protocol.Instant, priority uint8, ref int32) {
	q.seq++
	e := entry{at, uint64(priority)<<56 | q.seq, ref}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

func (q *eventQueue) pop() entry {
	h := q.heap
	top := h[0]
	n := len(h) - 1
	last := h[n]
	q.heap = h[:n]
	if n == 0 {
		return top
	}
	h = h[:n]
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if !h[least].before(&last) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = last
	return top
}

// slab holds values that are put and taken in any order, and uses their room again.
type slab[T any] struct {
	items []T
	free  []int32
}

func (s *slab[T]) put(v T) int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.items[i] = v
		return i
	}
	s.items = append(s.items, v)
	return int32(len(s.items) - 1)
}

func (s *slab[T]) take(i int32) T {
	v := s.items[i]
	s.free = append(s.free, i)
	return v
}
