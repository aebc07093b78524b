package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/sim/lab"
)

// cell is one number of the table: the value is set flush right, its interval flush left.
type cell struct{ value, half, verdict string }

// newCell writes an estimate. of is how many jobs, or batches, there were, over all replications.
func newCell(e *lab.Estimate, s style, of float64) cell {
	if e == nil || math.IsNaN(e.Mean) {
		return cell{value: "–"}
	}
	if e.TooFew {
		return cell{value: tooFew}
	}
	if seen := math.Round(e.Mean * float64(e.Replications)); (s == asRare || s == asRareBatch && of > 0) && seen < lab.Few {
		return rare(e, seen, of)
	}
	c := cell{value: s.writeLike(e.Mean, wider(e))}
	if e.Censored > 0 {
		c.value = "≥ " + c.value
	}
	c.half = s.interval(e)
	return c
}

// has reports whether a sign stands for the value, before it, or for its interval.
func (c cell) has(sign string) bool {
	return c.value == sign || strings.HasPrefix(c.value, sign+" ") || c.half == sign
}

// tooFew stands for a quantile that is little else than the largest value.
const tooFew = "too few"

// fewBeyond is what those words mean.
func fewBeyond() string {
	return fmt.Sprintf("fewer than %d values per run lie beyond the quantile.", lab.Beyond)
}

// rare writes the number of events of a kind that should not happen, over all runs, with the
// interval of the chance of a job, or of a batch. What was not seen may still be possible: how hard was
// looked says how often at most.
func rare(e *lab.Estimate, seen, of float64) cell {
	lo, hi := lab.RareRate(seen, of, e.Variance, e.Mean)
	text := commas(seen) + " of " + million(of)
	upper := below(hi)
	if seen == 0 {
		return cell{value: text + " (<" + upper + ")"}
	}
	lower := share(roundedDown(lo, 2), hi, twoDigitsAtMost)
	return cell{value: text + " (" + strings.TrimRight(lower, "%pmb") + "–" + upper + ")"}
}

// below writes the upper limit of a small probability. It is rounded away from the probability, as
// the lower one is, or less would be promised than was measured.
func below(hi float64) string { return share(roundedUp(hi, 2), hi, twoDigitsAtMost) }

func twoDigitsAtMost(v float64) string { return digits(v, 2) }

// interval writes half of an estimate's interval, or nothing when it is out of sight beside
// the digits that are shown of the mean.
func (s style) interval(e *lab.Estimate) string {
	h := (e.Hi - e.Lo) / 2
	visible := math.Abs(e.Mean) * 1e-9 // counts show every digit
	switch s {
	case asSeconds:
		visible = lastDigit(e.Mean) / 10
	case asShare, asRatio:
		visible = math.Abs(e.Mean) * 1e-4
	}
	if h == 0 || !(h >= visible) { // also NaN
		return ""
	}
	return "± " + s.writeHalf(h, e.Mean)
}

// lastDigit returns what one step of the last digit is worth that seconds shows of v.
func lastDigit(v float64) float64 {
	switch v = math.Abs(v); {
	case v < 0.9995e-3:
		return 1e-8
	case v < 0.9995:
		return 1e-5
	case v < 9.995:
		return 0.01
	case v < 59.95:
		return 0.1
	case v < 3599.5:
		return 1
	default:
		return 60
	}
}

func (s style) write(v float64) string { return s.writeLike(v, v) }

// writeLike writes a share in the unit of another.
func (s style) writeLike(v, like float64) string {
	switch s {
	case asSeconds:
		return seconds(v)
	case asShare:
		return share(v, like, threeDigits)
	case asRatio:
		return threeDigits(v)
	default:
		return count(v)
	}
}

// writeHalf writes half an interval in the unit of its mean: 1.01s ± 0.02s, not ± 20ms.
func (s style) writeHalf(h, mean float64) string {
	mean = math.Abs(mean)
	switch {
	case s == asShare:
		return share(h, max(mean, h), twoOrOneDigit)
	case s != asSeconds:
		return twoOrOneDigit(h)
	case mean >= 3599.5:
		return prose(math.Max(math.Round(h/60), 1) * 60) // in the minutes that the mean shows
	case h >= 59.5:
		return seconds(h)
	case max(mean, h) >= 0.9995:
		return twoOrOneDigit(h) + "s"
	case max(mean, h) >= 0.9995e-3:
		return twoOrOneDigit(1e3*h) + "ms"
	default:
		return twoOrOneDigit(1e6*h) + "µs"
	}
}

// twoOrOneDigit writes the width of an interval, which is itself uncertain.
func twoOrOneDigit(h float64) string {
	switch {
	case h >= 9.95:
		return commas(h)
	case h >= 0.95:
		return strconv.FormatFloat(h, 'f', 1, 64)
	case h >= 0.95e-4:
		s := strconv.FormatFloat(h, 'f', 4, 64)
		// One digit after the zeros.
		for i, c := range s {
			if c != '0' && c != '.' {
				return strconv.FormatFloat(h, 'f', max(i-1, 1), 64)
			}
		}
		return s
	default:
		return digits(h, 1)
	}
}

// wider returns the larger of a mean and half of its interval, which a cell with both has the
// unit of.
func wider(e *lab.Estimate) float64 {
	mean, half := math.Abs(e.Mean), (e.Hi-e.Lo)/2
	if half > mean { // not NaN
		return half
	}
	return mean
}

// signed writes a difference.
func (s style) signed(v float64) string { return s.signedLike(v, v) }

func (s style) signedLike(v, like float64) string {
	switch {
	case v > 0:
		return "+" + s.writeLike(v, like)
	case v < 0:
		return "−" + s.writeLike(-v, like)
	default:
		return s.writeLike(0, like)
	}
}
