package plots

import "math"

// sampleBars has bars of equal width under edges that are not, with zero, infinity and marks
// at both, and bars along an even axis, one of them hardly there.
func sampleBars() *Bars {
	return &Bars{
		Title: "What is in jobs.csv", Caption: []string{"10,012 jobs of 2 kinds.", "quiesce v0.1"},
		Panels: []BarPanel{
			{Title: "How long jobs run", X: Axis{Label: "duration"}, Y: Axis{Label: "jobs"},
				Edges: []float64{0, 1, 3, 10, math.Inf(1)}, Labels: []string{"0s", "1s", "3s", "10s", "longer"}, Values: []float64{1, 0, 10_000, 11},
				Marks: []Mark{{"median 5s", 5}, {"p90 6s", 6}, {"p99 2h", 7200}, {"least 0s", 0}}},
			{Title: "When they arrive", X: Axis{"since the first arrival", Seconds}, Y: Axis{Label: "jobs per 1m"},
				Edges: []float64{0, 60, 120, 180}, Values: []float64{2, 0, 1}},
		},
	}
}

// sampleLines is a figure with everything a figure can have: curves far apart and curves on
// top of each other, zeros, gaps, lower bounds, one point without an interval, and theory.
func sampleLines(panels int) *Lines {
	xs := []float64{30, 60, 120, 300, 600}
	series := func(name string, look int, scale, noise float64) Series {
		s := Series{Name: name, Look: look}
		for i, x := range xs {
			y := scale * x
			s.Points = append(s.Points, Point{X: x, Y: y, Lo: y * (1 - noise), Hi: y * (1 + noise), Bound: name == "drain" && i > 2})
		}
		return s
	}
	zero := series("adaptive", 8, 0, 0)
	gap := series("finish-only", 3, 0.4, 0.2)
	gap.Points[2] = Point{X: 120, Y: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	gap.Points[3].Lo, gap.Points[3].Hi = math.NaN(), math.NaN()
	theory := series("theory: lease less age", 0, 0.8, 0)
	theory.Theory = true
	f := &Lines{
		Title:   "Stall of jobs that a deploy interrupts, by lease",
		Caption: []string{"five-minute-lease: a deploy every twenty minutes over a five-minute lease. Seeds 1–5, the same at every point. Bands: 95% intervals of the mean over replications. Open markers: ≥, part of it was counted to the end of the run.", "quiesce v0.1"},
		X:       Axis{"lease", Seconds},
	}
	for i := range panels {
		f.Panels = append(f.Panels, Panel{
			Title: []string{"mean", "median", "90th percentile", "99th percentile", "longest", "delay per job"}[i],
			Y:     Axis{Unit: Seconds},
			Series: []Series{
				series("crash-only", 1, 0.85, 0.05), series("drain", 4, 0.001, 0.4), series("hybrid", 6, 0.00098, 0.1), gap, zero, theory,
			},
		})
	}
	return f
}

func sampleHeat(maps int) *Heat {
	h := &Heat{
		Title:   "Stall of jobs that a deploy interrupts, mean",
		Caption: []string{"five-minute-lease, seeds 1–5, the same in every cell. ≥: part of it was counted to the end of the run."},
		X:       Axis{Label: "lease", Unit: Seconds}, Y: Axis{Label: "grace", Unit: Seconds},
		Xs: []string{"30s", "1m", "2m", "5m", "10m"}, Ys: []string{"10s", "30s", "1m30s"},
		Value: Axis{Label: "stall", Unit: Seconds},
	}
	for i := range maps {
		m := Map{Title: []string{"crash-only", "drain", "hybrid", "adaptive"}[i]}
		for y := range h.Ys {
			var row []Cell
			for x := range h.Xs {
				row = append(row, Cell{Value: 0.2 * math.Pow(3, float64(x+2*(3-i)-y)), Bound: i == 1 && x > 3})
			}
			m.Cells = append(m.Cells, row)
		}
		h.Maps = append(h.Maps, m)
	}
	h.Maps[0].Cells[1][1].Value = math.NaN()
	return h
}
