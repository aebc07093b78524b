package model

// pageSize is how many neighbours share a page.
const pageSize = 256

// Pages holds values by ascending serial number in memory that does not grow with the
// numbers. Jobs end only roughly in the order in which they came: the last of many
// neighbours may outlive the others by far. So a page knows only where its values are, and
// the values themselves lie close together, wherever there was room.
type Pages[T any] struct {
	dir    []*page
	base   uint64 // number of the first page in dir
	spare  []*page
	values Slab[T]
}

// page holds the places of pageSize neighbours plus one, or of fewer in a copy; 0 is none.
type page struct {
	places []uint32
	live   int
}

// copyTo makes dst an equal page, no longer than its last member needs.
func (pg *page) copyTo(dst *page) {
	n := len(pg.places)
	for n > 0 && pg.places[n-1] == 0 {
		n--
	}
	dst.places = append(dst.places[:0], pg.places[:n]...)
	dst.live = pg.live
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
		p.dir = append(p.dir, nil)
		copy(p.dir[1:], p.dir)
		p.dir[0] = nil
		p.base--
	}
	for d-p.base >= uint64(len(p.dir)) {
		p.dir = append(p.dir, nil)
	}
	pg := p.dir[d-p.base]
	if pg == nil {
		pg = p.take()
		p.dir[d-p.base] = pg
	}
	return pg
}

// take returns a page without members.
func (p *Pages[T]) take() *page {
	k := len(p.spare)
	if k == 0 {
		return new(page)
	}
	pg := p.spare[k-1]
	p.spare = p.spare[:k-1]
	return pg
}

// give keeps a page for later, whoever its members were.
func (p *Pages[T]) give(pg *page) {
	clear(pg.places)
	pg.live = 0
	p.spare = append(p.spare, pg)
}

// Get returns the value of serial number n, or nil when there is none.
func (p *Pages[T]) Get(n uint64) *T {
	d, i := n/pageSize-p.base, n%pageSize // a page before the first wraps around and is beyond the last
	if d >= uint64(len(p.dir)) || p.dir[d] == nil || i >= uint64(len(p.dir[d].places)) || p.dir[d].places[i] == 0 {
		return nil
	}
	return p.values.At(p.dir[d].places[i] - 1)
}

// Drop forgets serial number n.
func (p *Pages[T]) Drop(n uint64) {
	if p.Get(n) == nil {
		return
	}
	d := n/pageSize - p.base
	pg := p.dir[d]
	p.values.Free(pg.places[n%pageSize] - 1)
	pg.places[n%pageSize] = 0
	pg.live--
	if pg.live > 0 {
		return
	}
	p.dir[d] = nil
	p.give(pg)
	p.trim()
}

// trim gives the leading part of the directory back once it is large enough to matter.
func (p *Pages[T]) trim() {
	k := 0
	for k < len(p.dir) && p.dir[k] == nil {
		k++
	}
	if k >= len(p.dir) || k >= 64 && k >= len(p.dir)/2 {
		n := copy(p.dir, p.dir[k:])
		clear(p.dir[n:])
		p.dir = p.dir[:n]
		p.base += uint64(k)
	}
}

// Each calls f for every serial number held, in ascending order.
func (p *Pages[T]) Each(f func(n uint64, v *T)) {
	for d, pg := range p.dir {
		if pg == nil {
			continue
		}
		for i, place := range pg.places {
			if place != 0 {
				f((p.base+uint64(d))*pageSize+uint64(i), p.values.At(place-1))
			}
		}
	}
}

// CopyTo makes dst an equal, independent copy. dst's memory is used again where possible.
func (p *Pages[T]) CopyTo(dst *Pages[T]) {
	dst.base = p.base
	p.values.CopyTo(&dst.values)
	for len(dst.dir) < len(p.dir) {
		dst.dir = append(dst.dir, nil)
	}
	for d, pg := range dst.dir {
		if pg != nil && (d >= len(p.dir) || p.dir[d] == nil) {
			dst.dir[d] = nil
			dst.give(pg)
		}
	}
	dst.dir = dst.dir[:len(p.dir)]
	for d, pg := range p.dir {
		if pg == nil {
			continue
		}
		if dst.dir[d] == nil {
			dst.dir[d] = dst.take()
		}
		pg.copyTo(dst.dir[d])
	}
}
