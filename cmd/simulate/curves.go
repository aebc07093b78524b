package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/lab"
)

// sweep is what the flags of curves ask for.
type sweep struct {
	output
	axes     []axis
	metrics  []string
	asked    bool // for metrics
	policies []string
	seeds    int
	first    uint64
}

// defaultLeases are the leases that people choose from.
const defaultLeases = "30s,1m,2m,5m,10m"

func (a *app) curvesCommand() *cobra.Command {
	c := sweep{metrics: defaultMetrics()}
	cmd := &cobra.Command{
		Use:   "curves [SCENARIO|FILE]",
		Short: "Measure over a range of leases, or of any other number, and draw it",
		Long: `Measure over a range of leases, or of any other number of a scenario, and draw it.

At every value the scenario is read anew with the value written into it, so that what follows
by default follows. Every policy meets the same seeds at every value. A heartbeat that the
scenario writes beside its lease keeps its share of it.

A range is a list (30s,1m,5m), or two ends with the way between them and the number of values
(30s..1h:log:9, 10..100:lin:4). Two ranges make heat maps. Without a range this is
--lease ` + defaultLeases + `.

The table shows one metric of each figure; --metrics chooses others by their names in JSON. With
--out every figure is written as SVG, PNG and PDF, and all numbers as CSV, and every run that is
done is kept in DIR until then, so the same command goes on where it was stopped. There are five
replications by default, half as many as in compare, since there are several points: a minute
on two cores for ` + scenarios.DefaultName + `. How to read the figures: docs/curves.md`,
		Example: `  simulate curves --out figures
  simulate curves three-minute-render --lease 30s..20m:log:7 --policies crash-only,hybrid
  simulate curves --vary jobs.render.duration.p50=10s,30s,1m,2m --out figures
  simulate curves --lease 1m,5m,15m --vary supervisor.grace=10s,30s,90s --seeds 3 --out figures`,
		Args: cobra.ArbitraryArgs, // judged together with the flags
		RunE: func(cmd *cobra.Command, args []string) error { return a.curves(cmd, args, &c) },
	}
	c.output.flags(cmd)
	f := cmd.Flags()
	f.Var(leaseFlag(&c.axes), "lease", "leases to measure at, short for --vary queue.lease=...")
	f.Var(varyFlag(&c.axes), "vary", "a number of the scenario by its path, and its values; at most two")
	f.Var(metricsFlag(&c), "metrics", "metrics to draw (default: stall after deploys, delay, redone work, eroded attempts)")
	f.Var(policiesFlag(&c.policies), "policies", "policies to compare (default: the scenario's)")
	f.Var(seedsFlag(&c.seeds, 5), "seeds", "replications per point and policy")
	f.Var(seedFlag(&c.first), "seed", "seed of the first replication; the others follow")
	return cmd
}

func (a *app) curves(cmd *cobra.Command, args []string, c *sweep) error {
	s, err := (&input{}).load(cmd, args)
	if err != nil {
		return err
	}
	name := scenarios.DefaultName
	if len(args) == 1 {
		name = args[0]
	}
	switch {
	case len(c.axes) == 0:
		if err := leaseFlag(&c.axes).Set(defaultLeases); err != nil {
			return err
		}
	case len(c.axes) > 2:
		return misuse("there are %d ranges, and a figure has two axes; vary at most two numbers at once", len(c.axes))
	}
	if len(c.policies) == 0 {
		c.policies = s.Policies
	}
	if err := checkPolicies(s.Scenario, "policies", c.policies...); err != nil {
		return err
	}
	points, err := load(name, c.axes)
	if err != nil {
		return err
	}
	r := &curvesReport{scene: s, sweep: c, groups: figureGroups(c.metrics), repeat: c.again(s)}
	if err := checkFiles(c.dir, r.files()...); err != nil {
		return err
	}
	plan := lab.SweepPlan{Policies: c.policies, Seeds: c.seeds, First: c.first}
	for _, p := range points {
		plan.Points = append(plan.Points, p.scenario)
	}
	kept := &journal{}
	if c.dir != "" {
		if kept, err = openJournal(c.dir, journalName(lab.Shard{})); err != nil {
			return err
		}
		defer kept.close()
		if err := kept.attachSweep(&plan); err != nil {
			return err
		}
		a.sayKept(kept, c.quiet)
	}
	bar := newProgress(a.stderr, c.quiet, "runs of "+s.Name)
	plan.Progress = bar.at
	bar.at(0, len(points)*len(c.policies)*c.seeds)
	results, err := lab.Sweep(cmd.Context(), plan)
	bar.clear()
	if err != nil && !isStop(err) {
		return err
	}
	finished := r.take(points, results)
	if finished == 0 {
		return &stoppedError{"stopped before the first point was finished under every policy; nothing to print" + kept.advice()}
	}
	if err := a.printCurves(r); err != nil {
		return err
	}
	if isStop(err) || finished < len(points) {
		return &stoppedError{fmt.Sprintf("stopped early: %d of %d points were finished; the others are left out%s", finished, len(points), kept.advice())}
	}
	if err := a.finish(kept, c.quiet); err != nil {
		return err
	}
	for _, res := range results {
		if err := (&report{broken: brokenIn(res)}).finding(); err != nil {
			return err
		}
	}
	return nil
}

// again is the command line that gives the same numbers.
func (c *sweep) again(s *scene) string {
	words := append([]string{"simulate curves"}, s.words...)
	for _, x := range c.axes {
		words = append(words, x.flag())
	}
	if c.asked {
		words = append(words, "--metrics "+strings.Join(c.metrics, ","))
	}
	words = append(words, fmt.Sprintf("--policies %s --seeds %d --seed %d", strings.Join(c.policies, ","), c.seeds, c.first))
	return strings.Join(words, " ")
}

// printCurves writes the files first, as print does.
func (a *app) printCurves(r *curvesReport) error {
	var out bytes.Buffer
	var err error
	switch r.format {
	case asJSON:
		err = r.writeJSON(&out)
	case asCSV:
		err = r.writeCSV(&out)
	default:
		err = r.writeTable(&out)
	}
	if err != nil {
		return err
	}
	if r.dir != "" {
		if err := saveAll(r.dir, r.outputs()); err != nil {
			return err
		}
	}
	return a.show(&out)
}

// lookOf keeps the look of a policy the same in every figure there is. The variants of a
// scenario's own come behind.
func (c *sweep) lookOf(policy string) int {
	names := append(model.PresetNames(), model.QueuePresetNames()...)
	for _, p := range c.policies {
		if !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return slices.Index(names, policy)
}
