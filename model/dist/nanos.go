package dist

import "strconv"

// nanos writes a duration as time.Duration does. Package time is out of reach here: pure
// packages do not import it, so that no clock can slip in.
func nanos(ns int64) string {
	if ns < 0 {
		return "-" + span(-uint64(ns))
	}
	return span(uint64(ns))
}

func span(ns uint64) string {
	const minute = 60_000_000_000
	switch {
	case ns == 0:
		return "0s"
	case ns < 1_000:
		return decimal(ns, 0) + "ns"
	case ns < 1_000_000:
		return decimal(ns, 3) + "µs"
	case ns < 1_000_000_000:
		return decimal(ns, 6) + "ms"
	}
	text := decimal(ns%minute, 9) + "s"
	if minutes := ns / minute; minutes >= 60 {
		text = decimal(minutes/60, 0) + "h" + decimal(minutes%60, 0) + "m" + text
	} else if minutes > 0 {
		text = decimal(minutes, 0) + "m" + text
	}
	return text
}

// decimal writes n·10^-places without trailing zeros after the point.
func decimal(n uint64, places int) string {
	for places > 0 && n%10 == 0 {
		n, places = n/10, places-1
	}
	digits := strconv.FormatUint(n, 10)
	if places == 0 {
		return digits
	}
	for len(digits) <= places {
		digits = "0" + digits
	}
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}
