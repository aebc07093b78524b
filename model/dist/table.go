package dist

import (
	"fmt"
	"math"
	"math/bits"
)

// Table is a distribution of durations in nanoseconds, none of them negative. Constructors
// make it, nothing changes it afterwards. It takes one of three forms, told apart by which
// field is set; the zero Table is the constant 0 without a name.
type Table struct {
	text string

	knots *[knotCount]int64 // quantiles at the grid's probabilities, or
	pin   pin               // with one more of them inside a cell;
	steps []int64           // equally likely values in rising order, or
	low   int64             // every whole value from low
	width uint64            // to low + width - 1.
}

// Sample returns the quantile that belongs to u, a uniformly random word: the value at
// probability u/2^64. It costs a few nanoseconds and does not allocate.
func (t *Table) Sample(u uint64) int64 {
	if t.knots != nil {
		return t.interpolate(u)
	}
	if t.steps != nil {
		i, _ := bits.Mul64(u, uint64(len(t.steps)))
		return t.steps[i]
	}
	off, _ := bits.Mul64(u, t.width)
	return t.low + int64(off)
}

// Quantile returns the value at probability num/den, so Quantile(99, 100) is the p99. It
// panics unless num ≤ den and den > 0.
func (t *Table) Quantile(num, den uint64) int64 {
	if den == 0 || num > den {
		panic(fmt.Sprintf("dist: quantile %d/%d is not a probability", num, den))
	}
	return t.Sample(word(num, den))
}

// Min returns the smallest value Sample can return.
func (t *Table) Min() int64 { return t.Sample(0) }

// Max returns the largest value Sample can return.
func (t *Table) Max() int64 { return t.Sample(math.MaxUint64) }

// String names the law with its parameters, as in "lognormal(p50=45s, p99=4m0s)".
func (t *Table) String() string { return t.text }

// word returns the word at probability num/den, rounded down; certainty is the last word.
func word(num, den uint64) uint64 {
	if num == den {
		return math.MaxUint64
	}
	w, _ := bits.Div64(num, 0, den)
	return w
}
