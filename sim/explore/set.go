package explore

// block is the size of the pieces in which a search grows its memory, so that it never
// copies what it has.
const block = 1 << 18

// arena is a queue of byte strings in blocks.
type arena struct {
	blocks [][]byte
	n      int // strings in it
}

// put appends a string, with the number of the state that it is.
func (a *arena) put(id uint32, s []byte) {
	need := len(s) + 6
	last := len(a.blocks) - 1
	if last < 0 || len(a.blocks[last])+need > cap(a.blocks[last]) {
		size := block
		if last < 3 {
			size = max(4096<<(2*len(a.blocks)), need) // small worlds need little
		}
		a.blocks = append(a.blocks, make([]byte, 0, size))
		last++
	}
	b := append(a.blocks[last], byte(id), byte(id>>8), byte(id>>16), byte(id>>24), byte(len(s)), byte(len(s)>>8))
	a.blocks[last] = append(b, s...)
	a.n++
}

func (a *arena) reset() { a.blocks, a.n = nil, 0 }

func (a *arena) size() int {
	n := 0
	for _, b := range a.blocks {
		n += cap(b)
	}
	return n
}

// cursor walks through an arena.
type cursor struct {
	*arena
	block, at int
}

// next returns the string that comes next, and its number.
func (c *cursor) next() (id uint32, s []byte, ok bool) {
	for c.block < len(c.blocks) && c.at == len(c.blocks[c.block]) {
		c.block++
		c.at = 0
	}
	if c.block == len(c.blocks) {
		return 0, nil, false
	}
	b := c.blocks[c.block][c.at:]
	id = uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	n := int(b[4]) | int(b[5])<<8
	c.at += 6 + n
	return id, b[6 : 6+n], true
}

// table is a set of states by their digests, with open addressing. It numbers its members.
type table struct {
	keys [][2]uint64
	ids  []uint32 // 0 is a free place; otherwise a member's number and one
	n    uint32
}

// add returns the number of a member, and whether it is new.
func (t *table) add(a, b uint64) (id uint32, fresh bool) {
	if int(t.n)*4 >= len(t.ids)*3 {
		t.grow()
	}
	mask := uint64(len(t.ids) - 1)
	for i := a & mask; ; i = (i + 1) & mask {
		switch {
		case t.ids[i] == 0:
			t.n++
			t.keys[i], t.ids[i] = [2]uint64{a, b}, t.n
			return t.n - 1, true
		case t.keys[i] == [2]uint64{a, b}:
			return t.ids[i] - 1, false
		}
	}
}

func (t *table) grow() {
	old := *t
	size := max(2*len(old.ids), 64)
	t.keys, t.ids = make([][2]uint64, size), make([]uint32, size)
	mask := uint64(size - 1)
	for k, id := range old.ids {
		if id == 0 {
			continue
		}
		i := old.keys[k][0] & mask
		for t.ids[i] != 0 {
			i = (i + 1) & mask
		}
		t.keys[i], t.ids[i] = old.keys[k], id
	}
}

func (t *table) size() int { return 20 * len(t.ids) }

// column is a growing list of numbers in blocks.
type column[T uint16 | uint32] struct{ blocks [][]T }

const perBlock = 1 << 14

func (c *column[T]) set(i uint32, x T) {
	for int(i/perBlock) >= len(c.blocks) {
		size := perBlock
		if len(c.blocks) == 0 {
			size = 256 // grown below: small worlds need little
		}
		c.blocks = append(c.blocks, make([]T, size))
	}
	b := c.blocks[i/perBlock]
	if at := int(i % perBlock); at >= len(b) {
		grown := make([]T, min(max(4*len(b), at+1), perBlock))
		copy(grown, b)
		c.blocks[i/perBlock] = grown
	}
	c.blocks[i/perBlock][i%perBlock] = x
}

func (c *column[T]) get(i uint32) T { return c.blocks[i/perBlock][i%perBlock] }

// size is in numbers.
func (c *column[T]) size() int {
	n := 0
	for _, b := range c.blocks {
		n += len(b)
	}
	return n
}
