package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
	"github.com/quiesce/quiesce/sim/lab"
)

type selftest struct {
	names  []string // of the mutants
	seeds  int
	format string
	quiet  bool
	price  bool
}

// mutant is what became of one mistake that was built in.
type mutant struct {
	name   string
	found  *hunt.Found
	seeds  int64
	priced []charge
}

// charge is what a mistake costs beside the sound protocol, in one metric.
type charge struct {
	metric      string
	with, sound float64
}

// priceMetrics are what a mutant is priced by: stall, duplicates, attempts.
var priceMetrics = []string{"stall_seconds_mean", "delay_seconds_per_job", "redone_work_seconds", "overlapping_executions", "effects_applied_twice", "attempts_eroded", "jobs_dead_lettered", "jobs_lost"}

// canary is the name under which the check of the checks is listed.
const canary = "canary"

func (a *app) selftestCommand() *cobra.Command {
	s := selftest{names: model.UnsafeNames()}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Build every mistake into the protocol, and see that each is found",
		Long: `Build every mistake into the protocol, and see that each is found.

A mutant is the protocol with one mistake in it, made as people make it. Each is hunted by drawn
scenarios until an invariant names it. The table says by which, after how many seeds, and in how
short a story; then what the mistake costs in a scenario with deploys, beside the sound protocol.
The canary is what no worker does, shown to the checkers: it must always be found. A mutant that
survives, or a canary that lives, is a hole in the checking: exit status 1.`,
		Example: `  simulate selftest
  simulate selftest --format json
  simulate hunt --mutant settle-unfenced`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.selftest(cmd.Context(), &s) },
	}
	f := cmd.Flags()
	f.Var(manySeedsFlag(&s.seeds, 20_000), "seeds", "how many scenarios are drawn for each mutant at most")
	f.BoolVar(&s.price, "price", true, "price each mutant beside the sound protocol")
	f.Var(formatFlag(&s.format, asTable, asJSON, asCSV), "format", "how the result is printed")
	f.BoolVar(&s.quiet, "quiet", false, "no progress bar")
	return cmd
}

func (a *app) selftest(ctx context.Context, s *selftest) error {
	start := time.Now()
	bar := newProgress(a.stderr, s.quiet, "mutants")
	defer bar.clear()
	var all []mutant
	var survivors []string
	for i, name := range s.names {
		bar.at(i, len(s.names))
		res, err := hunt.Hunt(ctx, hunt.Plan{Seeds: s.seeds, Fault: name})
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &stoppedError{fmt.Sprintf("stopped after %d of %d mutants; nothing to print before the end", i, len(s.names))}
		}
		all = append(all, mutant{name: name, found: res.Found, seeds: res.Seeds})
		if res.Found == nil {
			survivors = append(survivors, name)
		}
	}
	if s.price {
		if err := priceAll(ctx, all, bar); err != nil {
			return err
		}
	}
	bar.clear()
	died := hunt.CanaryDied()
	var b bytes.Buffer
	var err error
	switch s.format {
	case asJSON:
		err = writeIndented(&b, selftestObject(all, died, time.Since(start)))
	case asCSV:
		writeSelftestCSV(&b, all, died)
	default:
		writeSelftest(&b, all, s.price, died, time.Since(start))
	}
	if err == nil {
		err = a.show(&b)
	}
	switch {
	case err != nil:
		return err
	case !died:
		return &findingError{"the canary lives: checkers do not see what no worker does, so nothing above can be trusted"}
	case len(survivors) > 0:
		return &findingError{fmt.Sprintf("%s survived: nothing notices %s", plural(len(survivors), "mutant"), strings.Join(survivors, ", "))}
	}
	return nil
}

// market is where mutants are priced: everything that they get wrong happens there now and then.
const market = `
name: market
about: a small fleet with a deploy every ten minutes, on a poor network, through which mistakes are priced
duration: 2h
warmup: 5m
fleet: {workers: 12, slots: 2, start: 2s}
queue: {lease: 30s, heartbeat: 10s, long_poll: 10s, drift: 200ppm}
jobs:
  # 0.5 and 1.5 a second, of 25 s and 1.2 s: 14 of 24 slots are busy.
  render: {arrivals: {poisson: 30/m}, duration: {lognormal: {p50: 20s, p99: 90s}}, undo: 1s, deaf: 2%, save: 10s, effects: 2}
  mail: {arrivals: {poisson: 90/m}, duration: {exponential: {mean: 1200ms}}, new_version: 2, fails: 1%}
supervisor: {grace: 20s, prestop: 3s, prestop_tells: true, repeat: 300ms, rollout: {max_surge: 25%, max_unavailable: 0}}
deploys: {every: 10m}
faults:
  crash: {mtbf: 6h}
  pause: {every: 2h, length: 40s}
  partition: {every: 2h, length: 25s}
  failover: {every: 40m, forgets: 500ms}
  drift: 150ppm
  network: {latency: {lognormal: {p50: 5ms, p99: 300ms}}, loss: 0.5%, duplicate: 1%}
policies: [hybrid]
`

