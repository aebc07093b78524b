package dist

import "math/bits"

const (
	lnSqrt2Pi = fixed(0xEB3F8E4325F5A5) // ln √(2π)

	areaBits = 62 // digits after the point of an area or density
	sumBits  = 48 // digits after the point of the series, which stays below 2^15

	// z99 is asked for by its area above one half, 0.49, rounded down.
	area99 = 49 * (1 << areaBits) / 100
)

// normalQuantiles returns z for the knots from the middle up: entry i belongs to knot
// midKnot+i. The last knot, at probability 1, is left out. The knots below the middle
// are the same with the sign turned.
func normalQuantiles() []fixed {
	zs := make([]fixed, midKnot)
	for i := 1; i < midKnot; i++ {
		area := (knotAt(midKnot+i) - scale/2) * ((1 << areaBits) / scale)
		zs[i] = normalQuantile(area, zs[i-1])
	}
	return zs
}

// normalQuantile returns the z > 0 at which the standard normal law has the given area
// between 0 and z. The search starts at from, which must not lie above the answer: Φ is
// concave there, so Newton's steps come from below, never overshoot, and shrink
// quadratically.
func normalQuantile(area uint64, from fixed) fixed {
	z := from
	for {
		have, density := normalArea(z)
		if have >= area {
			return z
		}
		// Below the answer by a step s, the error left after the step is z/2·s². A step
		// under 2^-24 therefore leaves less than 2^-46.
		step, _ := mulDiv(area-have, uint64(one), density)
		z += fixed(step)
		if step < int64(one>>24) {
			return z
		}
	}
}

// normalArea returns the area under the standard normal density between 0 and z, for
// 0 ≤ z < 4.9, and the density at z.
func normalArea(z fixed) (area, density uint64) {
	// 1 + z²/3 + z⁴/(3·5) + …: all terms have one sign, so nothing cancels. The missing
	// factor z comes last, because a first term other than 1 would be rounded and every
	// later one with it. The loop ends long before n reaches 2^8 and its divisor 2^64.
	square, _ := mulDiv(uint64(z), uint64(z), uint64(one))
	term := int64(1) << sumBits
	sum := uint64(term)
	for n := uint64(3); term > 0; n += 2 {
		term, _ = mulDiv(uint64(term), uint64(square), n<<fixedBits)
		sum += uint64(term)
	}
	hi, lo := bits.Mul64(sum, uint64(z))
	_, sum = shiftRight(hi, lo, fixedBits+2)
	exponent := -fixed(square/2) - lnSqrt2Pi
	a, _ := mulExp(sum, exponent, areaBits-(sumBits-2))
	d, _ := mulExp(1<<areaBits, exponent, 0)
	return uint64(a), uint64(d)
}
