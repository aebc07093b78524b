package agenda

import "github.com/quiesce/quiesce/internal/prefetch"

// blockSize is how many entries lie side by side: enough to be read from end to end, and few
// enough that a bucket with one entry wastes little. Entries of 32 bytes, which those of the
// simulator are, lie on one line of the processor's memory each.
const blockSize = 15

// chunkSize is how many blocks are allocated at once.
const chunkSize = 64

// block is a piece of a bucket; before is the number of the one that was filled before it.
type block[E any] struct {
	before  uint32
	_       [24]byte
	entries [blockSize]Entry[E]
}

// bucket is a bag of entries: the number of its newest block, and how many there are.
type bucket struct {
	newest uint32
	n      uint32
}

// store holds the blocks of all buckets. Number 0 is none.
type store[E any] struct {
	chunks [][]block[E] // not pointers to arrays: to see that one is not nil would read its first line
	made   uint32
	free   uint32 // the newest of the blocks to be used again, chained by before
}

func (s *store[E]) at(number uint32) *block[E] {
	return &s.chunks[(number-1)/chunkSize][(number-1)%chunkSize]
}

func (s *store[E]) take() uint32 {
	if number := s.free; number != 0 {
		s.free = s.at(number).before
		return number
	}
	if s.made%chunkSize == 0 {
		s.chunks = append(s.chunks, make([]block[E], chunkSize))
	}
	s.made++
	return s.made
}

// room makes room for an entry in a bucket.
func (s *store[E]) room(b *bucket) *Entry[E] {
	i := b.n % blockSize
	if i == 0 {
		number := s.take()
		s.at(number).before = b.newest
		b.newest = number
	}
	b.n++
	return &s.at(b.newest).entries[i]
}

// foresee has the memory of a block fetched.
func (s *store[E]) foresee(number uint32) {
	if number != 0 {
		prefetch.All(s.at(number))
	}
}

// empty hands every entry of a bucket to f, which may add to other buckets.
func (s *store[E]) empty(b *bucket, f func(*Entry[E])) {
	number, n := b.newest, b.n
	*b = bucket{}
	for n > 0 {
		bl := s.at(number)
		before := bl.before
		s.foresee(before)
		used := (n-1)%blockSize + 1
		for i := range used {
			f(&bl.entries[i])
		}
		n -= used
		bl.before, s.free = s.free, number
		number = before
	}
}
