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
	usable := int((r.Setting.Duration - r.Setting.Cooldown) / max(r.Setting.Duration/slices, 1))
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
		}{{"delay", &delay}, {"stall", &stall}} {
			if t, ok := transient(s.series[:min(usable, meter.Slices)]); ok {
				t.Policy, t.Of = name, s.of
				t.Nanos *= r.Setting.Duration / slices
				all = append(all, t)
			}
		}
	}
	return all
}

// transient finds where to cut a series; Nanos is in slices. A batch without observations,
// between two deploys for instance, says nothing and is passed over.
func transient(series []meter.Slice) (t Transient, ok bool) {
	var (
		means  []float64
		starts []int64 // of each batch, in slices
	)
	for from := 0; from+batchSlices <= len(series); from += batchSlices {
		var n, sum int64
		for _, s := range series[from : from+batchSlices] {
			n += s.N
			sum += s.Sum
		}
		if n > 0 {
			means = append(means, float64(sum)/float64(n))
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
