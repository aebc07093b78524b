package main

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quiesce/quiesce/protocol"
)

// Numbers are written for people: three digits say what the intervals allow to say.

// threeDigits writes a number with about three significant digits.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return commas(v)
	case a >= 9.995:
		return trimmed(v, 1)
	case a >= 0.9995 || a == 0:
		return trimmed(v, 2)
	default:
		return digits(v, 2)
	}
}

// digits writes a number with so many significant digits at most, however small it is: nobody
// compares exponents.
func digits(v float64, n int) string {
	return strconv.FormatFloat(significant(v, n), 'f', -1, 64)
}

// trimmed writes v with at most so many decimals.
func trimmed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// commas writes a rounded number with its thousands apart.
func commas(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 && s != "0" {
		s = "-" + s
	}
	return s
}

// million shortens a large count: 2.6M.
func million(v float64) string {
	switch {
	case v >= 999_500:
		return threeDigits(v/1e6) + "M"
	case v >= 9_999.5:
		return commas(v/1e3) + "k"
	default:
		return commas(v)
	}
}

// count writes a mean of counts.
func count(v float64) string {
	if math.Abs(v) >= 99.5 || v == math.Trunc(v) {
		return commas(v)
	}
	if math.Abs(v) >= 9.95 {
		return trimmed(v, 1)
	}
	return digits(v, 2)
}

// percent writes a share.
func percent(v float64) string { return share(v, v, threeDigits) }

// share writes a share in the unit that suits another one, so that one cell has one unit.
func share(v, like float64, write func(float64) string) string {
	switch like = math.Abs(like); {
	case like == 0, like >= 1e-4:
		return write(100*v) + "%"
	case like >= 1e-7:
		return write(1e6*v) + "ppm"
	default:
		return write(1e9*v) + "ppb"
	}
}

// roundedUp returns the least number of so many digits that is not below v, which is positive.
func roundedUp(v float64, digits int) float64 { return rounded(v, digits, math.Ceil, -1e-9) }

// roundedDown returns the largest one that is not above v.
func roundedDown(v float64, digits int) float64 { return rounded(v, digits, math.Floor, 1e-9) }

// rounded takes no notice of what is but the error of a division: slack, in steps of the last digit.
func rounded(v float64, digits int, to func(float64) float64, slack float64) float64 {
	if v <= 0 {
		return v
	}
	step := math.Pow10(int(math.Floor(math.Log10(v))) + 1 - digits)
	return to(v/step+slack) * step
}

// seconds writes a length of time, given in seconds.
func seconds(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	switch {
	case v == 0:
		return "0s"
	case v < 0.9995e-3:
		return sign + threeDigits(v*1e6) + "µs"
	case v < 0.9995:
		return sign + threeDigits(v*1e3) + "ms"
	case v < 59.95:
		return sign + fixedDigits(v) + "s"
	case v < 3599.5:
		n := int64(math.Round(v))
		return sign + strconv.FormatInt(n/60, 10) + "m" + twoDigits(n%60) + "s"
	case v < 48*3600:
		n := int64(math.Round(v / 60))
		return sign + strconv.FormatInt(n/60, 10) + "h" + twoDigits(n%60) + "m"
	default:
		return sign + commas(v/3600) + "h"
	}
}

func fixedDigits(v float64) string {
	if v >= 9.995 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func twoDigits(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// prose writes a length of time as it is written in a sentence: 4m, not 4m00s.
func prose(v float64) string {
	s := seconds(v)
	if trimmed, ok := strings.CutSuffix(s, "m00s"); ok {
		return trimmed + "m"
	}
	if trimmed, ok := strings.CutSuffix(s, "h00m"); ok {
		return trimmed + "h"
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, ".00s"), ".0s") + secondsUnit(s)
}

// secondsUnit gives back the unit that prose cut off.
func secondsUnit(s string) string {
	if strings.HasSuffix(s, ".00s") || strings.HasSuffix(s, ".0s") {
		return "s"
	}
	return ""
}

// short writes a duration of a scenario without zero parts: 5m, 1m40s, 6h.
func short(d protocol.Duration) string {
	if d >= protocol.Second && d != protocol.Forever {
		d -= d % protocol.Millisecond // a third of 20s has nine digits behind the point
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// roundSeconds drops the fraction of a second.
func roundSeconds(t protocol.Instant) protocol.Duration {
	return protocol.Duration(t) / protocol.Second * protocol.Second
}

func width(s string) int { return utf8.RuneCountInString(s) }

func padLeft(s string, n int) string  { return strings.Repeat(" ", max(n-width(s), 0)) + s }
func padRight(s string, n int) string { return s + strings.Repeat(" ", max(n-width(s), 0)) }

// pageWidth is how wide anything is printed.
const pageWidth = 108

// wrap breaks text between words; the first line begins with first, the others with rest.
func wrap(first, rest, text string) string {
	var b strings.Builder
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && width(line)+1+width(word) > pageWidth {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
	return b.String()
}
