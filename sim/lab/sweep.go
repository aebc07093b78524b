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

	// What follows may be nil, as in Plan.
	Progress func(done, total int)
	Known    func(point int, policy string, seed uint64) *meter.Row
	Keep     func(point int, policy string, seed uint64, row *meter.Row) error
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
	rows := make([][][]*meter.Row, len(plan.Points)) // by point, policy and seed
	for i := range rows {
		rows[i] = make([][]*meter.Row, columns)
		for p := range rows[i] {
			rows[i][p] = make([]*meter.Row, plan.Seeds)
		}
	}
	todo := plan.todo(rows)
	err := each(ctx, len(todo), plan.Progress, func(ctx context.Context, i int) error {
		t := todo[i]
		preset, world, err := plan.Points[t.point].Under(plan.Policies[t.policy])
		if err != nil {
			return err
		}
		row, err := one(ctx, world, preset, plan.First+uint64(t.replication))
		rows[t.point][t.policy][t.replication] = row
		return err
	}, func(i int) error {
		if plan.Keep == nil {
			return nil
		}
		t := todo[i]
		return plan.Keep(t.point, plan.Policies[t.policy], plan.First+uint64(t.replication), rows[t.point][t.policy][t.replication])
	})
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

// pointTask is one run of a sweep.
type pointTask struct {
	point int
	task
}

// todo fills in the rows that are known and returns the runs that are left, point by point.
func (plan *SweepPlan) todo(rows [][][]*meter.Row) []pointTask {
	var todo []pointTask
	for i := range plan.Points {
		for s := range plan.Seeds {
			for p, name := range plan.Policies {
				if plan.Known != nil {
					rows[i][p][s] = plan.Known(i, name, plan.First+uint64(s))
				}
				if rows[i][p][s] == nil {
					todo = append(todo, pointTask{i, task{p, s}})
				}
			}
		}
	}
	return todo
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
