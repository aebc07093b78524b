package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/sim/lab"
)

func pictureWriter(f figureFile, format string) write {
	return func(w io.Writer) error { return plots.Write(w, f.figure(), format) }
}

// lines draws a group of metrics over one axis.
func (r *curvesReport) lines(g figureGroup) *plots.Lines {
	f := &plots.Lines{Title: g.title + ", by " + r.axes[0].label(), X: r.axes[0].plot()}
	var seen signs
	for _, m := range g.metrics {
		panel := plots.Panel{Y: plots.Axis{Unit: plotUnit(m, r.unit(m))}}
		if _, statistic := family(m); len(g.metrics) > 1 || statistic != "" {
			panel.Title = statistic
		}
		for i, policy := range r.sweep.policies {
			s := plots.Series{Name: policy, Look: r.lookOf(policy)}
			for k := range r.points {
				seen.see(&r.points[k], i, m)
				s.Points = append(s.Points, r.plotted(&r.points[k], i, m))
			}
			panel.Series = append(panel.Series, s)
		}
		if r.hasTheory(m) {
			panel.Series = append(panel.Series, r.theory())
		}
		f.Panels = append(f.Panels, panel)
	}
	bands := "Bands: 95% intervals of the mean over replications."
	if r.seeds == 1 {
		bands = "" // A note says why.
	}
	if seen.bound {
		bands += " Open markers: ≥, as some of it had not ended with the run and is counted to there."
	}
	if seen.gap {
		bands += " Where a line is interrupted, there was nothing to measure."
	}
	if seen.few > 0 {
		bands += fmt.Sprintf(" Left out: %s with fewer than %d values per run beyond the quantile.", plural(seen.few, "point"), lab.Beyond)
	}
	f.Caption = r.caption(bands, g.metrics...)
	return f
}

func (r *curvesReport) plotted(p *point, policy int, name string) plots.Point {
	none := math.NaN()
	out := plots.Point{X: p.at[0].Number, Y: none, Lo: none, Hi: none}
	if e := p.estimate(policy, name); e != nil && !e.TooFew {
		out.Y, out.Lo, out.Hi, out.Bound = e.Mean, e.Lo, e.Hi, e.Censored > 0
	}
	return out
}

func (r *curvesReport) theory() plots.Series {
	s := plots.Series{Name: theoryName, Theory: true}
	for _, p := range r.points {
		if p.result != nil {
			s.Points = append(s.Points, plots.Point{X: p.at[0].Number, Y: p.result.theory, Lo: math.NaN(), Hi: math.NaN()})
		}
	}
	return s
}

// heat draws a metric over two axes, a map per policy.
func (r *curvesReport) heat(name string) *plots.Heat {
	x, y := r.axes[0], r.axes[1]
	h := &plots.Heat{
		Title: fmt.Sprintf("%s, by %s and %s", metricTitle(name), x.label(), y.label()),
		X:     x.plot(), Y: y.plot(), Xs: x.texts(), Ys: y.texts(),
		Value: plots.Axis{Unit: plotUnit(name, r.unit(name))},
	}
	var seen signs
	for i, policy := range r.sweep.policies {
		m := plots.Map{Title: policy}
		for row := range y.Values {
			var cells []plots.Cell
			for col := range x.Values {
				p := &r.points[row*len(x.Values)+col]
				seen.see(p, i, name)
				cells = append(cells, mapped(p.estimate(i, name)))
			}
			m.Cells = append(m.Cells, cells)
		}
		h.Maps = append(h.Maps, m)
	}
	legend := "Means over replications, all maps in the same colours."
	if seen.bound {
		legend += " ≥: some of it had not ended with the run and is counted to there."
	}
	if seen.gap {
		legend += " –: nothing there to measure."
	}
	if seen.few > 0 {
		legend += fmt.Sprintf(" %s, in %s: %s", tooFew, plural(seen.few, "cell"), fewBeyond())
	}
	h.Caption = r.caption(legend, name)
	return h
}

func mapped(e *lab.Estimate) plots.Cell {
	switch {
	case e == nil:
		return plots.Cell{Value: math.NaN()}
	case e.TooFew:
		return plots.Cell{Value: math.NaN(), TooFew: true}
	}
	return plots.Cell{Value: e.Mean, Bound: e.Censored > 0}
}

// caption says what was measured, and how to measure it again. What is special about stalls
// stands under figures of stalls.
func (r *curvesReport) caption(legend string, metrics ...string) []string {
	sc := r.scene
	span, warmup := " of "+short(sc.Duration), ""
	if sc.Warmup > 0 {
		warmup = ", the first " + short(sc.Warmup) + " not measured"
	}
	if r.varies("duration") || r.varies("warmup") {
		span, warmup = "", "" // Not the scenario's.
	}
	runs := fmt.Sprintf("%s%s per point and policy%s; %s, the same at every point.", plural(r.seeds, "run"), span, warmup, r.seedsInWords())
	notes := r.notes
	if slices.ContainsFunc(metrics, func(m string) bool { return strings.Contains(m, "stall") }) {
		notes = r.allNotes()
	}
	if len(notes) > 0 {
		legend = strings.TrimSpace(legend + " " + sentences(notes))
	}
	return []string{titled(r.scene.Name, r.scene.About) + ". " + runs, legend, "quiesce " + inShort(readVersion()) + ": " + r.repeat}
}

func (r *curvesReport) seedsInWords() string {
	if r.seeds == 1 {
		return fmt.Sprintf("seed %d", r.first)
	}
	return fmt.Sprintf("seeds %d–%d", r.first, r.first+uint64(r.seeds)-1)
}

// sentences sets notes one behind the other.
func sentences(notes []string) string {
	parts := make([]string, len(notes))
	for i, n := range notes {
		parts[i] = strings.ToUpper(n[:1]) + n[1:] + "."
	}
	return strings.Join(parts, " ")
}

// inShort names a version as far as it is known.
func inShort(v version) string {
	s := v.Version
	if len(v.Commit) >= 12 && !strings.Contains(s, v.Commit[:12]) {
		s += " " + v.Commit[:12]
		if v.Modified {
			s += " (modified)"
		}
	}
	return s
}
