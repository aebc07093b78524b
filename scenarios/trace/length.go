package trace

import (
	"math/bits"
	"time"
)

// parseLength reads a plain number of seconds or a Go duration.
func parseLength(cell []byte) (ns int64, v verdict) {
	if ns, v = parseSeconds(cell); v != malformed {
		return ns, v
	}
	return parseGoDuration(cell)
}

// parseGoDuration reads what [time.ParseDuration] reads. That one keeps the text for its
// errors, so each call would allocate a string; it also takes fractions through a float64.
func parseGoDuration(cell []byte) (ns int64, v verdict) {
	minus, rest := cutSign(cell)
	if len(rest) == 0 {
		return 0, malformed
	}
	huge := false
	for len(rest) > 0 {
		part, n := parsePart(rest)
		if n == 0 {
			return 0, malformed
		}
		rest = rest[n:]
		huge = huge || part > int64(maxSpan)-ns
		if !huge {
			ns += part
		}
	}
	switch {
	case huge:
		return 0, tooLarge
	case minus && ns > 0:
		return -ns, negative
	}
	return ns, good
}

// parsePart reads one number with its unit, such as "1.5h", and says how long it is; no
// bytes mean that there is none. A value beyond an int64 is given as the largest.
func parsePart(text []byte) (ns int64, n int) {
	const most = 1<<63 - 1
	whole, fraction, scale, digits := uint64(0), uint64(0), uint64(1), 0
	for ; n < len(text) && isDigit(text[n]); n++ {
		whole = min(whole, most/10-1)*10 + uint64(text[n]-'0') // Stays beyond maxSpan once it is.
		digits++
	}
	if n < len(text) && text[n] == '.' {
		for n++; n < len(text) && isDigit(text[n]); n++ {
			digits++
			if scale < 1e18 { // Further places are below any unit's nanosecond.
				fraction, scale = fraction*10+uint64(text[n]-'0'), scale*10
			}
		}
	}
	from := n
	for n < len(text) && !isDigit(text[n]) && text[n] != '.' {
		n++
	}
	unit := unitOf(text[from:n])
	if digits == 0 || unit == 0 {
		return 0, 0
	}
	high, low := bits.Mul64(whole, unit)
	if high > 0 || low > uint64(maxSpan) {
		return most, n
	}
	// The fraction is below one, so its share is below one unit and the quotient fits.
	high, part := bits.Mul64(fraction, unit)
	part, _ = bits.Div64(high, part, scale)
	return int64(low + part), n
}

// unitOf returns 0 for an unknown unit. Micro has two signs in Unicode.
func unitOf(name []byte) uint64 {
	switch string(name) {
	case "ns":
		return uint64(time.Nanosecond)
	case "us", "µs", "μs":
		return uint64(time.Microsecond)
	case "ms":
		return uint64(time.Millisecond)
	case "s":
		return uint64(time.Second)
	case "m":
		return uint64(time.Minute)
	case "h":
		return uint64(time.Hour)
	}
	return 0
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func cutSign(text []byte) (minus bool, rest []byte) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		return text[0] == '-', text[1:]
	}
	return false, text
}
