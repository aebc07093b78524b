package agenda

import "github.com/quiesce/quiesce/protocol"

// heap is a 4-ary heap of entries.
type heap[E any] []Entry[E]

// room makes room for an entry of an instant and an order in its place.
func (h *heap[E]) room(at protocol.Instant, order uint64) *Entry[E] {
	var last Entry[E]
	*h = append(*h, last)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if a[up].leaves(at, order) {
			break
		}
		a[i] = a[up]
		i = up
	}
	return &a[i]
}

// pop takes the first entry. It is there until the next call, where the last one was.
func (h *heap[E]) pop() *Entry[E] {
	a := *h
	n := len(a) - 1
	top, last := a[0], a[n]
	*h = a[:n]
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if a[k].before(&a[least]) {
				least = k
			}
		}
		if !a[least].before(&last) {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = last
	a[n] = top
	return &a[n]
}
