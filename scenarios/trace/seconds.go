package trace

import (
	"bytes"
	"math"
	"time"
)

// maxSpan refuses what is surely a mistake of unit, and keeps all sums of two instants
// inside an int64.
const maxSpan = 100 * 365 * 24 * time.Hour

// verdict says what a cell turned out to be.
type verdict int

const (
	good      verdict = iota
	malformed         // not of this form at all
	negative          // of this form, but below zero; the value is given
	tooLarge          // of this form, but beyond maxSpan
)

// parseSeconds reads digits, an optional fraction and an optional decimal exponent as
// seconds, rounded half up to the nanosecond. It works on the digits themselves: through
// a float64, 1357000000.123456789 would lose its last two places.
func parseSeconds(cell []byte) (ns int64, v verdict) { return parseShifted(cell, 0) }

// parseShifted reads the number times ten to the power of shift: with -3 it is in milliseconds.
func parseShifted(cell []byte, shift int) (ns int64, v verdict) {
	minus, digits := cutSign(cell)
	exponent := 0
	if e := bytes.IndexAny(digits, "eE"); e >= 0 {
		var ok bool
		if exponent, ok = parseExponent(digits[e+1:]); !ok {
			return 0, malformed
		}
		digits = digits[:e]
	}
	point := bytes.IndexByte(digits, '.')
	count := len(digits)
	if point >= 0 {
		count--
	} else {
		point = count
	}
	if count == 0 || !allDigits(digits, point) {
		return 0, malformed
	}
	ns, v = nanoseconds(digits, count, point, exponent+shift)
	if minus && ns > 0 && v == good {
		return -ns, negative
	}
	return ns, v
}

// nanoseconds takes the digits up to nine places behind the moved point.
func nanoseconds(digits []byte, count, point, exponent int) (int64, verdict) {
	digit := func(i int) int64 {
		if i >= point {
			i++
		}
		return int64(digits[i] - '0')
	}
	ns, wanted := int64(0), point+exponent+9
	for i := 0; i < wanted; i++ {
		if i >= count && ns == 0 {
			break // Zero, however large the exponent.
		}
		if ns > int64(maxSpan)/10 { // Before the product, which could overflow.
			return 0, tooLarge
		}
		ns *= 10
		if i < count {
			ns += digit(i)
		}
	}
	if wanted >= 0 && wanted < count && digit(wanted) >= 5 {
		ns++
	}
	if ns > int64(maxSpan) {
		return 0, tooLarge
	}
	return ns, good
}

func allDigits(text []byte, point int) bool {
	for i, b := range text {
		if i != point && !isDigit(b) {
			return false
		}
	}
	return true
}

// parseExponent reads a signed integer. Beyond a billion the exact size no longer
// matters, since no line has that many digits to make up for it.
func parseExponent(text []byte) (int, bool) {
	minus, text := cutSign(text)
	if len(text) == 0 || !allDigits(text, len(text)) {
		return 0, false
	}
	n := 0
	for _, b := range text {
		n = min(n*10+int(b-'0'), math.MaxInt32/2)
	}
	if minus {
		n = -n
	}
	return n, true
}
