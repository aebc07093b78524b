package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

// drawn is a report of two policies over leases, or over leases and graces. The digits of a mean are
// the places of its policy, its grace and its lease: 213 is the second policy at the third lease.
func drawn(t *testing.T, graces string, change func(e *lab.Estimate, policy, grace, lease int)) *curvesReport {
	t.Helper()
	r := &curvesReport{
		scene: &scene{Scenario: &model.Scenario{Name: "mine", About: "what it shows", Duration: 2 * protocol.Hour, Warmup: 20 * protocol.Minute}},
		sweep: &sweep{policies: []string{"crash-only", "hybrid"}, seeds: 4, first: 7}, repeat: "simulate curves mine",
	}
	require.NoError(t, addAxis(&r.axes, "queue.lease", "1m,2m,5m", "--lease", "1m,2m,5m"))
	rows := 1
	if graces != "" {
		require.NoError(t, addAxis(&r.axes, "supervisor.grace", graces, "--vary", graces))
		rows = len(r.axes[1].Values)
	}
	for grace := range rows {
		for lease, v := range r.axes[0].Values {
			p := point{at: append(r.axes[0].Values[lease:lease+1:lease+1], r.axes[len(r.axes)-1].Values[grace]), result: &pointResult{theory: 3 * v.Number}}
			for i, name := range r.sweep.policies {
				mean := float64(100*(i+1) + 10*(grace+1) + lease + 1)
				e := lab.Estimate{Name: theoryMetric, Unit: "s", Mean: mean, Lo: mean - 1, Hi: mean + 2}
				if change != nil {
					change(&e, i, grace, lease)
				}
				p.result.policies = append(p.result.policies, lab.Policy{Name: name, Metrics: []lab.Estimate{e}})
			}
			r.points = append(r.points, p)
		}
	}
	return r
}

var stallGroup = figureGroup{title: "Stall", metrics: []string{theoryMetric}}

func TestACurveIsWhatWasMeasuredUnderItsPolicy(t *testing.T) {
	f := drawn(t, "", func(e *lab.Estimate, policy, _, lease int) {
		if policy == 1 && lease == 2 {
			e.Censored = 1
		}
	}).lines(stallGroup)
	assert.Equal(t, "Stall, by lease", f.Title)
	series := f.Panels[0].Series
	require.Len(t, series, 3)
	assert.Equal(t, []plots.Point{{X: 60, Y: 111, Lo: 110, Hi: 113}, {X: 120, Y: 112, Lo: 111, Hi: 114}, {X: 300, Y: 113, Lo: 112, Hi: 115}}, series[0].Points)
	assert.Equal(t, []plots.Point{{X: 60, Y: 211, Lo: 210, Hi: 213}, {X: 120, Y: 212, Lo: 211, Hi: 214}, {X: 300, Y: 213, Lo: 212, Hi: 215, Bound: true}}, series[1].Points)
	assert.Equal(t, []string{"crash-only", "hybrid", theoryName}, []string{series[0].Name, series[1].Name, series[2].Name})
	assert.Equal(t, slices.Index(model.PresetNames(), "hybrid"), series[1].Look, "which is its own in every figure")
	assert.True(t, series[2].Theory)
	assert.Equal(t, 900.0, series[2].Points[2].Y)
	assert.Len(t, drawn(t, "", nil).lines(figureGroup{metrics: []string{"released"}}).Panels[0].Series, 2, "theory is about the stall alone")
}

func TestACellIsWhatWasMeasuredUnderItsPolicy(t *testing.T) {
	h := drawn(t, "10s,30s", func(e *lab.Estimate, policy, grace, lease int) {
		if policy == 0 && grace == 1 && lease == 2 {
			e.Censored = 1
		}
	}).heat(theoryMetric)
	assert.Equal(t, "Stall of jobs that a deploy interrupts, mean, by lease and grace", h.Title)
	assert.Equal(t, []string{"1m", "2m", "5m"}, h.Xs)
	assert.Equal(t, []string{"10s", "30s"}, h.Ys)
	assert.Equal(t, []plots.Map{
		{Title: "crash-only", Cells: [][]plots.Cell{{{Value: 111}, {Value: 112}, {Value: 113}}, {{Value: 121}, {Value: 122}, {Value: 123, Bound: true}}}},
		{Title: "hybrid", Cells: [][]plots.Cell{{{Value: 211}, {Value: 212}, {Value: 213}}, {{Value: 221}, {Value: 222}, {Value: 223}}}},
	}, h.Maps)
}

