package lab

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/quiesce/quiesce/model/meter"
)

// Confidence is the confidence level of every interval.
const Confidence = 0.95

// Estimate is a metric over replications: its mean with a Student-t confidence interval.
// Mean is NaN when no replication measured anything, Lo and Hi when fewer than two did.
type Estimate struct {
	Name, Unit   string
	Mean, Lo, Hi float64
	Replications int      // that measured it
	N            int64    // observations behind it, over all replications; 0 for counts
	Censored     int64    // of those, counted to the end of the run: Mean is a lower bound
	Variance     float64  // between replications; NaN when fewer than two measured it
	TooFew       bool     // a quantile with fewer than [Beyond] observations beyond it per replication
	Pairing      *Pairing // of a difference; otherwise nil
}

// Beyond is how many observations must lie beyond a quantile in each replication for their
// mean to be worth an interval: below that it is little else than the largest of them.
const Beyond = 20

// Policy is what was measured under one policy.
type Policy struct {
	Name    string
	Metrics []Estimate
}

// Difference is the mean of the paired differences between two policies.
type Difference struct {
	Policy, Baseline string
	Metrics          []Estimate // of policy minus baseline; metrics that either side did not measure are left out
}

// Estimates summarises every policy.
func (r *Results) Estimates() []Policy {
	all := make([]Policy, len(r.Policies))
	for p := range r.Policies {
		all[p] = Policy{Name: r.Policies[p], Metrics: summarise(measure(r.Rows[p]))}
	}
	return all
}

// Paired compares every policy with the first, replication by replication, and corrects the
// significance of each metric's differences for their number by Holm's method.
func (r *Results) Paired() []Difference {
	var all []Difference
	if len(r.Policies) < 2 {
		return nil
	}
	base := measure(r.Rows[0])
	for p := 1; p < len(r.Policies); p++ {
		d := Difference{Policy: r.Policies[p], Baseline: r.Policies[0]}
		for _, e := range contrast(measure(r.Rows[p]), base) {
			if e.Replications > 0 {
				d.Metrics = append(d.Metrics, e)
			}
		}
		all = append(all, d)
	}
	correct(all)
	return all
}

func measure(rows []*meter.Row) [][]meter.Metric {
	m := make([][]meter.Metric, len(rows))
	for i, row := range rows {
		m[i] = row.Metrics()
	}
	return m
}

func subtract(a, b [][]meter.Metric) [][]meter.Metric {
	d := make([][]meter.Metric, len(a))
	for i := range a {
		d[i] = make([]meter.Metric, len(a[i]))
		for k := range a[i] {
			x, y := a[i][k], b[i][k]
			x.Value -= y.Value
			x.Valid = x.Valid && y.Valid
			x.N += y.N
			x.Censored += y.Censored
			d[i][k] = x
		}
	}
	return d
}

// summarise turns metrics by replication into estimates.
func summarise(runs [][]meter.Metric) []Estimate {
	if len(runs) == 0 {
		return nil
	}
	all := make([]Estimate, len(runs[0]))
	values := make([]float64, 0, len(runs))
	for k := range runs[0] {
		e := Estimate{Name: runs[0][k].Name, Unit: runs[0][k].Unit}
		values = values[:0]
		for i := range runs {
			if m := &runs[i][k]; m.Valid {
				values = append(values, m.Value)
				e.N += m.N
				e.Censored += m.Censored
			}
		}
		e.Mean, e.Lo, e.Hi = Interval(values)
		_, e.Variance = spread(values)
		e.Replications = len(values)
		if percent := runs[0][k].Percent; percent > 0 && e.Replications > 0 {
			if e.TooFew = e.N*int64(100-percent) < 100*Beyond*int64(e.Replications); e.TooFew {
				e.Lo, e.Hi = math.NaN(), math.NaN()
			}
		}
		all[k] = e
	}
	return all
}

// Interval returns the mean of independent values and its confidence interval by Student's
// t distribution. Without values all three are NaN, with one the limits are.
func Interval(values []float64) (mean, lo, hi float64) {
	n := float64(len(values))
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	mean, variance := spread(values)
	if n < 2 {
		return mean, math.NaN(), math.NaN()
	}
	half := float64(student(n-1).Quantile(0.5+Confidence/2) * math.Sqrt(variance/n))
	return mean, mean - half, mean + half
}

// spread returns the mean of values and their variance, NaN where there are too few.
func spread(values []float64) (mean, variance float64) {
	n := float64(len(values))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, math.NaN()
	}
	for _, v := range values {
		// Converted, or some processors would add and multiply at once, and round differently.
		variance += float64((v - mean) * (v - mean))
	}
	return mean, variance / (n - 1)
}

func student(freedom float64) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom} }
