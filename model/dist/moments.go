package dist

import "math/big"

// Moments are the first two moments of a table, for comparison with theory.
type Moments struct {
	Mean         float64 // E[S] in nanoseconds
	SecondMoment float64 // E[S²] in square nanoseconds
}

// ResidualMean returns E[S²]/2E[S], the mean rest of a job found running at a random
// instant, in nanoseconds. It is 0 for the constant 0.
func (m Moments) ResidualMean() float64 {
	if m.Mean == 0 {
		return 0
	}
	return m.SecondMoment / (2 * m.Mean)
}

// Moments returns the table's own moments, not those of the law it was made from. They are
// summed exactly and rounded once, to the nearest float64. For a table with knots they are
// those of the line through the knots; that Sample rounds to whole nanoseconds is left out.
func (t *Table) Moments() Moments {
	switch {
	case t.knots != nil:
		return t.gridMoments()
	case t.steps != nil:
		return stepMoments(t.steps)
	default:
		return rangeMoments(t.low, t.width)
	}
}

// gridMoments adds up the segments between knots. On one from a to b the mean is
// (a+b)/2 and the mean square (a²+ab+b²)/3; the weight is its width in words.
func (t *Table) gridMoments() Moments {
	var first, second, w, x, y, sum, term big.Int
	add := func(words uint64, a, b int64) {
		w.SetUint64(words)
		x.SetInt64(a)
		y.SetInt64(b)
		sum.Add(&x, &y)
		first.Add(&first, term.Mul(&sum, &w))
		sum.Mul(&sum, &sum).Sub(&sum, x.Mul(&x, &y)) // (a+b)² - ab
		second.Add(&second, term.Mul(&sum, &w))
	}
	pinned := int(coarseKnot(t.pin.at))
	for i := range lastKnot {
		words := (knotAt(i+1) - knotAt(i)) << fineBits
		if t.pin != (pin{}) && i == pinned {
			left := t.pin.at % words
			add(left, t.knots[i], t.pin.value)
			add(words-left, t.pin.value, t.knots[i+1])
			continue
		}
		add(words, t.knots[i], t.knots[i+1])
	}
	words := new(big.Int).Lsh(big.NewInt(1), 64)
	return Moments{
		Mean:         ratio(&first, new(big.Int).Mul(words, big.NewInt(2))),
		SecondMoment: ratio(&second, new(big.Int).Mul(words, big.NewInt(3))),
	}
}

func stepMoments(steps []int64) Moments {
	var first, second, v big.Int
	for _, s := range steps {
		v.SetInt64(s)
		first.Add(&first, &v)
		second.Add(&second, v.Mul(&v, &v))
	}
	n := big.NewInt(int64(len(steps)))
	return Moments{Mean: ratio(&first, n), SecondMoment: ratio(&second, n)}
}

// rangeMoments is for the whole numbers from low to low+width-1: with s the sum of both
// ends, the mean is s/2 and the mean square s²/4 + (width²-1)/12.
func rangeMoments(low int64, width uint64) Moments {
	if width == 0 {
		return Moments{}
	}
	n := new(big.Int).SetUint64(width)
	s := big.NewInt(low)
	s.Lsh(s, 1).Add(s, n).Sub(s, big.NewInt(1))
	second := new(big.Int).Mul(s, s)
	second.Mul(second, big.NewInt(3))
	second.Add(second, n.Mul(n, n)).Sub(second, big.NewInt(1))
	return Moments{Mean: ratio(s, big.NewInt(2)), SecondMoment: ratio(second, big.NewInt(12))}
}

// ratio returns num/den, correctly rounded.
func ratio(num, den *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(num, den).Float64()
	return f
}
