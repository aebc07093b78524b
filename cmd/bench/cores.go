package main

import (
	"runtime"
	"sync"
	"time"
)

// cores says how much of each core is left when all of them run replications: the time that
// one replication takes alone, as a part of what as many as there are cores take at once.
type cores struct {
	Cores        int     `json:"cores"`
	Replications int     `json:"replications"`
	ByClock      float64 `json:"efficiency_by_clock"`
	ByCPU        float64 `json:"efficiency_by_cpu"` // what others run on this machine does not count
}

// What a replication is made of: worlds as people compare policies in.
const (
	coreWorkers   = 1000
	coreSlots     = 1
	coreSimulated = 4 * time.Minute
)

// measureCores runs one replication and then as many as there are cores, in turn, and keeps
// the best time of each.
func measureCores(events int64, best int) (cores, error) {
	n := runtime.GOMAXPROCS(0)
	probe, err := measureWorlds(coreWorkers, coreSlots, coreSimulated, 1)
	if err != nil {
		return cores{}, err
	}
	times := int(max(events/probe.Events, 1)) // worlds per replication
	var clock, cpu [2]time.Duration           // alone, and all at once
	for i := range best {
		for k, at := range []int{1, n} {
			wall, used, err := replicate(at, times)
			if err != nil {
				return cores{}, err
			}
			used /= time.Duration(at)
			if i == 0 || wall < clock[k] {
				clock[k] = wall
			}
			if i == 0 || used < cpu[k] {
				cpu[k] = used
			}
		}
	}
	return cores{Cores: n, Replications: n, ByClock: clock[0].Seconds() / clock[1].Seconds(), ByCPU: cpu[0].Seconds() / cpu[1].Seconds()}, nil
}

// replicate runs a number of replications at once, each of some worlds one after the other,
// all of the same seeds so that each has as much to do.
func replicate(at, times int) (wall, cpu time.Duration, err error) {
	sc, err := fleet(coreWorkers, coreSlots, coreSimulated)
	if err != nil {
		return 0, 0, err
	}
	runtime.GC()
	began, used := time.Now(), cpuTime()
	errs := make([]error, at)
	var all sync.WaitGroup
	for i := range at {
		all.Go(func() {
			for seed := range times {
				w, err := newWorld(sc, uint64(seed+1))
				if err == nil {
					_, err = w.Run(nil)
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	for _, e := range errs {
		if e != nil {
			err = e
		}
	}
	return time.Since(began), cpuTime() - used, err
}