func TestACaptionSaysWhatItsFigureHas(t *testing.T) {
	const (
		bands, open, gap  = "95% intervals", "Open markers", "Where a line is interrupted"
		colours, sign, no = "all maps in the same colours", "≥: some of it", "–: nothing there"
	)
	censored := func(e *lab.Estimate, policy, _, lease int) {
		if policy == 1 && lease == 1 {
			e.Censored = 1
		}
	}
	missing := func(e *lab.Estimate, policy, _, lease int) {
		if policy == 1 && lease == 1 {
			e.Mean = math.NaN()
		}
	}
	for _, c := range []struct {
		name   string
		graces string
		change func(e *lab.Estimate, policy, grace, lease int)
		says   []string
	}{
		{"curves", "", nil, []string{bands}},
		{"curves with bounds", "", censored, []string{bands, open}},
		{"curves with gaps", "", missing, []string{bands, gap}},
		{"maps", "10s,30s", nil, []string{colours}},
		{"maps with bounds", "10s,30s", censored, []string{colours, sign}},
		{"maps with gaps", "10s,30s", missing, []string{colours, no}},
	} {
		r := drawn(t, c.graces, c.change)
		caption := r.lines(stallGroup).Caption
		if c.graces != "" {
			caption = r.heat(theoryMetric).Caption
		}
		require.Len(t, caption, 3, c.name)
		assert.Equal(t, "mine: what it shows. 4 runs of 2h per point and policy, the first 20m not measured; seeds 7–10, the same at every point.", caption[0], c.name)
		assert.True(t, strings.HasSuffix(caption[2], ": simulate curves mine"), caption[2])
		for _, text := range []string{bands, open, gap, colours, sign, no} {
			assert.Equal(t, slices.Contains(c.says, text), strings.Contains(caption[1], text), "%s: %q in %q", c.name, text, caption[1])
		}
	}

	r := drawn(t, "", nil)
	r.seeds, r.scene.Warmup = 1, 0
	assert.Equal(t, "mine: what it shows. 1 run of 2h per point and policy; seed 7, the same at every point.", r.lines(stallGroup).Caption[0])
	assert.NotContains(t, r.lines(stallGroup).Caption[1], bands, "one run has none")
	for _, path := range []string{"duration", "warmup"} {
		r = drawn(t, "", nil)
		r.axes[0].Path = path
		assert.Contains(t, r.lines(stallGroup).Caption[0], ". 4 runs per point and policy; ", "where %s is varied the scenario's is not theirs", path)
	}
}

// A quantile with next to nothing beyond it is little else than the largest value: it is counted, and not drawn.
func TestWhatIsTooFewIsNotDrawn(t *testing.T) {
	few := func(e *lab.Estimate, policy, grace, lease int) {
		if e.TooFew = policy == 1 && lease > 0; e.TooFew {
			e.Lo, e.Hi, e.Censored = math.NaN(), math.NaN(), 1
		}
	}
	f := drawn(t, "", few).lines(stallGroup)
	for i, p := range f.Panels[0].Series[1].Points {
		assert.Equal(t, i > 0, math.IsNaN(p.Y))
		assert.False(t, p.Bound)
	}
	assert.False(t, math.IsNaN(f.Panels[0].Series[0].Points[1].Y))
	assert.Contains(t, f.Caption[1], "Left out: 2 points with fewer than 20 values per run beyond the quantile.")
	assert.NotContains(t, f.Caption[1], "nothing to measure")
	assert.NotContains(t, f.Caption[1], "Open markers")

	h := drawn(t, "10s,30s", few).heat(theoryMetric)
	for _, row := range h.Maps[1].Cells {
		for i, c := range row {
			assert.Equal(t, i > 0, math.IsNaN(c.Value))
			assert.Equal(t, i > 0, c.TooFew)
		}
	}
	assert.Contains(t, h.Caption[1], "too few, in 4 cells: fewer than 20 values per run lie beyond the quantile.")
	assert.NotContains(t, h.Caption[1], "nothing there")
	assert.NotContains(t, h.Caption[1], "≥")

	for _, graces := range []string{"", "10s,30s"} {
		r := drawn(t, graces, few)
		r.asked, r.metrics = true, []string{theoryMetric}
		var b strings.Builder
		require.NoError(t, r.writeTable(&b))
		assert.Contains(t, b.String(), tooFew+": fewer than 20 values per run lie beyond the quantile.")
		assert.NotContains(t, b.String(), "≥")
	}
}

func TestNotesOnStallsStandUnderFiguresOfStalls(t *testing.T) {
	r := drawn(t, "", nil)
	r.notes, r.stalls = []string{"one thing"}, []string{"no stall was measured"}
	assert.Contains(t, r.lines(stallGroup).Caption[1], " One thing. No stall was measured.")
	other := r.lines(figureGroup{metrics: []string{"released"}}).Caption[1]
	assert.Contains(t, other, " One thing.")
	assert.NotContains(t, other, "No stall")
}
