package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// unpaused is a small fleet to which everything happens but that its processes stand still.
func unpaused(slots int, park protocol.Duration) *model.Scenario {
	sc := smallFleet()
	sc.Fleet.Slots, sc.Queue.Park = slots, park
	sc.Faults.Pause = model.Spell{}
	sc.Faults.Partition.Every = 5 * protocol.Minute
	sc.Faults.Slow = model.Spell{Every: protocol.Minute, Length: table(dist.Constant(10 * second))}
	sc.Faults.SlowBy = 3 * protocol.Second
	sc.Faults.Forget, sc.Faults.ForgetFor = 5*protocol.Minute, protocol.Second
	sc.Faults.Network.Loss, sc.Faults.Network.Duplicate = 50_000_000, 50_000_000
	return sc
}

func TestNoProcessMissesItsDeadline(t *testing.T) {
	for slots := 1; slots <= 4; slots++ {
		for _, park := range []protocol.Duration{model.NoLongPoll, protocol.Second, 20 * protocol.Second} {
			w := newWorld(t, unpaused(slots, park), "hybrid", uint64(slots))
			w.Observe(func(o Observation) {
				for i := range w.fleet.used() {
					if p := w.fleet.at(i); p.state == seatUp && p.sent > 0 && o.At > p.global(p.machine.Deadline()) {
						require.FailNow(t, "a deadline passed", "%d slots, park %v: seat %d wanted to be stepped at %d, and it is %d", slots, park, i, p.machine.Deadline(), p.local(o.At))
					}
				}
			})
			require.Positive(t, run(t, w).Counts[meter.JobsCompleted])
		}
	}
}

// A job that is claimed, executed and acked takes six events: its arrival, two messages and their
// answers, and the return of its handler. What comes on top are renewals of the longer ones, polls
// that bring nothing, and ticks.
func TestMostDeadlinesCostNoEvent(t *testing.T) {
	sc := fiveMinuteFleet(200, 2*protocol.Hour)
	sc.Deploys = model.Deploys{}
	row := run(t, newWorld(t, sc, "hybrid", 1))
	jobs, events := row.Counts[meter.JobsCompleted], row.Counts[meter.Events]
	require.Positive(t, jobs)
	require.Less(t, 10*events/jobs, int64(80), "%d events for %d jobs", events, jobs)
}
