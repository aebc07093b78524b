package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/trace"
)

func writeProfile(w io.Writer, path string, p *trace.Profile, format string) error {
	if format == asJSON {
		return writeIndented(w, profileObject(path, p))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s of %s over %s\n", path, plural(p.Jobs, "job"), plural(len(p.Kinds), "kind"), seconds(p.Span.Seconds()))
	fmt.Fprintf(&b, "  arrivals   %s an hour; in the busiest minute %s, %s after the first\n",
		threeDigits(p.PerHour), commas(float64(p.Busiest.Jobs)), prose(p.Busiest.Start.Seconds()))
	fmt.Fprintf(&b, "  durations  p50 %s  p90 %s  p99 %s  max %s  mean %s\n",
		seconds(p.P50.Seconds()), seconds(p.P90.Seconds()), seconds(p.P99.Seconds()), seconds(p.MaxDuration.Seconds()), seconds(p.MeanDuration.Seconds()))
	if p.Span > 0 {
		fmt.Fprintf(&b, "  busy       %s at work on average, if none waits\n", jobsAtWork(p.Busy))
	}
	for _, warning := range p.Warnings {
		b.WriteString(wrap("  note       ", "             ", warning))
	}
	writeBars(&b, p.Durations)
	writeSeries(&b, &p.Arrivals)
	writeKinds(&b, p.Kinds)
	_, err := w.Write(b.Bytes())
	return err
}

func jobsAtWork(n float64) string {
	if text := threeDigits(n); text != "1" {
		return text + " jobs"
	}
	return "1 job"
}

// barWidth is the length of the longest bar, in characters.
const barWidth = 60

// writeBars draws how long jobs run. A bar of any job is not empty.
func writeBars(b *bytes.Buffer, bars []trace.Bar) {
	most := 1
	for _, bar := range bars {
		most = max(most, bar.Jobs)
	}
	b.WriteString("\n  duration               jobs\n")
	for _, bar := range bars {
		label := "from " + length(bar.From)
		switch {
		case bar.From == 0:
			label = "below " + length(bar.To)
		case bar.To != 0:
			label += " to " + length(bar.To)
		}
		cells := (bar.Jobs*barWidth + most - 1) / most
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %s %s  %s", padRight(label, 18), padLeft(commas(float64(bar.Jobs)), 8), strings.Repeat("█", cells)), " ") + "\n")
	}
}

// length writes an edge of a bar: 3d, not 72h.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return short(protocol.Duration(d))
}

// writeSeries draws when jobs arrive, a character for each step.
func writeSeries(b *bytes.Buffer, s *trace.Series) {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	most := max(1, slices.Max(s.Jobs))
	fmt.Fprintf(b, "\n  arrivals in steps of %s; the highest is %s\n  ", length(s.Step), plural(most, "job"))
	for _, n := range s.Jobs {
		b.WriteRune(levels[(n*(len(levels)-1)+most-1)/most])
	}
	b.WriteByte('\n')
}

// maxKindsShown is how many kinds are listed before the rest is summed up.
const maxKindsShown = 12

func writeKinds(b *bytes.Buffer, kinds []trace.Count) {
	byRows := slices.Clone(kinds)
	slices.SortStableFunc(byRows, func(x, y trace.Count) int { return cmp.Compare(y.Rows, x.Rows) })
	b.WriteString("\n  jobs      kind\n")
	rest := 0
	for i, k := range byRows {
		if i >= maxKindsShown && len(byRows) > maxKindsShown+1 {
			rest += k.Rows
			continue
		}
		fmt.Fprintf(b, "  %s  %s\n", padLeft(commas(float64(k.Rows)), 8), k.Name)
	}
	if rest > 0 {
		fmt.Fprintf(b, "  %s  of %d other kinds\n", padLeft(commas(float64(rest)), 8), len(byRows)-maxKindsShown)
	}
}

func profileObject(path string, p *trace.Profile) object {
	bars := []object{}
	for _, bar := range p.Durations {
		o := object{{"from_seconds", bar.From.Seconds()}}
		if bar.To > 0 {
			o = append(o, member{"to_seconds", bar.To.Seconds()})
		}
		bars = append(bars, append(o, member{"jobs", bar.Jobs}))
	}
	return object{
		{"file", path}, {"jobs", p.Jobs}, {"skipped", countsObject(p.SkipReasons)}, {"kinds", countsObject(p.Kinds)},
		{"span_seconds", p.Span.Seconds()}, {"arrivals_per_hour", p.PerHour}, {"busy_mean", p.Busy},
		{"busiest_minute", object{{"start_seconds", p.Busiest.Start.Seconds()}, {"jobs", p.Busiest.Jobs}}},
		{"duration_seconds", object{{"p50", p.P50.Seconds()}, {"p90", p.P90.Seconds()}, {"p99", p.P99.Seconds()},
			{"max", p.MaxDuration.Seconds()}, {"mean", p.MeanDuration.Seconds()}}},
		{"durations", bars},
		{"arrivals", object{{"step_seconds", p.Arrivals.Step.Seconds()}, {"jobs", p.Arrivals.Jobs}}},
		{"notes", list(p.Warnings)},
	}
}

func countsObject(counts []trace.Count) object {
	o := object{}
	for _, c := range counts {
		o = append(o, member{c.Name, c.Rows})
	}
	return o
}
