package lab_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/lab"
)

const smallWorld = `
duration: 20m
warmup: 2m
fleet: {workers: 4, start: 2s}
queue: {lease: 1m}
jobs: {a: {arrivals: {poisson: 6/m}, duration: {exponential: {mean: 20s}}}}
supervisor: {grace: 10s}
deploys: {every: 5m}
`

func small(t *testing.T, lease protocol.Duration) *model.Scenario {
	t.Helper()
	sc, err := scenarios.Parse("small.yaml", []byte(smallWorld))
	require.NoError(t, err)
	sc.Queue.Lease, sc.Queue.Heartbeat = lease, lease/3
	return sc
}

func TestPointOfASweepIsARun(t *testing.T) {
	points := []*model.Scenario{small(t, protocol.Minute), small(t, 2*protocol.Minute)}
	policies := []string{"crash-only", "hybrid"}
	all, err := lab.Sweep(t.Context(), lab.SweepPlan{Points: points, Policies: policies, Seeds: 3, First: 7})
	require.NoError(t, err)
	require.Len(t, all, 2)
	for i, sc := range points {
		alone, err := lab.Run(t.Context(), lab.Plan{Scenario: sc, Policies: policies, Seeds: 3, First: 7})
		require.NoError(t, err)
		assert.Equal(t, alone.Seeds, all[i].Seeds)
		for p := range policies {
			for s := range alone.Seeds {
				assert.Equal(t, alone.Rows[p][s].TraceHash, all[i].Rows[p][s].TraceHash)
			}
		}
	}
	assert.NotEqual(t, all[0].Rows[0][0].TraceHash, all[1].Rows[0][0].TraceHash)
}

func TestStoppedSweepKeepsWholePoints(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan := lab.SweepPlan{Policies: []string{"crash-only", "hybrid"}, Seeds: 2, First: 1}
	for range 20 {
		plan.Points = append(plan.Points, small(t, protocol.Minute))
	}
	plan.Progress = func(done, total int) {
		assert.Equal(t, 80, total)
		if done == 10 {
			cancel()
		}
	}
	all, err := lab.Sweep(ctx, plan)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, all, 20)
	whole := 0
	for _, r := range all {
		if r != nil {
			whole++
			assert.Len(t, r.Seeds, 2)
		}
	}
	assert.GreaterOrEqual(t, whole, 1, "ten runs are at least one point of four, whoever was at work on others")
	assert.Less(t, whole, 20)
}

func TestSweepOfNothingIsRefused(t *testing.T) {
	_, err := lab.Sweep(t.Context(), lab.SweepPlan{Policies: []string{"hybrid"}, Seeds: 1})
	require.ErrorContains(t, err, "0 points")
	_, err = lab.Sweep(t.Context(), lab.SweepPlan{Points: []*model.Scenario{small(t, protocol.Minute)}, Policies: []string{"hibrid"}, Seeds: 1})
	require.ErrorContains(t, err, "hibrid")
}

// Rows that are known are taken and not computed, and those that are not are handed over.
func TestASweepGoesOnFromRowsThatAreKnown(t *testing.T) {
	plan := lab.SweepPlan{
		Points:   []*model.Scenario{small(t, protocol.Minute), small(t, 2*protocol.Minute)},
		Policies: []string{"crash-only", "hybrid"}, Seeds: 2, First: 5,
	}
	whole, err := lab.Sweep(t.Context(), plan)
	require.NoError(t, err)

	forged := *whole[1].Rows[0][1]
	forged.TraceHash = 42
	plan.Known = func(point int, policy string, seed uint64) *meter.Row {
		switch {
		case point == 1 && policy == "crash-only" && seed == 6:
			return &forged
		case point == 0:
			return whole[0].Rows[slices.Index(plan.Policies, policy)][seed-5]
		}
		return nil
	}
	kept := 0
	plan.Keep = func(point int, policy string, seed uint64, row *meter.Row) error {
		kept++
		assert.Equal(t, 1, point)
		assert.Equal(t, whole[1].Rows[slices.Index(plan.Policies, policy)][seed-5], row)
		return nil
	}
	plan.Progress = func(_, total int) { assert.Equal(t, 3, total) }
	again, err := lab.Sweep(t.Context(), plan)
	require.NoError(t, err)
	assert.Equal(t, 3, kept)
	assert.Equal(t, whole[0].Rows, again[0].Rows)
	assert.EqualValues(t, 42, again[1].Rows[0][1].TraceHash)
}
