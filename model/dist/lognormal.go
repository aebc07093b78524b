package dist

import "fmt"

// Lognormal has the given median and 99th percentile, both exact. It is cut at the
// outermost knots on both sides, 4.76 standard deviations of the logarithm from the median.
func Lognormal(p50, p99 int64) (*Table, error) {
	switch {
	case p50 <= 0:
		return nil, fmt.Errorf("dist: lognormal p50 %s must exceed 0s; raise p50", nanos(p50))
	case p99 <= p50:
		return nil, fmt.Errorf("dist: lognormal p99 %s must exceed p50 %s; raise p99 or lower p50", nanos(p99), nanos(p50))
	}
	text := fmt.Sprintf("lognormal(p50=%s, p99=%s)", nanos(p50), nanos(p99))
	// No quotient or product here is out of range: σ stays below 19 and z below 5.
	sigma, _ := mulDiv(uint64(ln(uint64(p99))-ln(uint64(p50))), uint64(one), uint64(normalQuantile(area99, 0)))
	at99 := word(99, 100)
	pinned := int(coarseKnot(at99))

	var knots [knotCount]int64
	for i, z := range normalQuantiles() {
		x, _ := mulDiv(uint64(sigma), uint64(z), uint64(one))
		below, _ := mulExp(uint64(p50), fixed(-x), 0)
		above, ok := mulExp(uint64(p50), fixed(x), 0)
		if !ok {
			return nil, tooLong(text, "lower p99 or raise p50")
		}
		// When p99 is nearly p50 and both are years long, the logarithm cannot tell them
		// apart; the quantiles that were given still hold.
		if midKnot+i <= pinned {
			above = min(above, p99)
		} else {
			above = max(above, p99)
		}
		knots[midKnot-i], knots[midKnot+i] = below, above
	}
	knots[0], knots[lastKnot] = knots[1], knots[lastKnot-1]
	return newGrid(text, &knots, pin{at: at99, value: p99}), nil
}
