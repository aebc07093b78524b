package main

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/quiesce/quiesce/sim/lab"
)

// writeCSV writes one line per point, policy and metric. The columns of y are empty when one
// number was varied; those of an interval when there is none.
func (r *curvesReport) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	// Errors stay in the writer until they are asked for at the end.
	_ = c.Write([]string{"scenario", "policy", "metric", "unit", "x_name", "x", "x_unit", "y_name", "y", "y_unit", "mean", "lo", "hi", "n", "censored", "too_few"})
	for k := range r.points {
		p := &r.points[k]
		if p.result == nil {
			continue
		}
		for i, policy := range r.sweep.policies {
			for _, name := range r.metrics {
				if e := p.estimate(i, name); e != nil {
					_ = c.Write(r.record(p, policy, e))
				}
			}
		}
		if t := p.result.theory; r.draws(theoryMetric) && !math.IsNaN(t) {
			none := math.NaN()
			_ = c.Write(r.record(p, "theory:"+theoryPolicy, &lab.Estimate{Name: theoryMetric, Unit: "s", Mean: t, Lo: none, Hi: none}))
		}
	}
	c.Flush()
	return c.Error()
}

// draws reports whether a metric is among those that are drawn.
func (r *curvesReport) draws(name string) bool {
	return slices.Contains(r.metrics, name)
}

func (r *curvesReport) record(p *point, policy string, e *lab.Estimate) []string {
	fields := []string{r.scene.Name, policy, e.Name, e.Unit}
	for i, x := range r.axes {
		fields = append(fields, x.Path, plain(p.at[i].Number), x.Unit)
	}
	if len(r.axes) == 1 {
		fields = append(fields, "", "", "")
	}
	return append(fields, plain(e.Mean), plain(e.Lo), plain(e.Hi), strconv.FormatInt(e.N, 10), strconv.FormatInt(e.Censored, 10), strconv.FormatBool(e.TooFew))
}

// writeJSON writes the points for machines; everything outside "meta" follows from the input.
func (r *curvesReport) writeJSON(w io.Writer) error {
	axes := make([]object, len(r.axes))
	for i, x := range r.axes {
		values := make([]number, len(x.Values))
		for k, v := range x.Values {
			values[k] = number(v.Number)
		}
		axes[i] = object{{"path", x.Path}, {"unit", x.Unit}, {"values", values}, {"written", x.texts()}}
	}
	points := []object{} // Not null, though there are always some.
	for k := range r.points {
		if p := &r.points[k]; p.result != nil {
			points = append(points, r.pointObject(p))
		}
	}
	return writeIndented(w, object{
		{"scenario", r.scene.Name}, {"about", r.scene.About},
		{"seeds", r.seeds}, {"first_seed", r.first},
		{"axes", axes}, {"points", points}, {"notes", list(r.allNotes())},
		{"meta", object{
			{"wall_seconds", number(r.wall.Seconds())},
			{"version", readVersion().Version},
			{"asked_points", len(r.points)},
		}},
	})
}

func (r *curvesReport) pointObject(p *point) object {
	at := make(object, len(r.axes))
	for i, x := range r.axes {
		at[i] = member{x.Path, number(p.at[i].Number)}
	}
	policies := make(object, len(r.sweep.policies))
	for i, name := range r.sweep.policies {
		var estimates []lab.Estimate
		for _, m := range r.metrics {
			if e := p.estimate(i, m); e != nil {
				estimates = append(estimates, *e)
			}
		}
		policies[i] = member{name, object{{"metrics", metricsObject(estimates, false)}}}
	}
	o := object{{"at", at}, {"policies", policies}}
	if r.draws(theoryMetric) && !math.IsNaN(p.result.theory) {
		o = append(o, member{"theory", object{{theoryPolicy, object{{theoryMetric, number(p.result.theory)}}}}})
	}
	return o
}
