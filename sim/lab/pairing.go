package lab

import (
	"cmp"
	"math"
	"slices"

	"github.com/quiesce/quiesce/model/meter"
)

// Pairing says what taking a difference in pairs did to it, and how far it can be told from
// no difference.
type Pairing struct {
	P        float64 // probability of so large a difference if there were none; NaN below two pairs
	Adjusted float64 // the same after Holm's correction for the number of policies
	// Reduction is the variance of the difference of two independent measurements over that of
	// the paired ones; NaN when there is no variance.
	Reduction float64
	// Independent says that the estimate comes from runs with different seeds, since pairing
	// made it worse: the other policy's even replications against the baseline's odd ones.
	Independent bool
}

// Clear reports whether the difference is significant, the number of policies considered.
func (p *Pairing) Clear() bool { return p != nil && p.Adjusted <= 1-Confidence }

// fewestIndependent is how many pairs there must be before half of them are given up.
const fewestIndependent = 8

// contrast estimates the differences between two policies.
func contrast(other, base [][]meter.Metric) []Estimate {
	all := summarise(subtract(other, base))
	sides := [2][]Estimate{summarise(other), summarise(base)}
	for k := range all {
		e := &all[k]
		x, y := pairs(other, base, k)
		e.Pairing = pair(e, x, y)
		if e.TooFew = sides[0][k].TooFew || sides[1][k].TooFew; e.TooFew {
			e.Lo, e.Hi = math.NaN(), math.NaN()
		}
	}
	return all
}

// pairs returns the values of metric k in those replications that both sides measured.
func pairs(other, base [][]meter.Metric, k int) (x, y []float64) {
	for i := range other {
		if a, b := other[i][k], base[i][k]; a.Valid && b.Valid {
			x, y = append(x, a.Value), append(y, b.Value)
		}
	}
	return x, y
}

// pair judges a difference. A paired interval is right whatever the runs have in common, only
// wide when it is less than nothing: when large values of the one side go with small values
// of the other. Then, and only then, independent runs do better. Two intervals by Welch over
// the same runs would not, they would hide it; so each side gives up half of its runs. One
// sample can look so by chance, therefore the correlation must be significantly negative.
func pair(e *Estimate, x, y []float64) *Pairing {
	_, vx := spread(x)
	_, vy := spread(y)
	p := &Pairing{P: significance(e.Mean, e.Variance/float64(len(x)), float64(len(x)-1)), Reduction: (vx + vy) / e.Variance}
	if e.Variance == 0 {
		p.Reduction = math.NaN()
	}
	if len(x) < fewestIndependent || !(p.Reduction < 1) || !negative((vx+vy-e.Variance)/2/math.Sqrt(vx*vy), len(x)) {
		p.Adjusted = p.P
		return p
	}
	p.Independent = true
	var evens, odds []float64
	for i := range x {
		if i%2 == 0 {
			evens = append(evens, x[i])
		} else {
			odds = append(odds, y[i])
		}
	}
	e.Mean, e.Lo, e.Hi, p.P = welch(evens, odds)
	p.Adjusted = p.P
	return p
}

// negative reports whether a correlation of n pairs is below zero beyond chance.
func negative(r float64, n int) bool {
	if !(r < 0) {
		return false
	}
	t := r * math.Sqrt(float64(n-2)/math.Max(1-float64(r*r), 1e-12))
	return student(float64(n-2)).CDF(t) < 1-Confidence
}

// welch compares the means of two independent samples of different variance.
func welch(x, y []float64) (diff, lo, hi, p float64) {
	mx, vx := spread(x)
	my, vy := spread(y)
	a, b := vx/float64(len(x)), vy/float64(len(y))
	diff = mx - my
	if a+b == 0 {
		return diff, diff, diff, significance(diff, 0, 1)
	}
	freedom := (a + b) * (a + b) / (a*a/float64(len(x)-1) + b*b/float64(len(y)-1))
	half := float64(student(freedom).Quantile(0.5+Confidence/2) * math.Sqrt(a+b))
	return diff, diff - half, diff + half, significance(diff, a+b, freedom)
}

// significance returns the two-sided p of a mean with a variance (of the mean), by Student's t.
func significance(mean, variance, freedom float64) float64 {
	switch {
	case math.IsNaN(variance) || freedom < 1:
		return math.NaN()
	case variance == 0 && mean == 0:
		return 1
	case variance == 0:
		return 0
	}
	return 2 * student(freedom).CDF(-math.Abs(mean)/math.Sqrt(variance))
}

// correct adjusts, metric by metric, what the policies' differences from the baseline mean.
func correct(all []Difference) {
	families := make(map[string][]*Pairing)
	for i := range all {
		for _, e := range all[i].Metrics {
			families[e.Name] = append(families[e.Name], e.Pairing)
		}
	}
	for _, family := range families { // each by itself, so in any order
		holm(family)
	}
}

// holm adjusts the p of a family so that, with probability [Confidence], none of the
// differences called clear is none. The smallest is multiplied by the size of the family,
// the next by one less, and so on, none below the one before.
func holm(family []*Pairing) {
	tests := slices.DeleteFunc(slices.Clone(family), func(p *Pairing) bool { return math.IsNaN(p.P) })
	slices.SortStableFunc(tests, func(a, b *Pairing) int { return cmp.Compare(a.P, b.P) })
	least := 0.0
	for i, t := range tests {
		least = math.Max(least, math.Min(t.P*float64(len(tests)-i), 1))
		t.Adjusted = least
	}
}
