package explore

import (
	"math/bits"

	"github.com/quiesce/quiesce/internal/prefetch"
)

// A search that must not take more memory than it has to grows in steps of an eighth of what
// it has: rarely, and never far beyond what it needs.

// step is by how many to grow what holds n.
func step(n, least, most int) int { return min(max(n/8, least), most) }

// arena is a queue of byte strings in blocks.
type arena struct {
	blocks [][]byte
	used   int // blocks that hold something
	held   int // bytes of all blocks
}

const (
	leastArena = 176
	mostArena  = 1 << 18
)

// put appends a string.
func (a *arena) put(s []byte) {
	if need := len(s) + 2; a.used == 0 || len(a.blocks[a.used-1])+need > cap(a.blocks[a.used-1]) {
		a.open(need)
	}
	b := append(a.blocks[a.used-1], byte(len(s)), byte(len(s)>>8))
	a.blocks[a.used-1] = append(b, s...)
}

// open begins another block, one that is there already if it is large enough.
func (a *arena) open(need int) {
	if a.used == len(a.blocks) || cap(a.blocks[a.used]) < need {
		b := make([]byte, 0, max(step(a.held, leastArena, mostArena), need))
		a.held += cap(b)
		a.blocks = append(a.blocks, b)
		last := len(a.blocks) - 1
		a.blocks[a.used], a.blocks[last] = a.blocks[last], a.blocks[a.used]
	}
	a.used++
}

// empty forgets the strings and keeps memory for as many bytes.
func (a *arena) empty(bytes int) {
	kept, held := a.blocks[:0], 0
	for _, b := range a.blocks {
		if held < bytes {
			kept = append(kept, b[:0])
			held += cap(b)
		}
	}
	clear(a.blocks[len(kept):])
	*a = arena{blocks: kept, held: held}
}

// cursor walks through the states of an arena.
type cursor struct {
	*arena
	block, at int
	id        uint32 // of the next one
}

// next returns the state that comes next, and its number. There is one. It has the one after it
// fetched: what is expanded was written a level ago, and has left the caches since.
func (c *cursor) next() (id uint32, form []byte) {
	for c.at == len(c.blocks[c.block]) {
		c.block++
		c.at = 0
	}
	b := c.blocks[c.block][c.at:]
	n := 2 + (int(b[0]) | int(b[1])<<8)
	id = c.id
	c.at += n
	c.id++
	if after := min(n, len(b)-n); after > 0 { // it is about as long
		prefetch.First(&b[n], uintptr(after))
	}
	return id, b[2:n]
}

// table is a set of states by their digests, with open addressing. It numbers its members.
type table struct {
	places []known
	n      uint32
}

// known is a member, in a quarter of a cache line: what the search keeps of its digest beside
// the shard, and its number and one. In a free place that is 0.
type known struct {
	a  uint64
	b  uint32
	id uint32
}

// place is where a digest belongs. The order of places is that of digests, however many there
// are, so a table that grows is read and written in one direction.
func (t *table) place(a uint64) int {
	at, _ := bits.Mul64(a, uint64(len(t.places)))
	return int(at)
}

// add returns the number of a member, and whether it is new.
func (t *table) add(a uint64, b uint32) (id uint32, fresh bool) {
	if int(t.n)*4 >= len(t.places)*3 {
		t.grow()
	}
	i := t.place(a)
	for {
		switch p := &t.places[i]; {
		case p.id == 0:
			t.n++
			*p = known{a, b, t.n}
			return t.n - 1, true
		case p.a == a && p.b == b:
			return p.id - 1, false
		}
		if i++; i == len(t.places) {
			i = 0
		}
	}
}

// foresee has the memory fetched that add will read.
func (t *table) foresee(a uint64) {
	if len(t.places) > 0 {
		prefetch.All(&t.places[t.place(a)])
	}
}

func (t *table) grow() {
	old := t.places
	t.places = make([]known, max(8, len(old)+len(old)/4))
	for _, p := range old {
		if p.id == 0 {
			continue
		}
		i := t.place(p.a)
		for t.places[i].id != 0 {
			if i++; i == len(t.places) {
				i = 0
			}
		}
		t.places[i] = p
	}
}

// size is in bytes.
func (t *table) size() int { return 16 * len(t.places) }

// column is a growing list in blocks, of which only the last is ever copied.
type column[T any] struct {
	blocks [][]T
	n      int
}

const perBlock = 1 << 12

// push appends x.
func (c *column[T]) push(x T) {
	k := c.n / perBlock
	if k == len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	b := c.blocks[k]
	if len(b) == cap(b) {
		grown := make([]T, len(b), min(len(b)+step(c.n, 4, perBlock), perBlock))
		copy(grown, b)
		b = grown
	}
	c.blocks[k] = append(b, x)
	c.n++
}

func (c *column[T]) get(i uint32) T    { return c.blocks[i/perBlock][i%perBlock] }
func (c *column[T]) set(i uint32, x T) { c.blocks[i/perBlock][i%perBlock] = x }

// size is how many have room.
func (c *column[T]) size() int {
	if len(c.blocks) == 0 {
		return 0
	}
	return (len(c.blocks)-1)*perBlock + cap(c.blocks[len(c.blocks)-1])
}
