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

// writeTable writes the report for people: what was run, the numbers by the question that
// they answer, the differences, and what a reader must know of them.
func (r *report) writeTable(w io.Writer) error {
	var b bytes.Buffer
	r.writeHead(&b)
	if r.run != nil {
		r.writeFull(&b)
	} else {
		r.writeComparison(&b)
		r.writePaired(&b)
		if r.verdict.text != "" {
			b.WriteString(wrap("", "  ", r.verdict.text))
			b.WriteByte('\n')
		}
	}
	r.writeBroken(&b)
	r.writeFoot(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// titled names a scenario, and says what it shows when it says so.
func titled(name, about string) string {
	if about == "" {
		return name
	}
	return name + ": " + about
}

func (r *report) writeHead(b *bytes.Buffer) {
	sc := r.scenario
	b.WriteString(wrap("", "  ", titled(sc.Name, sc.About)))
	names := make([]string, len(r.policies))
	for i, p := range r.policies {
		names[i] = p.Name
	}
	span := short(sc.Duration)
	if sc.Warmup > 0 {
		span += ", measured after a warm-up of " + short(sc.Warmup)
	}
	if r.fleet != nil {
		span += ", measured with real processes on " + r.fleet.redis + " at " + r.fleet.pace()
	}
	switch {
	case r.run != nil:
		b.WriteString(wrap("", "  ", fmt.Sprintf("one run of %s; policy %s, seed %d", span, names[0], r.firstSeed)))
	default:
		seeds := fmt.Sprintf("seeds %d–%d", r.firstSeed, r.firstSeed+uint64(r.seeds)-1)
		if r.seeds == 1 {
			seeds = fmt.Sprintf("seed %d", r.firstSeed)
		}
		b.WriteString(wrap("", "  ", fmt.Sprintf("%s of %s; %s; policies %s", plural(r.seeds, "run"), span, seeds, strings.Join(names, ", "))))
	}
	b.WriteByte('\n')
	for _, f := range sc.tell(names).Facts {
		b.WriteString(wrap(padRight(f[0], 9), padRight("", 9), f[1]))
	}
	b.WriteByte('\n')
}

// row is one line of the table that is about to be printed.
type row struct {
	title string // a group's; then there are no cells
	label string
	cells []cell
}

func (r *report) writeComparison(b *bytes.Buffer) {
	var (
		rows    []row
		nothing []string
		unseen  []string
	)
	for _, g := range catalogue {
		begun := false
		for _, l := range g.lines {
			if l.when == inFull {
				continue
			}
			cells, seen, zero := r.cells(l)
			// Batches are fewer than jobs, so what never happened to one does not stand in the line about jobs.
			batches := l.style == asRareBatch && l.style.occasions(r.policies[0].Metrics) > 0
			switch {
			case l.when == always || seen && !zero || batches:
				if !begun {
					rows, begun = append(rows, row{title: g.title}), true
				}
				rows = append(rows, row{label: l.label, cells: cells})
			case zero && l.style == asRareBatch: // no jobs come in batches
			case zero && l.style == asRare:
				unseen = append(unseen, l.label)
			case zero:
				nothing = append(nothing, l.label)
			}
		}
	}
	names := make([]string, len(r.policies))
	for i, p := range r.policies {
		names[i] = p.Name
	}
	writeRows(b, "", names, rows)
	legend := explain(rows)
	if r.seeds > 1 {
		legend = fmt.Sprintf("Means per run ± half of the %.0f%% interval.", 100*lab.Confidence) + legend
	}
	if legend != "" {
		b.WriteString(wrap("", "  ", legend))
	}
	b.WriteString(wrap("", "  ", r.unseen(unseen)))
	if len(nothing) > 0 {
		b.WriteString(wrap("", "  ", "Nothing in any policy: "+strings.Join(nothing, ", ")+"."))
	}
	b.WriteByte('\n')
}

// explain says what the signs of cells mean, where there are any.
func explain(rows []row) string {
	text := ""
	for _, l := range []struct{ sign, text string }{
		{"≥", "part of it was counted to the end of the run."},
		{"–", "nothing there to measure."},
		{tooFew, fewBeyond()},
	} {
		if anyCell(rows, func(c cell) bool { return c.has(l.sign) }) {
			text += " " + l.sign + ": " + l.text
		}
	}
	return text
}

func anyCell(rows []row, is func(cell) bool) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return slices.ContainsFunc(r.cells, is) })
}

// unseen says of rare events that were not seen how often they can happen at most.
func (r *report) unseen(labels []string) string {
	jobs := total(r.policies[0].Metrics, "jobs_enqueued")
	_, hi := lab.RareRate(0, jobs, math.NaN(), 0)
	text := fmt.Sprintf("0 of n (<x): not seen in the n jobs of all runs, which leaves a job a chance below x (%.0f%%, 3/n); a few of n: the limits are Wilson's, wider where runs differ by more than chance.", 100*lab.Confidence)
	if r.seeds > 1 {
		text += fmt.Sprintf(" Of runs in which many jobs would go at once, %d without any leave a run a chance below %s.", r.seeds, percent(roundedUp(lab.QuietRuns(r.seeds), 3)))
	}
	if len(labels) > 0 {
		text += fmt.Sprintf(" Not seen under any policy, 0 of %s (<%s): %s.", million(jobs), below(hi), strings.Join(labels, ", "))
	}
	return text
}

