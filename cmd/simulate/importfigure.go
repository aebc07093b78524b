package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// figureFormats are what a trace is drawn as: one to look at anywhere, one that scales.
var figureFormats = []string{"png", "svg"}

// figureName is what a figure beside a trace is called: jobs.png beside jobs.csv.
func figureName(out, format string) string {
	base := filepath.Base(out)
	return strings.TrimSuffix(base, filepath.Ext(base)) + "." + format
}

// profileFigure draws how long jobs run and when they arrive. repeat is the command that
// draws it again.
func profileFigure(path string, p *trace.Profile, repeat string) *plots.Bars {
	name := filepath.Base(path)
	said := fmt.Sprintf("%s of %s over %s, %s an hour. Durations: mean %s, longest %s.", plural(p.Jobs, "job"), plural(len(p.Kinds), "kind"),
		seconds(p.Span.Seconds()), threeDigits(p.PerHour), seconds(p.MeanDuration.Seconds()), seconds(p.MaxDuration.Seconds()))
	if p.Span > 0 {
		said += fmt.Sprintf(" If none waits, %s are at work on average.", jobsAtWork(p.Busy))
	}
	if len(p.Warnings) > 0 {
		said += " " + sentences(p.Warnings)
	}
	return &plots.Bars{
		Title:  "What is in " + name,
		Panels: []plots.BarPanel{durationPanel(p), arrivalPanel(&p.Arrivals)},
		Caption: []string{
			said,
			"Bars of durations are equally wide, about three for each power of ten; each counts from its left edge to below its right one. The last bar of arrivals may be cut short by the end of the trace.",
			"quiesce " + inShort(readVersion()) + ": " + repeat,
		},
	}
}

func durationPanel(p *trace.Profile) plots.BarPanel {
	panel := plots.BarPanel{Title: "How long jobs run", X: plots.Axis{Label: "duration"}, Y: plots.Axis{Label: "jobs"}}
	edge := func(d time.Duration) {
		panel.Edges, panel.Labels = append(panel.Edges, d.Seconds()), append(panel.Labels, length(d))
	}
	for _, bar := range p.Durations {
		edge(bar.From)
		panel.Values = append(panel.Values, float64(bar.Jobs))
	}
	if last := p.Durations[len(p.Durations)-1]; last.To > 0 {
		edge(last.To)
	} else {
		panel.Edges, panel.Labels = append(panel.Edges, math.Inf(1)), append(panel.Labels, "longer")
	}
	for _, q := range []struct {
		name string
		at   time.Duration
	}{{"median", p.P50}, {"p90", p.P90}, {"p99", p.P99}} {
		panel.Marks = append(panel.Marks, plots.Mark{Name: q.name + " " + seconds(q.at.Seconds()), At: q.at.Seconds()})
	}
	return panel
}

// inDays is the length of a trace from which people count days.
const inDays = 72 * time.Hour

func arrivalPanel(s *trace.Series) plots.BarPanel {
	panel := plots.BarPanel{
		Title: "When they arrive", Y: plots.Axis{Label: "jobs per " + length(s.Step)},
		X: plots.Axis{Label: "since the first arrival", Unit: plots.Seconds}, Edges: []float64{0},
	}
	unit := time.Second
	if s.Step*time.Duration(len(s.Jobs)) > inDays {
		panel.X, unit = plots.Axis{Label: "days since the first arrival"}, 24*time.Hour
	}
	for i, n := range s.Jobs {
		panel.Edges = append(panel.Edges, float64(i+1)*float64(s.Step)/float64(unit))
		panel.Values = append(panel.Values, float64(n))
	}
	return panel
}
