package dist

import (
	"fmt"
	"math/bits"
)

// The grid: 1,024 even cells, both end cells cut again into 1,024. Knots lie at multiples
// of 2^-20, in one array in the order of probability:
//
//	knot 0 … 1024      at k = 0, 1, … 1024 (in 2^-20)
//	knot 1024 … 2046   at k = 1024, 2·1024, … 1023·1024
//	knot 2046 … 3070   at k = 1023·1024, … 2^20
//
// Knot i and knot 3070-i lie at p and 1-p, and knot 1535 at one half.
const (
	cells     = 1 << 10
	scale     = cells * cells
	knotCount = 3*cells - 1
	lastKnot  = knotCount - 1
	midKnot   = lastKnot / 2
	tailKnot  = 2*cells - 2

	coarseBits = 54 // a coarse cell spans 2^54 words
	fineBits   = 44 // a fine cell spans 2^44 words
)

// knotAt returns the probability of knot i in units of 2^-20.
func knotAt(i int) uint64 {
	switch {
	case i < cells:
		return uint64(i)
	case i < tailKnot:
		return uint64(i-(cells-1)) * cells
	default:
		return uint64(i-tailKnot) + (cells-1)*cells
	}
}

// pin is a knot inside a coarse cell, for a quantile whose probability is no multiple of
// 2^-10. The zero pin lies in cell 0, which is never looked up as a coarse cell.
type pin struct {
	at    uint64 // the word it belongs to
	value int64
}

// newGrid takes over the knots, which must rise, with the pin between its neighbours.
func newGrid(text string, knots *[knotCount]int64, p pin) *Table {
	for i := 1; i < knotCount; i++ {
		if knots[i-1] < 0 || knots[i] < knots[i-1] {
			panic(fmt.Sprintf("dist: %s: knot %d is %d after %d; quantiles must not fall", text, i, knots[i], knots[i-1]))
		}
	}
	if p != (pin{}) {
		i := coarseKnot(p.at)
		if p.value < knots[i] || p.value > knots[i+1] {
			panic(fmt.Sprintf("dist: %s: pin %d lies outside its cell, %d to %d", text, p.value, knots[i], knots[i+1]))
		}
	}
	return &Table{text: text, knots: knots, pin: p}
}

// coarseKnot returns the knot at the lower end of the coarse cell that holds u. The cell
// must be neither the first nor the last.
func coarseKnot(u uint64) uint64 { return u>>coarseBits + cells - 1 }

func (t *Table) interpolate(u uint64) int64 {
	// i is the knot below u, f how far u lies on the way to the next, in 2^-64 of the cell.
	var i, f uint64
	switch u >> coarseBits {
	case 0:
		i, f = u>>fineBits, u<<(64-fineBits)
	case cells - 1:
		i, f = tailKnot+u>>fineBits%cells, u<<(64-fineBits)
		f |= f >> fineBits // the last word counts as the whole cell, else Max is out of reach
	case t.pin.at >> coarseBits:
		return t.interpolatePinned(u)
	default:
		i, f = coarseKnot(u), u<<(64-coarseBits)
	}
	a := t.knots[i]
	whole, rest := bits.Mul64(f, uint64(t.knots[i+1]-a))
	return a + int64(whole+rest>>63)
}

// interpolatePinned is interpolate for the one cell that the pin cuts in two.
func (t *Table) interpolatePinned(u uint64) int64 {
	i := coarseKnot(u)
	start := u >> coarseBits << coarseBits
	if u < t.pin.at {
		return between(t.knots[i], t.pin.value, u-start, t.pin.at-start)
	}
	return between(t.pin.value, t.knots[i+1], u-t.pin.at, start+1<<coarseBits-t.pin.at)
}

// between returns the value num/den ≤ 1 of the way from a to b ≥ a, rounded to nearest.
func between(a, b int64, num, den uint64) int64 {
	step, _ := mulDiv(uint64(b-a), num, den)
	return a + step
}
