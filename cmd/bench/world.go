package main

import (
	"runtime"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// row is what one world cost.
type row struct {
	Workers             int     `json:"workers"`
	Slots               int     `json:"slots"`
	Simulated           string  `json:"simulated"`
	Events              int64   `json:"events"`
	Jobs                int64   `json:"jobs_completed"`
	CPUSeconds          float64 `json:"cpu_seconds"`
	JobsPerCPUSecond    float64 `json:"jobs_per_cpu_second"`
	EventsPerSecond     float64 `json:"events_per_cpu_second"`
	NanosecondsPerEvent float64 `json:"ns_per_event"`
	AllocationsPerEvent float64 `json:"allocations_per_event"`
	BytesPerWorker      float64 `json:"bytes_per_worker"` // of live heap at the end of the run
}

// load is the share of the slots that jobs keep busy.
const load = 0.75

// meanWork is that of the one-minute jobs.
const meanWork = protocol.Minute

// eventsPerJob is about how many events one job brings, to choose how long to run.
const eventsPerJob = 10

// fleet is a world of one-minute jobs that is deployed once.
func fleet(workers, slots int, events int64) (*model.Scenario, error) {
	arrivals, err := dist.Exponential(max(int64(float64(meanWork)/load/float64(workers*slots)), 1))
	if err != nil {
		return nil, err
	}
	work, err := dist.Lognormal(int64(45*protocol.Second), int64(4*protocol.Minute))
	if err != nil {
		return nil, err
	}
	start, err := dist.Constant(int64(5 * protocol.Second))
	if err != nil {
		return nil, err
	}
	latency, err := dist.Lognormal(int64(protocol.Millisecond), int64(20*protocol.Millisecond))
	if err != nil {
		return nil, err
	}
	perSecond := float64(workers*slots) * load / 60 * eventsPerJob
	duration := max(protocol.Duration(float64(events)/perSecond*float64(protocol.Second)), 2*protocol.Minute)
	return &model.Scenario{
		Name: "bench", Duration: duration,
		Fleet: model.Fleet{Workers: workers, Slots: slots, Start: start},
		Queue: model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "job", Arrivals: arrivals, Work: work, Checkpoint: 500 * protocol.Millisecond,
			Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{At: []protocol.Instant{protocol.Instant(duration / 2)}},
		Faults:     model.Faults{Network: model.Network{Latency: latency}},
	}, nil
}

// measure runs one world under the hybrid policy.
func measure(workers, slots int, events int64) (row, error) {
	sc, err := fleet(workers, slots, events)
	if err != nil {
		return row{}, err
	}
	preset, err := model.PresetNamed("hybrid")
	if err != nil {
		return row{}, err
	}
	var before, built, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w, err := sim.NewWorld(sc, preset, 1, nil)
	if err != nil {
		return row{}, err
	}
	runtime.ReadMemStats(&built)
	began := cpuTime()
	result, err := w.Run(nil)
	if err != nil {
		return row{}, err
	}
	cpu := (cpuTime() - began).Seconds()
	runtime.ReadMemStats(&after)
	mallocs := after.Mallocs - built.Mallocs
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(w)
	r := row{
		Workers: workers, Slots: slots, Simulated: time.Duration(sc.Duration).Round(time.Second).String(),
		Events: result.Counts[meter.Events], Jobs: result.Counts[meter.JobsCompleted], CPUSeconds: cpu,
	}
	n := float64(r.Events)
	r.JobsPerCPUSecond, r.EventsPerSecond, r.NanosecondsPerEvent = float64(r.Jobs)/cpu, n/cpu, cpu*1e9/n
	r.AllocationsPerEvent = float64(mallocs) / n
	r.BytesPerWorker = float64(after.HeapAlloc-before.HeapAlloc) / float64(workers)
	return r, nil
}
