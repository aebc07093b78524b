package invariant

// fifo is a queue that uses its memory again.
type fifo[T any] struct {
	all  []T
	gone int // of all, taken out
}

func (q *fifo[T]) empty() bool { return q.gone == len(q.all) }

// first returns what was put in first; the queue is not empty.
func (q *fifo[T]) first() T { return q.all[q.gone] }

func (q *fifo[T]) push(v T) { q.all = append(q.all, v) }

func (q *fifo[T]) drop() {
	q.gone++
	if q.gone > 1024 && q.gone > len(q.all)/2 {
		q.all = append(q.all[:0], q.all[q.gone:]...)
		q.gone = 0
	}
}
