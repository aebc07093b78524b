package lab

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

func must(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

// deployment is ten workers through three deploys; a run takes milliseconds.
func deployment() *model.Scenario {
	second := int64(protocol.Second)
	return &model.Scenario{
		Name: "deployment", Duration: 20 * protocol.Minute, Warmup: 2 * protocol.Minute,
		Fleet:      model.Fleet{Workers: 10, Slots: 1, Start: must(dist.Constant(second))},
		Queue:      model.Queue{Lease: protocol.Minute, Heartbeat: 20 * protocol.Second, MaxFailures: 5, Poison: 3, MaxMessageAge: 10 * protocol.Second},
		Jobs:       []model.Job{{Name: "job", Arrivals: must(dist.Exponential(4 * second)), Work: must(dist.Exponential(20 * second)), Checkpoint: protocol.Second, Declared: protocol.Second, Undo: protocol.Second}},
		Supervisor: model.Supervisor{Grace: 10 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 50, Percent: true}}},
		Deploys:    model.Deploys{Every: 5 * protocol.Minute},
		Faults:     model.Faults{Network: model.Network{Latency: must(dist.Constant(second / 1000))}},
	}
}

// made returns results whose replications have the given delays per job, in milliseconds, and
// enough interruptions to be judged.
func made(policies []string, delays [][]int64) *Results {
	r := &Results{Policies: policies, Setting: Setting{Duration: int64(protocol.Hour), Load: 0.5}}
	for p := range policies {
		var rows []*meter.Row
		for _, ms := range delays[p] {
			row := &meter.Row{}
			row.Counts[meter.JobsDelayed], row.Sums[meter.DelayTime] = 1, ms*1000
			row.Counts[meter.Interruptions] = Interesting
			rows = append(rows, row)
		}
		r.Rows = append(r.Rows, rows)
	}
	for i := range delays[0] {
		r.Seeds = append(r.Seeds, uint64(i+1))
	}
	r.Asked = len(r.Seeds)
	return r
}
