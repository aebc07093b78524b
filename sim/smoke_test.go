package sim

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func must(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

func fiveMinuteLease() *model.Scenario {
	s := int64(protocol.Second)
	return &model.Scenario{
		Name: "five-minute-lease", Duration: 6 * protocol.Hour, Warmup: 30 * protocol.Minute,
		Fleet: model.Fleet{Workers: 1000, Slots: 1, Start: must(dist.Constant(5 * s))},
		Queue: model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, SweepPeriod: protocol.Hour, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "render", Arrivals: must(dist.Exponential(s / 13)), Work: must(dist.Lognormal(45*s, 240*s)),
			Checkpoint: 500 * protocol.Millisecond, Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{Every: 20 * protocol.Minute},
		Faults:     model.Faults{Crash: 48 * protocol.Hour, Network: model.Network{Latency: must(dist.Lognormal(s/1000, s/50)), Loss: 100_000}},
	}
}

func TestSmokeAll(t *testing.T) {
	for _, name := range []string{"none", "crash-only", "drain", "hybrid", "adaptive", "release-now", "finish-only", "deaf", "drain+sweep"} {
		pre, _ := model.PresetNamed(name)
		start := time.Now()
		w, err := NewWorld(fiveMinuteLease(), pre, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		row, err := w.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		d := time.Since(start)
		fmt.Printf("== %s %v %.0f ns/event hash %x\n", name, d, float64(d.Nanoseconds())/float64(w.count), row.TraceHash)
		if os.Getenv("V") != "" {
			for _, m := range row.Metrics() {
				fmt.Printf("   %-40s %14.3f %s n=%d c=%d\n", m.Name, m.Value, m.Unit, m.N, m.Censored)
			}
		}
	}
}

func BenchmarkHybrid(b *testing.B) {
	pre, _ := model.PresetNamed("hybrid")
	b.ReportAllocs()
	var n int64
	for i := 0; i < b.N; i++ {
		w, _ := NewWorld(fiveMinuteLease(), pre, 1, nil)
		_, _ = w.Run(nil)
		n += w.count
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
}
