package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		values     []string
		last       float64
	}{
		{"5m,30s, 1m", "s", []string{"30s", "1m", "5m"}, 300},
		{"30s..1h:log:9", "s", []string{"30s", "55s", "1m40s", "3m", "5m30s", "10m", "18m", "33m", "1h"}, 3600},
		{"1s..2s:log:5", "s", []string{"1s", "1.19s", "1.41s", "1.68s", "2s"}, 2},
		{"10..100:lin:4", "", []string{"10", "40", "70", "100"}, 100},
		{"1..1000:log:4", "", []string{"1", "10", "100", "1000"}, 1000},
		{"0..0.3:lin:4", "", []string{"0", "0.1", "0.2", "0.3"}, 0.3},
		{"0%..5%:lin:3", "%", []string{"0%", "2.5%", "5%"}, 0.05},
		{"30/m,1/s", "1/s", []string{"30/m", "1/s"}, 1},
		{"10/m..20/m:lin:2", "1/s", []string{"10/m", "20/m"}, 1. / 3},
		{"50ppm,100ppm", "ppm", []string{"50ppm", "100ppm"}, 100},
		{"2d", "s", []string{"2d"}, 172800},
	} {
		r, err := ParseRange("p", c.text)
		require.NoError(t, err, c.text)
		var texts []string
		for _, v := range r.Values {
			texts = append(texts, v.Text)
		}
		assert.Equal(t, c.values, texts, c.text)
		assert.Equal(t, c.unit, r.Unit, c.text)
		assert.InDelta(t, c.last, r.Values[len(r.Values)-1].Number, 1e-9, c.text)
	}
}

func TestRangesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"":               "has an empty value",
		"30s,,1m":        "has an empty value",
		"soon":           "neither a duration nor a number",
		"30s,5":          "different kinds, 30s and 5",
		"30s,0.5m":       "has the value 0.5m twice",
		"30s..1h":        "is not a range; write two ends",
		"30s..1h:9":      "is not a range",
		"30s..1h:log:x":  "is not a range",
		"1h..30s:log:3":  "does not rise from 1h to 30s",
		"0s..1h:log:3":   "no logarithmic way from 0s",
		"1..100%:lin:3":  "different kinds",
		"1..2:lin:1":     "asks for 1 values; ask for 2 to 100",
		"1..2:lin:99999": "asks for 99999 values; ask for 2 to 100",
		"1..3:lin:9":     "twice; leave one out, or ask for fewer values",
		"30s:log:3":      "is not a range",
	} {
		_, err := ParseRange("p", text)
		assert.ErrorContains(t, err, want, text)
	}
}