// cells writes one metric under every policy. seen says that some policy measured it, zero
// that those that did measured nothing but zero.
func (r *report) cells(l line) (cells []cell, seen, zero bool) {
	zero = true
	for i := range r.policies {
		p := &r.policies[i]
		e := metric(p.Metrics, l.metric)
		cells = append(cells, newCell(e, l.style, l.style.occasions(p.Metrics)))
		if e == nil || math.IsNaN(e.Mean) {
			continue
		}
		seen = true
		zero = zero && e.Mean == 0
	}
	return cells, seen, seen && zero
}

// writeRows sets rows under the policies' names, as many policies side by side as fit.
func writeRows(b *bytes.Buffer, title string, names []string, rows []row) {
	labels := width(title)
	for _, r := range rows {
		labels = max(labels, width(r.label)+2)
	}
	values, halves := columns(names, rows)
	for from := 0; from < len(names); {
		to, used := from, labels
		for to < len(names) {
			w := 3 + values[to] + 1 + halves[to]
			if to > from && used+w > pageWidth {
				break
			}
			used += w
			to++
		}
		head := padRight(title, labels)
		for i := from; i < to; i++ {
			head += "   " + padLeft(names[i], values[i]+1+halves[i])
		}
		b.WriteString(strings.TrimRight(head, " ") + "\n")
		for _, r := range rows {
			if r.cells == nil {
				b.WriteString(r.title + "\n")
				continue
			}
			text := padRight("  "+r.label, labels)
			for i := from; i < to; i++ {
				c := strings.TrimRight(padLeft(r.cells[i].value, values[i])+" "+r.cells[i].half, " ")
				text += "   " + padRight(c, values[i]+1+halves[i])
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
		b.WriteByte('\n')
		from = to
	}
}

// columns returns how wide the values and the intervals of every policy are. A long value
// without an interval leans over to where the intervals stand.
func columns(names []string, rows []row) (values, halves []int) {
	values, halves = make([]int, len(names)), make([]int, len(names))
	for i := range names {
		lone := width(names[i])
		for _, r := range rows {
			switch {
			case r.cells == nil:
			case r.cells[i].half == "" && width(r.cells[i].value) > 6:
				lone = max(lone, width(r.cells[i].value))
			default:
				values[i] = max(values[i], width(r.cells[i].value))
				halves[i] = max(halves[i], width(r.cells[i].half))
			}
		}
		if missing := lone - values[i] - 1 - halves[i]; missing > 0 {
			values[i] += missing
		}
	}
	return values, halves
}

// writeFull writes every metric of a single run, with the name that machines know it by.
func (r *report) writeFull(b *bytes.Buffer) {
	p := &r.policies[0]
	known := make(map[string]bool)
	write := func(l line) {
		known[l.metric] = true
		e := metric(p.Metrics, l.metric)
		if e == nil {
			return
		}
		note := ""
		if e.N > 0 {
			note = "n " + commas(float64(e.N))
		}
		if e.Censored > 0 {
			note += fmt.Sprintf(", %s of them to the end of the run", commas(float64(e.Censored)))
		}
		shown := *e
		shown.TooFew = false // of one run it is what was seen, and its n stands beside it
		c := newCell(&shown, l.style, l.style.occasions(p.Metrics))
		text := "  " + padRight(l.label, 39) + padLeft(c.value, 13) + "  " + padRight(l.metric, 37) + note
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	for _, g := range catalogue {
		b.WriteString(g.title + "\n")
		for _, l := range g.lines {
			write(l)
		}
	}
	b.WriteString("Also measured\n")
	for _, e := range p.Metrics {
		if !known[e.Name] {
			write(line{metric: e.Name, label: inWords(e.Name), style: styleOf(e.Unit)})
		}
	}
	if r.fleet == nil {
		fmt.Fprintf(b, "\ntrace hash %016x\n", r.run.traceHash)
	}
	b.WriteByte('\n')
}

// inWords and styleOf serve metrics that the catalogue does not list.
func inWords(name string) string { return strings.ReplaceAll(name, "_", " ") }

func styleOf(unit string) style {
	switch unit {
	case "s":
		return asSeconds
	case "1":
		return asRatio
	default:
		return asCount
	}
}

func (r *report) writeFoot(b *bytes.Buffer) {
	for _, part := range []struct {
		title string
		lines []string
	}{{"Notes", r.notes}, {"Assumed, because neither trace nor manifest says it", r.scenario.assumed}} {
		if len(part.lines) == 0 {
			continue
		}
		b.WriteString(part.title + "\n")
		for _, l := range part.lines {
			b.WriteString(wrap("  - ", "    ", l))
		}
		b.WriteByte('\n')
	}
	b.WriteString("Repeat with\n  " + r.repeat + "\n")
}
