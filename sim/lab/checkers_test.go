package lab

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// minuteFleet is one-minute jobs on a fleet that is three quarters busy, with a deploy and
// crashes: the worlds by which the simulator's speed is measured.
func minuteFleet(workers, slots int, duration protocol.Duration) *model.Scenario {
	gap := 60 * second * 4 / 3 / int64(workers*slots)
	return &model.Scenario{
		Name: "minute-fleet", Duration: duration,
		Fleet: model.Fleet{Workers: workers, Slots: slots, Start: table(dist.Constant(5 * second))},
		Queue: model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "job", Arrivals: table(dist.Exponential(gap)), Work: table(dist.Exponential(60 * second)),
			Checkpoint: 500 * protocol.Millisecond, Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{Every: 20 * protocol.Minute},
		Faults:     model.Faults{Crash: 48 * protocol.Hour, Network: model.Network{Latency: table(dist.Lognormal(second/1000, second/50)), Loss: 100_000}},
	}
}

func runOnce(t testing.TB, sc *model.Scenario, checked bool) *meter.Row {
	p, err := model.PresetNamed("hybrid")
	require.NoError(t, err)
	w, err := sim.NewWorld(sc, p, 1, nil)
	require.NoError(t, err)
	if checked {
		w.Check()
	}
	row, err := w.Run(nil)
	require.NoError(t, err)
	return row
}

// BenchmarkCheckers runs the same worlds with and without checkers in turn, and reports what
// share of the jobs per CPU second is left with them: 1 would be that they cost nothing.
func BenchmarkCheckers(b *testing.B) {
	for _, size := range []struct {
		name           string
		workers, slots int
		length         protocol.Duration
	}{{"1000x1", 1000, 1, 2 * protocol.Hour}, {"1000x4", 1000, 4, protocol.Hour / 2}, {"10x1", 10, 1, 200 * protocol.Hour}} {
		b.Run(size.name, func(b *testing.B) {
			sc := minuteFleet(size.workers, size.slots, size.length)
			var best [2]time.Duration
			jobs := int64(0)
			for b.Loop() {
				for k, checked := range []bool{false, true} {
					runtime.GC()
					start := cpuTime()
					jobs = runOnce(b, sc, checked).Counts[meter.JobsCompleted]
					// The least of several: whatever else the machine does only adds.
					if took := cpuTime() - start; best[k] == 0 || took < best[k] {
						best[k] = took
					}
				}
			}
			b.ReportMetric(float64(best[0])/float64(best[1]), "left")
			b.ReportMetric(float64(jobs)/best[0].Seconds(), "jobs/CPU-s-unchecked")
			b.ReportMetric(float64(jobs)/best[1].Seconds(), "jobs/CPU-s-checked")
		})
	}
}

// Whoever runs replications has them watched, without asking for it.
func TestEveryReplicationIsWatched(t *testing.T) {
	sc := deployment()
	faulty, err := model.Preset{Name: "faulty"}.Unsafe("release-before-undo")
	require.NoError(t, err)
	sc.Variants = []model.Variant{{Preset: faulty}}
	res, err := Run(t.Context(), Plan{Scenario: sc, Policies: []string{"hybrid", "faulty"}, Seeds: 2, First: 1})
	require.NoError(t, err)
	for s := range res.Seeds {
		assert.Empty(t, res.Rows[0][s].Broken)
		require.NotEmpty(t, res.Rows[1][s].Broken, "seed %d", res.Seeds[s])
		assert.Equal(t, "undo-before-release", res.Rows[1][s].Broken[0].Invariant)
		assert.True(t, res.Rows[1][s].Broken[0].Expected)
	}
}
