package lab

import (
	"cmp"
	"math"
	"slices"

	"github.com/quiesce/quiesce/model/meter"
)

// Verdict says which policy is best by the metric that policies are ranked by, or why that
// cannot be said.
type Verdict struct {
	Metric string
	Order  []Rank // best first; policies that did not measure the metric are left out
	// Tied is how many of the best cannot be told apart: 1 when there is one winner.
	Tied int
	// Idle are the policies that met too few interesting events for any verdict.
	Idle []Meeting
}

// Rank is a policy and its mean.
type Rank struct {
	Policy string
	Mean   float64
}

// Meeting is how many jobs were in the way of a stop, a crash or a pause under a policy, over
// all replications: those that were interrupted, and those that were finished in time.
type Meeting struct {
	Policy string
	Jobs   int64
}

// Interesting is how many of them there must be: with fewer, policies had hardly an occasion
// to differ, and whatever difference there is has other reasons.
const Interesting = 20

// Judge ranks the policies. The best is compared in pairs with each of the others. Which is
// best was read from the same runs, so any two might have been compared: Holm's correction is
// for all pairs.
func (r *Results) Judge() Verdict {
	v := Verdict{Metric: Headline[0]}
	for p, name := range r.Policies {
		n := r.total(p, meter.Interruptions) + r.total(p, meter.FinishedInGrace)
		if n < Interesting {
			v.Idle = append(v.Idle, Meeting{name, n})
		}
	}
	values := make([][]float64, len(r.Policies))
	var order []int
	for p := range r.Policies {
		for _, row := range r.Rows[p] {
			for _, m := range row.Metrics() {
				if m.Name == v.Metric && m.Valid {
					values[p] = append(values[p], m.Value)
				}
			}
		}
		if len(values[p]) == len(r.Seeds) && len(r.Seeds) > 0 {
			order = append(order, p)
		}
	}
	mean := func(p int) float64 { m, _ := spread(values[p]); return m }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean(a), mean(b)) })
	for _, p := range order {
		v.Order = append(v.Order, Rank{r.Policies[p], mean(p)})
	}
	v.Tied = tied(order, values)
	return v
}

// tied counts the policies, the best included, that are not clearly worse than the best.
func tied(order []int, values [][]float64) int {
	var all, best []*Pairing
	for i, a := range order {
		for _, b := range order[i+1:] {
			d := make([]float64, len(values[a]))
			for k := range d {
				d[k] = values[b][k] - values[a][k]
			}
			e := Estimate{}
			e.Mean, e.Lo, e.Hi = Interval(d)
			_, e.Variance = spread(d)
			p := pair(&e, values[b], values[a])
			all = append(all, p)
			if i == 0 {
				best = append(best, p)
			}
		}
	}
	holm(all)
	// Whoever is better than a policy that cannot be told from the best is in the same case.
	n := 1
	for i, p := range best {
		if !p.Clear() || math.IsNaN(p.P) {
			n = i + 2
		}
	}
	return min(n, len(order))
}

// Flip is two policies whose order depends on the load.
type Flip struct {
	Better, Worse string // at load Low; the other way round at High
	Low, High     int    // indices of the results that were compared
	Clear         bool   // they are told apart at both
}

// Flips finds pairs of policies that change places between results, for each pair the first
// change in the order of the results.
func Flips(results []*Results) []Flip {
	var flips []Flip
	if len(results) == 0 {
		return nil
	}
	for a := range results[0].Policies {
		for b := a + 1; b < len(results[0].Policies); b++ {
			if f, ok := flip(results, a, b); ok {
				flips = append(flips, f)
			}
		}
	}
	return flips
}

func flip(results []*Results, a, b int) (Flip, bool) {
	last, lastAt, lastClear := 0.0, 0, false
	for i, r := range results {
		diff, p := r.between(a, b)
		if diff == 0 || math.IsNaN(diff) {
			continue
		}
		if diff*last < 0 {
			f := Flip{Better: r.Policies[a], Worse: r.Policies[b], Low: lastAt, High: i, Clear: lastClear && p <= 1-Confidence}
			if last > 0 {
				f.Better, f.Worse = f.Worse, f.Better
			}
			return f, true
		}
		last, lastAt, lastClear = diff, i, p <= 1-Confidence
	}
	return Flip{}, false
}

// between returns the difference of policy a minus policy b by the ranking metric, and its p.
func (r *Results) between(a, b int) (diff, p float64) {
	for _, e := range contrast(measure(r.Rows[a]), measure(r.Rows[b])) {
		if e.Name == Headline[0] {
			return e.Mean, e.Pairing.P
		}
	}
	return math.NaN(), math.NaN()
}
