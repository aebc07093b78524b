package explore

import (
	"math/bits"

	"github.com/quiesce/quiesce/internal/prefetch"
)

// A search that must not take more memory than it has to grows by a part of what it has: rarely,
// and never far beyond what it needs.

// arena is a queue of byte strings in blocks, which it has of a pool.
type arena struct {
	*pool
	blocks [][]byte
}

// pool has the blocks that no arena needs.
type pool struct {
	free [][]byte
	held int // bytes of all blocks, free or not
}

const mostBlock = 1 << 18

// put appends a string.
func (a *arena) put(s []byte) {
	last := len(a.blocks) - 1
	if need := len(s) + 2; last < 0 || len(a.blocks[last])+need > cap(a.blocks[last]) {
		a.blocks = append(a.blocks, a.take(need))
		last++
	}
	b := append(a.blocks[last], byte(len(s)), byte(len(s)>>8))
	a.blocks[last] = append(b, s...)
}

// take returns an empty block with room for need bytes. A new one has room for a few strings, and
// adds little to what there is.
func (p *pool) take(need int) []byte {
	if n := len(p.free); n > 0 && cap(p.free[n-1]) >= need {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	b := make([]byte, 0, max(min(p.held/16, mostBlock), 4*need))
	p.held += cap(b)
	return b
}

// cursor walks through the states of an arena.
type cursor struct {
	*arena
	block, at int
	given     int // blocks that went back to the pool
}

// next returns the state that comes next. There is one. It has the one after it fetched: what is
// expanded was written a level ago, and has left the caches since.
func (c *cursor) next() (form []byte) {
	for c.at == len(c.blocks[c.block]) {
		c.block++
		c.at = 0
	}
	b := c.blocks[c.block][c.at:]
	n := 2 + (int(b[0]) | int(b[1])<<8)
	c.at += n
	if after := min(n, len(b)-n); after > 0 { // it is about as long
		prefetch.First(&b[n], uintptr(after))
	}
	return b[2:n]
}

// give gives blocks back to the pool, those before one.
func (c *cursor) give(block int) {
	for ; c.given < block; c.given++ {
		c.free = append(c.free, c.blocks[c.given][:0])
	}
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
	t.places = make([]known, len(old)+max(1, len(old)/2))
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

const perBlock = 1 << 9

// push appends x.
func (c *column[T]) push(x T) {
	k := c.n / perBlock
	if k == len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	b := c.blocks[k]
	if len(b) == cap(b) {
		grown := make([]T, len(b), min(len(b)+max(c.n/8, 1), perBlock))
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
