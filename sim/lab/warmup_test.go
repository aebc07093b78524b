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

func TestAQueueThatFillsIsSeen(t *testing.T) {
	// Ten workers at 99% of their time begin idle and stay far from a steady state; at 50% they
	// are in it almost at once.
	for _, c := range []struct {
		load    float64
		longest protocol.Duration
	}{{0.5, 5 * protocol.Minute}} {
		sc, err := AtLoad(deployment(), c.load)
		require.NoError(t, err)
		res, err := Run(t.Context(), Plan{Scenario: sc, Policies: []string{"hybrid"}, Seeds: 20, First: 1})
		require.NoError(t, err)
		all := res.Transients()
		require.NotEmpty(t, all)
		assert.Equal(t, "delay", all[0].Of)
		assert.LessOrEqual(t, all[0].Nanos, int64(c.longest))
	}
}
