package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// most of what one machine can be asked to run.
const (
	mostProcesses = 200
	fastest       = 1000
)

// Check reports what real processes cannot do of a scenario under a policy, each with the
// reason and what to do instead, as a [*Refusal].
func Check(sc *model.Scenario, preset *model.Preset, speed float64) error {
	if supported != nil {
		return supported
	}
	var all []string
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	refuse(!(speed >= 0.01 && speed <= fastest), "speed %v must be between 0.01 and %d", speed, fastest)
	refuse(Seats(sc) > mostProcesses, "the fleet may come to %d processes at once, and this machine is asked for %d at most; lower fleet.workers", Seats(sc), mostProcesses)
	refuse(preset.Rescue != model.RescueByExpiry, "policy %s: the broker on Redis frees every job whose lease ran out, so there is no fleet without that; compare hybrid, or crash-only", preset.Name)
	refuse(preset.Deviations != (model.Preset{}).Deviations, "policy %s does what the protocol forbids, and a real worker cannot be made to", preset.Name)

	q, f, sup := &sc.Queue, &sc.Faults, &sc.Supervisor
	refuse(sc.Fleet.Prefetch > 0, "fleet.prefetch: package worker claims only what it can start at once")
	refuse(q.Heartbeat == model.NoHeartbeat, "queue.heartbeat: a worker that never renews its leases is refused by package worker; give one below the lease")
	refuse(q.CountAtClaim, "queue.count_at_claim: the broker on Redis counts failures, not claims")
	refuse(q.Habits != model.Habits{}, "the queue has habits of another broker (preset, max_claims, backoff_spread, mover …) that the broker on Redis does not have")
	refuse(q.OnExpiry == model.BuryExpired, "queue.on_expiry: the broker on Redis redelivers or quarantines, and dead-letters only after as many expiries as queue.poison says")
	usual := protocol.Config{Lease: q.Lease}.WithDefaults()
	refuse(q.Margin != 0 && q.Margin != usual.Margin, "queue.margin: package worker has no such option; a lease of %v is trusted until %v before its end", q.Lease, usual.Margin)
	refuse(q.Poll != 0, "queue.poll: package worker has no such option")
	refuse(q.InStep, "policy %s: package worker waits for jobs at the broker, and asks on no ticks (in_step)", preset.Name)
	refuse(q.Counted != model.CountedByJob, "policy %s: the handlers of the fleet count no batches down (counted)", preset.Name)
	refuse(q.Service > 0, "queue.service: Redis is as fast as it is")
	refuse(q.Park == model.NoLongPoll, "queue.long_poll: package worker always lets its claim requests wait")
	refuse(f.Partition.Every > 0, "faults.partition: the fleet has no network of its own to cut")
	refuse(f.Slow.Every > 0, "faults.slow: Redis is as fast as it is")
	refuse(f.Forget > 0, "faults.failover: the fleet's Redis has no replica to fail over to")
	refuse(f.DriftPPM > 0, "faults.drift: all processes of one machine have one clock")
	cut, err := cutsOff(f)
	refuse(err != nil, "faults.trace: %v", err)
	refuse(cut, "faults: one that is listed or recorded cuts a node off, and the fleet has no network of its own to cut")
	signal := sup.StopSignal()
	refuse(signal != protocol.SIGTERM && signal != protocol.SIGINT, "supervisor.signal: %s stops no worker, which listens to SIGTERM and SIGINT; write one of them", model.SignalName(signal))
	refuse(sc.Finding != nil && len(sc.Finding.Overrides) > 0, "finding.overrides: real processes meet what they meet, whatever a message of the simulator met")
	for i := range sc.Jobs {
		refuse(sc.Jobs[i].Batch > 0, "jobs.%s.batch: the handlers of the fleet count no batches down", sc.Jobs[i].Name)
		refuse(sc.Jobs[i].CPUBound > 0, "jobs.%s.cpu_bound: Go's scheduler takes the processor away from a handler that does not let go", sc.Jobs[i].Name)
	}
	if len(all) > 0 {
		return &Refusal{sc.Name, all}
	}
	return nil
}

// Refusal is a scenario that real processes cannot do, and every reason.
type Refusal struct {
	Scenario string
	Reasons  []string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s; simulate run and compare can do it", r.Scenario, strings.Join(r.Reasons, "; "))
}

// Add adds the reasons of another that are not among those of r.
func (r *Refusal) Add(other *Refusal) {
	for _, reason := range other.Reasons {
		if !slices.Contains(r.Reasons, reason) {
			r.Reasons = append(r.Reasons, reason)
		}
	}
}

// cutsOff reports whether one of the faults that are listed or recorded is a partition.
func cutsOff(f *model.Faults) (bool, error) {
	for _, at := range f.At {
		if at.Kind == model.NodePartition {
			return true, nil
		}
	}
	if f.Trace == nil {
		return false, nil
	}
	stream, err := f.Trace.Open()
	if err != nil {
		return false, err
	}
	defer stream.Close() // it is only read
	for {
		switch next, ok, err := stream.Next(); {
		case err != nil || !ok:
			return false, err
		case next.Kind == model.NodePartition:
			return true, nil
		}
	}
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
