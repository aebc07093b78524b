package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// scale maps the values of an axis to places.
type scale struct {
	unit   Unit
	log    bool
	floor  bool    // zero lies on a floor below a logarithmic axis
	lo, hi float64 // values at both ends, the floor left out
	from   vg.Length
	to     vg.Length
}

// floorHigh is how far below its axis the floor of zeros lies.
const floorHigh = vg.Length(16)

// wideRange is the ratio of the largest to the smallest value from which an axis is
// logarithmic: below it the smaller curve still stands clear of zero.
const wideRange = 15

// newScale chooses a scale for values that are not negative. Differences that are small
// beside the values are not blown up: a linear axis begins at zero.
func newScale(unit Unit, values []float64) scale {
	s := scale{unit: unit}
	least, most := math.Inf(1), 0.0
	zeros := false
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if v > 0 {
			least, most = min(least, v), max(most, v)
		} else {
			zeros = true
		}
	}
	switch {
	case most == 0: // Nothing but zeros, or nothing at all.
		s.hi = 1
	case most/least >= wideRange:
		s.log, s.floor = true, zeros
		s.lo, s.hi = least/1.35, most*1.35
	default:
		s.hi = most * 1.06
	}
	return s
}

// newSpan chooses a scale for the values that were swept: the one on which they lie more
// evenly, which is how they were chosen. Both ends are inside.
func newSpan(unit Unit, values []float64) scale {
	s := scale{unit: unit, lo: slices.Min(values), hi: slices.Max(values)}
	switch {
	case s.lo == s.hi:
		pad := max(math.Abs(s.lo)*0.1, 1e-9)
		s.lo, s.hi = s.lo-pad, s.hi+pad
	case s.lo > 0 && s.hi/s.lo >= 3 && unevenness(values, math.Log) < unevenness(values, identity):
		s.log = true
		pad := math.Pow(s.hi/s.lo, 0.04)
		s.lo, s.hi = s.lo/pad, s.hi*pad
	default:
		pad := (s.hi - s.lo) * 0.04
		s.lo, s.hi = s.lo-pad, s.hi+pad
	}
	return s
}

func identity(v float64) float64 { return v }

// unevenness is the mean square of the gaps between values in rising order over the square
// of their mean, least when all are equal.
func unevenness(values []float64, of func(float64) float64) float64 {
	n := float64(len(values) - 1)
	var squares float64
	for i := 1; i < len(values); i++ {
		gap := of(values[i]) - of(values[i-1])
		squares += gap * gap
	}
	all := of(values[len(values)-1]) - of(values[0])
	return squares * n / (all * all)
}

// between sets the places of both ends.
func (s scale) between(from, to vg.Length) scale {
	s.from, s.to = from, to
	return s
}

// at returns the place of a value; what lies outside is moved to the nearer end.
func (s scale) at(v float64) vg.Length {
	from := s.from
	if s.floor {
		if v <= 0 {
			return from
		}
		from += floorHigh
	}
	x := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		x = 0
		if v > 0 {
			x = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
		}
	}
	return from + vg.Length(min(max(x, 0), 1))*(s.to-from)
}

func (s scale) inside(v float64) bool {
	const slack = 1e-9
	return v >= s.lo*(1-slack) && v <= s.hi*(1+slack)
}
