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

// load is the share of the slots that jobs keep busy.
const load = 0.75

// meanWork is that of the one-minute jobs.
const meanWork = protocol.Minute

// fleet is a world of one-minute jobs that is deployed once. Every size is run for the same
// time, so that boot, rollout and the jobs that have not ended weigh the same.
func fleet(workers, slots int, simulated time.Duration) (*model.Scenario, error) {
	arrivals, err := dist.Exponential(max(int64(float64(meanWork)/load/float64(workers*slots)), 1))
	if err != nil {
		return nil, err
	}
	work, err := dist.Lognormal(int64(45*protocol.Second), int64(4*protocol.Minute))
	if err != nil {
		return nil, err
	}
	start, err := dist.Uniform(int64(3*protocol.Second), int64(7*protocol.Second))
	if err != nil {
		return nil, err
	}
	latency, err := dist.Lognormal(int64(protocol.Millisecond), int64(20*protocol.Millisecond))
	if err != nil {
		return nil, err
	}
	return &model.Scenario{
		Name: "bench", Duration: protocol.Duration(simulated),
		Fleet: model.Fleet{Workers: workers, Slots: slots, Start: start},
		Queue: model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "job", Arrivals: arrivals, Work: work, Checkpoint: 500 * protocol.Millisecond,
			Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{At: []protocol.Instant{protocol.Instant(simulated / 2)}},
		Faults:     model.Faults{Network: model.Network{Latency: latency}},
	}, nil
}

func newWorld(sc *model.Scenario, seed uint64) (*sim.World, error) {
	preset, err := model.PresetNamed("hybrid")
	if err != nil {
		return nil, err
	}
	return sim.NewWorld(sc, preset, seed, nil)
}

// measureWorlds runs worlds of one size, one after the other, until enough has happened.
func measureWorlds(workers, slots int, simulated time.Duration, events int64) (row, error) {
	r := row{What: "world", Workers: workers, Slots: slots, Simulated: simulated.String()}
	sc, err := fleet(workers, slots, simulated)
	if err != nil {
		return row{}, err
	}
	var cpu time.Duration
	var mallocs uint64
	for seed := uint64(1); r.Events < events; seed++ {
		before := heap()
		w, err := newWorld(sc, seed)
		if err != nil {
			return row{}, err
		}
		built, began := memory(), cpuTime()
		result, err := w.Run(nil)
		if err != nil {
			return row{}, err
		}
		cpu += cpuTime() - began
		mallocs += memory().Mallocs - built.Mallocs
		r.BytesPerWorker = float64(heap()-before) / float64(workers)
		r.Pending = w.Pending()
		runtime.KeepAlive(w)
		r.Runs++
		r.Events += result.Counts[meter.Events]
		r.Jobs += result.Counts[meter.JobsCompleted]
	}
	r.rate(cpu, mallocs)
	return r, nil
}

// atRest returns the bytes that a worker takes of a fleet that has booted and waits for its first
// job: its seat, its process, and what the broker knows of it.
func atRest(workers, slots int) (float64, error) {
	const booted = time.Minute
	sc, err := fleet(workers, slots, booted)
	if err != nil {
		return 0, err
	}
	if sc.Jobs[0].Arrivals, err = dist.Constant(2 * int64(booted)); err != nil {
		return 0, err
	}
	sc.Deploys = model.Deploys{}
	before := heap()
	w, err := newWorld(sc, 1)
	if err != nil {
		return 0, err
	}
	if _, err := w.Run(nil); err != nil {
		return 0, err
	}
	held := heap() - before
	runtime.KeepAlive(w)
	return float64(held) / float64(workers), nil
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// heap returns the bytes that are in use, without garbage.
func heap() int64 {
	runtime.GC()
	return int64(memory().HeapAlloc)
}
