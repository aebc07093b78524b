package fleet

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Plan is one run.
type Plan struct {
	Scenario *model.Scenario // as it is under the policy
	Preset   model.Preset
	Seed     uint64  // given to Fates
	Jobs     []Job   // in order of arrival
	Faults   []Fault // of seats, in order of time; see Seats
	Chance   Chance
	URL      string  // of Redis
	Speed    float64 // how many seconds of the scenario pass in one of the wall's

	// Beyond is how long after the end of the run the fleet may go on until every job has
	// ended, to see whether it does. Nothing of it is measured.
	Beyond protocol.Duration
	// Progress, unless nil, is told now and then how far the run has come.
	Progress func(now, end protocol.Instant)

	lease   protocol.Duration // what the broker grants, instead of the scenario's; tests get it wrong
	command []string          // that worker processes are started with; nil is this binary
}

// Job is one job on its way to the queue. Jobs are numbered from 1 in order of arrival.
type Job struct {
	At   protocol.Instant
	Job  protocol.JobKey
	Kind protocol.Kind
	Work protocol.Duration
}

// Fault is what hits whoever is in a seat.
type Fault struct {
	At     protocol.Instant
	Seat   int32
	Kind   FaultKind
	Length protocol.Duration // of a pause; of the notice before a preemption
}

// FaultKind is what happens to the process in a seat.
type FaultKind uint8

// Kinds of faults.
const (
	Crash   FaultKind = iota // it is killed, and another one starts in its seat
	Pause                    // it is made to stand still
	Evict                    // it is stopped with the grace of an eviction
	Preempt                  // it is told when it will be killed
)

// Chance is what the supervisor must not draw by itself, or no two runs would be the same.
type Chance interface {
	// Start is how long a life of a seat takes from its creation to its Register; lives are
	// counted from 1.
	Start(seat int32, life int) protocol.Duration
	// Victim ranks the seats that a deploy stops, the least first.
	Victim(deploy int, seat int32) uint64
	// ScaleIn ranks the seats that a scale-in stops, the least first.
	ScaleIn(n int, seat int32) uint64
	// Drill says whether the drain of a seat is killed on purpose, and how long after the stop
	// signal.
	Drill(deploys int, seat int32, span protocol.Duration) (after protocol.Duration, killed bool)
}

// Seats returns how many seats a fleet has: processes that are being stopped keep theirs, so
// a rollout may need as many again.
func Seats(sc *model.Scenario) int {
	n := sc.Fleet.Workers
	return 2*n + sc.Supervisor.Rollout.Surge(n)
}

// configOf derives what worker processes are told. The seat's own part is left out.
func (p *Plan) configOf(generation uint32) processConfig {
	sc := p.Scenario
	c := processConfig{
		Speed: p.Speed, Seed: p.Seed, Generation: generation, URL: p.URL,
		Slots: sc.Fleet.Slots, Policy: p.Preset.Policy,
		Lease: sc.Queue.Lease, Heartbeat: sc.Queue.Heartbeat, Park: max(sc.Queue.Park, 0), DriftPPM: max(sc.Queue.DriftPPM, 1),
		Grace: sc.Supervisor.WorkerGrace(), Reserve: p.Preset.Reserve, Pauses: p.pauses(),
	}
	if c.Grace == 0 { // it is killed without a word, so it never reckons with it
		c.Grace = protocol.Hour
	}
	for i := range sc.Jobs {
		j := &sc.Jobs[i]
		k := kindConfig{
			Name: j.Name, Checkpoint: j.Checkpoint, Declared: j.Declared, Undo: j.Undo, Save: j.Save, Flush: j.Flush, Timeout: j.Timeout,
			MinVersion: j.Version, MaxVersion: j.Version, UndoFails: j.UndoFails, Deaf: j.Deaf, Fails: j.Fails, OOM: j.OOM,
		}
		if generation > 0 {
			k.MaxVersion = max(j.Version, j.NewVersion)
		}
		c.Kinds = append(c.Kinds, k)
	}
	return c
}

func (p *Plan) pauses() bool {
	for i := range p.Faults {
		if p.Faults[i].Kind == Pause {
			return true
		}
	}
	return false
}

var _ worker.Clock = clock{}
