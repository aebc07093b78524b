package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/trace"
	"github.com/quiesce/quiesce/sim/advice"
	"github.com/quiesce/quiesce/sim/lab"
)

// adviceReport is everything that advise has to say.
type adviceReport struct {
	scene    *scene
	workload *manifest.Workload
	profile  trace.Profile
	question advice.Question
	answer   *advice.Answer
	jobs     string // the file
	seed     uint64
	repeat   string
}

func (r *adviceReport) assume(format string, args ...any) {
	r.scene.assumed = append(r.scene.assumed, fmt.Sprintf(format, args...))
}

// loss is a metric that advice is about, as it is printed.
type loss struct {
	name, title string
	style       style
	perDeploy   bool
}

var losses = []loss{
	{"delay_seconds_per_job", "delay per job", asSeconds, false},
	{"deploy_stall_seconds_mean", "stall by a deploy", asSeconds, false},
	{"crash_stall_seconds_mean", "by a crash", asSeconds, false},
	{"redone_work_seconds", "work redone", asSeconds, true},
	{"attempts_eroded", "attempts", asCount, true},
}

// cell writes an estimate of a loss, per deploy where it is counted per run.
func (r *adviceReport) cell(l loss, e *lab.Estimate) string {
	if e == nil || math.IsNaN(e.Mean) {
		return "–"
	}
	c := r.scaled(l, e)
	text := l.style.write(c.Mean)
	if c.Censored > 0 {
		text = "≥ " + text
	}
	return strings.TrimRight(text+" "+l.style.interval(&c), " ")
}

// difference writes what a trial has more of a loss than another, with the signs of a comparison.
func (r *adviceReport) difference(l loss, t, base *advice.Trial) string {
	d := t.Difference(l.name)
	if d == nil || math.IsNaN(d.Mean) {
		return "–"
	}
	c, sign := r.scaled(l, d), bound(base.Metric(l.name), t.Metric(l.name))
	text := sign + l.style.signed(c.Mean)
	if sign != either {
		text += " " + l.style.interval(&c)
	}
	return strings.TrimRight(text, " ")
}

func (r *adviceReport) scaled(l loss, e *lab.Estimate) lab.Estimate {
	c := *e
	if n := float64(r.answer.Deploys); l.perDeploy && n > 0 {
		c.Mean, c.Lo, c.Hi = c.Mean/n, c.Lo/n, c.Hi/n
	}
	return c
}

