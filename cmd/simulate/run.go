package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/lab"
)

// single is one run: a scenario under one policy with one seed.
type single struct {
	input
	output
	policy    string
	seed      uint64
	overrides map[sim.Address]uint64
}

// named takes the run that a scenario names, unless the flags say another.
func (s *single) named(cmd *cobra.Command, scn *scene) error {
	f := scn.Finding
	if f == nil || cmd.Flags().Changed("policy") || cmd.Flags().Changed("seed") {
		return nil
	}
	var err error
	if s.overrides, err = sim.Overrides(f.Overrides); err != nil {
		return misuse("%s: finding.overrides: %v", strings.Join(scn.words, " "), err)
	}
	s.policy, s.seed = f.Policy, f.Seed
	return nil
}

func (s *single) flags(cmd *cobra.Command) {
	s.input.flags(cmd)
	cmd.Flags().Var(policyFlag(&s.policy, "hybrid"), "policy", "way of stopping")
	cmd.Flags().Var(seedFlag(&s.seed), "seed", "seed of the run")
}

// finding is the error of a run in which something is broken that must not be. row may be nil.
func (s *single) finding(row *meter.Row) error {
	if row == nil {
		return nil // it was not run to its end
	}
	results := &lab.Results{Policies: []string{s.policy}, Seeds: []uint64{s.seed}, Rows: [][]*meter.Row{{row}}}
	return (&report{broken: brokenIn(results)}).finding()
}

func (a *app) runCommand() *cobra.Command {
	var s single
	cmd := &cobra.Command{
		Use:   "run [SCENARIO|FILE] --policy P --seed N",
		Short: "One run in full: every metric, and the hash of all that happened",
		Example: `  simulate run three-minute-render --policy hybrid --seed 7
  simulate run --jobs jobs.csv --manifest deployment.yaml --policy crash-only`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runOnce(cmd, args, &s) },
	}
	s.flags(cmd)
	s.output.flags(cmd)
	return cmd
}

func (a *app) runOnce(cmd *cobra.Command, args []string, s *single) error {
	scn, err := s.load(cmd, args)
	if err != nil {
		return err
	}
	if err := s.named(cmd, scn); err != nil {
		return err
	}
	if err := checkOut(s.dir, "run"); err != nil {
		return err
	}
	start := time.Now()
	row, err := a.simulate(cmd, scn, s, nil)
	if err != nil {
		return err
	}
	// A report of one replication: lab's estimates without its intervals.
	results := &lab.Results{
		Scenario: scn.Name, Policies: []string{s.policy}, Seeds: []uint64{s.seed},
		Rows: [][]*meter.Row{{row}}, Wall: time.Since(start), Asked: 1,
	}
	plan := lab.Plan{Policies: results.Policies, Seeds: 1, First: s.seed}
	r := newReport(scn, plan, results)
	r.run = &runFacts{traceHash: row.TraceHash}
	r.notes = withoutSingle(r.notes)
	r.repeat = fmt.Sprintf("simulate run %s --policy %s --seed %d", strings.Join(scn.words, " "), s.policy, s.seed)
	if err := a.print(r, s.format, s.dir, "run"); err != nil {
		return err
	}
	return r.finding()
}

// withoutSingle drops the advice to use more seeds: whoever asks for one run means it.
func withoutSingle(notes []string) []string {
	var kept []string
	for _, n := range notes {
		if !strings.HasPrefix(n, "one replication has no interval") {
			kept = append(kept, n)
		}
	}
	return kept
}

// simulate runs one world to its end. observe may be nil.
func (a *app) simulate(cmd *cobra.Command, scn *scene, s *single, observe func(*sim.World) func() bool) (*meter.Row, error) {
	if err := checkPolicies(scn.Scenario, "policy", s.policy); err != nil {
		return nil, err
	}
	preset, under, err := scn.Under(s.policy)
	if err != nil {
		return nil, err
	}
	w, err := sim.NewWorld(under, preset, s.seed, s.overrides)
	if err != nil {
		return nil, err
	}
	w.Check()
	enough := func() bool { return false }
	if observe != nil {
		enough = observe(w)
	}
	bar := newProgress(a.stderr, s.quiet, scn.Name+" under "+s.policy)
	row, err := w.Run(func() bool {
		bar.at(int(w.Now()/1e9), int(scn.Duration/1e9))
		return cmd.Context().Err() != nil || enough()
	})
	bar.clear()
	if errors.Is(err, sim.ErrStopped) && cmd.Context().Err() != nil {
		return nil, &stoppedError{fmt.Sprintf("stopped at %v of %v; nothing to print before the end of a run", short(roundSeconds(w.Now())), short(scn.Duration))}
	}
	return row, err
}
