package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/internal/spelling"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0s", 4.2e-12: "0.0000042µs", 4.2e-7: "0.42µs", 1.48e-3: "1.48ms", 0.0226: "22.6ms", 1.005: "1.00s", 9.999: "10.0s", 23.04: "23.0s",
		59.96: "1m00s", 271.2: "4m31s", 3599.6: "1h00m", 10_200: "2h50m", 605_000: "168h", -7.26: "-7.26s",
	} {
		assert.Equal(t, want, seconds(v))
	}
	for v, want := range map[float64]string{240: "4m", 7200: "2h", 8: "8s", 8.25: "8.25s", 10: "10s"} {
		assert.Equal(t, want, prose(v))
	}
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 4.5: "4.5", 12.34: "12.3", 90: "90", 2e-5: "0.00002", 12_698.4: "12,698", -1234: "-1,234", 1e6: "1,000,000"} {
		assert.Equal(t, want, count(v))
	}
	for v, want := range map[float64]string{0.184: "18.4%", 0.00021: "0.021%", 1: "100%", 2.7e-8: "27ppb", 1.1e-6: "1.1ppm", 0: "0%"} {
		assert.Equal(t, want, percent(v))
	}
	for v, want := range map[float64]string{999: "999", 12_345: "12k", 2_570_000: "2.57M"} {
		assert.Equal(t, want, million(v))
	}
	assert.Equal(t, "1m40s", short(100*protocol.Second))
	assert.Equal(t, "6h", short(6*protocol.Hour))
	assert.Equal(t, "6.666s", short(20*protocol.Second/3))
	assert.Equal(t, "333.333333ms", short(protocol.Second/3))
	assert.Equal(t, protocol.Forever.String(), short(protocol.Forever))
	assert.Equal(t, "1h20m05.013s", clock(protocol.Instant(4805_013_000_000)))
}

func TestCells(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		e     lab.Estimate
		style style
		want  cell
	}{
		{"an interval in the unit of the mean", lab.Estimate{Mean: 1.01, Lo: 0.99, Hi: 1.03}, asSeconds, cell{value: "1.01s", half: "± 0.02s"}},
		{"an interval that cannot be seen", lab.Estimate{Mean: 1.01, Lo: 1.0099, Hi: 1.0101}, asSeconds, cell{value: "1.01s"}},
		{"rounding is no interval", lab.Estimate{Mean: 1, Lo: 1 - 1e-16, Hi: 1 + 1e-15}, asRatio, cell{value: "1"}},
		{"a bound", lab.Estimate{Mean: 10_200, Lo: 9_800, Hi: 10_600, Censored: 3}, asSeconds, cell{value: "≥ 2h50m", half: "± 7m"}},
		{"not measured", lab.Estimate{Mean: nan, Lo: nan, Hi: nan}, asSeconds, cell{value: "–"}},
		{"a small share, all in one unit", lab.Estimate{Mean: 2.7e-8, Lo: 1.7e-8, Hi: 3.7e-8}, asShare, cell{value: "27ppb", half: "± 10ppb"}},
		{"a share beside a wide interval", lab.Estimate{Mean: 2e-7, Lo: -3e-3, Hi: 3e-3}, asShare, cell{value: "0.00002%", half: "± 0.3%"}},
		{"a small ratio", lab.Estimate{Mean: 2.1e-5, Lo: 1.9e-5, Hi: 2.3e-5}, asRatio, cell{value: "0.000021", half: "± 0.000002"}},
		{"a mean of zero in an interval", lab.Estimate{Mean: 0, Lo: -3e-6, Hi: 3e-6}, asShare, cell{value: "0ppm", half: "± 3.0ppm"}},
		{"too few values, be it in one replication", lab.Estimate{Mean: 7, Lo: nan, Hi: nan, TooFew: true, Replications: 1}, asSeconds, cell{value: "too few"}},
		{"one replication", lab.Estimate{Mean: 7, Lo: nan, Hi: nan}, asCount, cell{value: "7"}},
		{"never seen", lab.Estimate{Mean: 0, Lo: 0, Hi: 0}, asRare, cell{value: "0 of 2.6M (<1.2ppm)"}},
		{"a share", lab.Estimate{Mean: 0.184, Lo: 0.182, Hi: 0.186}, asShare, cell{value: "18.4%", half: "± 0.2%"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, newCell(&c.e, c.style, 2_600_000)) })
	}
}

// Whatever the number, it is written without an exponent, and a cell has one unit.
func TestNoCellHasAnExponent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string) float64 {
			return rapid.Float64Range(1, 10).Draw(t, name) * math.Pow10(rapid.IntRange(-14, 6).Draw(t, name+", power of ten"))
		}
		mean, half := number("mean"), number("half")
		s := style(rapid.IntRange(int(asCount), int(asRatio)).Draw(t, "style"))
		c := newCell(&lab.Estimate{Mean: mean, Lo: mean - half, Hi: mean + half}, s, 0)
		for _, text := range []string{c.value, c.half, s.signed(-mean)} {
			assert.NotContains(t, text, "e+")
			assert.NotContains(t, text, "e-")
		}
		if s == asShare && c.half != "" {
			assert.Equal(t, strings.TrimLeft(c.value, "0123456789.,"), strings.TrimLeft(c.half, "± 0123456789.,"))
		}
	})
}

