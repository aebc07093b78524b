package model

// pageSize is how many neighbours share a page. Jobs end roughly in the order in which
// they came, so a page's members are gone at about the same time.
const pageSize = 256

// Pages holds values by ascending serial number in memory that does not grow with the
// numbers: pages whose members are all gone are used again.
type Pages[T any] struct {
	dir  []*page[T]
	base uint64 // number of the first page in dir
	free []*page[T]
}

// page holds pageSize members, or fewer in a copy, which is as long as it has to be.
type page[T any] struct {
	items []T
	used  []bool
	live  int
}

func newPage[T any](n int) *page[T] {
	return &page[T]{items: make([]T, n), used: make([]bool, n)}
}

// has reports whether member i is there.
func (pg *page[T]) has(i uint64) bool { return i < uint64(len(pg.used)) && pg.used[i] }

// grow makes a copy full-length; pointers into it are void afterwards.
func (pg *page[T]) grow() {
	pg.items = append(pg.items, make([]T, pageSize-len(pg.items))...)
	pg.used = append(pg.used, make([]bool, pageSize-len(pg.used))...)
}

// copyTo makes dst an equal page, no longer than its last member needs.
func (pg *page[T]) copyTo(dst *page[T]) {
	n := len(pg.used)
	for n > 0 && !pg.used[n-1] {
		n--
	}
	dst.items = append(dst.items[:0], pg.items[:n]...)
	dst.used = append(dst.used[:0], pg.used[:n]...)
	dst.live = pg.live
}

// Put makes room for serial number n and returns its cleared value.
func (p *Pages[T]) Put(n uint64) *T {
	d := n / pageSize
	if len(p.dir) == 0 {
		p.base = d
	}
	for d < p.base { // a number that comes back after its page was dropped
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
		pg = p.take(pageSize)
		p.dir[d-p.base] = pg
	}
	i := n % pageSize
	if i >= uint64(len(pg.used)) {
		pg.grow()
	}
	if !pg.used[i] {
		pg.used[i] = true
		pg.live++
	}
	var zero T
	pg.items[i] = zero
	return &pg.items[i]
}

// take returns a page without members, one that was used before or a new one with room for n.
func (p *Pages[T]) take(n int) *page[T] {
	k := len(p.free)
	if k == 0 {
		return newPage[T](n)
	}
	pg := p.free[k-1]
	p.free = p.free[:k-1]
	return pg
}

// give keeps a page for later, whoever its members were.
func (p *Pages[T]) give(pg *page[T]) {
	clear(pg.used)
	pg.live = 0
	p.free = append(p.free, pg)
}

// Get returns the value of serial number n, or nil when there is none.
func (p *Pages[T]) Get(n uint64) *T {
	d := n/pageSize - p.base
	if n/pageSize < p.base || d >= uint64(len(p.dir)) || p.dir[d] == nil || !p.dir[d].has(n%pageSize) {
		return nil
	}
	return &p.dir[d].items[n%pageSize]
}

// Drop forgets serial number n.
func (p *Pages[T]) Drop(n uint64) {
	if p.Get(n) == nil {
		return
	}
	d := n/pageSize - p.base
	pg := p.dir[d]
	pg.used[n%pageSize] = false
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
		for i := range pg.items {
			if pg.used[i] {
				f((p.base+uint64(d))*pageSize+uint64(i), &pg.items[i])
			}
		}
	}
}

// CopyTo makes dst an equal, independent copy. dst's memory is used again where possible.
func (p *Pages[T]) CopyTo(dst *Pages[T]) {
	dst.base = p.base
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
			dst.dir[d] = dst.take(0)
		}
		pg.copyTo(dst.dir[d])
	}
}
