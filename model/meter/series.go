package meter

import "github.com/quiesce/quiesce/protocol"

// Slices is how many equal parts of a run a Series tells apart. Five of them make a batch of
// MSER-5, which leaves fifty batches.
const Slices = 250

// Series is a length of time, observed over and over in the course of a run, by slice of the
// run. Unlike everything else in a Row it knows no warm-up: it is there to judge it by.
type Series [Slices]Slice

// Slice is what was observed in one part of a run.
type Slice struct {
	N   int64
	Sum int64 // microseconds
}

// add counts n observations of d, or takes them back.
func (s *Series) add(w *Window, at protocol.Instant, d protocol.Duration, n int64) {
	if at < 0 || at > w.Until || w.Until == 0 {
		return
	}

	i := min(int64(at)/max(int64(w.Until)/Slices, 1), Slices-1)
	s[i].N += n
	s[i].Sum += n * micros(max(d, 0))
}
