package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

func TestItIsLookedOnAGeometricSchedule(t *testing.T) {
	assert.Equal(t, "10, 15, 23, 35, 53, 80, 120, 180, 200", looks(200, 200))
	assert.Equal(t, "10, 15, 20", looks(20, 20))
	assert.Equal(t, "7", looks(7, 7))
}

func TestReplicationsAreAddedUntilThePrecisionIsReached(t *testing.T) {
	plan := Plan{Scenario: deployment(), Policies: []string{"drain", "hybrid"}, First: 1}
	plan.Scenario.Duration = 8 * protocol.Minute
	runs := 0
	plan.Keep = func(string, uint64, *meter.Row) error { runs++; return nil }
	res, err := RunTo(t.Context(), plan, 0.5, 100)
	require.NoError(t, err)
	n := len(res.Seeds)
	assert.Greater(t, n, 10)
	assert.Less(t, n, 100)
	assert.Equal(t, 2*n, runs, "no run is done twice")
	assert.Contains(t, res.Stop, "precision 50% was reached")
	worst, _, _ := imprecise(res.Estimates())
	assert.LessOrEqual(t, worst, 1.0/3, "γ/(1+γ)")

	// The same replications as a plan of that many, and the same again.
	plan.Keep, plan.Seeds = nil, n
	fixed, err := Run(t.Context(), plan)
	require.NoError(t, err)
	assert.Equal(t, fixed.Rows, res.Rows)

	// One look earlier it was not precise enough.
	res.Rows[0], res.Rows[1] = res.Rows[0][:(2*n-1)/3], res.Rows[1][:(2*n-1)/3]
	worst, _, _ = imprecise(res.Estimates())
	assert.Greater(t, worst, 1.0/3)
}

func TestABudgetEndsTheSearchForPrecision(t *testing.T) {
	plan := Plan{Scenario: deployment(), Policies: []string{"hybrid"}, First: 1}
	res, err := RunTo(t.Context(), plan, 0.0001, 12)
	require.NoError(t, err)
	assert.Len(t, res.Seeds, 12)
	assert.Contains(t, res.Stop, "was not reached within 12 replications")
	assert.Contains(t, res.Stop, "under hybrid is known to ±")
}

func TestQuantilesWithoutEnoughBeyondThemHaveNoInterval(t *testing.T) {
	res, err := Run(t.Context(), Plan{Scenario: deployment(), Policies: []string{"hybrid"}, Seeds: 3, First: 1})
	require.NoError(t, err)
	few := map[string]bool{}
	for _, e := range res.Estimates()[0].Metrics {
		few[e.Name] = e.TooFew
		if e.Name == "queue_wait_seconds_p99" {
			assert.Less(t, e.N, int64(2000*3), "or the scenario has outgrown the test")
			assert.NotEqual(t, e.Lo, e.Lo, "NaN")
		}
	}
	assert.True(t, few["queue_wait_seconds_p99"])
	assert.False(t, few["queue_wait_seconds_p50"], "half of some 270 jobs lie beyond the median")
	assert.False(t, few["delay_seconds_per_job"])
}

func TestPrecisionsHaveNoExponent(t *testing.T) {
	for v, want := range map[float64]string{0.02: "2%", 0.123456: "12.3%", 9.996: "1000%", 12.34: "1234%"} {
		assert.Equal(t, want, percentage(v))
	}
}
