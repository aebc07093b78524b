package model

import "github.com/quiesce/quiesce/protocol"

// ring is a first-in first-out queue. What it has room for is a power of two.
type ring[T any] struct {
	buf        []T
	head, size int
}

// full reports whether what is pushed next needs more room.
func (r *ring[T]) full() bool { return r.size == len(r.buf) }

func (r *ring[T]) push(v T) {
	if r.full() {
		grown := make([]T, max(16, 2*len(r.buf)))
		for i := range r.size {
			grown[i] = *r.at(i)
		}
		r.buf, r.head = grown, 0
	}
	r.size++
	*r.at(r.size - 1) = v
}

func (r *ring[T]) peek() T { return r.buf[r.head] }

func (r *ring[T]) pop() T {
	v := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.size--
	return v
}

// at returns what is popped after i others.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) reset() { r.head, r.size = 0, 0 }

func (r *ring[T]) copyTo(dst *ring[T]) {
	dst.reset()
	for i := range r.size {
		dst.push(*r.at(i))
	}
}

// keyHeap yields jobs by ascending number: a job that comes back keeps its place.
type keyHeap []protocol.JobKey

func (h *keyHeap) push(job protocol.JobKey) {
	*h = append(*h, job)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up] <= a[i] {
			break
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *keyHeap) pop() protocol.JobKey {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(a); c++ {
			if a[c] < a[least] {
				least = c
			}
		}
		if least == i {
			return top
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}

type dueJob struct {
	at  protocol.Instant
	job protocol.JobKey
}

func (d dueJob) before(e dueJob) bool { return d.at < e.at || d.at == e.at && d.job < e.job }

// dueHeap yields delayed jobs by the instant they are due, then by number.
type dueHeap []dueJob

func (h *dueHeap) push(d dueJob) {
	*h = append(*h, d)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(a[up]) {
			break
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *dueHeap) pop() dueJob {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(a); c++ {
			if a[c].before(a[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}

// leaseQueue keeps claimed jobs by the end of their leases. A lease is as long as any other, so a
// grant or renewal goes to the end, and nobody is looked at but the first: a lease that is over stays
// where it is until all before it are over, too. Its entry is void then, and the first never is.
type leaseQueue struct {
	entries ring[lease]
	running int
	granted uint32 // leases so far
}

// lease is an entry: it is void unless the job's row has its number.
type lease struct {
	until  protocol.Instant
	job    protocol.JobKey
	number uint32
}

func (q *leaseQueue) reset() {
	q.entries.reset()
	q.running, q.granted = 0, 0
}

func (q *leaseQueue) copyTo(dst *leaseQueue) {
	q.entries.copyTo(&dst.entries)
	dst.running, dst.granted = q.running, q.granted
}

// lease begins a job's lease anew.
func (b *Broker) lease(job protocol.JobKey, row *JobRow, until protocol.Instant) {
	b.unlease(row)
	q := &b.leases
	if q.granted++; q.granted == 0 { // which is none
		q.granted++
	}
	q.running++
	row.Lease, row.lease = until, q.granted
	if q.entries.full() && q.entries.size > 4*q.running {
		b.dropVoid()
	}
	q.entries.push(lease{until, job, row.lease})
	// Only after the clock of a failed-over broker went back is the last not the latest.
	for i := q.entries.size - 1; i > 0; i-- {
		last, before := q.entries.at(i), q.entries.at(i-1)
		if before.until <= last.until {
			break
		}
		*last, *before = *before, *last
	}
}

// unlease ends a job's lease, if it has one.
func (b *Broker) unlease(row *JobRow) {
	if row.lease == 0 {
		return
	}
	q, first := &b.leases, b.leases.entries.peek().number == row.lease
	q.running--
	row.lease = 0
	if first {
		for q.entries.size > 0 && b.void(q.entries.peek()) {
			q.entries.pop()
		}
	}
}

// dropVoid drops all entries of leases that are over. One that does not end for long, or never, would
// have those of everything that is done meanwhile kept.
func (b *Broker) dropVoid() {
	e := &b.leases.entries
	kept := 0
	for i := range e.size {
		if l := *e.at(i); !b.void(l) {
			*e.at(kept) = l
			kept++
		}
	}
	e.size = kept
}

// void reports whether a lease is over.
func (b *Broker) void(l lease) bool {
	row := b.Job(l.job)
	return row == nil || row.lease != l.number
}

// eachLease calls f for the jobs that have a lease when it begins, by its end; f may end
// the one that it is called for, and begin others.
func (b *Broker) eachLease(f func(job protocol.JobKey, row *JobRow)) {
	leased := make([]lease, 0, b.leases.running)
	for i := range b.leases.entries.size {
		if l := *b.leases.entries.at(i); !b.void(l) {
			leased = append(leased, l)
		}
	}
	for _, l := range leased {
		f(l.job, b.Job(l.job))
	}
}
