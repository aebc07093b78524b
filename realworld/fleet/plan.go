package fleet

import (
	"errors"
	"fmt"
	"strings"

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

// most of what one machine can be asked to run.
const (
	mostProcesses = 200
	fastest       = 1000
)

// Check reports what real processes cannot do of a scenario under a policy, each with the
// reason and what to do instead.
func Check(sc *model.Scenario, preset *model.Preset, speed float64) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(!(speed >= 0.01 && speed <= fastest), "speed %v must be between 0.01 and %d", speed, fastest)
	refuse(Seats(sc) > mostProcesses, "the fleet may come to %d processes at once, and this machine is asked for %d at most; lower fleet.workers", Seats(sc), mostProcesses)
	refuse(preset.Rescue != model.RescueByExpiry, "policy %s: the broker on Redis frees every job whose lease ran out, so there is no fleet without that; compare hybrid, or crash-only", preset.Name)
	refuse(preset.Deviations != (model.Preset{}).Deviations, "policy %s does what the protocol forbids, and a real worker cannot be made to; simulate compare can", preset.Name)

	q, f := &sc.Queue, &sc.Faults
	refuse(sc.Fleet.Prefetch > 0, "fleet.prefetch: package worker claims only what it can start at once")
	refuse(q.Heartbeat == model.NoHeartbeat, "queue.heartbeat: a worker that never renews its leases is refused by package worker; give one below the lease")
	refuse(q.CountAtClaim, "queue.count_at_claim: the broker on Redis counts failures, not claims")
	refuse(q.Habits != model.Habits{}, "the queue has habits of another broker (preset, max_claims, backoff_spread, mover …) that the broker on Redis does not have")
	refuse(q.OnExpiry == model.BuryExpired, "queue.on_expiry: the broker on Redis redelivers or quarantines, and dead-letters only after as many expiries as queue.poison says")
	usual := protocol.Config{Lease: q.Lease}.WithDefaults()
	refuse(q.Margin != 0 && q.Margin != usual.Margin, "queue.margin: package worker has no such option; a lease of %v is trusted until %v before its end", q.Lease, usual.Margin)
	refuse(q.Poll != 0, "queue.poll: package worker has no such option")
	refuse(f.Partition.Every > 0, "faults.partition: the fleet has no network of its own to cut")
	refuse(f.Slow.Every > 0, "faults.slow: Redis is as fast as it is")
	refuse(f.Forget > 0, "faults.failover: the fleet's Redis has no replica to fail over to")
	refuse(f.DriftPPM > 0, "faults.drift: all processes of one machine have one clock")
	for i := range sc.Jobs {
		refuse(sc.Jobs[i].CPUBound > 0, "jobs.%s.cpu_bound: Go's scheduler takes the processor away from a handler that does not let go", sc.Jobs[i].Name)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w; simulate run and compare can do it", sc.Name, err)
	}
	return nil
}

// Notes says what of a scenario is otherwise with real processes, a sentence each.
func Notes(sc *model.Scenario) []string {
	var notes, absent []string
	for _, part := range []struct {
		name  string
		there bool
	}{
		{"latency", sc.Faults.Network.Latency != nil}, {"loss", sc.Faults.Network.Loss > 0}, {"duplicates", sc.Faults.Network.Duplicate > 0},
	} {
		if part.there {
			absent = append(absent, part.name)
		}
	}
	if len(absent) > 0 {
		notes = append(notes, fmt.Sprintf("the network is this machine's: what faults.network says of %s does not apply", strings.Join(absent, " and ")))
	}
	return notes
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
			Name: j.Name, Checkpoint: j.Checkpoint, Declared: j.Declared, Undo: j.Undo, Save: j.Save, Timeout: j.Timeout,
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
