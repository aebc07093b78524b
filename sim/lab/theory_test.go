package lab_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/lab"
)

func stallOf(t *testing.T, jobs string) float64 {
	t.Helper()
	sc, err := scenarios.Parse("it.yaml", []byte("duration: 1h\nfleet: {workers: 9}\nqueue: {lease: 2m, heartbeat: 40s}\njobs: "+jobs))
	require.NoError(t, err)
	return lab.CrashOnlyStall(sc)
}

func TestCrashOnlyStall(t *testing.T) {
	// A job of 100 s under a heartbeat of 40 s: (2·40²/2 + 20²/2) / 100 = 18 s.
	assert.InDelta(t, 120-18, stallOf(t, "{a: {arrivals: {every: 20s}, duration: 100s}}"), 1e-6)
	// A job shorter than the heartbeat is never renewed: half of its length.
	assert.InDelta(t, 120-15, stallOf(t, "{a: {arrivals: {every: 20s}, duration: 30s}}"), 1e-6)
	// Kinds count by the work they bring: 100/20 s and 30/10 s.
	assert.InDelta(t, 120-(5*18.+3*15)/8, stallOf(t, "{a: {arrivals: {every: 20s}, duration: 100s}, b: {arrivals: {every: 10s}, duration: 30s}}"), 1e-6)
	// Without memory the age is exponential too: E[X mod h] = 1/λ − h/(e^(λh)−1).
	assert.InDelta(t, 120-(60-40/(math.Exp(40./60)-1)), stallOf(t, "{a: {arrivals: {every: 20s}, duration: {exponential: {mean: 1m}}}}"), 0.05)
	// The default scenario, as docs/decisions.md has it.
	sc, err := scenarios.Load(scenarios.DefaultName)
	require.NoError(t, err)
	assert.InDelta(t, 266.2, lab.CrashOnlyStall(sc), 0.1)
}
