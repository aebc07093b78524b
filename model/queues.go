package model

import "github.com/quiesce/quiesce/protocol"

// ring is a first-in first-out queue of jobs.
type ring struct {
	buf        []protocol.JobKey
	head, size int
}

func (r *ring) push(job protocol.JobKey) {
	if r.size == len(r.buf) {
		grown := make([]protocol.JobKey, max(16, 2*len(r.buf)))
		for i := range r.size {
			grown[i] = r.buf[(r.head+i)%len(r.buf)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.size)%len(r.buf)] = job
	r.size++
}

func (r *ring) peek() protocol.JobKey { return r.buf[r.head] }

func (r *ring) pop() protocol.JobKey {
	job := r.buf[r.head]
	r.head = (r.head + 1) % len(r.buf)
	r.size--
	return job
}

// at returns the job that is popped after i others.
func (r *ring) at(i int) protocol.JobKey { return r.buf[(r.head+i)%len(r.buf)] }

func (r *ring) reset() { r.head, r.size = 0, 0 }

func (r *ring) copyTo(dst *ring) {
	dst.reset()
	for i := range r.size {
		dst.push(r.buf[(r.head+i)%len(r.buf)])
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

// leaseList keeps claimed jobs by the end of their leases, linked through their rows. A
// lease is as long as any other, so a grant or renewal goes to the end and nothing is
// searched; only after the clock of a failed-over broker went back does an insertion walk.
type leaseList struct {
	head, tail protocol.JobKey
	n          int
}

func (b *Broker) lease(job protocol.JobKey, row *JobRow, until protocol.Instant) {
	b.unlease(row)
	row.Lease = until
	row.leased = true
	b.leases.n++
	after := b.leases.tail
	for after != 0 && b.Job(after).Lease > until {
		after = b.Job(after).prev
	}
	row.prev = after
	if after == 0 {
		row.next, b.leases.head = b.leases.head, job
	} else {
		p := b.Job(after)
		row.next, p.next = p.next, job
	}
	if row.next == 0 {
		b.leases.tail = job
	} else {
		b.Job(row.next).prev = job
	}
}

func (b *Broker) unlease(row *JobRow) {
	if !row.leased {
		return
	}
	if row.prev == 0 {
		b.leases.head = row.next
	} else {
		b.Job(row.prev).next = row.next
	}
	if row.next == 0 {
		b.leases.tail = row.prev
	} else {
		b.Job(row.next).prev = row.prev
	}
	row.prev, row.next, row.leased = 0, 0, false
	b.leases.n--
}
