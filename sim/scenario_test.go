package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

const second = int64(protocol.Second)

func table(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

// smallFleet is a busy little world in which everything happens: deploys, crashes, pauses,
// partitions, lost and doubled messages, deaf and failing handlers, drifting clocks.
func smallFleet() *model.Scenario {
	return &model.Scenario{
		Name: "small-fleet", Duration: 40 * protocol.Minute, Warmup: 2 * protocol.Minute,
		Fleet: model.Fleet{Workers: 12, Slots: 2, Start: table(dist.Constant(3 * second))},
		Queue: model.Queue{
			Lease: 30 * protocol.Second, Heartbeat: 10 * protocol.Second, DriftPPM: 200, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, SweepPeriod: 5 * protocol.Minute, MaxMessageAge: 10 * protocol.Second,
		},
		Jobs: []model.Job{
			{Name: "render", Arrivals: table(dist.Exponential(second)), Work: table(dist.Lognormal(8*second, 40*second)), Checkpoint: 500 * protocol.Millisecond,
				Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 4, Deaf: 20_000_000, Fails: 10_000_000, Save: 5 * protocol.Second},
			{Name: "mail", Arrivals: table(dist.Exponential(second)), Work: table(dist.Exponential(second)), Checkpoint: 100 * protocol.Millisecond, Effects: 1, NewVersion: 1, UndoFails: 100_000_000},
		},
		Supervisor: model.Supervisor{Grace: 15 * protocol.Second, PreStop: protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{Every: 5 * protocol.Minute},
		Faults: model.Faults{
			Crash: 30 * protocol.Minute, DriftPPM: 100,
			Pause:     model.Spell{Every: 30 * protocol.Minute, Length: table(dist.Uniform(5*second, 60*second))},
			Partition: model.Spell{Every: 30 * protocol.Minute, Length: table(dist.Uniform(second, 20*second))},
			Slow:      model.Spell{Every: 10 * protocol.Minute, Length: table(dist.Constant(10 * second))}, SlowBy: 300 * protocol.Millisecond,
			Network: model.Network{Latency: table(dist.Lognormal(second/1000, second/50)), Loss: 5_000_000, Duplicate: 5_000_000},
		},
	}
}

func preset(t testing.TB, name string) model.Preset {
	p, err := model.PresetNamed(name)
	require.NoError(t, err)
	return p
}

func newWorld(t testing.TB, sc *model.Scenario, policy string, seed uint64) *World {
	w, err := NewWorld(sc, preset(t, policy), seed, nil)
	require.NoError(t, err)
	return w
}

func run(t testing.TB, w *World) *meter.Row {
	row, err := w.Run(nil)
	require.NoError(t, err)
	return row
}
