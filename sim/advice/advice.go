package advice

import (
	"context"
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/lab"
)

// Question is a fleet as it is, and what may be changed about it.
type Question struct {
	Scenario *model.Scenario // with its deploys in Deploys.At
	Today    string          // how the fleet stops today: a policy or a real queue, see Scenario.Under
	Jobs     Lengths
	Surges   bool // the supervisor can be told how a rollout replaces workers
	Seeds    int  // replications of each trial
	First    uint64

	Progress func(done, total int) // after every run, with an estimate of all; may be nil
}

// Trial is a fleet with some changes, and what was measured.
type Trial struct {
	Changes []Change       // from the fleet as it is; none of today
	Tried   *Change        // the last of them, which the trial is about; nil of today and of Together
	Metrics []lab.Estimate // what was measured
	Against []lab.Estimate // paired differences from Base; nil of today
	Effect  Effect         // of the difference

	rows []*meter.Row
}

// Stage is trials that are compared with one of them, the base.
type Stage struct {
	Base   *Trial
	Trials []*Trial // the one that delays jobs least first
	Best   *Trial   // the base when nothing helps
	Idle   bool     // too few jobs were in the way of a stop for any verdict
}

// Answer is what was found.
type Answer struct {
	Today    *Trial
	Policies Stage  // ways of stopping; the base is today
	Settings Stage  // with the best of them; the base is that
	Together *Trial // everything that helps, against today; nil when that is nothing
	Deploys  int    // in each run
	Seeds    int
}

// Ask carries all trials out. When ctx is done it returns ctx's error and no answer.
func Ask(ctx context.Context, q Question) (*Answer, error) {
	if q.Seeds < 2 {
		return nil, fmt.Errorf("advice: %d replications; at least 2 are needed for an interval", q.Seeds)
	}
	a := &asking{Question: q}
	a.total = q.Seeds * (4 + len(settings(q.Scenario, q.Jobs, q.Surges)) + 1)
	answer := &Answer{Today: &Trial{}, Deploys: len(q.Scenario.Deploys.At), Seeds: q.Seeds}

	policies := []*Trial{answer.Today}
	for _, name := range []string{"hybrid", "adaptive", "release-now"} {
		if name != q.Today {
			policies = append(policies, tried(nil, Change{Key: Policy, Policy: name}))
		}
	}
	if err := a.run(ctx, policies...); err != nil {
		return nil, err
	}
	answer.Policies = stage(answer.Today, policies[1:])

	base := answer.Policies.Best
	if base == answer.Today && q.Scenario.Variant(q.Today).Foreign {
		base = policies[1] // Settings of ours mean nothing to a real queue.
	}
	var trials []*Trial
	for _, c := range settings(q.Scenario, q.Jobs, q.Surges) {
		trials = append(trials, tried(base.Changes, c))
	}
	if err := a.run(ctx, trials...); err != nil {
		return nil, err
	}
	answer.Settings = stage(base, trials)

	together := &Trial{Changes: slices.Concat(base.Changes, answer.Settings.helping())}
	switch {
	case len(together.Changes) == 0:
		return answer, nil
	case len(together.Changes) == len(base.Changes):
		together = &Trial{Changes: base.Changes, rows: base.rows}
	default:
		if err := a.run(ctx, together); err != nil {
			return nil, err
		}
	}
	compare(answer.Today, []*Trial{together})
	answer.Together = together
	return answer, nil
}

func tried(before []Change, c Change) *Trial {
	all := append(slices.Clone(before), c)
	return &Trial{Changes: all, Tried: &all[len(all)-1]}
}

// asking is a question while its trials run.
type asking struct {
	Question
	done, total int
}

// column is the name under which each trial's policy runs.
const column = "trial"

// world is the fleet with changes, in one replication.
func (a *asking) world(t *Trial, replication int) *model.Scenario {
	s := *a.Scenario
	policy := a.Today
	for i := range t.Changes {
		if t.Changes[i].Key == Policy {
			policy = t.Changes[i].Policy
		}
		t.Changes[i].on(&s)
	}
	v := s.Variant(policy)
	v.Name = column
	s.Variants, s.Policies = []model.Variant{v}, []string{column}
	s.Deploys.At = moved(s.Deploys.At, a.First+uint64(replication))
	return &s
}

// moved shifts all deploys by a part of the way to the next, up to half of it to either side:
// the golden ratio spreads the shifts of successive seeds evenly.
func moved(at []protocol.Instant, seed uint64) []protocol.Instant {
	if len(at) < 2 {
		return at
	}
	const parts = 1 << 16
	step := at[1].Sub(at[0]) / parts
	part := protocol.Duration(seed*0x9E3779B97F4A7C15>>48) - parts/2
	shifted := make([]protocol.Instant, len(at))
	for i := range at {
		shifted[i] = at[i].Add(step * part)
	}
	return shifted
}

// run makes all replications of some trials.
func (a *asking) run(ctx context.Context, trials ...*Trial) error {
	if len(trials) == 0 {
		return nil
	}
	for r := range a.Seeds {
		plan := lab.SweepPlan{Policies: []string{column}, Seeds: 1, First: a.First + uint64(r)}
		for _, t := range trials {
			plan.Points = append(plan.Points, a.world(t, r))
		}
		if a.Progress != nil {
			plan.Progress = func(done, _ int) { a.Progress(min(a.done+done, a.total), a.total) }
		}
		results, err := lab.Sweep(ctx, plan)
		if err != nil {
			return err
		}
		for i, t := range trials {
			t.rows = append(t.rows, results[i].Rows[0][0])
		}
		a.done += len(trials)
	}
	return nil
}
