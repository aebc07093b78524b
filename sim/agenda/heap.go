package agenda

// heap is a 4-ary heap of entries.
type heap[E any] []Entry[E]

func (h *heap[E]) push(e *Entry[E]) {
	*h = append(*h, *e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = *e
}

func (h *heap[E]) pop() Entry[E] {
	a := *h
	top := a[0]
	n := len(a) - 1
	last := &a[n]
	*h = a[:n]
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if a[k].before(&a[least]) {
				least = k
			}
		}
		if !a[least].before(last) {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = *last
	return top
}
