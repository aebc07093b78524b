// Package lab runs replications of a scenario under several policies and says how far the
// results can be trusted.
//
// The replication is the unit of everything here: jobs within one run share deploys and
// queues and are not independent, runs with different seeds are. Every policy sees the same
// seeds, and with them the same arrivals, work, deploys and faults, so that differences are
// taken in pairs.
package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim"
)

// Plan is what to run.
type Plan struct {
	Scenario *model.Scenario
	Policies []string // names of columns, see Scenario.Under; the first is the baseline of differences
	Seeds    int      // replications per policy, with seeds First, First+1, ...
	First    uint64
	Shard    Shard // which of the replications; the zero Shard is all of them

	// What follows may be nil. Each is called by one goroutine at a time.
	Progress func(done, total int)                                  // after every run
	Known    func(policy string, seed uint64) *meter.Row            // the row of a run that was done before, or nil
	Keep     func(policy string, seed uint64, row *meter.Row) error // takes the row of a run that was done now
}

// Results are the rows of the replications that were finished under every policy.
type Results struct {
	Scenario string
	Setting  Setting
	Policies []string
	Seeds    []uint64
	Rows     [][]*meter.Row // by policy, then by seed
	Wall     time.Duration
	Asked    int    // replications asked for; more than len(Seeds) when the run was stopped
	Stop     string // why there were no more replications; empty when their number was given
}

// Setting is what statistics must know of the scenario that the rows come from.
type Setting struct {
	Duration, Warmup, Cooldown int64   // nanoseconds
	Load                       float64 // see [Load]; NaN when jobs come from a trace
}

// SettingOf returns the setting of a scenario.
func SettingOf(sc *model.Scenario) Setting {
	return Setting{Duration: int64(sc.Duration), Warmup: int64(sc.Warmup), Cooldown: 2 * int64(sc.Queue.Lease), Load: Load(sc)}
}

// Run carries a plan out on all cores. When ctx is done it stops and returns what was
// finished together with ctx's error; Results is nil only when nothing can be run.
func Run(ctx context.Context, plan Plan) (*Results, error) {
	presets := make([]model.Preset, len(plan.Policies))
	worlds := make([]*model.Scenario, len(plan.Policies))
	for i, name := range plan.Policies {
		var err error
		if presets[i], worlds[i], err = plan.Scenario.Under(name); err != nil {
			return nil, err
		}
	}
	if plan.Seeds < 1 || len(presets) == 0 {
		return nil, fmt.Errorf("lab: %d seeds and %d policies; at least one of each is needed", plan.Seeds, len(presets))
	}
	start := time.Now()
	rows := make([][]*meter.Row, len(presets))
	for i := range rows {
		rows[i] = make([]*meter.Row, plan.Seeds)
	}
	todo := plan.todo(rows)
	err := each(ctx, len(todo), plan.Progress, func(ctx context.Context, i int) error {
		policy, s := todo[i].policy, todo[i].replication
		row, err := one(ctx, worlds[policy], presets[policy], plan.First+uint64(s))
		rows[policy][s] = row
		return err
	}, func(i int) error {
		if plan.Keep == nil {
			return nil
		}
		policy, s := todo[i].policy, todo[i].replication
		return plan.Keep(plan.Policies[policy], plan.First+uint64(s), rows[policy][s])
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	res := gather(plan.Scenario.Name, plan.Policies, plan.First, rows)
	res.Setting = SettingOf(plan.Scenario)
	res.Wall = time.Since(start)
	return res, ctx.Err()
}

// task is one run of a plan.
type task struct{ policy, replication int }

// todo fills in the rows that are known and returns the runs that are left. All policies of
// a replication come together, so that stopping early leaves whole replications.
func (plan *Plan) todo(rows [][]*meter.Row) []task {
	var todo []task
	for s := range plan.Seeds {
		if !plan.Shard.Has(s) {
			continue
		}
		for p, name := range plan.Policies {
			if plan.Known != nil {
				rows[p][s] = plan.Known(name, plan.First+uint64(s))
			}
			if rows[p][s] == nil {
				todo = append(todo, task{p, s})
			}
		}
	}
	return todo
}

func complete(rows [][]*meter.Row, s int) bool {
	for p := range rows {
		if rows[p][s] == nil {
			return false
		}
	}
	return true
}

func one(ctx context.Context, sc *model.Scenario, preset model.Preset, seed uint64) (*meter.Row, error) {
	w, err := sim.NewWorld(sc, preset, seed, nil)
	if err != nil {
		return nil, err
	}
	w.Check()
	row, err := w.Run(func() bool { return ctx.Err() != nil })
	if err == nil {
		row.Pack()
	}
	return row, err
}

// each runs n tasks on all cores and returns the first error that is not a stop. Once a task
// is carried out, keep is called, by one goroutine at a time.
func each(ctx context.Context, n int, progress func(done, total int), task func(context.Context, int) error, keep func(int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu    sync.Mutex
		next  int
		done  int
		first error
		wg    sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n || ctx.Err() != nil {
					return
				}
				err := task(ctx, i)
				mu.Lock()
				if err == nil {
					err = keep(i)
				}
				if err == nil {
					done++
					if progress != nil {
						progress(done, n)
					}
				} else if first == nil && !errors.Is(err, sim.ErrStopped) {
					first = err
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return first
}
