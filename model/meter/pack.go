package meter

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// bar is a bucket that holds something: its least value in microseconds, and how many
// values fell into it.
type bar struct{ low, n int64 }

// Pack makes a finished row small. A histogram that records has all of its buckets, a
// quarter of a megabyte; few of them hold anything. Every metric stays what it was.
func (r *Row) Pack() {
	for _, h := range r.histograms() {
		h.bars, h.h = h.packed(), nil
	}
}

func (r *Row) histograms() []*Histogram {
	all := []*Histogram{&r.AllStalls, &r.ExitTime, &r.QueueWait}
	for c := range r.Stalls {
		all = append(all, &r.Stalls[c])
	}
	return all
}

func (h *Histogram) packed() []bar {
	if h.h == nil {
		return h.bars
	}
	var bars []bar
	for i, n := range h.h.Export().Counts {
		if n > 0 {
			bars = append(bars, bar{bucketAt(i), n})
		}
	}
	return bars
}

// bucketAt returns the least value of the histogram's bucket i: one for each value up to
// 2,047, then 1,024 for each doubling. The histogram's own Distribution says the same, at the
// price of a list of all of them.
func bucketAt(i int) int64 {
	if i < 2048 {
		return int64(i)
	}
	return int64(i&1023+1024) << (i>>10 - 1)
}

// unpack makes the histogram ready to record.
func (h *Histogram) unpack() {
	if h.h != nil {
		return
	}
	h.h = hdrhistogram.New(1, maxMicros, 3)
	for _, b := range h.bars {
		_ = h.h.RecordValues(b.low, b.n) // within the range: it comes from a histogram
	}
	h.bars = nil
}

// quantileOfBars is what the histogram that was packed would answer.
func (h *Histogram) quantileOfBars(percent float64) int64 {
	rank := max(int64(percent/100*float64(h.N)+0.5), 1)
	for _, b := range h.bars {
		if rank -= b.n; rank <= 0 {
			return b.low + widthAt(b.low) - 1
		}
	}
	return h.Max
}

// widthAt returns the width of the bucket that a value falls into: three significant digits
// take 2,048 buckets, and above them each doubling of the value doubles the width.
func widthAt(low int64) int64 {
	return 1 << max(bits.Len64(uint64(low))-11, 0)
}
