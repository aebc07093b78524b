package lab

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestRareRates(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name                          string
		count, trials, variance, mean float64
		lo, hi                        float64
	}{
		{"none seen: the rule of three", 0, 2.57e6, 0, 0, 0, 3 / 2.57e6},
		{"none seen in next to nothing", 0, 2, 0, 0, 0, 1},
		{"Wilson's own", 1, 10, nan, 0.1, 0.01788, 0.40415},
		{"no wider for spreading less than chance", 1, 10, 0.01, 0.1, 0.01788, 0.40415},
		{"all of them", 10, 10, nan, 1, 0.72247, 1},
		{"more than there were trials, for some are of the warm-up", 12, 10, nan, 1.2, 0.75751, 1},
		{"no trials", 0, 0, nan, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			lo, hi := RareRate(c.count, c.trials, c.variance, c.mean)
			assert.InDelta(t, c.lo, lo, 1e-5)
			assert.InDelta(t, c.hi, hi, 1e-5)
		})
	}
}

func TestEventsThatComeInClustersAreKnownLessWell(t *testing.T) {
	// Twelve events in twelve thousand trials: one in every run, or all in one of twelve runs.
	lo, hi := RareRate(12, 12_000, 0, 1)
	clusteredLo, clusteredHi := RareRate(12, 12_000, 12, 1)
	assert.Less(t, clusteredLo, lo)
	assert.Greater(t, clusteredHi, hi)
	one, many := RareRate(1, 1000, 0, 1)
	assert.InDelta(t, one, clusteredLo, 1e-12, "it is worth one event in a thousand trials")
	assert.InDelta(t, many, clusteredHi, 1e-12)
}

func TestLimitsEncloseWhatWasSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := rapid.IntRange(1, 1_000_000).Draw(t, "trials")
		count := rapid.IntRange(0, trials).Draw(t, "count")
		lo, hi := RareRate(float64(count), float64(trials), rapid.Float64Range(0, 100).Draw(t, "variance"), float64(count)/7)
		p := float64(count) / float64(trials)
		assert.True(t, 0 <= lo && lo <= p+1e-12 && p-1e-12 <= hi && hi <= 1, "%v ≤ %v ≤ %v", lo, p, hi)
	})
}

func TestQuietRuns(t *testing.T) {
	assert.InDelta(t, 0.2589, QuietRuns(10), 1e-4)
	assert.InDelta(t, 0.95, QuietRuns(1), 1e-9)
}
