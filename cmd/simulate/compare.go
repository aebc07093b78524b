package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/lab"
)

// output is the flags about what is printed and where.
type output struct {
	format, dir string
	quiet       bool
}

func (o *output) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(formatFlag(&o.format, asTable, asJSON, asCSV), "format", "how results are printed")
	f.StringVar(&o.dir, "out", "", "folder to also write the results to, in every format")
	f.BoolVar(&o.quiet, "quiet", false, "no progress bar")
}

type comparison struct {
	input
	output
	policies []string
	queues   []string
	seeds    int
	first    uint64
}

func (a *app) compareCommand() *cobra.Command {
	var c comparison
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO|FILE]",
		Short: "Put policies side by side: what does each way of stopping cost?",
		Long: `Put policies side by side: what does each way of stopping cost?

Every policy meets the same jobs, deploys and faults, in as many replications as there are
seeds. Without a scenario this is ` + scenarios.DefaultName + `; see simulate scenarios for the others.
With --queue the real queues that you name come first, each as it is today with its own
settings, beside hybrid or the --policies that you give.
With --jobs and --manifest the scenario is made of your own job trace and manifest, and the
output says what had to be assumed.`,
		Example: `  simulate compare
  simulate compare three-minute-render --seeds 20 --policies crash-only,hybrid,release-now
  simulate compare --queue asynq,bullmq,river
  simulate compare --jobs jobs.csv --manifest deployment.yaml --select Deployment/worker --out results`,
		Args: cobra.ArbitraryArgs, // judged together with the flags
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd, args, &c) },
	}
	c.input.flags(cmd)
	c.output.flags(cmd)
	cmd.Flags().Var(policiesFlag(&c.policies), "policies", "policies to compare; the first is the baseline (default: the scenario's)")
	cmd.Flags().Var(queuesFlag(&c.queues), "queue", "real queues to compare as they are today: "+strings.Join(model.QueuePresetNames(), ", "))
	cmd.Flags().Var(seedsFlag(&c.seeds, 10), "seeds", "replications per policy")
	cmd.Flags().Var(seedFlag(&c.first), "seed", "seed of the first replication; the others follow")
	return cmd
}

func (a *app) compare(cmd *cobra.Command, args []string, c *comparison) error {
	s, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	if err := checkOut(c.dir, "compare"); err != nil {
		return err
	}
	columns, err := c.columns(s)
	if err != nil {
		return err
	}
	plan := lab.Plan{Scenario: s.Scenario, Policies: columns, Seeds: c.seeds, First: c.first}
	bar := newProgress(a.stderr, c.quiet, "runs of "+s.Name)
	plan.Progress = bar.at
	bar.at(0, plan.Seeds*len(plan.Policies))
	results, err := lab.Run(cmd.Context(), plan)
	bar.clear()
	switch stopped := isStop(err); {
	case err != nil && !stopped:
		return err
	case stopped && (results == nil || len(results.Seeds) == 0):
		return &stoppedError{"stopped before the first replication was finished under every policy; nothing to print"}
	}
	r := newReport(s, plan, results)
	if err := a.print(r, c.format, c.dir, "compare"); err != nil {
		return err
	}
	if isStop(err) {
		return &stoppedError{fmt.Sprintf("stopped early: printed %d of %d replications", r.seeds, c.seeds)}
	}
	return nil
}

// columns returns what is compared: the real queues first, then policies.
func (c *comparison) columns(s *scene) ([]string, error) {
	policies := c.policies
	switch {
	case len(c.policies) > 0:
		if err := checkPolicies(s.Scenario, "policies", c.policies...); err != nil {
			return nil, err
		}
	case len(c.queues) > 0:
		policies = []string{"hybrid"}
	default:
		policies = s.Policies
	}
	columns := append([]string{}, c.queues...)
	for _, name := range policies {
		if slices.Contains(columns, name) {
			return nil, misuse("--queue and --policies both name %s; name it once", name)
		}
		columns = append(columns, name)
	}
	return columns, nil
}

func isStop(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func newReport(s *scene, plan lab.Plan, results *lab.Results) *report {
	r := &report{
		scenario: s, seeds: len(results.Seeds), firstSeed: plan.First,
		policies: results.Estimates(), paired: results.Paired(),
		notes: append(results.Notes(s.Scenario), scenarios.Notes(s.Scenario)...),
		meta:  meta{wall: results.Wall, asked: results.Asked},
	}
	for _, p := range r.policies {
		r.meta.events += total(p.Metrics, "events")
		if n := total(p.Metrics, "jobs_dead_lettered_by_interruptions"); n > 0 {
			// Their delay has no end, so a policy that gives jobs up can look quick.
			r.notes = append(r.notes, fmt.Sprintf("under %s %s were dead-lettered by interruptions alone; their delay is counted to the end of the run, and the slots they no longer need serve others",
				p.Name, plural(int(n), "job")))
		}
	}
	r.repeat = fmt.Sprintf("simulate compare %s --policies %s --seeds %d --seed %d",
		strings.Join(s.words, " "), strings.Join(plan.Policies, ","), plan.Seeds, plan.First)
	return r
}
