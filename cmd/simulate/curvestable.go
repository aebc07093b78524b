package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/sim/lab"
)

// writeTable writes a block per figure, or per metric when metrics were asked for: values
// below each other, policies side by side.
func (r *curvesReport) writeTable(w io.Writer) error {
	var b bytes.Buffer
	span := " of " + short(r.scene.Duration)
	if r.varies("duration") {
		span = "" // another at every point
	}
	b.WriteString(wrap("", "  ", titled(r.scene.Name, r.scene.About)))
	b.WriteString(wrap("", "  ", fmt.Sprintf("%s%s at every point; %s; policies %s",
		plural(r.seeds, "run"), span, r.seedsInWords(), strings.Join(r.sweep.policies, ", "))))
	b.WriteByte('\n')
	var all []row
	for _, name := range r.tabled() {
		rows := r.block(name)
		all = append(all, rows...)
		b.WriteString(metricTitle(name) + "\n")
		writeRows(&b, "  "+r.axesLabel(), r.columns(name), rows)
	}
	legend := "Means per run"
	if r.seeds > 1 {
		legend += fmt.Sprintf(" ± half of the %.0f%% interval", 100*lab.Confidence)
	}
	b.WriteString(wrap("", "", legend+"."+explain(all)))
	if r.hasTheory(theoryMetric) && slices.Contains(r.tabled(), theoryMetric) {
		b.WriteString(wrap("", "", "Theory, for crash-only: the lease less the age of its last renewal; the wait for a free worker comes on top."))
	}
	b.WriteByte('\n')
	if notes := r.allNotes(); len(notes) > 0 {
		b.WriteString("Notes\n")
		for _, n := range notes {
			b.WriteString(wrap("  - ", "    ", n))
		}
		b.WriteByte('\n')
	}
	if r.dir == "" {
		b.WriteString("Figures and all numbers with\n  " + r.repeat + " --out figures\n")
	} else {
		b.WriteString("Repeat with\n  " + r.repeat + " --out " + quote(r.dir) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// tabled are the metrics of the table: all that were asked for, otherwise one of each figure.
func (r *curvesReport) tabled() []string {
	if r.asked {
		return r.metrics
	}
	var names []string
	for _, g := range r.groups {
		names = append(names, g.metrics[0])
	}
	return names
}

func (r *curvesReport) axesLabel() string {
	labels := make([]string, len(r.axes))
	for i, x := range r.axes {
		labels[i] = x.label()
	}
	return strings.Join(labels, " and ")
}

func (r *curvesReport) columns(name string) []string {
	names := append([]string{}, r.sweep.policies...)
	if r.hasTheory(name) {
		names = append(names, "theory")
	}
	return names
}

// block is the rows of one metric.
func (r *curvesReport) block(name string) (rows []row) {
	s := styleOfMetric(name, r.unit(name))
	for k := range r.points {
		p := &r.points[k]
		if p.result == nil {
			continue
		}
		out := row{label: p.label(r.axes)}
		for i := range r.sweep.policies {
			out.cells = append(out.cells, newCell(p.estimate(i, name), s, s.occasions(p.result.policies[i].Metrics)))
		}
		if r.hasTheory(name) {
			c := cell{value: "–"}
			if !math.IsNaN(p.result.theory) {
				c.value = s.write(p.result.theory)
			}
			out.cells = append(out.cells, c)
		}
		rows = append(rows, out)
	}
	return rows
}
