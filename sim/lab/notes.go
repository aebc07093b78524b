package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/model/offered"
	"github.com/quiesce/quiesce/protocol"
)

// Notes says in sentences what a reader of the numbers must know.
func (r *Results) Notes() []string {
	var notes []string
	if len(r.Seeds) < r.Asked {
		notes = append(notes, fmt.Sprintf("stopped early: %d of %d replications were finished", len(r.Seeds), r.Asked))
	}
	if len(r.Seeds) == 1 {
		notes = append(notes, "one replication has no interval; use --seeds 10 or more")
	}
	total := r.total
	drain, hybrid := slices.Index(r.Policies, "drain"), slices.Index(r.Policies, "hybrid")
	if drain >= 0 && hybrid >= 0 && total(hybrid, meter.ReclaimedByExpiry)+total(drain, meter.JobsStuck) == 0 {
		notes = append(notes, "no lease ran out under hybrid and no job is stuck under drain, so the two had no occasion to differ")
	}
	for p, name := range r.Policies {
		if total(p, meter.Stops) == 0 && total(p, meter.Rollouts) > 0 {
			notes = append(notes, fmt.Sprintf("under %s no process was told to stop", name))
		}
		if n := total(p, meter.JobsStuck); n > 0 {
			notes = append(notes, fmt.Sprintf("under %s %d jobs are claimed by workers that are gone, and nothing frees them; their stalls are counted to the end of the run and marked ≥", name, n))
		}
	}
	if len(r.Seeds) > 0 && total(0, meter.JobsEnqueued) == 0 {
		notes = append(notes, fmt.Sprintf("no job arrived after the warm-up of %v, so nothing about jobs is measured; shorten it, or give jobs that arrive later", protocol.Duration(r.Setting.Warmup)))
	}
	if len(r.Seeds) > 0 && total(0, meter.Rollouts) == 0 {
		notes = append(notes, "no deploy fell into the measured part of the run")
	}
	if len(r.Seeds) > 1 && math.IsNaN(r.Setting.Load) {
		notes = append(notes, "every run has the jobs of the trace, so intervals say how much the chance of network and faults changes, and not how another week would differ")
	}
	if load := r.Setting.Load; load >= 1 {
		notes = append(notes, fmt.Sprintf("the fleet is overloaded: jobs bring %.2f times the work its slots can do, so waits grow with the length of the run", load))
	}
	return notes
}

// total adds a count up over the replications of policy p.
func (r *Results) total(p int, c meter.Count) (n int64) {
	for _, row := range r.Rows[p] {
		n += row.Counts[c]
	}
	return n
}

// Load returns the work that arrives per unit of time over the work all slots can do in it,
// or NaN when jobs come from a trace.
func Load(sc *model.Scenario) float64 {
	if sc.Trace != nil {
		return math.NaN()
	}
	_, busy := offered.Load(sc)
	return busy / float64(sc.Fleet.Workers*sc.Fleet.Slots)
}
