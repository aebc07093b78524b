package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/realworld/fleet"
	"github.com/quiesce/quiesce/sim/lab"
)

func (a *app) calibrateCommand() *cobra.Command {
	var c realFleet
	cmd := &cobra.Command{
		Use:   "calibrate SCENARIO|FILE",
		Short: "Measure with real processes what a scenario takes as given, and print its lines",
		Long: `Measure with real processes what a scenario takes as given, and print its lines.

The scenario runs once with real processes and Redis, as simulate fleet does. What it is told of
and the machine took itself is measured: the way to the broker, the start of a process, its exit,
the way of a job from one worker to the next, how much longer executions take than their work. Two
of them are lines of a scenario, ready to paste; and the same run is simulated without and with
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
	f.Var(seedsFlag(&c.seeds, 1), "seeds", "replications, one after the other")
	c.processFlags(f, 10)
	f.Var(formatFlag(&c.format, asTable, asJSON, asCSV), "format", "how the result is printed")
	f.BoolVar(&c.quiet, "quiet", false, "no progress bar")
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, args []string, c *realFleet) error {
	if len(args) == 0 && c.jobs == "" && c.manifest == "" {
		return misuse("name a scenario; simulate calibrate small-fleet takes half a minute")
	}
	s, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	policies, _, err := c.columns(cmd, s)
	if err != nil {
		return err
	}
	url, end, err := c.server(cmd.Context())
	if err != nil {
		return err
	}
	defer end()
	results, facts, err := a.runFleets(cmd.Context(), c, s, policies, url)
	if err != nil {
		return err
	}
	r := &calibration{scene: s, policy: policies[0], speed: c.speed, seeds: c.seeds, measured: measuredOf(&facts.accounts[0].Times), late: facts.accounts[0].Late}
	simulated := func(sc *model.Scenario) ([]lab.Estimate, error) {
		res, err := lab.Run(cmd.Context(), lab.Plan{Scenario: sc, Policies: policies, Seeds: c.seeds, First: c.first})
		if isStop(err) {
			return nil, &stoppedError{"stopped before the simulated run was finished; nothing to print"}
		}
		if err != nil {
			return nil, err
		}
		return res.Estimates()[0].Metrics, nil
	}
	r.fleet = results.Estimates()[0].Metrics
	if r.without, err = simulated(s.Scenario); err != nil {
		return err
	}
	told, err := r.told()
	if err != nil {
		return err
	}
	if r.with, err = simulated(told); err != nil {
		return err
	}
	if err := a.print(r, c.format, "", ""); err != nil {
		return err
	}
	return facts.finding()
}

// measured is a length of time that was measured so and so often, in real time.
type measured struct {
	name, about string
	n           int
	p50, p99    time.Duration
	line        string // of a scenario; empty where there is none
}

// measuredOf summarises what a run took. A message goes one way in half of a round trip.
func measuredOf(t *fleet.Times) []measured {
	half := make([]time.Duration, len(t.RoundTrip))
	for i, d := range t.RoundTrip {
		half[i] = d / 2
	}
	all := []measured{
		summary("latency", "one way to the broker: half of a settlement's round trip", half),
		summary("start", "from the creation of a process until it claims, the scenario's own start left out", t.Start),
		summary("exit", "from the decision to exit until the process is gone", t.Exit),
		summary("hand_off", "from a release until the next worker hears of the job, the wait for a slot included", t.HandOff),
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
	rows = [][]string{{"How far they agree", "processes", "lab", "difference", "lab, told", "difference", ""}}
	for _, g := range agreement {
		is, was, told := metric(r.fleet, g.name), metric(r.without, g.name), metric(r.with, g.name)
		rows = append(rows, []string{"  " + g.title, one(g.style, is), one(g.style, was), apart(g.style, was, is), one(g.style, told), apart(g.style, told, is), ""})
	}
	writeColumns(&b, rows)
	b.WriteByte('\n')
	b.WriteString(wrap("", "  ", "lab: the scenario as it is. told: with what was measured, in the scenario's time: at --speed 10 half a millisecond counts as five. Both have the jobs and deploys of the processes. What the processes cost is another number each time; more --seeds tell chance from disagreement."))
	if r.late > tooLate {
		b.WriteString(wrap("", "  ", fmt.Sprintf("This machine was too busy to play the scenario: something came %v late. Leave it alone, or lower --speed.", r.late.Round(time.Millisecond))))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func one(s style, e *lab.Estimate) string {
	if e == nil || math.IsNaN(e.Mean) {
		return "–"
	}
	return s.write(e.Mean)
}

func apart(s style, lab, is *lab.Estimate) string {
	if lab == nil || is == nil || math.IsNaN(lab.Mean-is.Mean) {
		return "–"
	}
	return s.signed(lab.Mean - is.Mean)
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
		metrics = append(metrics, member{g.name, object{{"unit", is.Unit}, {"fleet", value(is)}, {"lab", value(metric(r.without, g.name))}, {"lab_told", value(metric(r.with, g.name))}}})
	}
	return writeIndented(w, object{{"scenario", r.scene.Name}, {"policy", r.policy}, {"speed", r.speed}, {"seeds", r.seeds},
		{"measured", values}, {"lines", lines}, {"metrics", metrics}, {"late_seconds", number(r.late.Seconds())}})
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
