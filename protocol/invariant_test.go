package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Step ends with mustHold, and mustHold notices each thing that must not be.
func TestAStepNoticesABrokenMachine(t *testing.T) {
	for want, damage := range map[string]func(*stage){
		"the budget's instants are out of order":           func(s *stage) { s.m.budget.undoBy = s.m.budget.killAt + 1 },
		"a free slot holds a claim":                        func(s *stage) { s.m.slots[1].token = 5 },
		"a handler runs that was not told to stop":         func(s *stage) { s.m.phase = PhaseSettling; s.m.budget = budget{Never, Never, Never, Never} },
		"a slot leaked before the end":                     func(s *stage) { s.m.slots[0].state = SlotLeaked },
		"a slot is taken before the worker was registered": func(s *stage) { s.m.phase, s.m.retries, s.m.slots[0].state = PhaseBooting, 1, SlotZombie },
		"a deadline is armed in Gone":                      func(s *stage) { s.m.phase = PhaseGone },
	} {
		t.Run(want, func(t *testing.T) {
			s := newStage(2, nil).serve().grant(1, plainKind).do(StopBySignal(SIGTERM, Never))
			damage(s)
			if s.m.phase == PhaseGone { // Step itself disarms everything there
				require.PanicsWithValue(t, "protocol: invariant broken: "+want+" (phase Gone, slot -1, incarnation 1)", s.m.mustHold)
				return
			}
			broken, message := impossibly(func() { s.do(Event{}) })
			require.True(t, broken)
			require.Contains(t, message, "protocol: invariant broken: "+want)
		})
	}
}