// priceAll runs every mutant beside the sound protocol, with the same seeds.
func priceAll(ctx context.Context, all []mutant, bar *progress) error {
	sc, err := scenarios.Parse("market", []byte(market))
	if err != nil {
		return err
	}
	policies := []string{"hybrid"}
	hybrid, err := model.PresetNamed("hybrid")
	if err != nil {
		return err
	}
	sc.Variants = nil
	for _, m := range all {
		p, err := hybrid.Unsafe(m.name)
		if err != nil {
			return err
		}
		p.Name = m.name
		sc.Variants = append(sc.Variants, model.Variant{Preset: p})
		policies = append(policies, m.name)
	}
	results, err := lab.Run(ctx, lab.Plan{Scenario: sc, Policies: policies, Seeds: 2, First: 1, Progress: bar.at})
	if isStop(err) {
		return &stoppedError{"stopped while the mutants were priced; nothing to print before the end"}
	}
	if err != nil {
		return err
	}
	estimates := results.Estimates()
	for i := range all {
		for _, name := range priceMetrics {
			with, sound := metric(estimates[i+1].Metrics, name), metric(estimates[0].Metrics, name)
			if with != nil && sound != nil && !math.IsNaN(with.Mean) && !math.IsNaN(sound.Mean) {
				all[i].priced = append(all[i].priced, charge{name, with.Mean, sound.Mean})
			}
		}
	}
	return nil
}

// inWords says what a mutant costs, where it costs anything to speak of.
func (m *mutant) inWords() string {
	var parts []string
	for _, p := range m.priced {
		d := p.with - p.sound
		if math.Abs(d) < 0.15*math.Abs(p.sound) || math.Abs(d) < 0.05 { // that little is chance

			continue
		}
		style := asCount
		if strings.Contains(p.metric, "seconds") {
			style = asSeconds
		}
		parts = append(parts, fmt.Sprintf("%s %s", shortMetric[p.metric], style.signed(d)))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

var shortMetric = map[string]string{
	"stall_seconds_mean": "stall", "delay_seconds_per_job": "delay", "redone_work_seconds": "redone", "overlapping_executions": "overlaps",
	"effects_applied_twice": "effects twice", "attempts_eroded": "attempts", "jobs_dead_lettered": "dead", "jobs_lost": "lost",
}

func (m *mutant) by() string {
	switch {
	case m.found == nil:
		return ""
	default:
		return m.found.Scenario.Finding.Invariant
	}
}

func (m *mutant) storyEvents() int {
	if m.found == nil || m.found.Story == nil {
		return 0
	}
	return len(m.found.Story.Lines)
}

func writeSelftest(b *bytes.Buffer, all []mutant, priced, died bool, took time.Duration) {
	wide := 0
	for _, m := range all {
		wide = max(wide, len(m.name))
	}
	line := func(mutant, by, seeds, story, cost string) {
		first := fmt.Sprintf("%-*s  %-24s  %6s  %5s  ", wide, mutant, by, seeds, story)
		if !priced {
			b.WriteString(strings.TrimRight(first, " ") + "\n")
			return
		}
		b.WriteString(wrap(first, strings.Repeat(" ", wide+43), cost))
	}
	line("mutant", "caught by", "seeds", "story", "what it costs beside the sound protocol")
	caught := 0
	for _, m := range all {
		by := m.by()
		if m.found == nil {
			by = "nobody"
		} else {
			caught++
		}
		line(m.name, by, commas(float64(m.seeds)), fmt.Sprint(m.storyEvents()), m.inWords())
	}
	was := "found, as it must be"
	if !died {
		was = "not found"
	}
	fmt.Fprintf(b, "%-*s  %s\n\n", wide, canary, was)
	text := fmt.Sprintf("%d of %d mutants caught in %s. Seeds are scenarios drawn until one showed it; a story is the events it takes to tell.", caught, len(all), seconds(took.Seconds()))
	if priced {
		text += " The price is what two runs of two hours say; differences within 15% are left out, and small ones are chance."
	}
	b.WriteString(wrap("", "  ", text))
}

func selftestObject(all []mutant, died bool, took time.Duration) object {
	mutants := []object{}
	for _, m := range all {
		costs := object{}
		for _, p := range m.priced {
			costs = append(costs, member{p.metric, object{{"mutant", number(p.with)}, {"sound", number(p.sound)}}})
		}
		mutants = append(mutants, object{{"name", m.name}, {"caught", m.found != nil}, {"by", m.by()}, {"seeds", m.seeds}, {"story_events", m.storyEvents()}, {"price", costs}})
	}
	return object{{"mutants", mutants}, {canary, object{{"caught", died}}}, {"meta", object{{"wall_seconds", number(took.Seconds())}}}}
}

func writeSelftestCSV(b *bytes.Buffer, all []mutant, died bool) {
	b.WriteString("name,caught,by,seeds,story_events\n")
	for _, m := range all {
		fmt.Fprintf(b, "%s,%t,%s,%d,%d\n", m.name, m.found != nil, m.by(), m.seeds, m.storyEvents())
	}
	fmt.Fprintf(b, "%s,%t,,,\n", canary, died)
}
