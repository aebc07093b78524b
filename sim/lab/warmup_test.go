package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// course returns a series of one observation per slice.
func course(value func(i int) int64) []meter.Slice {
	var s meter.Series
	for i := range s {
		s[i] = meter.Slice{N: 1, Sum: value(i)}
	}
	return s[:]
}

func noise(i int) int64 { return int64(i*7919%101) - 50 }

func TestWarmUpEndsWhereTheCourseLevelsOff(t *testing.T) {
	tr, ok := transient(course(func(i int) int64 { return 1000 + noise(i) - 900*int64(max(50-i, 0))/50 }))
	require.True(t, ok)
	assert.False(t, tr.Unsettled)
	assert.InDelta(t, 50, tr.Nanos, 10)

	tr, ok = transient(course(func(i int) int64 { return 1000 + noise(i) }))
	require.True(t, ok)
	assert.False(t, tr.Unsettled)
	assert.LessOrEqual(t, tr.Nanos, int64(15), "nothing to leave out but chance")
}

func TestACourseThatOnlyGrowsHasNoSteadyState(t *testing.T) {
	tr, ok := transient(course(func(i int) int64 { return int64(i*i) + noise(i) }))
	require.True(t, ok)
	assert.True(t, tr.Unsettled)
}

func TestBatchesWithoutObservationsArePassedOver(t *testing.T) {
	s := course(func(i int) int64 { return 1000 + noise(i) - 900*int64(max(50-i, 0))/50 })
	for i := range s {
		if i/5%2 == 1 {
			s[i] = meter.Slice{}
		}
	}
	tr, ok := transient(s)
	require.True(t, ok)
	assert.InDelta(t, 50, tr.Nanos, 10, "in slices of the run, not in batches that were seen")
	_, ok = transient(s[:90])
	assert.False(t, ok, "nine batches are too few")
}

func TestTheCourseOfARunIsItsMetricsBySlice(t *testing.T) {
	sc := deployment()
	res, err := Run(t.Context(), Plan{Scenario: sc, Policies: []string{"crash-only"}, Seeds: 1, First: 1})
	require.NoError(t, err)
	row := res.Rows[0][0]
	slice := func(d protocol.Duration) int { return int(d * meter.Slices / sc.Duration) }
	var stalls, delays meter.Slice
	for i := slice(sc.Warmup); i < slice(sc.Duration-2*sc.Queue.Lease); i++ {
		stalls.N += row.StallOverTime[i].N
		stalls.Sum += row.StallOverTime[i].Sum
	}
	for i := slice(sc.Warmup); i < meter.Slices; i++ {
		delays.N += row.DelayOverTime[i].N
		delays.Sum += row.DelayOverTime[i].Sum
	}
	assert.Positive(t, stalls.N)
	assert.Equal(t, meter.Slice{N: row.AllStalls.N, Sum: row.AllStalls.Sum}, stalls)
	assert.Equal(t, meter.Slice{N: row.Counts[meter.JobsDelayed], Sum: row.Sums[meter.DelayTime]}, delays)
}

func TestTransientsOfRealRuns(t *testing.T) {
	res, err := Run(t.Context(), Plan{Scenario: deployment(), Policies: []string{"hybrid"}, Seeds: 20, First: 1})
	require.NoError(t, err)
	all := res.Transients()
	require.NotEmpty(t, all)
	assert.Equal(t, "delay", all[0].Of)
	assert.LessOrEqual(t, all[0].Nanos, int64(10*protocol.Minute), "half of the run")
	// Stuck jobs wait to the end of the run, so that nothing of it is steady.
	res.Rows[0][0].Counts[meter.JobsStuck] = 1
	assert.Empty(t, res.Transients())
}

// runs returns rows whose course of delay is value, plus what is of each run's own.
func runs(n int, value func(run, slice int) int64) []*meter.Row {
	rows := make([]*meter.Row, n)
	for r := range rows {
		rows[r] = &meter.Row{}
		for i := range rows[r].DelayOverTime {
			rows[r].DelayOverTime[i] = meter.Slice{N: 1, Sum: value(r, i)}
		}
	}
	return rows
}

func TestACutCountsWhenTheRunsShowWhatItMoves(t *testing.T) {
	course := func(row *meter.Row) []meter.Slice { return row.DelayOverTime[:] }
	chance := func(run, i int) int64 { return 1000 + noise(i+31*run) }

	rising := runs(10, func(r, i int) int64 { return chance(r, i) - 900*int64(max(50-i, 0))/50 })
	moved, byChance := shift(Transient{Nanos: 50}, rising, course, 10, 6)
	assert.False(t, byChance)
	assert.InDelta(t, 0.065, moved, 0.01, "40 of the 240 measured slices lack 369 of 1000 on average")

	moved, byChance = shift(Transient{Nanos: 50}, runs(10, chance), course, 10, 6)
	assert.True(t, byChance, "what is only noise moves nothing: %v", moved)

	_, byChance = shift(Transient{Nanos: 50}, rising, course, 50, 6)
	assert.True(t, byChance, "the warm-up leaves it out already")

	_, byChance = shift(Transient{Nanos: 50}, rising[:1], course, 10, 6)
	assert.False(t, byChance, "one run cannot say that it is chance")

	growing := runs(10, func(r, i int) int64 { return chance(r, i) + int64(4*i) })
	moved, byChance = shift(Transient{Nanos: 50, Unsettled: true}, growing, course, 50, 6)
	assert.False(t, byChance)
	assert.InDelta(t, 400/1400.0, moved, 0.01, "from the first half of slices 50 to 250 to the second")
}
