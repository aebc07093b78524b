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
	f.Var(pathFlag(&o.dir, "DIR", "folder"), "out", "folder to also write the results to, in every format")
	f.BoolVar(&o.quiet, "quiet", false, "no progress bar")
}

type comparison struct {
	input
	output
	policies  []string
	queues    []string
	seeds     int
	first     uint64
	precision percentage
	most      int
	loads     []float64
	shard     lab.Shard
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
output says what had to be assumed.

With --out, every run that is done is kept in DIR until the results are written, so the same
command goes on where it was stopped. With --shard as well, it does a part of the runs and
leaves them in DIR for simulate merge.`,
		Example: `  simulate compare
  simulate compare three-minute-render --seeds 20 --policies crash-only,hybrid,release-now
  simulate compare --precision 2% --load 0.6,0.9
  simulate compare --seeds 400 --shard 0/8 --out shards
  simulate compare --queue asynq,bullmq,river
  simulate compare --jobs jobs.csv --manifest deployment.yaml --select Deployment/worker --out results`,
		Args: cobra.ArbitraryArgs, // judged together with the flags
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd, args, &c) },
	}
	c.input.flags(cmd)
	c.output.flags(cmd)
	f := cmd.Flags()
	f.Var(policiesFlag(&c.policies), "policies", "policies to compare; the first is the baseline (default: the scenario's)")
	f.Var(queuesFlag(&c.queues), "queue", "real queues to compare as they are today: "+strings.Join(model.QueuePresetNames(), ", "))
	f.Var(seedsFlag(&c.seeds, 10), "seeds", "replications per policy")
	f.Var(seedFlag(&c.first), "seed", "seed of the first replication; the others follow")
	f.Var(precisionFlag(&c.precision), "precision", "replications until delay and deploy stall are known to this much, instead of --seeds")
	f.Var(seedsFlag(&c.most, 200), "max-seeds", "with --precision: the most replications per policy")
	f.Var(loadsFlag(&c.loads), "load", "repeat the comparison with as many jobs as keep these shares of the slots busy")
	f.Var(shardFlag(&c.shard), "shard", "do one of N parts of the runs, numbered from 0, and leave it in --out for simulate merge")
	return cmd
}

func (a *app) compare(cmd *cobra.Command, args []string, c *comparison) error {
	if err := c.check(cmd); err != nil {
		return err
	}
	s, err := c.load(cmd, args)
	if err != nil {
		return err
	}
	scenes, err := c.atLoads(s)
	if err != nil {
		return err
	}
	if c.policies, err = c.columns(s); err != nil {
		return err
	}
	base := "compare"
	if c.shard.Of > 0 {
		base = shardName(c.shard)
	}
	if err := checkOut(c.dir, base); err != nil {
		return err
	}
	kept := &journal{}
	if c.dir != "" {
		if kept, err = openJournal(c.dir, journalName(c.shard)); err != nil {
			return err
		}
		defer kept.close()
		a.sayKept(kept, c.quiet)
	}
	if c.shard.Of > 0 {
		return a.compareShard(cmd.Context(), c, scenes, kept)
	}
	reports, err := a.compareAll(cmd.Context(), c, scenes, kept)
	if len(reports.all) == 0 {
		return err
	}
	if err := a.print(reports.printable(), c.format, c.dir, base); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if err := a.finish(kept, c.quiet); err != nil {
		return err
	}
	return firstFinding(reports.all)
}

// finish ends with a journal whose results are written, and says what is left in it.
func (a *app) finish(kept *journal, quiet bool) error {
	if n := kept.others(); n > 0 && !quiet {
		fmt.Fprintf(a.stderr, "simulate: %s that were not asked for stay in %s\n", plural(n, "run"), kept.path)
	}
	return kept.finished()
}

// sayKept says that runs need not be made again.
func (a *app) sayKept(kept *journal, quiet bool) {
	if n := len(kept.rows); n > 0 && !quiet {
		fmt.Fprintf(a.stderr, "simulate: going on from %s that %s kept\n", plural(n, "run"), kept.path)
	}
}

// check refuses flags that do not go together.
func (c *comparison) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case given("precision") && given("seeds"):
		return misuse("--seeds fixes the number of replications and --precision finds it; give one of them (--max-seeds limits the search)")
	case given("max-seeds") && !given("precision"):
		return misuse("--max-seeds limits the replications of --precision; add --precision 2%%, or write --seeds %d", c.most)
	case c.shard.Of > 0 && given("precision"):
		return misuse("--precision decides by the results of all replications, and a shard sees only its own; give --seeds instead")
	case c.shard.Of > 0 && c.dir == "":
		return misuse("a shard leaves its runs in a file; add --out DIR")
	case c.shard.Of > 0 && given("format"):
		return misuse("a shard prints no results; give --format to simulate merge")
	}
	return nil
}

// plan is what to run of a scenario.
func (c *comparison) plan(s *scene) lab.Plan {
	plan := lab.Plan{Scenario: s.Scenario, Policies: c.policies, Seeds: c.seeds, First: c.first, Shard: c.shard}
	if len(plan.Policies) == 0 {
		plan.Policies = s.Policies
	}
	return plan
}

// compareAll compares at every load. When it is stopped the reports are of what was finished.
func (a *app) compareAll(ctx context.Context, c *comparison, scenes []*scene, kept *journal) (reports, error) {
	var all reports
	for _, s := range scenes {
		plan := c.plan(s)
		results, err := a.carryOut(ctx, c, s, &plan, kept)
		stopped := isStop(err)
		switch {
		case err != nil && !stopped:
			return reports{}, err
		case stopped && (results == nil || len(results.Seeds) == 0):
			return all, &stoppedError{"stopped before the first replication was finished under every policy; nothing to print" + kept.advice()}
		}
		all.add(newComparison(s, plan, results, c.repeats(&plan)), results)
		if stopped {
			return all, &stoppedError{fmt.Sprintf("stopped early: printed %d of %d replications%s", len(results.Seeds), results.Asked, kept.advice())}
		}
	}
	return all, nil
}

// carryOut runs a plan with a progress bar.
func (a *app) carryOut(ctx context.Context, c *comparison, s *scene, plan *lab.Plan, kept *journal) (*lab.Results, error) {
	if kept.rows != nil {
		if err := kept.attach(plan); err != nil {
			return nil, err
		}
	}
	bar := newProgress(a.stderr, c.quiet, "runs of "+s.Name)
	defer bar.clear()
	plan.Progress = bar.at
	if c.precision > 0 {
		return lab.RunTo(ctx, *plan, float64(c.precision), c.most)
	}
	bar.at(0, plan.Seeds*len(plan.Policies))
	return lab.Run(ctx, *plan)
}

// repeats returns the flags that make the same replications again.
func (c *comparison) repeats(plan *lab.Plan) string {
	if c.precision > 0 {
		return fmt.Sprintf("--precision %s --max-seeds %d --seed %d", c.precision, c.most, plan.First)
	}
	return fmt.Sprintf("--seeds %d --seed %d", plan.Seeds, plan.First)
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

// newComparison reports results of more than one policy or replication, with what they allow
// to conclude. repeats is the flags that make the same replications.
func newComparison(s *scene, plan lab.Plan, results *lab.Results, repeats string) *report {
	r := newReport(s, plan, results)
	r.verdict = judge(results)
	r.warmup = judgeWarmup(results)
	r.stop = results.Stop
	if results.Stop != "" {
		r.notes = append([]string{results.Stop}, r.notes...)
	}
	r.notes = append(r.notes, r.warmup.notes()...)
	r.repeat = fmt.Sprintf("simulate compare %s --policies %s %s", strings.Join(s.words, " "), strings.Join(plan.Policies, ","), repeats)
	return r
}

func newReport(s *scene, plan lab.Plan, results *lab.Results) *report {
	r := &report{
		scenario: s, seeds: len(results.Seeds), firstSeed: plan.First,
		policies: results.Estimates(), paired: results.Paired(), broken: brokenIn(results),
		notes: append(results.Notes(), s.tell(plan.Policies).Notes...),
		meta:  meta{wall: results.Wall, asked: results.Asked},
	}
	for _, p := range r.policies {
		r.meta.events += total(p.Metrics, "events")
		if n := total(p.Metrics, "jobs_dead_lettered_by_interruptions"); n > 0 {
			// Their delay has no end, so a policy that gives jobs up can look quick.
			r.notes = append(r.notes, fmt.Sprintf("under %s %s dead-lettered by interruptions alone; their delay is counted to the end of the run, and the slots they no longer need serve others",
				p.Name, wasWere(int(n), "job")))
		}
	}
	return r
}
