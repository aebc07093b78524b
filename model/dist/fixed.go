package dist

import (
	"math"
	"math/bits"
)

// fixed is a number with 56 binary digits after the point, between -128 and 128. That
// holds every exponent a duration needs (ln 2^63 < 44) and leaves 16 digits to spare
// below the 2^-40 that knots ask for.
type fixed int64

const (
	fixedBits = 56
	one       = fixed(1) << fixedBits

	ln2Bits64   = 0xB17217F7D1CF79AC // ln 2, 64 digits after the point
	log2eBits63 = 0xB8AA3B295C17F0BC // 1/ln 2, 63 digits after the point
)

// mulDiv returns a·b/den for den > 0, rounded to nearest, and whether it fits. The product
// may need 128 bits.
func mulDiv(a, b, den uint64) (int64, bool) {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, den/2, 0)
	hi += carry
	if hi >= den {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, den)
	return int64(q), q <= math.MaxInt64
}

// ln returns the natural logarithm of n > 0. It never falls as n rises.
func ln(n uint64) fixed {
	lead := bits.LeadingZeros64(n)
	log2 := uint64(63 - lead)
	m := n << lead // n = m·2^(63-lead) with 1 ≤ m < 2, 63 digits after the point
	for range fixedBits {
		// Squaring m doubles its logarithm: the next binary digit of log2 is whether the
		// square reached 2. An error made here counts half as much with each later digit.
		hi, lo := bits.Mul64(m, m)
		log2 <<= 1
		if hi>>63 == 1 {
			log2 |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	hi, lo := bits.Mul64(log2, ln2Bits64)
	return fixed(hi + lo>>63)
}

// exp returns mant and k with e^x = mant·2^(k-63) and 2^63 ≤ mant < 2^64.
func exp(x fixed) (mant uint64, k int) {
	hi, lo := bits.Mul64(uint64(max(x, -x)), log2eBits63)
	k = int(hi >> (fixedBits - 1))
	frac := hi<<9 | lo>>55 // |x|/ln 2 = k + frac·2^-64
	if x < 0 {
		k, frac = -k-1, ^frac // the complement is 2^-64 short, and needs no case for 0
	}
	y, _ := bits.Mul64(frac, ln2Bits64)

	// Horner's rule for 1 + y(1 + y/2(1 + y/3(…))). With y < ln 2 the twentieth term is
	// below 2^-70, and no bracket reaches 2.
	mant = 1 << 63
	for n := uint64(20); n > 0; n-- {
		p, _ := bits.Mul64(mant, y)
		mant = 1<<63 + p/n
	}
	return mant, k
}

// mulExp returns v·e^x·2^shift for v > 0, rounded to nearest, and whether it fits.
func mulExp(v uint64, x fixed, shift int) (int64, bool) {
	mant, k := exp(x)
	hi, lo := bits.Mul64(v, mant)
	down := 63 - k - shift
	if down <= 0 {
		return 0, false // v·mant is at least 2^63 already
	}
	// One digit is kept below the point to round by.
	hi, lo = shiftRight(hi, lo, uint(down-1))
	if hi != 0 || lo == math.MaxUint64 {
		return 0, false
	}
	return int64((lo + 1) >> 1), true
}

// shiftRight shifts a 128-bit number by n digits.
func shiftRight(hi, lo uint64, n uint) (uint64, uint64) {
	if n >= 64 {
		return 0, hi >> (n - 64)
	}
	return hi >> n, lo>>n | hi<<(64-n)
}
