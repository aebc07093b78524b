package hunt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/sim/explore"
	"github.com/quiesce/quiesce/sim/hunt"
)

// smallWorlds has for each mistake that a search of every order can show a world in which it does.
var smallWorlds = map[string]string{
	"any-answer-counts": "late-and-doubled", "attempt-at-claim": "returns", "bounces-jobs": "rollout", "cancels-at-stop": "returns",
	"claim-renumbered": "progress", "claims-after-stop": "two-slots", "commits-before-saved": "progress", "deadline-constant": "limits",
	"escalation-waits": "signals", "going-unsaid": "cancels-at-once", "heartbeat-stops-at-stop": "signals", "heartbeat-under-work": "limits",
	"interruption-cancels": "progress", "interruption-fails": "returns", "late-ack-uncounted": "progress", "late-claim-dropped": "stop-and-loss",
	"late-claim-run": "stop-and-loss", "lease-from-reply": "zombie", "lease-from-retry": "zombie", "ledger-omits-left": "signals",
	"never-distrusts": "zombie", "never-softens": "progress", "notice-counts-as-signal": "signals", "prestop-forgotten": "signals",
	"release-before-return": "returns", "release-before-undo": "returns", "release-in-two-steps": "returns", "renew-resurrects": "returns",
	"runs-beside-zombie": "zombie", "runs-unknown-version": "foreign", "second-signal-kills": "returns", "settle-under-work": "limits",
	"settle-unfenced": "zombie", "settles-once": "progress", "shared-undo-after-loss": "zombie", "undo-skipped": "returns",
	"unknown-dropped": "foreign", "withdraw-skipped": "stop-and-loss",
}

// searchedStory is the shortest story that a search of every order finds in a world.
func searchedStory(t *testing.T, mistake, world string) []explore.Line {
	t.Helper()
	w, ok := explore.Named(world)
	require.True(t, ok, world)
	id, ok := deviation.Named(mistake)
	require.True(t, ok, mistake)
	w.Deviations = deviation.Of(id)
	rep := explore.Run(w, explore.Options{MaxStates: 1_000_000, Symmetry: true, Partial: true})
	require.NotEmpty(t, rep.Broken, "%s in %s", mistake, world)
	return rep.Story
}

// The shortest there is takes a search of every order, in a world made for it. What chance has
// found in a world made for nothing is at most two lines longer, for every mistake that both can
// show: each line is one event with what was done about it at once, here as there.
func TestStoriesAreHardlyLongerThanTheShortest(t *testing.T) {
	for mistake, world := range smallWorlds {
		res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 20_000, Fault: mistake})
		require.NoError(t, err)
		require.NotNil(t, res.Found, mistake)
		require.NotNil(t, res.Found.Story, mistake)
		shortest := searchedStory(t, mistake, world)
		assert.LessOrEqual(t, len(res.Found.Story.Lines), len(shortest)+2, "%s:\n%v\n%v", mistake, res.Found.Story, shortest)
	}
}

// A line tells what was done about an event at once, and what comes later is another line.
func TestALineIsAnEventAndWhatWasDoneAboutIt(t *testing.T) {
	res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 2000, Fault: "release-before-return"})
	require.NoError(t, err)
	lines := res.Found.Story.Lines
	require.NotEmpty(t, lines)
	assert.Regexp(t, `^job \d+ arrives; the broker gives job \d+ to worker \d+$`, lines[0].Text)
	assert.Regexp(t, `^worker \d+ starts job \d+$`, lines[1].Text)
	assert.Regexp(t, `cancels job \d+ \(.+\) and sends release for job \d+ \(.+\)$`, lines[len(lines)-1].Text)
	for i := 1; i < len(lines); i++ {
		assert.LessOrEqual(t, lines[i-1].At, lines[i].At)
	}
}
