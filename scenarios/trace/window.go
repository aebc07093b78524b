package trace

// windowRows is how many rows of the formats that are written in order are held back to be
// sorted. Logs written by several machines or ordered by completion are out of order by tens
// or hundreds of rows; 4096 rows of 32 bytes cost nothing and leave room.
const windowRows = 4096

// sortedRows is the same for the formats that come in any order, such as the newest row
// first: in files up to this long every order is put right, in 32 bytes per row.
const sortedRows = 5_000_000

// window is a heap of rows, smallest arrival first. It is not container/heap because
// that boxes each row in an interface, which allocates.
type window struct {
	heap []row
	size int
}

func newWindow(size int) window {
	return window{heap: make([]row, 0, min(size, windowRows)), size: size}
}

func (w *window) empty() bool { return len(w.heap) == 0 }
func (w *window) full() bool  { return len(w.heap) == w.size }
func (w *window) first() row  { return w.heap[0] }

// push adds a row; the window must not be full.
func (w *window) push(r row) {
	w.heap = append(w.heap, r)
	for i := len(w.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !w.less(i, parent) {
			return
		}
		w.heap[i], w.heap[parent] = w.heap[parent], w.heap[i]
		i = parent
	}
}

// pop takes the earliest row; the window must not be empty.
func (w *window) pop() row {
	first, end := w.heap[0], len(w.heap)-1
	w.heap[0] = w.heap[end]
	w.heap = w.heap[:end]
	for i := 0; ; {
		child := 2*i + 1
		if child >= end {
			return first
		}
		if child+1 < end && w.less(child+1, child) {
			child++
		}
		if !w.less(child, i) {
			return first
		}
		w.heap[i], w.heap[child] = w.heap[child], w.heap[i]
		i = child
	}
}

// less breaks ties by number, so jobs that arrive together keep the order of the file.
func (w *window) less(i, j int) bool {
	a, b := &w.heap[i], &w.heap[j]
	if a.arrival != b.arrival {
		return a.arrival < b.arrival
	}
	return a.number < b.number
}