func (r *adviceReport) writeTable(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(wrap("", "  ", fmt.Sprintf("%s of %s, with the jobs of %s: what deploys cost, and what would change it", r.workload.ID(), r.workload.File, r.jobs)))
	fmt.Fprintf(&b, "%d runs of %s with %s each, at other moments in each run; seeds %d–%d\n\n", r.answer.Seeds, short(r.scene.Duration), plural(r.answer.Deploys, "deploy"), r.seed, r.seed+uint64(r.answer.Seeds)-1)
	for _, f := range describe(r.scene.Scenario) {
		b.WriteString(wrap(padRight(f.name, 9), strings.Repeat(" ", 9), f.text))
	}
	b.WriteByte('\n')
	r.writeToday(&b)
	if r.answer.Policies.Idle {
		b.WriteString(wrap("", "  ", "Hardly a job was in the way of a deploy, so nothing can be told apart: more jobs, a longer trace, or nothing to gain."))
	} else {
		r.writeStage(&b, "If they stopped differently", &r.answer.Policies)
		r.writeStage(&b, "With "+r.policy(r.answer.Settings.Base)+", and one more change", &r.answer.Settings)
		r.writeSteps(&b)
	}
	r.writeNotes(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// policy is how the workers of a trial stop.
func (r *adviceReport) policy(t *advice.Trial) string {
	for _, c := range t.Changes {
		if c.Key == advice.Policy {
			return c.Policy
		}
	}
	return r.question.Today
}

func (r *adviceReport) writeToday(b *bytes.Buffer) {
	t := r.answer.Today
	perDeploy := func(name string) string {
		return r.cell(loss{name, "", asCount, true}, t.Metric(name))
	}
	fmt.Fprintf(b, "Today (%s)\n", r.question.Today)
	fmt.Fprintf(b, "  %-34s %s\n", "jobs interrupted per deploy", perDeploy("interruptions"))
	for _, l := range losses {
		title := l.title
		if l.perDeploy {
			title += " per deploy"
		}
		fmt.Fprintf(b, "  %-34s %s\n", title, r.cell(l, t.Metric(l.name)))
	}
	b.WriteByte('\n')
}

func (r *adviceReport) writeStage(b *bytes.Buffer, title string, s *advice.Stage) {
	if len(s.Trials) == 0 {
		return
	}
	rows := [][]string{{title}}
	for _, l := range losses {
		rows[0] = append(rows[0], l.title)
	}
	rows[0] = append(rows[0], "")
	for _, t := range s.Trials {
		row := []string{"  " + r.inWords(t.Tried)}
		for _, l := range losses {
			text := r.difference(l, t, s.Base)
			if text != "–" && t.Direction(l.name, s.Base) == 0 {
				text = "unclear"
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, t.Effect.String()))
	}
	writeColumns(b, rows)
	b.WriteByte('\n')
}

// writeColumns sets the first column flush left and the others flush right.
func writeColumns(b *bytes.Buffer, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			wide[i] = max(wide[i], width(text))
		}
	}
	for _, row := range rows {
		line := padRight(row[0], wide[0])
		for i, text := range row[1:] {
			if i == len(row)-2 {
				line += "  " + text
			} else {
				line += "  " + padLeft(text, wide[i+1])
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// inWords names a change.
func (r *adviceReport) inWords(c *advice.Change) string {
	switch c.Key {
	case advice.Policy:
		return c.Policy
	case advice.Save:
		return "progress saved every " + short(c.To)
	case advice.Gap:
		return "cancellation looked for every " + short(c.To)
	case advice.Surge:
		return fmt.Sprintf("new workers first, %d%% more", c.Rollout.MaxSurge.Value)
	}
	return fmt.Sprintf("%s %s", c.Key, short(c.To))
}

// writeSteps says what to do, and to write.
func (r *adviceReport) writeSteps(b *bytes.Buffer) {
	t := r.answer.Together
	if t == nil {
		b.WriteString(wrap("", "  ", "Nothing that was tried can be told from what you have, or it costs elsewhere what it brings: leave it as it is."))
		b.WriteByte('\n')
		return
	}
	b.WriteString("What to do\n")
	for i := range t.Changes {
		c := &t.Changes[i]
		text := r.inWords(c)
		if cost := r.cost(c); cost != "" {
			text += "; " + cost
		}
		b.WriteString(wrap(fmt.Sprintf("  %d. ", i+1), "     ", text))
		for _, line := range r.lines(c) {
			b.WriteString("       " + line + "\n")
		}
	}
	b.WriteByte('\n')
	rows := [][]string{{"All of it", "today", "then", "difference", ""}}
	for _, l := range losses {
		verdict, diff := "", r.difference(l, t, r.answer.Today)
		if diff != "–" && t.Direction(l.name, r.answer.Today) == 0 {
			verdict = "unclear"
		}
		title := "  " + l.title
		if l.perDeploy {
			title += " per deploy"
		}
		rows = append(rows, []string{title, r.cell(l, r.answer.Today.Metric(l.name)), r.cell(l, t.Metric(l.name)), diff, verdict})
	}
	writeColumns(b, rows)
	b.WriteByte('\n')
}

// cost is what a change takes that the losses do not show.
func (r *adviceReport) cost(c *advice.Change) string {
	slots := float64(r.scene.Fleet.Workers * r.scene.Fleet.Slots)
	beat := r.scene.Queue.Heartbeat
	switch c.Key {
	case advice.Lease:
		return fmt.Sprintf("up to %s renewals a second in place of %s", threeDigits(slots/secondsOf(c.To/3)), threeDigits(slots/secondsOf(beat)))
	case advice.Heartbeat:
		return fmt.Sprintf("up to %s renewals a second in place of %s", threeDigits(slots/secondsOf(c.To)), threeDigits(slots/secondsOf(beat)))
	case advice.Grace:
		for _, t := range r.answer.Settings.Trials {
			if d := t.Difference("rollout_seconds"); *t.Tried == *c && d != nil && !math.IsNaN(d.Mean) {
				return fmt.Sprintf("a rollout takes %s on average in place of %s", seconds(t.Metric("rollout_seconds").Mean), seconds(r.answer.Settings.Base.Metric("rollout_seconds").Mean))
			}
		}
	case advice.Surge:
		return fmt.Sprintf("up to %d workers more during a rollout", (r.scene.Fleet.Workers*c.Rollout.MaxSurge.Value+99)/100)
	}
	return ""
}

// lines are what to write.
func (r *adviceReport) lines(c *advice.Change) []string {
	switch c.Key {
	case advice.Policy:
		options := map[string]string{"adaptive": "Policy: protocol.Policy{Estimates: protocol.Adaptive}, ", "release-now": "Policy: protocol.Policy{OnStop: protocol.CancelOnStop}, "}[c.Policy]
		left := time.Duration(r.left(0))
		if left >= neverKilled {
			return []string{"worker.Options{" + options + "Grace: 5 * time.Minute}   // or how long you want to wait: nobody sends SIGKILL"}
		}
		lines := []string{"worker.Options{" + options + "Grace: " + goLength(left) + "}"}
		if !slices.ContainsFunc(r.workload.Processes, func(p manifest.Process) bool { return p.ToldLine > 0 }) {
			lines = append(lines, r.workload.ToldSetting(left))
		}
		return lines
	case advice.Lease:
		return []string{`redis.QueueConfig{Name: "default", Lease: ` + goLength(time.Duration(c.To)) + "}"}
	case advice.Heartbeat:
		return []string{"worker.Options{Heartbeat: " + goLength(time.Duration(c.To)) + "}"}
	case advice.Grace:
		return []string{r.workload.GraceSetting(time.Duration(c.To)), r.workload.ToldSetting(time.Duration(r.left(c.To)))}
	case advice.Gap:
		return []string{"mux.Handle(kind, handler, worker.Gap(" + goLength(time.Duration(c.To)) + "))   // and look at ctx so often"}
	case advice.Save:
		return []string{"job.Save(cursor)   // after every " + short(c.To) + " of work; begin at job.Cursor"}
	case advice.Surge:
		return r.workload.RolloutSettings(c.Rollout)
	}
	return nil
}

// neverKilled is a grace that stands for a supervisor without SIGKILL.
const neverKilled = 100 * 24 * time.Hour

// left is what a worker has of a grace; 0 is that of today.
func (r *adviceReport) left(grace protocol.Duration) protocol.Duration {
	s := r.scene.Supervisor
	if grace > 0 {
		s.Grace = grace
	}
	return s.WorkerGrace()
}

// goLength writes a duration as Go code.
func goLength(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}} {
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprintf("%d * %s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d * time.Millisecond", d.Milliseconds())
}

func (r *adviceReport) writeNotes(b *bytes.Buffer) {
	b.WriteString(wrap("", "  ", "Differences are taken run by run, with half of their 95% interval; unclear: not told from none, corrected for the number of trials and of what is looked at, or less than 1%, which nobody notices. helps: something less and nothing more; trades: both. Crashes are in delay, redone work and attempts."+signsIn(b.String())))
	b.WriteString("\nAssumed\n")
	for _, a := range r.scene.assumed {
		b.WriteString(wrap("  - ", "    ", a))
	}
	b.WriteString("\nRepeat with\n  " + r.repeat + "\n")
}

// signsIn explains the signs before values and differences, where a text has any.
func signsIn(text string) string {
	if !strings.ContainsAny(text, "≥≤≈") {
		return ""
	}
	return " ≥, ≤: part of it was counted to the end of the run, so the truth is at least, or at most, this; ≈: either, and no interval holds it."
}

func (r *adviceReport) writeJSON(w io.Writer) error {
	a := r.answer
	doc := object{{"workload", r.workload.ID()}, {"scenario", r.scene.Name}, {"today", r.trial(a.Today, nil)}, {"policies", r.stage(&a.Policies)}, {"settings", r.stage(&a.Settings)}}
	steps := []object{}
	var together any
	if t := a.Together; t != nil {
		for i := range t.Changes {
			c := &t.Changes[i]
			steps = append(steps, append(r.change(c), member{"cost", r.cost(c)}, member{"write", list(r.lines(c))}))
		}
		together = r.trial(t, a.Today)
	}
	return writeIndented(w, append(doc, member{"steps", steps}, member{"together", together}, member{"idle", a.Policies.Idle},
		member{"seeds", a.Seeds}, member{"first_seed", r.seed}, member{"deploys", a.Deploys}, member{"assumed", list(r.scene.assumed)}))
}

func (r *adviceReport) change(c *advice.Change) object {
	o := object{{"change", string(c.Key)}, {"in_words", r.inWords(c)}}
	switch c.Key {
	case advice.Policy:
		return append(o, member{"to", c.Policy})
	case advice.Surge:
		return append(o, member{"max_surge_percent", c.Rollout.MaxSurge.Value})
	}
	return append(o, member{"from_seconds", number(secondsOf(c.From))}, member{"to_seconds", number(secondsOf(c.To))})
}

func (r *adviceReport) stage(s *advice.Stage) object {
	trials := []object{}
	for _, t := range s.Trials {
		trials = append(trials, append(r.change(t.Tried), r.trial(t, s.Base)...))
	}
	return object{{"base", r.policy(s.Base)}, {"trials", trials}}
}

// trial is what was measured, and the difference from the base.
func (r *adviceReport) trial(t, base *advice.Trial) object {
	metrics, against := object{}, object{}
	for _, name := range append(advice.Lost, "interruptions", "rollout_seconds") {
		if e := t.Metric(name); e != nil {
			metrics = append(metrics, member{name, object{{"mean", number(e.Mean)}, {"lo", number(e.Lo)}, {"hi", number(e.Hi)}, {"unit", e.Unit}}})
		}
		if d := t.Difference(name); d != nil && base != nil {
			against = append(against, member{name, object{{"mean", number(d.Mean)}, {"lo", number(d.Lo)}, {"hi", number(d.Hi)}, {"unit", d.Unit}, {"clear", t.Direction(name, base) != 0}}})
		}
	}
	if base == nil {
		return object{{"policy", r.policy(t)}, {"metrics", metrics}}
	}
	return object{{"effect", t.Effect.String()}, {"metrics", metrics}, {"difference", against}}
}

func (r *adviceReport) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"stage", "change", "effect", "metric", "unit", "mean", "lo", "hi", "difference", "difference_lo", "difference_hi", "clear"})
	put := func(stage, change string, t, base *advice.Trial) {
		for _, name := range append(advice.Lost, "interruptions", "rollout_seconds") {
			e := t.Metric(name)
			if e == nil {
				continue
			}
			row := []string{stage, change, "", name, e.Unit, plain(e.Mean), plain(e.Lo), plain(e.Hi), "", "", "", ""}
			if d := t.Difference(name); d != nil && base != nil {
				row[2], row[8], row[9], row[10], row[11] = t.Effect.String(), plain(d.Mean), plain(d.Lo), plain(d.Hi), strconv.FormatBool(t.Direction(name, base) != 0)
			}
			_ = c.Write(row)
		}
	}
	put("today", r.question.Today, r.answer.Today, nil)
	for _, s := range []struct {
		name string
		*advice.Stage
	}{{"policies", &r.answer.Policies}, {"settings", &r.answer.Settings}} {
		for _, t := range s.Trials {
			put(s.name, r.inWords(t.Tried), t, s.Base)
		}
	}
	if t := r.answer.Together; t != nil {
		put("together", "all", t, r.answer.Today)
	}
	c.Flush()
	return c.Error()
}

func secondsOf(d protocol.Duration) float64 { return time.Duration(d).Seconds() }
