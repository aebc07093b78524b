package model

import "github.com/quiesce/quiesce/internal/prefetch"

// pageSize is how many neighbours share a page: so many that the list of pages of a few million
// jobs stays in a processor's nearer caches.
const pageSize = 1024

// Pages holds values by ascending serial number in memory that does not grow with the
// numbers. Jobs end only roughly in the order in which they came: the last of many
// neighbours may outlive the others by far. So a page knows only where its values are, and
// the values themselves lie close together, wherever there was room.
type Pages[T any] struct {
	dir    []page
	base   uint64     // number of the first page in dir
	spare  [][]uint32 // places of pages to be used again
	values Slab[T]
}

// page holds the places of pageSize neighbours plus one, or of fewer in a copy; 0 is none.
// Without any it holds no memory.
type page struct {
	places []uint32
	live   int
}

// Put makes room for serial number n and returns its cleared value. In a copy it may move
// other values.
func (p *Pages[T]) Put(n uint64) *T {
	pg := p.page(n / pageSize)
	i := n % pageSize
	if i >= uint64(len(pg.places)) {
		pg.places = append(pg.places, make([]uint32, pageSize-len(pg.places))...)
	}
	if pg.places[i] == 0 {
		pg.places[i] = p.values.New() + 1
		pg.live++
	}
	v := p.values.At(pg.places[i] - 1)
	var zero T
	*v = zero
	return v
}

// page returns page number d, which may come back after it was given up.
func (p *Pages[T]) page(d uint64) *page {
	if len(p.dir) == 0 {
		p.base = d
	}
	for d < p.base {
		p.dir = append(p.dir, page{})
		copy(p.dir[1:], p.dir)
		p.dir[0] = page{}
		p.base--
	}
	for d-p.base >= uint64(len(p.dir)) {
		p.dir = append(p.dir, page{})
	}
	pg := &p.dir[d-p.base]
	if pg.places == nil {
		pg.places = p.take()
	}
	return pg
}

// take returns the places of a page without members.
func (p *Pages[T]) take() []uint32 {
	k := len(p.spare)
	if k == 0 {
		return nil
	}
	places := p.spare[k-1]
	p.spare = p.spare[:k-1]
	return places
}

// give keeps a page's memory for later, whoever its members were.
func (p *Pages[T]) give(pg *page) {
	clear(pg.places)
	p.spare = append(p.spare, pg.places)
	*pg = page{}
}

// Get returns the value of serial number n, or nil when there is none.
func (p *Pages[T]) Get(n uint64) *T {
	d, i := n/pageSize-p.base, n%pageSize // a page before the first wraps around and is beyond the last
	if d >= uint64(len(p.dir)) || i >= uint64(len(p.dir[d].places)) {
		return nil
	}
	place := p.dir[d].places[i]
	if place == 0 {
		return nil
	}
	return p.values.At(place - 1)
}

// Foresee has the memory fetched that Get will read, in the step that is told: first 0, where the
// value of n is, and a while later 1, the value itself.
func (p *Pages[T]) Foresee(n uint64, step int) {
	d, i := n/pageSize-p.base, n%pageSize
	if d >= uint64(len(p.dir)) || i >= uint64(len(p.dir[d].places)) {
		return
	}
	at := &p.dir[d].places[i]
	switch {
	case step == 0:
		prefetch.All(at)
	case *at != 0:
		p.values.Foresee(*at - 1)
	}
}

// Drop forgets serial number n.
func (p *Pages[T]) Drop(n uint64) {
	if p.Get(n) == nil {
		return
	}
	d := n/pageSize - p.base
	pg := &p.dir[d]
	p.values.Free(pg.places[n%pageSize] - 1)
	pg.places[n%pageSize] = 0
	pg.live--
	if pg.live > 0 {
		return
	}
	p.give(pg)
	p.trim()
}

// trim gives the leading part of the directory back once it is large enough to matter.
func (p *Pages[T]) trim() {
	k := 0
	for k < len(p.dir) && p.dir[k].live == 0 {
		k++
	}
	if k >= len(p.dir) || k >= 64 && k >= len(p.dir)/2 {
		n := copy(p.dir, p.dir[k:])
		clear(p.dir[n:])
		p.dir = p.dir[:n]
		p.base += uint64(k)
	}
}

// Each calls f for every serial number held, in ascending order. f neither puts nor drops one.
func (p *Pages[T]) Each(f func(n uint64, v *T)) {
	for d := range p.dir {
		left := p.dir[d].live // most pages of a small world are nearly empty
		for i, place := range p.dir[d].places {
			if left == 0 {
				break
			}
			if place != 0 {
				left--
				f((p.base+uint64(d))*pageSize+uint64(i), p.values.At(place-1))
			}
		}
	}
}

// CopyTo makes dst an equal, independent copy. dst's memory is used again where possible.
func (p *Pages[T]) CopyTo(dst *Pages[T]) {
	dst.base = p.base
	p.values.CopyTo(&dst.values)
	for d := range dst.dir {
		if dst.dir[d].live > 0 && (d >= len(p.dir) || p.dir[d].live == 0) {
			dst.give(&dst.dir[d])
		}
	}
	for len(dst.dir) < len(p.dir) {
		dst.dir = append(dst.dir, page{})
	}
	dst.dir = dst.dir[:len(p.dir)]
	for d := range p.dir {
		if from, to := &p.dir[d], &dst.dir[d]; from.live > 0 {
			if to.places == nil {
				to.places = dst.take()
			}
			to.live = from.live
			to.places = append(to.places[:0], from.upToLast()...)
		}
	}
}

// upToLast returns the places up to the last member's: a copy is no longer than that.
func (pg *page) upToLast() []uint32 {
	n := len(pg.places)
	for pg.places[n-1] == 0 {
		n--
	}
	return pg.places[:n]
}
