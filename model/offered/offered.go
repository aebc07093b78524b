// Package offered works out what the jobs of a scenario ask of its fleet.
package offered

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Load returns the jobs that arrive a second, and how many slots they keep busy on average.
// Neither is known of jobs that come from a trace: they are left out.
func Load(sc *model.Scenario) (perSecond, slots float64) {
	for i := range sc.Jobs {
		j := &sc.Jobs[i]
		if j.Arrivals == nil || j.Work == nil {
			continue
		}
		gap := j.Arrivals.Moments().Mean
		perSecond += float64(protocol.Second) / gap
		slots += j.Work.Moments().Mean / gap
	}
	return perSecond, slots
}
