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
	Progress func(done, total int) // called after every run, from one goroutine at a time; may be nil
}

// Results are the rows of the replications that were finished under every policy.
type Results struct {
	Scenario string
	Policies []string
	Seeds    []uint64
	Rows     [][]*meter.Row // by policy, then by seed
	Wall     time.Duration
	Asked    int // replications asked for; more than len(Seeds) when the run was stopped
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
	err := each(ctx, plan.Seeds*len(presets), plan.Progress, func(ctx context.Context, i int) error {
		// Seeds first, so that stopping early leaves whole replications.
		policy, seed := i%len(presets), i/len(presets)
		row, err := one(ctx, worlds[policy], presets[policy], plan.First+uint64(seed))
		rows[policy][seed] = row
		return err
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	res := &Results{Scenario: plan.Scenario.Name, Policies: plan.Policies, Rows: make([][]*meter.Row, len(presets)), Asked: plan.Seeds}
	for s := range plan.Seeds {
		if !complete(rows, s) {
			continue
		}
		res.Seeds = append(res.Seeds, plan.First+uint64(s))
		for p := range rows {
			res.Rows[p] = append(res.Rows[p], rows[p][s])
		}
	}
	res.Wall = time.Since(start)
	return res, ctx.Err()
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
	return w.Run(func() bool { return ctx.Err() != nil })
}

// each runs n tasks on all cores and returns the first error that is not a stop.
func each(ctx context.Context, n int, progress func(done, total int), task func(context.Context, int) error) error {
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