// A limit that is rounded inwards promises more than was measured.
func TestLimitsAreRoundedOutwards(t *testing.T) {
	never := func(of float64) string { return newCell(&lab.Estimate{Replications: 1}, asRare, of).value }
	assert.Equal(t, "0 of 6,657 (<0.046%)", never(6657), "3/6657 is 0.04507%")
	assert.Equal(t, "0 of 6,000 (<0.05%)", never(6000), "which is exact")
	assert.Equal(t, "0 of 3 (<100%)", never(3))
	assert.Equal(t, "0 of 70,000M (<0.043ppb)", never(70e9))
	few := newCell(&lab.Estimate{Mean: 4, Replications: 1}, asRare, 1e6)
	assert.Equal(t, "4 of 1M (1.5–11ppm)", few.value, "Wilson's are 1.555 and 10.286")
	r := report{seeds: 5, policies: []lab.Policy{{Metrics: []lab.Estimate{{Name: "jobs_enqueued", Mean: 6657, Replications: 1}}}}}
	assert.Contains(t, r.unseen([]string{"jobs lost"}), "0 of 6,657 (<0.046%): jobs lost")
	for runs, says := range map[int]string{2: "77.7%", 5: "45.1%", 8: "31.3%", 10: "25.9%"} {
		r.seeds = runs
		assert.Contains(t, r.unseen(nil), "below "+says, "%v", lab.QuietRuns(runs))
	}
}

func TestVerdicts(t *testing.T) {
	e := func(mean float64) *lab.Estimate { return &lab.Estimate{Mean: mean, N: 1000} }
	clear := &lab.Estimate{Mean: -1, Lo: -2, Hi: -0.5}
	assert.Equal(t, "271× lower", compareMeans(e(271), e(1), clear))
	assert.Equal(t, "20% lower", compareMeans(e(10), e(8), clear))
	assert.Equal(t, "2.5× higher", compareMeans(e(4), e(10), clear))
	assert.Equal(t, "all gone", compareMeans(e(4), e(0), clear))
	assert.Equal(t, "unclear", compareMeans(e(4), e(10), &lab.Estimate{Mean: 6, Lo: -1, Hi: 13}))
	assert.Equal(t, "few seen", compareMeans(&lab.Estimate{Mean: 4, N: 3}, e(10), clear))
	censored := &lab.Estimate{Mean: 9, N: 1000, Censored: 1}
	assert.Empty(t, compareMeans(e(4), censored, clear), "a bound has no ratio")
	assert.Equal(t, "≥ ", bound(e(4), censored))
	assert.Equal(t, "≤ ", bound(censored, e(4)))
}

// Each sign before a difference is explained where it stands, and nowhere else. Where both sides were
// counted to the end of the run nothing is known of the true difference, so there is no interval.
func TestSignsAreExplainedWhereTheyStand(t *testing.T) {
	const stall = "crash_stall_seconds_mean"
	for _, c := range []struct {
		base, other int64 // censored
		cell        string
		says        string
	}{
		{0, 0, "−2.00s ± 1.0s", ""},
		{0, 3, "≥ −2.00s ± 1.0s", "≥: part of it under the other policy was counted to the end of the run"},
		{3, 0, "≤ −2.00s ± 1.0s", "≤: part of it under drain was counted to the end of the run"},
		{3, 3, "≈ −2.00s\n", "≈: part of it under both was counted to the end of the run"},
	} {
		policy := func(name string, mean float64, censored int64) lab.Policy {
			return lab.Policy{Name: name, Metrics: []lab.Estimate{{Name: stall, Mean: mean, N: 1000, Censored: censored}}}
		}
		r := report{seeds: 5, policies: []lab.Policy{policy("drain", 8, c.base), policy("hybrid", 6, c.other)},
			paired: []lab.Difference{{Policy: "hybrid", Baseline: "drain", Metrics: []lab.Estimate{{Name: stall, Mean: -2, Lo: -3, Hi: -1}}}}}
		var b bytes.Buffer
		r.writePaired(&b)
		assert.Contains(t, b.String(), c.cell)
		for _, sign := range []string{"≥", "≤", "≈"} {
			assert.Equal(t, strings.HasPrefix(c.says, sign), strings.Contains(b.String(), sign+":"), "%s in %s", sign, b.String())
		}
		assert.Contains(t, oneLine(b.String()), c.says)
	}
	for value, says := range map[string]string{"≥ 3.00s": " ≥: part of it was counted to the end of the run.", "–": " –: nothing there to measure.", "3.00s": "", tooFew: " too few: " + fewBeyond()} {
		assert.Equal(t, says, explain([]row{{title: "a group"}, {cells: []cell{{value: value}, {value: "7"}}}}))
	}
}

func TestQuote(t *testing.T) {
	assert.Equal(t, "a/b-1.csv", quote("a/b-1.csv"))
	assert.Equal(t, `'my jobs'\''s.csv'`, quote("my jobs's.csv"))
}

func TestSuggestions(t *testing.T) {
	words := []string{"hybrid", "drain", "none"}
	assert.Equal(t, "hybrid", spelling.Nearest("hybird", words))
	assert.Equal(t, "", spelling.Nearest("kubernetes", words))
	assert.Equal(t, "", spelling.Nearest("", words))
}

// newRare writes so many events of a kind that should not happen, of 2.6 million jobs.
func newRare(count float64) cell {
	return newCell(&lab.Estimate{Mean: count / 10, Variance: 0, Replications: 10}, asRare, 2.57e6)
}

func TestWhatPairingWasWorth(t *testing.T) {
	assert.Equal(t, cell{value: "by 10.5×"}, reduction(&lab.Pairing{Reduction: 10.5}))
	assert.Equal(t, cell{value: "by 1×"}, reduction(&lab.Pairing{Reduction: 0.997}))
	assert.Equal(t, cell{value: "by 0.8×", verdict: noHelp}, reduction(&lab.Pairing{Reduction: 0.8}))
	assert.Equal(t, cell{value: "by 0.8×, so unpaired", verdict: unpaired}, reduction(&lab.Pairing{Reduction: 0.8, Independent: true}))
}
