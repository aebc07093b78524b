package trace

// windowRows is how many rows of the formats that are written in order are held back to be
// sorted. Logs written by several machines or ordered by completion are out of order by tens
// or hundreds of rows; 4096 rows of 32 bytes cost nothing and leave room.
const windowRows = 4096

// sortedRows is the same for the formats that come in any order, such as the newest row
// first: in files up to this long every order is put right, in 32 bytes per row.
const sortedRows = 5_000_000

// window is a heap of rows, smallest arrival first. It is not container/heap because that
// boxes each row in an interface, which allocates. It grows by blocks: a slice that is
// copied whenever it grows would take three times the memory of its rows.
type window struct {
	blocks [][]row
	rows   int
	size   int
}

func newWindow(size int) window { return window{size: size} }

func (w *window) empty() bool   { return w.rows == 0 }
func (w *window) full() bool    { return w.rows == w.size }
func (w *window) first() row    { return *w.at(0) }
func (w *window) at(i int) *row { return &w.blocks[i/windowRows][i%windowRows] }
func (w *window) swap(i, j int) { *w.at(i), *w.at(j) = *w.at(j), *w.at(i) }

// push adds a row; the window must not be full.
func (w *window) push(r row) {
	if w.rows == len(w.blocks)*windowRows {
		w.blocks = append(w.blocks, make([]row, windowRows))
	}
	*w.at(w.rows) = r
	w.rows++
	for i := w.rows - 1; i > 0; {
		parent := (i - 1) / 2
		if !w.less(i, parent) {
			return
		}
		w.swap(i, parent)
		i = parent
	}
}

// pop takes the earliest row; the window must not be empty.
func (w *window) pop() row {
	first := w.first()
	w.rows--
	end := w.rows
	*w.at(0) = *w.at(end)
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
		w.swap(i, child)
		i = child
	}
}

// less breaks ties by number, so jobs that arrive together keep the order of the file.
func (w *window) less(i, j int) bool {
	a, b := w.at(i), w.at(j)
	if a.arrival != b.arrival {
		return a.arrival < b.arrival
	}
	return a.number < b.number
}
