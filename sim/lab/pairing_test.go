package lab

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func difference(x, y []float64) (Estimate, *Pairing) {
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	var e Estimate
	e.Mean, e.Lo, e.Hi = Interval(d)
	_, e.Variance = spread(d)
	return e, pair(&e, x, y)
}

func TestHolmMultipliesTheSmallestByAllAndKeepsTheOrder(t *testing.T) {
	family := []*Pairing{{P: 0.04}, {P: 0.01}, {P: math.NaN()}, {P: 0.03}, {P: 0.005}}
	holm(family)
	// The textbook's: 4·0.005, 3·0.01, 2·0.03, and 0.04 raised to what came before it.
	want := []float64{0.06, 0.03, 0, 0.06, 0.02}
	for i, p := range family {
		if !math.IsNaN(p.P) {
			assert.InDelta(t, want[i], p.Adjusted, 1e-12)
		}
	}
	assert.True(t, family[4].Clear())
	assert.False(t, family[0].Clear())
}

func TestPairingIsWorthWhatTheSidesHaveInCommon(t *testing.T) {
	x, y := []float64{10, 20, 30, 41}, []float64{9, 19, 29, 39}
	e, p := difference(x, y)
	_, vx := spread(x)
	_, vy := spread(y)
	assert.InDelta(t, (vx+vy)/0.25, p.Reduction, 1e-9, "the differences 1, 1, 1, 2 have a variance of 0.25")
	assert.Equal(t, 1.25, e.Mean)
	assert.InDelta(t, 0.0154, p.P, 1e-4, "t = 5 with three degrees of freedom")
	assert.False(t, p.Independent)
}

func TestWherePairingHarmsTheRunsAreTakenApart(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	y := []float64{20, 19, 18, 17, 16, 15, 14, 13, 12, 11.5}
	e, p := difference(x, y)
	assert.Less(t, p.Reduction, 0.6)
	require.True(t, p.Independent)
	// x of the runs 0, 2, … against y of 1, 3, …, which have no seed in common.
	diff, lo, hi, _ := welch([]float64{1, 3, 5, 7, 9}, []float64{19, 17, 15, 13, 11.5})
	assert.Equal(t, []float64{diff, lo, hi}, []float64{e.Mean, e.Lo, e.Hi})

	// A few runs more or less say little about what they have in common: they stay paired.
	_, p = difference(x[:4], y[:4])
	assert.Less(t, p.Reduction, 0.6)
	assert.False(t, p.Independent)
	// So do runs in which it is chance.
	_, p = difference(x, []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 2.5})
	assert.False(t, p.Independent)
}

func TestWelchAgreesWithAnIntegrationByHand(t *testing.T) {
	// Means 3 and 7, variances 2.5 and 14: t = −2.376 with 6.97 degrees of freedom, integrated by Simpson's rule.
	diff, lo, hi, p := welch([]float64{1, 2, 3, 4, 5}, []float64{2, 4, 6, 8, 10, 12})
	assert.Equal(t, -4.0, diff)
	assert.InDelta(t, 0.0492843, p, 1e-6)
	assert.InDelta(t, -4, (lo+hi)/2, 1e-12)
	assert.True(t, lo < hi && p < 0.05 == (hi < 0), "interval and significance agree")
}

func TestSignificanceWithoutVariance(t *testing.T) {
	assert.Equal(t, 1.0, significance(0, 0, 5), "equal everywhere")
	assert.Equal(t, 0.0, significance(2, 0, 5), "the same difference everywhere")
	assert.True(t, math.IsNaN(significance(2, math.NaN(), 0)), "one pair tells nothing")
}

func TestDifferencesAreCorrectedForTheNumberOfPolicies(t *testing.T) {
	base := []int64{1000, 1010, 990, 1005, 1000, 995}
	other := []int64{1012, 1020, 1001, 1008, 999, 1003}
	alone := made([]string{"a", "b"}, [][]int64{base, other}).Paired()
	among := made([]string{"a", "b", "c", "d"}, [][]int64{base, other, base, other}).Paired()
	p := func(d Difference) *Pairing {
		for _, e := range d.Metrics {
			if e.Name == Headline[0] {
				return e.Pairing
			}
		}
		return nil
	}
	require.NotNil(t, p(alone[0]))
	assert.Equal(t, p(alone[0]).P, p(alone[0]).Adjusted)
	assert.InDelta(t, 3*p(alone[0]).P, p(among[0]).Adjusted, 1e-12)
	assert.Equal(t, 1.0, p(among[1]).Adjusted)
}
