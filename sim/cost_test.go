package sim

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// fiveMinuteFleet is the scenario five-minute-lease at any size.
func fiveMinuteFleet(workers int, duration protocol.Duration) *model.Scenario {
	return &model.Scenario{
		Name: "five-minute-fleet", Duration: duration,
		Fleet: model.Fleet{Workers: workers, Slots: 1, Start: table(dist.Constant(5 * second))},
		Queue: model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "render", Arrivals: table(dist.Exponential(second * 1000 / 13 / int64(workers))), Work: table(dist.Lognormal(45*second, 240*second)),
			Checkpoint: 500 * protocol.Millisecond, Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{Every: 20 * protocol.Minute},
		Faults:     model.Faults{Crash: 48 * protocol.Hour, Network: model.Network{Latency: table(dist.Lognormal(second/1000, second/50)), Loss: 100_000}},
	}
}

func TestNothingIsAllocatedPerEventOnceWarm(t *testing.T) {
	for _, policy := range []string{"hybrid", "crash-only", "adaptive"} {
		w := newWorld(t, fiveMinuteFleet(100, 8*protocol.Hour), policy, 1)
		require.NoError(t, w.runTo(protocol.Instant(4*protocol.Hour), nil))
		var before, after runtime.MemStats
		events := w.count
		runtime.ReadMemStats(&before)
		require.NoError(t, w.runTo(w.end, nil))
		runtime.ReadMemStats(&after)
		events = w.count - events
		require.Greater(t, events, int64(150_000))
		// What is left is queues reaching a new maximum, not a cost of events.
		assert.Less(t, float64(after.Mallocs-before.Mallocs)/float64(events), 0.001, "policy %s", policy)
	}
}

func TestMemoryIsFlatInSimulatedTime(t *testing.T) {
	size := func(w *World) int {
		return w.queue.Len() + len(w.requests.all) + len(w.answers.all)
	}
	for _, policy := range []string{"hybrid", "crash-only"} {
		w := newWorld(t, fiveMinuteFleet(100, 24*protocol.Hour), policy, 1)
		require.NoError(t, w.runTo(protocol.Instant(2*protocol.Hour), nil))
		early := size(w)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		require.NoError(t, w.runTo(w.end, nil))
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.LessOrEqual(t, size(w), 2*early, "policy %s: pending events", policy)
		assert.LessOrEqual(t, after.HeapAlloc, before.HeapAlloc+before.HeapAlloc/4+1<<20, "policy %s: heap after 24 h against 2 h", policy)
	}
}

func TestAFleetAtRestHasNoBodyTooMany(t *testing.T) {
	for _, workers := range []int{1, 100, 1000, 10_000} {
		for _, slots := range []int{1, 4} {
			sc := fiveMinuteFleet(workers, protocol.Minute)
			sc.Fleet.Slots, sc.Deploys, sc.Faults.Crash = slots, model.Deploys{}, 0
			w := newWorld(t, sc, "hybrid", 1)
			run(t, w)
			assert.Equal(t, workers, w.fleet.bodies, "%d workers, %d slots", workers, slots)
			assert.Empty(t, w.fleet.idle)
		}
	}
}

func TestAHundredThousandWorkersRun(t *testing.T) {
	sc := fiveMinuteFleet(100_000, 2*protocol.Minute)
	sc.Deploys = model.Deploys{At: []protocol.Instant{protocol.Instant(40 * protocol.Second)}}
	w := newWorld(t, sc, "hybrid", 1)
	run(t, w)
	ready, old := 0, 0
	for i := range w.fleet.used() {
		if p := w.fleet.at(i); p.state == seatUp && p.ready {
			ready++
			if p.generation == 0 {
				old++
			}
		}
	}
	assert.Greater(t, ready, 99_900, "but for those that crashed and start again")
	assert.Less(t, old, 60_000, "the rollout got somewhere")
}

func benchmarkWorld(b *testing.B, workers int, duration protocol.Duration, policy string) {
	b.ReportAllocs()
	var events int64
	for b.Loop() {
		w := newWorld(b, fiveMinuteFleet(workers, duration), policy, 1)
		run(b, w)
		events += w.count
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}

func BenchmarkHybrid1000(b *testing.B)   { benchmarkWorld(b, 1000, protocol.Hour, "hybrid") }
func BenchmarkCrash1000(b *testing.B)    { benchmarkWorld(b, 1000, protocol.Hour, "crash-only") }
func BenchmarkHybrid100000(b *testing.B) { benchmarkWorld(b, 100_000, 2*protocol.Minute, "hybrid") }
