package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/quiesce/quiesce/sim/lab"
)

// writePaired writes the differences against the first policy. They are taken run by run,
// with the same jobs, deploys and crashes on both sides, so that their intervals are much
// narrower than those of two independent measurements.
func (r *report) writePaired(b *bytes.Buffer) {
	if len(r.paired) == 0 {
		return
	}
	names := make([]string, len(r.paired))
	for i, d := range r.paired {
		names[i] = d.Policy
	}
	var rows []row
	for _, g := range catalogue {
		for _, l := range g.lines {
			if l.when != headline {
				continue
			}
			out := row{label: inPair(l)}
			some := false
			for i := range r.paired {
				c, differs := r.difference(i, l)
				out.cells = append(out.cells, c)
				some = some || differs
			}
			if some {
				rows = append(rows, out)
			}
		}
	}
	if len(rows) == 0 {
		b.WriteString(wrap("", "  ", "No policy differs from "+r.paired[0].Baseline+" in any headline metric."))
		b.WriteByte('\n')
		return
	}
	alignVerdicts(rows)
	rows = append(rows, r.reductions()...)
	writeRows(b, "Against "+r.paired[0].Baseline+", run by run", names, rows)
	writeLegend(b, r.paired[0].Baseline, rows)
}

// pairLabels are the headline metrics by themselves, without the title of their group.
var pairLabels = map[string]string{
	"deploy_stall_seconds_mean": "deploy stall, mean",
	"crash_stall_seconds_mean":  "crash stall, mean",
	"lease_stall_seconds_mean":  "stall after a pause, mean",
	"delay_seconds_per_job":     "delay per job",
	"attempts_eroded":           "attempts eroded",
}

func inPair(l line) string {
	if s, ok := pairLabels[l.metric]; ok {
		return s
	}
	return l.label
}

// The verdicts that need a word of explanation.
const (
	unclear = "unclear"
	allGone = "all gone"
	fewSeen = "few seen"

	// Of pairing; the cells say it in other words.
	unpaired = "unpaired"
	noHelp   = "below 1×"
)

// writeLegend explains those signs and verdicts that were given.
func writeLegend(b *bytes.Buffer, baseline string, rows []row) {
	var given []string
	for _, l := range []struct{ sign, text string }{
		{"≥", "part of it under the other policy was counted to the end of the run, so the true difference is at least this"},
		{"≤", "part of it under " + baseline + " was counted to the end of the run, so the true difference is at most this"},
		{"≈", "part of it under both was counted to the end of the run, so the true difference may be more or less, and no interval holds it"},
		{"–", "nothing there to compare"},
		{unclear, unclearMeans(len(rows[0].cells))},
		{allGone, "it did not happen at all"},
		{fewSeen, fmt.Sprintf("fewer than %d on one side", fewest)},
		{unpaired, "equal seeds made it worse, so the interval is of independent runs, half of the seeds on each side"},
		{noHelp, "equal seeds were no help, by chance as far as can be seen, and a paired interval is right then too"},
	} {
		if anyCell(rows, func(c cell) bool { return c.verdict == l.sign || c.has(l.sign) }) {
			given = append(given, l.sign+": "+l.text+".")
		}
	}
	if len(given) > 0 {
		b.WriteString(wrap("", "  ", strings.Join(given, " ")))
		b.WriteByte('\n')
	}
}

// alignVerdicts sets the verdicts of one policy below each other, behind the intervals.
func alignVerdicts(rows []row) {
	for i := range rows[0].cells {
		wide := 0
		for _, r := range rows {
			wide = max(wide, width(r.cells[i].half))
		}
		for _, r := range rows {
			if c := &r.cells[i]; c.verdict != "" {
				c.half = padRight(c.half, wide) + "  " + c.verdict
			}
		}
	}
}

// unclearMeans explains the verdict where so many policies are compared with the baseline.
func unclearMeans(policies int) string {
	if policies == 1 {
		return "the interval reaches to both sides of no difference"
	}
	return fmt.Sprintf("the interval reaches to both sides of no difference, or would if it allowed for %d policies (Holm)", policies)
}

// reductions says what pairing was worth: the variance of the difference of two independent
// measurements over that of the paired ones.
func (r *report) reductions() []row {
	var rows []row
	for _, name := range lab.Headline {
		out := row{label: pairLabels[name]}
		some := false
		for i := range r.paired {
			c := cell{value: "–"}
			if e := metric(r.paired[i].Metrics, name); e != nil && e.Pairing != nil && e.Pairing.Reduction > 0 {
				c, some = reduction(e.Pairing), true
			}
			out.cells = append(out.cells, c)
		}
		if some {
			rows = append(rows, out)
		}
	}
	if len(rows) > 0 {
		rows = append([]row{{title: "Variance cut by pairing"}}, rows...)
	}
	return rows
}

func reduction(p *lab.Pairing) cell {
	c := cell{value: "by " + threeDigits(p.Reduction) + "×"}
	switch {
	case p.Independent:
		c.value += ", so unpaired"
		c.verdict = unpaired
	case p.Reduction < 0.995: // what is not written as 1×
		c.verdict = noHelp
	}
	return c
}

func (r *report) difference(i int, l line) (c cell, differs bool) {
	e := metric(r.paired[i].Metrics, l.metric)
	if e == nil || math.IsNaN(e.Mean) {
		return cell{value: "–"}, false
	}
	if e.Mean == 0 && !(e.Hi > e.Lo) {
		return cell{value: "same"}, false
	}
	c = cell{value: l.style.signedLike(e.Mean, wider(e)), half: l.style.interval(e)}
	base, other := metric(r.policies[0].Metrics, l.metric), metric(r.policies[i+1].Metrics, l.metric)
	c.value = bound(base, other) + c.value
	if strings.HasPrefix(c.value, either) {
		c.half = ""
	}
	c.verdict = compareMeans(base, other, e)
	return c, true
}

// either stands before a difference that can be wrong in both directions.
const either = "≈ "

// bound says in which direction a difference can be wrong because one side was counted only
// to the end of the run.
func bound(base, other *lab.Estimate) string {
	switch {
	case base == nil || other == nil:
		return ""
	case base.Censored > 0 && other.Censored > 0:
		return either
	case base.Censored > 0:
		return "≤ "
	case other.Censored > 0:
		return "≥ "
	default:
		return ""
	}
}

// fewest observations from which a ratio is worth printing.
const fewest = 20

// compareMeans puts a difference in one phrase, or says why that cannot be done.
func compareMeans(base, other, diff *lab.Estimate) string {
	switch {
	case base == nil || other == nil:
		return ""
	case diff.Lo <= 0 && diff.Hi >= 0, diff.Pairing != nil && diff.Pairing.Adjusted > 1-lab.Confidence:
		return unclear
	case base.Censored > 0 || other.Censored > 0:
		return "" // a bound has no ratio
	case base.N > 0 && (base.N < fewest || other.N < fewest):
		return fewSeen
	case base.Mean <= 0:
		return ""
	case other.Mean <= 0:
		return allGone
	}
	switch ratio := other.Mean / base.Mean; {
	case ratio >= 1.995:
		return times(ratio) + " higher"
	case ratio > 1:
		return percent(ratio-1) + " higher"
	case ratio > 1/1.995:
		return percent(1-ratio) + " lower"
	default:
		return times(1/ratio) + " lower"
	}
}

// times writes a ratio. Beyond a thousand one side is next to nothing, and digits would
// pretend to know how little.
func times(ratio float64) string {
	if ratio > 1000 {
		return ">1,000×"
	}
	return threeDigits(ratio) + "×"
}
