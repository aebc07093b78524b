package dist

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Empirical follows observed values, in any order; they are copied. Up to 3,071 of
// them are kept and returned equally often. From more, a table of quantiles is taken, by
// linear interpolation between neighbours in rank (type 7 of Hyndman and Fan, 1996), from
// the smallest value to the largest.
func Empirical(values []int64) (*Table, error) {
	if len(values) == 0 {
		return nil, errors.New("dist: empirical has 0 values and needs at least 1; give some")
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	if sorted[0] < 0 {
		return nil, fmt.Errorf("dist: empirical value %s must not be below 0s; drop or correct it", nanos(sorted[0]))
	}
	text := fmt.Sprintf("empirical(n=%d, min=%s, max=%s)", len(sorted), nanos(sorted[0]), nanos(sorted[len(sorted)-1]))
	if len(sorted) <= knotCount {
		return &Table{text: text, steps: sorted}, nil
	}
	var knots [knotCount]int64
	for i := range knots {
		knots[i] = rankQuantile(sorted, knotAt(i))
	}
	return newGrid(text, &knots, pin{}), nil
}

// rankQuantile returns the quantile at probability k/2^20.
func rankQuantile(sorted []int64, k uint64) int64 {
	hi, lo := bits.Mul64(k, uint64(len(sorted)-1))
	rank, rest := bits.Div64(hi, lo, scale)
	if rest == 0 {
		return sorted[rank]
	}
	return between(sorted[rank], sorted[rank+1], rest, scale)
}
