package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
)

// TestEffectsPerStepIsABound brings about the worst step there is: a paused worker, full of
// jobs, is stopped when SIGKILL is due. The bound holds, and it is no larger than it must be.
// Random drivers look for a worse one in every run.
func TestEffectsPerStepIsABound(t *testing.T) {
	for slots := 1; slots <= 12; slots++ {
		for queues := 1; queues <= 3; queues++ {
			t.Run(fmt.Sprintf("slots=%d queues=%d", slots, queues), func(t *testing.T) {
				s := newStage(slots, func(c *Config) {
					c.Queues, c.Lease, c.Heartbeat, c.Park = queues, 30*Second, 10*Second, 15*Second
					c.Deviations = deviation.Of(deviation.ReleaseBeforeReturn)
				}).serve()
				for i := range slots {
					s.grant(JobKey(i+1), plainKind)
				}
				s.until(renewRound, NoSlot)
				s.do(Event{}) // a renewal is out
				s.now = s.now.Add(s.cfg.Heartbeat)
				s.do(StopBySignal(SIGTERM, s.now))
				require.Equal(t, PhaseGone, s.m.phase)
				n := len(s.fx.All())
				require.LessOrEqual(t, n, EffectsPerStep(slots, queues))
				// Nothing is left of the request of the first queue; Register and the note of a
				// worker that drains itself cannot be had in the same step.
				require.Equal(t, 9*slots+5*(queues-1)+1+1, n, "%v", s.fx.All())
			})
		}
	}
}

func TestNewEffectsHasTheMemory(t *testing.T) {
	require.Equal(t, EffectsPerStep(7, 2), cap(NewEffects(7, 2).buf))
}
