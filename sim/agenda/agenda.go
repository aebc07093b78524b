// Package agenda is the simulator's event queue: what is to happen, by when.
//
// Entries leave by instant, then by priority, then in the order in which they came. Nothing
// is allocated once it is warm, entries are values without pointers, and an entry costs about
// the same among a thousand as among ten million.
//
// What lies ahead is kept in buckets that are the wider the further away they are, as the
// digits of the distance: 256 buckets of 65 µs, then 256 that are 256 times as wide, and so
// on. The next bucket that holds anything becomes the present: if it holds little it moves
// into a small heap, from which entries leave in their exact order; otherwise it is first
// divided among narrower ones. So an entry moves a few times, always beside others and from
// end to end of a piece of memory, where one large heap waits for memory at every level.
// (After the radix heap of Ahuja et al., 1990, and the ladder queue of Tang et al., 2005.)
package agenda

import (
	"math/bits"

	"github.com/quiesce/quiesce/protocol"
)

const (
	digit   = 8 // bits of an instant that tell the buckets of one level apart
	buckets = 1 << digit
	finest  = 16 // bits of the width of the narrowest bucket, in nanoseconds
	levels  = (63 - finest + digit - 1) / digit

	// little is how many entries may become the present at once: few enough that the heap
	// stays in the cache nearest to the processor.
	little = 32
)

// Entry is one thing to happen.
type Entry[E any] struct {
	At    protocol.Instant
	order uint64 // priority in the upper 8 bits, then the order of insertion
	What  E
}

func (e *Entry[E]) before(f *Entry[E]) bool { return e.leaves(f.At, f.order) }

// leaves reports whether e leaves before an entry of an instant and an order.
func (e *Entry[E]) leaves(at protocol.Instant, order uint64) bool {
	return e.At < at || e.At == at && e.order < order
}

// Agenda is what is to happen. The zero value is empty, at instant 0.
type Agenda[E any] struct {
	near   present[E]       // everything up to last
	last   protocol.Instant // of the present; what comes later is in a bucket
	start  protocol.Instant // of the present
	size   int              // entries altogether
	pushed uint64
	level  [levels]level
	blocks store[E]
}

// level is the buckets of one width: those that share all higher digits with start.
type level struct {
	filled [buckets / 64]uint64 // a bit per bucket that holds something
	bucket [buckets]bucket
}

// Len returns how many entries there are.
func (a *Agenda[E]) Len() int { return a.size }

// Push adds an entry. at must not lie before the entry that was popped last.
func (a *Agenda[E]) Push(at protocol.Instant, priority uint8, what E) {
	a.pushed++
	a.size++
	order := uint64(priority)<<56 | a.pushed
	e := a.room(at, order)
	e.At, e.order, e.What = at, order, what // in its place at once: a copy would wait for the original
}

// file copies an entry to where it belongs.
func (a *Agenda[E]) file(e *Entry[E]) { *a.room(e.At, e.order) = *e }

// room makes room for an entry where it belongs: in the bucket of the highest digit in which its
// instant differs from the present.
func (a *Agenda[E]) room(at protocol.Instant, order uint64) *Entry[E] {
	if at <= a.last {
		return a.near.room(at, order)
	}
	n := max((bits.Len64(uint64(at^a.start)>>finest)-1)/digit, 0)
	k := uint(at>>(finest+n*digit)) % buckets
	l := &a.level[n]
	l.filled[k/64] |= 1 << (k % 64)
	return a.blocks.room(&l.bucket[k])
}

// Turn makes what comes next the present when nothing is left of it, and reports whether it
// did. Peek and Pop turn by themselves; whoever turns can look at Near beforehand.
func (a *Agenda[E]) Turn() bool {
	if a.near.len() > 0 || a.size == 0 {
		return false
	}
	a.turn()
	return true
}

func (a *Agenda[E]) turn() {
	for a.near.len() < a.size {
		n, k := a.next()
		if held := int(a.level[n].bucket[k].n); n > 0 && held > little && a.near.len() == 0 {
			a.divide(n, k)
		} else if a.near.len() == 0 || a.near.len()+held <= little {
			a.open(n, k)
		} else {
			a.blocks.foresee(a.level[n].bucket[k].newest) // it is next
			break
		}
	}
}

// open adds a bucket to the present.
func (a *Agenda[E]) open(n int, k uint) {
	a.last = a.enter(n, k) + (1<<(finest+n*digit) - 1)
	a.blocks.empty(&a.level[n].bucket[k], a.file)
}

// divide spreads a bucket over narrower ones.
func (a *Agenda[E]) divide(n int, k uint) {
	a.last = a.enter(n, k) - 1
	a.blocks.empty(&a.level[n].bucket[k], a.file)
}

// enter moves the present to the start of a bucket that is about to be emptied.
func (a *Agenda[E]) enter(n int, k uint) protocol.Instant {
	a.level[n].filled[k/64] &^= 1 << (k % 64)
	shift := finest + n*digit
	a.start = a.start>>shift>>digit<<digit<<shift | protocol.Instant(k)<<shift
	return a.start
}

// next finds the earliest bucket that holds anything.
func (a *Agenda[E]) next() (n int, k uint) {
	for n = range a.level {
		for w, set := range a.level[n].filled {
			if set != 0 {
				return n, uint(w*64 + bits.TrailingZeros64(set))
			}
		}
	}
	panic("agenda: entries were lost")
}

// Soon reports whether an entry for an instant would be one of the present.
func (a *Agenda[E]) Soon(at protocol.Instant) bool { return at <= a.last }

// Near returns the next entries, to look at until the next call: all of the present, unless they
// are very many.
func (a *Agenda[E]) Near() []Entry[E] { return a.near.sorted[a.near.first:] }

// Peek returns the next entry's instant, or Never when there is none.
func (a *Agenda[E]) Peek() protocol.Instant {
	a.Turn()
	if a.near.len() == 0 {
		return protocol.Never
	}
	return a.near.peek().At
}

// Pop takes the next entry, which is there until the next call. There must be one.
func (a *Agenda[E]) Pop() *Entry[E] {
	a.Turn()
	a.size--
	return a.near.pop()
}
