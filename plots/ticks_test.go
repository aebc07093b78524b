package plots

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func labels(ticks []tick) []string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.label)
	}
	return all
}

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		unit   Unit
		values []float64
		want   []string
	}{
		"durations over decades":   {Seconds, []float64{1, 600}, []string{"1s", "3s", "10s", "30s", "1m", "3m", "10m"}},
		"and over very many":       {Seconds, []float64{0.001, 36000}, []string{"1ms", "10ms", "100ms", "1s", "1m", "1h"}},
		"durations that are near":  {Seconds, []float64{240, 300}, []string{"0", "1m", "2m", "3m", "4m", "5m"}},
		"hours":                    {Seconds, []float64{5e5, 6e5}, []string{"0", "50h", "100h", "150h"}},
		"less than a second":       {Seconds, []float64{0.2, 0.3}, []string{"0", "100ms", "200ms", "300ms"}},
		"zero below a logarithm":   {Number, []float64{0, 0.001, 0.1}, []string{"0", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1"}},
		"shares":                   {Share, []float64{0.1, 0.5}, []string{"0%", "10%", "20%", "30%", "40%", "50%"}},
		"small shares":             {Share, []float64{2e-8, 2e-3}, []string{"0.1ppm", "1ppm", "10ppm", "0.01%", "0.1%"}},
		"nothing but zero":         {Number, []float64{0, 0}, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		"what was not measured":    {Number, []float64{math.NaN(), 0.001, 0.1}, []string{"0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1"}},
		"more decades than labels": {Number, []float64{1e-6, 1e6}, []string{"0.000001", "0.0001", "0.01", "1", "100", "10,000", "1M"}},
		"weeks and decades":        {Seconds, []float64{4e5, 1e8}, []string{"100h", "300h", "1,000h", "3,000h", "10,000h", "30,000h"}},
		"counts over many decades": {Number, []float64{1, 1e6}, []string{"1", "10", "100", "1,000", "10,000", "100,000", "1M"}},
	} {
		assert.Equal(t, c.want, labels(newScale(c.unit, c.values).ticks(7)), name)
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "250µs": 0.00025, "20ms": 0.02, "1.5s": 1.5, "30s": 30, "1m40s": 100, "5m": 300, "1h30m": 5400, "48h": 172800, "50h": 178_300, "100h": 360000, "-5m": -300, "1m": 59.99,
	} {
		assert.Equal(t, want, Seconds.write(v), v)
	}
	for want, v := range map[string]float64{"0.05": 0.05, "0.00034": 0.00034, "0.00003": 0.00003, "0.000031": 0.0000314, "12": 12.3, "1.2": 1.23, "1,234": 1234, "2.5M": 2.5e6} {
		assert.Equal(t, want, Number.write(v), v)
	}
	assert.Equal(t, "2.5%", Share.write(0.025))
	assert.Equal(t, "0%", Share.write(0))
}

func TestAxisOfASweepFollowsHowItsValuesWereChosen(t *testing.T) {
	assert.True(t, newSpan(Seconds, []float64{30, 60, 120, 300, 600}).log)
	assert.False(t, newSpan(Seconds, []float64{20, 53, 87, 120}).log)
	assert.False(t, newSpan(Number, []float64{0, 10, 100}).log, "zero has no logarithm")
	assert.False(t, newSpan(Number, []float64{5}).log)
}
