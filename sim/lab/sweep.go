package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
)

// SweepPlan is what to run at every point of a sweep. All points see the same seeds, so that
// what differs between two of them is their scenarios' doing.
type SweepPlan struct {
	Points   []*model.Scenario
	Policies []string
	Seeds    int // replications per point and policy, with seeds First, First+1, ...
	First    uint64
	Progress func(done, total int) // as in Plan
}

// Sweep carries a plan out on all cores, point by point. Results has one entry per point, nil
// for one that was not finished; then the error is ctx's. With any other error there are no
// results.
func Sweep(ctx context.Context, plan SweepPlan) ([]*Results, error) {
	columns := len(plan.Policies)
	if plan.Seeds < 1 || columns == 0 || len(plan.Points) == 0 {
		return nil, fmt.Errorf("lab: %d points, %d seeds and %d policies; at least one of each is needed", len(plan.Points), plan.Seeds, columns)
	}
	start := time.Now()
	perPoint := plan.Seeds * columns
	rows := make([][][]*meter.Row, len(plan.Points)) // by point, policy and seed
	for i := range rows {
		rows[i] = make([][]*meter.Row, columns)
		for p := range rows[i] {
			rows[i][p] = make([]*meter.Row, plan.Seeds)
		}
	}
	err := each(ctx, len(plan.Points)*perPoint, plan.Progress, func(ctx context.Context, i int) error {
		point, policy, seed := i/perPoint, i%perPoint%columns, i%perPoint/columns
		preset, world, err := plan.Points[point].Under(plan.Policies[policy])
		if err != nil {
			return err
		}
		row, err := one(ctx, world, preset, plan.First+uint64(seed))
		rows[point][policy][seed] = row
		return err
	}, func(int) error { return nil })
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	all := make([]*Results, len(plan.Points))
	for i, sc := range plan.Points {
		if r := gather(sc.Name, plan.Policies, plan.First, rows[i]); len(r.Seeds) == plan.Seeds {
			r.Wall = time.Since(start)
			all[i] = r
		}
	}
	return all, ctx.Err()
}

// gather keeps the replications that were finished under every policy.
func gather(scenario string, policies []string, first uint64, rows [][]*meter.Row) *Results {
	res := &Results{Scenario: scenario, Policies: policies, Rows: make([][]*meter.Row, len(rows)), Asked: len(rows[0])}
	for s := range res.Asked {
		if !complete(rows, s) {
			continue
		}
		res.Seeds = append(res.Seeds, first+uint64(s))
		for p := range rows {
			res.Rows[p] = append(res.Rows[p], rows[p][s])
		}
	}
	return res
}
