package agenda

import "github.com/quiesce/quiesce/protocol"

// present is what happens next, in order. A few entries are kept sorted, which costs the processor
// fewer wrong guesses than a heap of them; what is too many for that is kept in a heap beside.
type present[E any] struct {
	sorted []Entry[E] // those from first on
	first  int
	crowd  heap[E]
}

// few is how many entries are kept sorted.
const few = 2 * little

func (p *present[E]) len() int { return len(p.sorted) - p.first + len(p.crowd) }

// room makes room for an entry of an instant and an order in its place.
func (p *present[E]) room(at protocol.Instant, order uint64) *Entry[E] {
	if len(p.sorted)-p.first == few {
		return p.crowd.room(at, order)
	}
	if len(p.sorted) == cap(p.sorted) {
		p.close()
	}
	i := len(p.sorted)
	p.sorted = p.sorted[:i+1]
	for ; i > p.first && !p.sorted[i-1].leaves(at, order); i-- {
		p.sorted[i] = p.sorted[i-1]
	}
	return &p.sorted[i]
}

// close moves the entries to the beginning of their memory, of which there is enough that this
// is rare.
func (p *present[E]) close() {
	if p.sorted == nil {
		p.sorted = make([]Entry[E], 0, 4*few)
	}
	p.sorted = p.sorted[:copy(p.sorted, p.sorted[p.first:])]
	p.first = 0
}

// peek returns the next entry. There must be one.
func (p *present[E]) peek() *Entry[E] {
	if p.first == len(p.sorted) || len(p.crowd) > 0 && p.crowd[0].before(&p.sorted[p.first]) {
		return &p.crowd[0]
	}
	return &p.sorted[p.first]
}

// pop takes the next entry, which is there until the next call. There must be one.
func (p *present[E]) pop() *Entry[E] {
	if p.first == len(p.sorted) || len(p.crowd) > 0 && p.crowd[0].before(&p.sorted[p.first]) {
		return p.crowd.pop()
	}
	p.first++
	return &p.sorted[p.first-1]
}
