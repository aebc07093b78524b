package main

import (
	"math"
	"time"

	"github.com/quiesce/quiesce/sim/lab"
)

// report is everything that compare and run have to say, before it is given a form.
type report struct {
	scenario  *scene
	seeds     int // replications that were finished
	firstSeed uint64
	policies  []lab.Policy
	paired    []lab.Difference
	verdict   verdict
	warmup    warmup
	stop      string // why there are no more replications
	broken    []broken
	notes     []string
	run       *runFacts   // of run; nil for compare
	fleet     *fleetFacts // of real processes; nil for what was simulated
	repeat    string      // the command line that gives the same numbers
	meta      meta
}

// runFacts is what only a single run has.
type runFacts struct {
	traceHash uint64 // 0 of real processes, which have none
}

// meta is what differs from one machine and one moment to the next, and nothing else does.
type meta struct {
	wall   time.Duration
	events float64 // simulated, over all runs
	asked  int     // replications asked for
}

func (m meta) eventsPerSecond() float64 {
	if m.wall <= 0 {
		return 0
	}
	return m.events / m.wall.Seconds()
}

// total returns a count over all replications, or 0 when it was not measured.
func total(all []lab.Estimate, name string) float64 {
	if e := metric(all, name); e != nil && e.Replications > 0 {
		return math.Round(e.Mean * float64(e.Replications))
	}
	return 0
}

// metric finds an estimate by name, or nil.
func metric(all []lab.Estimate, name string) *lab.Estimate {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
