package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/realworld/fleet"
	"github.com/quiesce/quiesce/sim/lab"
)

func (a *app) calibrateCommand() *cobra.Command {
	var c realFleet
	cmd := &cobra.Command{
		Use:   "calibrate SCENARIO|FILE",
		Short: "Measure with real processes what a scenario takes as given, and print its lines",
		Long: `Measure with real processes what a scenario takes as given, and print its lines.

The scenario runs with real processes and Redis, as simulate fleet does. What it is told of and
the machine took itself is measured: the way to the broker, the start of a process, its exit, the
way of a job from one worker to the next, how much longer executions take than their work. Two of
them are lines of a scenario, ready to paste; and the same runs are simulated without and with
them, beside what the processes did.

Without --redis a redis-server of its own is started, and ended afterwards. Measure where the
workers will run: between two machines the network is another.`,
		Example: `  simulate calibrate small-fleet
  simulate calibrate my-scenario.yaml --redis redis://queue:6379 --speed 1 --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd, args, &c) },
	}
	c.input.flags(cmd)
	f := cmd.Flags()
	f.Var(policyFlag(&c.policy, "hybrid"), "policy", "the way of stopping to run")
	f.Var(seedsFlag(&c.seeds, 4), "seeds", "replications, one after the other; one has no interval")
	c.processFlags(f, 10)
	f.Var(formatFlag(&c.format, asTable, asJSON, asCSV), "format", "how the result is printed")
	f.BoolVar(&c.quiet, "quiet", false, "no progress bar")
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, args []string, c *realFleet) error {
	stage, err := c.begin(cmd, args, "simulate calibrate small-fleet takes a minute and a half")
	if err != nil {
		return err
	}
	defer stage.end()
	s := stage.scene
	results, facts, err := a.runFleets(cmd.Context(), c, stage)
	if err != nil {
		return err
	}
	r := &calibration{
		scene: s, policy: stage.policies[0], speed: c.speed, seeds: c.seeds,
		measured: measuredOf(&facts.accounts[0].Times), late: facts.accounts[0].Late,
	}
	told, err := r.told()
	if err != nil {
		return err
	}
	without, err := simulated(cmd.Context(), c, s.Scenario, r.policy)
	if err != nil {
		return err
	}
	with, err := simulated(cmd.Context(), c, told, r.policy)
	if err != nil {
		return err
	}
	r.compare(results.Rows[0], without, with)
	if err := a.print(r, c.format, "", ""); err != nil {
		return err
	}
	return facts.finding()
}

// simulated returns the same runs in the lab.
func simulated(ctx context.Context, c *realFleet, sc *model.Scenario, policy string) ([]*meter.Row, error) {
	res, err := lab.Run(ctx, lab.Plan{Scenario: sc, Policies: []string{policy}, Seeds: c.seeds, First: c.first})
	switch {
	case isStop(err):
		return nil, &stoppedError{"stopped before the simulated runs were finished; nothing to print"}
	case err != nil:
		return nil, err
	}
	return res.Rows[0], nil
}

// measured is a length of time that was measured so and so often, in real time.
type measured struct {
	name, about string
	n           int
	p50, p99    time.Duration
	line        string // of a scenario; empty where there is none
}

// measuredOf summarises what the runs took. A message goes one way in half of a round trip.
func measuredOf(t *fleet.Times) []measured {
	half := make([]time.Duration, len(t.RoundTrip))
	for i, d := range t.RoundTrip {
		half[i] = d / 2
	}
	all := []measured{
		summary("latency", "one way to the broker: half of a settlement's round trip", half),
		summary("start", "from a process's creation until it claims, less fleet.start", t.Start),
		summary("exit", "from the decision to exit until the process is gone", t.Exit),
		summary("hand_off", "from a release to the next worker, its wait for a slot included", t.HandOff),
		summary("overrun", "what an execution takes beyond its work", t.Overrun),
	}
	if m := &all[0]; m.n > 0 {
		m.line = "latency: " + m.law() + " # in network, in faults"
	}
	if m := &all[1]; m.n > 0 {
		m.line = "start: " + m.law() + " # in fleet"
	}
	return all
}

func summary(name, about string, of []time.Duration) measured {
	m := measured{name: name, about: about, n: len(of)}
	if m.n > 0 {
		sorted := slices.Sorted(slices.Values(of))
		at := func(q float64) time.Duration {
			return sorted[min(int(math.Ceil(q*float64(m.n)))-1, m.n-1)].Round(time.Microsecond)
		}
		m.p50, m.p99 = max(at(0.5), time.Microsecond), max(at(0.99), time.Microsecond)
	}
	return m
}

// law is the distribution as a scenario writes it.
func (m *measured) law() string {
	if m.p99 <= m.p50 {
		return m.p50.String()
	}
	return fmt.Sprintf("{p50: %v, p99: %v}", m.p50, m.p99)
}

// table is the distribution in the scenario's time, which passes faster than the wall's.
func (m *measured) table(speed float64) (*dist.Table, error) {
	scaled := func(d time.Duration) int64 { return int64(float64(d) * speed) }
	if m.p99 <= m.p50 {
		return dist.Constant(scaled(m.p50))
	}
	return dist.Lognormal(scaled(m.p50), scaled(m.p99))
}

// calibration is what calibrate prints.
type calibration struct {
	scene                *scene
	policy               string
	speed                float64
	seeds                int
	measured             []measured
	late                 time.Duration
	fleet, without, with []lab.Estimate
	offWithout, offWith  []lab.Estimate // of the lab minus the processes
}

// compare lays the lab's runs beside those of the processes, seed by seed: both have the same jobs,
// deploys and faults, so their differences are those of pairs.
func (r *calibration) compare(fleet, without, with []*meter.Row) {
	sides := &lab.Results{Policies: []string{"processes", "lab", "lab, told"}, Rows: [][]*meter.Row{fleet, without, with}}
	all, off := sides.Estimates(), sides.Paired()
	r.fleet, r.without, r.with = all[0].Metrics, all[1].Metrics, all[2].Metrics
	r.offWithout, r.offWith = off[0].Metrics, off[1].Metrics
}

// told is the scenario with what was measured, for the speed of the run. A start that the scenario
// gives is longer than that of a process here: then it stays.
func (r *calibration) told() (*model.Scenario, error) {
	s := *r.scene.Scenario
	for i := range r.measured {
		m := &r.measured[i]
		if m.line == "" {
			continue
		}
		t, err := m.table(r.speed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		switch m.name {
		case "latency":
			s.Faults.Network.Latency = t
		case "start":
			const median = 1 << 63
			if s.Fleet.Start == nil || s.Fleet.Start.Sample(median) < t.Sample(median) {
				s.Fleet.Start = t
			}
		}
	}
	return &s, nil
}

// agreement are the metrics by which lab and fleet are laid side by side.
var agreement = []struct {
	name, title string
	style       style
}{
	{"delay_seconds_per_job", "delay per job", asSeconds},
	{"queue_wait_seconds_p50", "wait for the first start, median", asSeconds},
	{"deploy_stall_seconds_mean", "stall of an interrupted job, mean", asSeconds},
	{"interruptions", "interruptions", asCount},
	{"redone_work_seconds", "work redone", asSeconds},
	{"exit_seconds_p50", "from SIGTERM to exit, median", asSeconds},
	{"rollout_seconds", "rollout, mean", asSeconds},
}

func (r *calibration) writeTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s under %s, %s with real processes at %v times its speed\n\n", r.scene.Name, r.policy, plural(r.seeds, "run"), r.speed)
	rows := [][]string{{"Measured, in real time", "p50", "p99", "n", ""}}
	for _, m := range r.measured {
		row := []string{"  " + m.name, "–", "–", "0", m.about}
		if m.n > 0 {
			row[1], row[2], row[3] = seconds(m.p50.Seconds()), seconds(m.p99.Seconds()), commas(float64(m.n))
		}
		rows = append(rows, row)
	}
	writeColumns(&b, rows)
	b.WriteString("\nLines for a scenario of this machine, at its own speed\n")
	for _, m := range r.measured {
		if m.line != "" {
			b.WriteString("  " + m.line + "\n")
		}
	}
	b.WriteByte('\n')
	r.writeAgreement(&b)
	if r.late > tooLate {
		b.WriteString(wrap("", "  ", fmt.Sprintf("This machine was too busy to play the scenario: something came %v late. Leave it alone, or lower --speed.", r.late.Round(time.Millisecond))))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeAgreement writes how far the lab is from the processes, with intervals.
func (r *calibration) writeAgreement(b *bytes.Buffer) {
	var rows []row
	for _, g := range agreement {
		is, was, told := metric(r.fleet, g.name), metric(r.without, g.name), metric(r.with, g.name)
		rows = append(rows, row{label: g.title, cells: []cell{
			mean(is, g.style), mean(was, g.style), apart(metric(r.offWithout, g.name), g.style),
			mean(told, g.style), apart(metric(r.offWith, g.name), g.style)}})
	}
	writeRows(b, "How far they agree", []string{"processes", "lab", "difference", "lab, told", "difference"}, rows)
	text := "lab: the scenario as it is. told: with what was measured, in the scenario's time: at --speed 10 half a millisecond counts as five. Both have the jobs and deploys of the processes. "
	if r.seeds < 2 {
		b.WriteString(wrap("", "  ", text+"What the processes cost is another number each time, and one run does not show how different: --seeds 4 tells chance from disagreement."+explain(rows)))
		return
	}
	b.WriteString(wrap("", "  ", fmt.Sprintf("%sDifferences are of the lab from the processes, seed by seed, ± half of the %.0f%% interval.%s", text, 100*lab.Confidence, explain(rows))))
	b.WriteString(wrap("", "  ", "Beyond chance, both differences allowed for (Holm): "+r.beyondChance()+"."))
}

// beyondChance names the metrics in which the lab is another than the processes.
func (r *calibration) beyondChance() string {
	var sides []string
	for _, side := range []struct {
		name string
		off  []lab.Estimate
	}{{"lab", r.offWithout}, {"lab, told", r.offWith}} {
		var names []string
		for _, g := range agreement {
			if e := metric(side.off, g.name); e != nil && !e.TooFew && e.Pairing.Clear() {
				names = append(names, g.title)
			}
		}
		if len(names) == 0 {
			names = []string{"nothing"}
		}
		sides = append(sides, side.name+": "+strings.Join(names, "; "))
	}
	return strings.Join(sides, " | ")
}

// mean is an estimate without its interval: the one that counts is that of the difference.
func mean(e *lab.Estimate, s style) cell {
	if e == nil || math.IsNaN(e.Mean) {
		return cell{value: "–"}
	}
	return cell{value: s.write(e.Mean)}
}

func apart(off *lab.Estimate, s style) cell {
	if off == nil || math.IsNaN(off.Mean) {
		return cell{value: "–"}
	}
	c := cell{value: s.signedLike(off.Mean, wider(off)), half: s.interval(off)}
	if off.TooFew {
		c.half = tooFew
	}
	return c
}

func (r *calibration) writeJSON(w io.Writer) error {
	values := object{}
	lines := []string{}
	for _, m := range r.measured {
		o := object{{"n", m.n}, {"p50", number(math.NaN())}, {"p99", number(math.NaN())}, {"unit", "s"}}
		if m.n > 0 {
			o[1].value, o[2].value = number(m.p50.Seconds()), number(m.p99.Seconds())
		}
		values = append(values, member{m.name, o})
		if m.line != "" {
			lines = append(lines, m.line)
		}
	}
	metrics := object{}
	value := func(e *lab.Estimate) number {
		if e == nil {
			return number(math.NaN())
		}
		return number(e.Mean)
	}
	for _, g := range agreement {
		is := metric(r.fleet, g.name)
		if is == nil {
			continue
		}
		metrics = append(metrics, member{g.name, object{
			{"unit", is.Unit}, {"fleet", value(is)},
			{"lab", value(metric(r.without, g.name))}, {"difference", differenceObject(metric(r.offWithout, g.name))},
			{"lab_told", value(metric(r.with, g.name))}, {"difference_told", differenceObject(metric(r.offWith, g.name))}}})
	}
	return writeIndented(w, object{{"scenario", r.scene.Name}, {"policy", r.policy}, {"speed", r.speed}, {"seeds", r.seeds},
		{"measured", values}, {"lines", lines}, {"metrics", metrics}, {"late_seconds", number(r.late.Seconds())}})
}

// differenceObject is a difference with its interval, or null where one side measured nothing.
func differenceObject(e *lab.Estimate) any {
	if e == nil {
		return nil
	}
	return metricsObject([]lab.Estimate{*e}, false)[0].value
}

func (r *calibration) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"measured", "n", "p50_seconds", "p99_seconds", "line"})
	for _, m := range r.measured {
		row := []string{m.name, strconv.Itoa(m.n), "", "", m.line}
		if m.n > 0 {
			row[2], row[3] = plain(m.p50.Seconds()), plain(m.p99.Seconds())
		}
		_ = c.Write(row)
	}
	c.Flush()
	return c.Error()
}
