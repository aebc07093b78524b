package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every value of every enumeration has a name of its own; one beyond them prints as a number.
func TestEveryValueHasAName(t *testing.T) {
	for _, names := range [][]string{
		phaseNames[:], slotNames[:], requestNames[:], eventNames[:], codeNames[:], sourceNames[:],
		effectNames[:], verbNames[:], reasonNames[:], causeNames[:], noteNames[:], outcomeNames[:], deadlineNames[:],
	} {
		seen := map[string]bool{}
		for i, name := range names {
			require.NotEmpty(t, name, "value %d after %v", i, names[:i])
			require.False(t, seen[name], "%q twice", name)
			seen[name] = true
		}
	}
	require.Equal(t, "200", Phase(200).String())
	for value, want := range map[fmt.Stringer]string{
		PhaseDraining: "Draining", SlotZombie: "Zombie", RequestWithdrawing: "Withdrawing", Estimated: "Estimated",
		UndoFailed: "undo-failed", FromSelf: "self", Exit: "Exit", Quarantine: "quarantine", BecauseCut: "cut",
		ErrCancelled: "cancelled", EverySlotWedged: "wedged", WasUnsettled: "unsettled",
		SIGINT: "SIGINT", SIGTERM: "SIGTERM", Signal(1): "signal 1",
	} {
		require.Equal(t, want, value.String())
	}
}
