package lab

import (
	"math"

	"github.com/quiesce/quiesce/model/meter"
)

// Transient is how long a run takes to forget that it began with an empty queue, as MSER-5
// sees it (White, Cobb and Spratt 2000).
type Transient struct {
	Policy, Of string // "delay" or "stall"
	Nanos      int64  // from the start of the run
	// Unsettled says that the best place to cut lies in the second half of the run: by then
	// there was no steady state, and no cut makes one.
	Unsettled bool
	// Shift is by which fraction the mean after the scenario's warm-up moves when this cut is
	// made instead; of an unsettled course, from the first half of what is measured to the
	// second. 0 where the warm-up is longer than the cut, NaN where it cannot be said.
	Shift float64
	// ByChance says that the runs, each compared with itself, show no such move: its interval,
	// corrected for how many are judged (Bonferroni), has zero in it. A cut that MSER-5 finds
	// in what is only noise is told from a beginning that is really different by this.
	ByChance bool
}

const (
	batchSlices = 5  // the 5 of MSER-5
	fewestMeans = 10 // batches with observations, for a judgement
)

// Transients judges the beginning of the runs, policy by policy, by the delay of jobs and the
// stall of interruptions. The series are pooled over all replications first. What falls into
// the last two leases of a run is not looked at: it could not end. A policy under which jobs
// are stuck is left out: their delay ends with the run, so it falls from first to last.
func (r *Results) Transients() []Transient {
	var all []Transient
	slices := int64(meter.Slices)
	if r.Setting.Cooldown >= r.Setting.Duration {
		return nil
	}
	slice := max(r.Setting.Duration/slices, 1)
	usable := min(int((r.Setting.Duration-r.Setting.Cooldown)/slice), meter.Slices)
	warmup := min(int((r.Setting.Warmup+slice-1)/slice), usable)
	judged := 2 * len(r.Policies)
	for p, name := range r.Policies {
		var delay, stall meter.Series
		if r.total(p, meter.JobsStuck) > 0 {
			continue
		}
		for _, row := range r.Rows[p] {
			for i := range delay {
				delay[i].N += row.DelayOverTime[i].N
				delay[i].Sum += row.DelayOverTime[i].Sum
				stall[i].N += row.StallOverTime[i].N
				stall[i].Sum += row.StallOverTime[i].Sum
			}
		}
		for _, s := range []struct {
			of     string
			series *meter.Series
			course func(*meter.Row) []meter.Slice
		}{
			{"delay", &delay, func(row *meter.Row) []meter.Slice { return row.DelayOverTime[:usable] }},
			{"stall", &stall, func(row *meter.Row) []meter.Slice { return row.StallOverTime[:usable] }},
		} {
			if t, ok := transient(s.series[:usable]); ok {
				t.Policy, t.Of = name, s.of
				t.Shift, t.ByChance = shift(t, r.Rows[p], s.course, warmup, judged)
				t.Nanos *= r.Setting.Duration / slices
				all = append(all, t)
			}
		}
	}
	return all
}

// shift compares each run with itself: the mean of its course from where it is measured with
// the mean from t's cut, or the halves of what is measured when there is no steady state. t
// is in slices still. judged is how many courses are.
func shift(t Transient, rows []*meter.Row, course func(*meter.Row) []meter.Slice, warmup, judged int) (relative float64, byChance bool) {
	if !t.Unsettled && int(t.Nanos) <= warmup {
		return 0, true
	}
	var moves, means []float64
	for i := range rows {
		c := course(rows[i])
		before, after := c[warmup:], c[min(int(t.Nanos), len(c)):]
		if t.Unsettled {
			middle := (warmup + len(c)) / 2
			before, after = c[warmup:middle], c[middle:]
		}
		from, fromOK := observed(before)
		to, toOK := observed(after)
		if fromOK && toOK {
			moves, means = append(moves, to-from), append(means, from)
		}
	}
	mean, variance := spread(moves)
	n := float64(len(moves))
	half := math.NaN()
	if n >= 2 {
		half = student(n-1).Quantile(1-(1-Confidence)/2/float64(judged)) * math.Sqrt(variance/n)
	}
	base, _ := spread(means)
	return mean / base, math.Abs(mean) <= half
}

// observed returns the mean of what was observed in a stretch of a course, in microseconds.
func observed(course []meter.Slice) (mean float64, ok bool) {
	var n, sum int64
	for _, s := range course {
		n += s.N
		sum += s.Sum
	}
	return float64(sum) / float64(n), n > 0
}

// transient finds where to cut a series; Nanos is in slices. A batch without observations,
// between two deploys for instance, says nothing and is passed over.
func transient(series []meter.Slice) (t Transient, ok bool) {
	var (
		means  []float64
		starts []int64 // of each batch, in slices
	)
	for from := 0; from+batchSlices <= len(series); from += batchSlices {
		if mean, ok := observed(series[from : from+batchSlices]); ok {
			means = append(means, mean)
			starts = append(starts, int64(from))
		}
	}
	if len(means) < fewestMeans {
		return t, false
	}
	cut := mser(means, len(means)/2)
	// The last few batches look calm in any series: they are few.
	t.Unsettled = mser(means, len(means)-batchSlices) > len(means)/2
	t.Nanos = starts[cut]
	if cut == 0 {
		t.Nanos = 0
	}
	return t, true
}

// mser returns how many values to cut off, at most so many, for the mean of the rest to have
// the least standard error; of equals the least.
func mser(values []float64, most int) int {
	best, least := 0, math.Inf(1)
	for d := 0; d <= most; d++ {
		_, variance := spread(values[d:])
		n := float64(len(values) - d)
		if error := variance * (n - 1) / (n * n); error < least {
			best, least = d, error
		}
	}
	return best
}
