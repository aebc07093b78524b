package plots

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBarsSayWhatTheyShow(t *testing.T) {
	svg := render(t, sampleBars(), "svg")
	all := texts(t, svg)
	for _, want := range []string{
		"What is in jobs.csv", "How long jobs run", "duration", "jobs", "0s", "1s", "3s", "10s", "longer", "median 5s", "p99 2h", "least 0s", "10,000",
		"When they arrive", "since the first arrival", "jobs per 1m", "1m", "3m", "quiesce v0.1",
	} {
		assert.Contains(t, all, want)
	}
	assert.NotContains(t, all, "0.5", "there is no half job")
	assert.NotContains(t, string(svg), "NaN")
	assert.NotContains(t, string(svg), "Inf")
	assert.Equal(t, 5, strings.Count(string(svg), "fill:#0072B2"), "a bar for every count but zero")
}

func TestAMarkStandsWhereItsValueIs(t *testing.T) {
	b := &sampleBars().Panels[0]
	for v, want := range map[float64]float64{0: 0, 0.5: 0.5, 1: 1, 3: 2, 5.477225575: 2.5, 10: 3, 1e9: 3.5} {
		assert.InDelta(t, want, b.place(v), 1e-6, v)
	}
	even := &sampleBars().Panels[1]
	assert.Equal(t, 90.0, even.place(90))
}

func TestEdgesAreLabelledAsFarAsThereIsRoom(t *testing.T) {
	b := &sampleBars().Panels[0]
	assert.Equal(t, []string{"0s", "1s", "3s", "10s", "longer"}, labels(b.edges(b.span().between(0, 300))))
	assert.Equal(t, []string{"0s", "3s", "longer"}, labels(b.edges(b.span().between(0, 80))))
	assert.Equal(t, []string{"0s"}, labels(b.edges(b.span().between(0, 10))))
}
