package dist

import (
	"fmt"
	"math"
)

// Constant always returns v.
func Constant(v int64) (*Table, error) {
	if v < 0 {
		return nil, fmt.Errorf("dist: constant %s must not be below 0s; give a duration", nanos(v))
	}
	return &Table{text: "constant(" + nanos(v) + ")", low: v, width: 1}, nil
}

// Uniform returns every whole value from min to max, both included, equally often.
func Uniform(min, max int64) (*Table, error) {
	switch {
	case min < 0:
		return nil, fmt.Errorf("dist: uniform min %s must not be below 0s; raise min", nanos(min))
	case min > max:
		return nil, fmt.Errorf("dist: uniform min %s must not exceed max %s; lower min or raise max", nanos(min), nanos(max))
	}
	text := fmt.Sprintf("uniform(min=%s, max=%s)", nanos(min), nanos(max))
	return &Table{text: text, low: min, width: uint64(max-min) + 1}, nil
}

// Exponential has the given mean and no memory. The last knot lies at 13.86 means.
func Exponential(mean int64) (*Table, error) {
	if mean <= 0 {
		return nil, fmt.Errorf("dist: exponential mean %s must exceed 0s; raise mean", nanos(mean))
	}
	text := fmt.Sprintf("exponential(mean=%s)", nanos(mean))
	return fromSurvival(text, "lower mean", func(x fixed) (int64, bool) {
		return mulDiv(uint64(mean), uint64(x), uint64(one))
	})
}

// Pareto starts at min and exceeds x with probability (min/x)^alpha, where alpha is
// given in millionths: 1_500_000 is 1.5. The last knot lies at min·2^(20/alpha), and the law
// is cut there.
func Pareto(min, alphaMillionths int64) (*Table, error) {
	const unit = 1_000_000
	switch {
	case min <= 0:
		return nil, fmt.Errorf("dist: pareto min %s must exceed 0s; raise min", nanos(min))
	case alphaMillionths <= 0:
		return nil, fmt.Errorf("dist: pareto alpha %d millionths must exceed 0; raise alpha", alphaMillionths)
	}
	text := fmt.Sprintf("pareto(min=%s, alpha=%s)", nanos(min), decimal(uint64(alphaMillionths), 6))
	return fromSurvival(text, "raise alpha or lower min", func(x fixed) (int64, bool) {
		y, ok := mulDiv(uint64(x), unit, uint64(alphaMillionths))
		if !ok {
			return 0, false
		}
		return mulExp(uint64(min), fixed(y), 0)
	})
}

// fromSurvival builds a law whose quantile is a function of x = -ln(1-p), cut at the
// last knot. value reports false where the quantile is too large for a duration.
func fromSurvival(text, advice string, value func(x fixed) (int64, bool)) (*Table, error) {
	var knots [knotCount]int64
	whole := ln(scale)
	for i := range lastKnot {
		v, ok := value(whole - ln(scale-knotAt(i)))
		if !ok {
			return nil, tooLong(text, advice)
		}
		knots[i] = v
	}
	knots[lastKnot] = knots[lastKnot-1]
	return newGrid(text, &knots, pin{}), nil
}

// tooLong refuses a law that reaches beyond the largest duration.
func tooLong(text, advice string) error {
	return fmt.Errorf("dist: %s: the quantile at 1 - 2^-20 must not exceed %s (292 years); %s",
		text, nanos(math.MaxInt64), advice)
}
