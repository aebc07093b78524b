package plots

import (
	"math"
	"strconv"
	"strings"
)

// write writes a number in the unit of its axis, with two or three digits.
func (u Unit) write(v float64) string {
	if v < 0 {
		return "-" + u.write(-v)
	}
	switch u {
	case Seconds:
		return duration(v)
	case Share:
		return share(v)
	default:
		return digits(v)
	}
}

// share writes a percentage, or parts of a million or a billion where it would have many zeros.
func share(v float64) string {
	switch {
	case v == 0, v >= 0.9995e-4:
		return digits(100*v) + "%"
	case v >= 0.9995e-7:
		return digits(1e6*v) + "ppm"
	default:
		return digits(1e9*v) + "ppb"
	}
}

// duration writes a length of time as people say it: 20ms, 1.5s, 4m30s, 2h.
func duration(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.9995e-3:
		return digits(v*1e6) + "µs"
	case v < 0.9995:
		return digits(v*1e3) + "ms"
	case v < 59.95:
		return digits(v) + "s"
	case v < 3599.5:
		return parts(v, "m", "s")
	case v < 48*3600:
		return parts(v/60, "h", "m")
	default:
		return digits(v/3600) + "h"
	}
}

// parts writes a number of small units, sixty of which are a large one; zero parts are left
// out.
func parts(v float64, large, small string) string {
	n := int64(math.Round(v))
	s := strconv.FormatInt(n/60, 10) + large
	if rest := n % 60; rest != 0 {
		s += strconv.FormatInt(rest, 10) + small
	}
	return s
}

// digits writes a number with two significant digits, or as many as stand before its point.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1e6:
		return digits(v/1e6) + "M"
	case v >= 9.95:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	default:
		decimals := 1 - int(math.Floor(math.Log10(v)))
		return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
	}
}

func thousands(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
