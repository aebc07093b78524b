package lab

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim"
)

func TestIntervalHasTheQuantilesOfStudent(t *testing.T) {
	// From printed tables of the two-sided 95% points, by degrees of freedom.
	for df, point := range map[int]float64{1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 19: 2.0930, 29: 2.0452, 99: 1.9842} {
		n := df + 1
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		mean, lo, hi := Interval(values)
		// The variance of 0..n-1 is n(n+1)/12.
		half := point * math.Sqrt(float64(n+1)/12)
		assert.InDelta(t, float64(df)/2, mean, 1e-9, "%d values", n)
		assert.InDelta(t, half, hi-mean, half*1e-4, "%d values", n)
		assert.InDelta(t, half, mean-lo, half*1e-4, "%d values", n)
	}
}

func TestIntervalAgreesWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 2, 40).Draw(t, "values")
		mean, lo, hi := Interval(values)
		wantMean, sd := stat.MeanStdDev(values, nil)
		n := float64(len(values))
		half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * stat.StdErr(sd, n)
		require.InDelta(t, wantMean, mean, 1e-6)
		require.InDelta(t, wantMean-half, lo, 1e-6*max(half, 1))
		require.InDelta(t, wantMean+half, hi, 1e-6*max(half, 1))
	})
}

func TestIntervalCoversTheTruthNineteenTimesOutOfTwenty(t *testing.T) {
	const trials, n = 4000, 8
	rnd := sim.NewRandom(1, nil)
	covered := 0
	for trial := range uint64(trials) {
		values := make([]float64, n)
		for i := range values {
			for k := range uint64(12) { // nearly normal, mean 6
				values[i] += float64(rnd.Draw(sim.StreamWork, trial, uint64(i)*12+k)) / (1 << 64)
			}
		}
		if _, lo, hi := Interval(values); lo <= 6 && 6 <= hi {
			covered++
		}
	}
	assert.InDelta(t, 0.95, float64(covered)/trials, 0.01)
}

func TestIntervalOfTooFewValues(t *testing.T) {
	mean, lo, hi := Interval(nil)
	assert.True(t, math.IsNaN(mean) && math.IsNaN(lo) && math.IsNaN(hi), "nothing was measured")
	mean, lo, hi = Interval([]float64{7})
	assert.Equal(t, 7.0, mean)
	assert.True(t, math.IsNaN(lo) && math.IsNaN(hi), "one value says nothing about others")
	mean, lo, hi = Interval([]float64{7, 7, 7})
	assert.Equal(t, [3]float64{7, 7, 7}, [3]float64{mean, lo, hi})
}

// row is a replication with a stall of a given length in seconds, or none, and a number of jobs.
func row(t testing.TB, jobs int64, stall float64) *meter.Row {
	t.Helper()
	r := &meter.Row{}
	if stall > 0 {
		r = stalledRow(stall)
	}
	r.Counts[meter.JobsEnqueued] = jobs
	return r
}

func estimate(t testing.TB, all []Estimate, name string) Estimate {
	t.Helper()
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	require.Fail(t, "no estimate of "+name)
	return Estimate{}
}

func TestEstimatesLeaveOutWhatWasNotMeasured(t *testing.T) {
	r := &Results{
		Policies: []string{"a", "b"}, Seeds: []uint64{1, 2, 3},
		Rows: [][]*meter.Row{
			{row(t, 10, 4), row(t, 20, 0), row(t, 30, 8)},
			{row(t, 11, 0), row(t, 22, 0), row(t, 33, 0)},
		},
	}
	all := r.Estimates()
	require.Len(t, all, 2)
	assert.Equal(t, "a", all[0].Name)

	stall := estimate(t, all[0].Metrics, "stall_seconds_mean")
	assert.Equal(t, 2, stall.Replications, "one of three had no stall")
	assert.Equal(t, int64(2), stall.N)
	assert.InDelta(t, 6, stall.Mean, 1e-6)
	// Two values: 12.7062 times 2, the standard error of 4 and 8.
	assert.InDelta(t, 6-12.7062*2, stall.Lo, 1e-3)
	assert.InDelta(t, 6+12.7062*2, stall.Hi, 1e-3)

	none := estimate(t, all[1].Metrics, "stall_seconds_mean")
	assert.Zero(t, none.Replications)
	assert.True(t, math.IsNaN(none.Mean) && math.IsNaN(none.Lo) && math.IsNaN(none.Hi))

	assert.Empty(t, (&Results{Policies: []string{"a"}, Rows: make([][]*meter.Row, 1)}).Estimates()[0].Metrics, "no replication, no metric")
}

func TestDifferencesArePaired(t *testing.T) {
	// Replications differ by far more than policies do: only pairs can tell.
	r := &Results{
		Policies: []string{"a", "b"}, Seeds: []uint64{1, 2, 3},
		Rows: [][]*meter.Row{
			{row(t, 1000, 4), row(t, 2000, 0), row(t, 3000, 8)},
			{row(t, 1001, 3), row(t, 2002, 5), row(t, 3003, 6)},
		},
	}
	all := r.Paired()
	require.Len(t, all, 1)
	assert.Equal(t, "b", all[0].Policy)
	assert.Equal(t, "a", all[0].Baseline)
	jobs := estimate(t, all[0].Metrics, "jobs_enqueued")
	assert.InDelta(t, 2, jobs.Mean, 1e-9)
	assert.InDelta(t, 2-4.3027/math.Sqrt(3), jobs.Lo, 1e-3, "the interval is that of 1, 2, 3")
	stall := estimate(t, all[0].Metrics, "stall_seconds_mean")
	assert.Equal(t, 2, stall.Replications, "a pair with a side that was not measured is none")
	assert.InDelta(t, -1.5, stall.Mean, 1e-6)
	assert.Equal(t, int64(4), stall.N)
	for _, e := range all[0].Metrics {
		assert.False(t, math.IsNaN(e.Mean), e.Name)
		assert.NotEqual(t, "crash_stall_seconds_mean", e.Name, "what neither side measured has no difference")
	}

	assert.Nil(t, (&Results{Policies: []string{"a"}, Rows: r.Rows[:1]}).Paired(), "one policy differs from nothing")
	assert.Empty(t, (&Results{Policies: r.Policies, Rows: make([][]*meter.Row, 2)}).Paired()[0].Metrics, "no replication was finished")
}
