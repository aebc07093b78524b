package model

import "github.com/quiesce/quiesce/internal/prefetch"

// blockSize is how many values of a Slab lie in one piece of memory. The list of blocks stays
// small like that of pages.
const blockSize = 1024

// Slab holds values that come and go in any order and uses their room again. A value keeps
// its place, and its address as long as the slab is not a copy.
type Slab[T any] struct {
	blocks [][]T  // of blockSize values, or fewer in a copy, which is as long as it has to be
	made   uint32 // places so far, in use or free
	free   []uint32
}

// New returns the place of a value whose content means nothing yet. In a copy it may move
// other values.
func (s *Slab[T]) New() uint32 {
	if k := len(s.free); k > 0 {
		place := s.free[k-1]
		s.free = s.free[:k-1]
		return place
	}
	place := s.made
	s.made++
	switch b := int(place / blockSize); {
	case b == len(s.blocks):
		s.blocks = append(s.blocks, make([]T, blockSize))
	case int(place%blockSize) >= len(s.blocks[b]):
		s.blocks[b] = append(s.blocks[b], make([]T, blockSize-len(s.blocks[b]))...)
	}
	return place
}

// At returns the value at a place.
func (s *Slab[T]) At(place uint32) *T { return &s.blocks[place/blockSize][place%blockSize] }

// Foresee has the memory of a value fetched.
func (s *Slab[T]) Foresee(place uint32) { prefetch.All(s.At(place)) }

// Put keeps a value and returns its place.
func (s *Slab[T]) Put(v T) uint32 {
	place := s.New()
	*s.At(place) = v
	return place
}

// Free gives a place up.
func (s *Slab[T]) Free(place uint32) { s.free = append(s.free, place) }

// Places returns how many places there are, in use or free.
func (s *Slab[T]) Places() int { return int(s.made) }

// CopyTo makes dst an equal, independent copy. dst's memory is used again where possible.
func (s *Slab[T]) CopyTo(dst *Slab[T]) {
	dst.made = s.made
	dst.free = append(dst.free[:0], s.free...)
	for b, block := range s.blocks {
		if b == len(dst.blocks) {
			dst.blocks = append(dst.blocks, nil)
		}
		used := min(len(block), int(s.made)-b*blockSize)
		dst.blocks[b] = append(dst.blocks[b][:0], block[:used]...)
	}
	dst.blocks = dst.blocks[:len(s.blocks)]
}
