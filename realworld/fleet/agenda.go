package fleet

import (
	"container/heap"

	"github.com/quiesce/quiesce/protocol"
)

// agenda is what will happen at an instant. What is due at one instant happens in the order
// in which it was put down.
type agenda struct {
	items items
	seq   int
	late  protocol.Duration // the longest that something happened after it was due
}

type item struct {
	at  protocol.Instant
	seq int
	do  func()
}

func (a *agenda) put(at protocol.Instant, do func()) {
	if at == protocol.Never {
		return
	}
	a.seq++
	heap.Push(&a.items, item{at, a.seq, do})
}

// next is when the next thing is due.
func (a *agenda) next() protocol.Instant {
	if len(a.items) == 0 {
		return protocol.Never
	}
	return a.items[0].at
}

// run does what is due by an instant.
func (a *agenda) run(now protocol.Instant) {
	for len(a.items) > 0 && a.items[0].at <= now {
		i := heap.Pop(&a.items).(item)
		a.late = max(a.late, now.Sub(i.at))
		i.do()
	}
}

type items []item

func (s items) Len() int      { return len(s) }
func (s items) Swap(i, k int) { s[i], s[k] = s[k], s[i] }
func (s *items) Push(v any)   { *s = append(*s, v.(item)) }
func (s items) Less(i, k int) bool {
	return s[i].at < s[k].at || s[i].at == s[k].at && s[i].seq < s[k].seq
}

func (s *items) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
