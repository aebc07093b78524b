package hunt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/sim/explore"
	"github.com/quiesce/quiesce/sim/hunt"
)

// searchedStory is the shortest story of a mistake that a search of every order finds.
func searchedStory(t *testing.T, id deviation.ID) []explore.Line {
	t.Helper()
	r := explore.RefutationOf(id)
	w, ok := explore.Named(r.World)
	require.True(t, ok, "%v: there is no world %q", id, r.World)
	w.Deviations = deviation.Of(id)
	rep := explore.Run(w, explore.Options{MaxStates: 1_000_000, Symmetry: true, Partial: true, Edges: r.Cycles})
	require.NotEmpty(t, rep.Broken, "%v in %s", id, r.World)
	return append(rep.Story, rep.Cycle...)
}

// The shortest there is takes a search of every order, in a world made for it. What chance has
// found in a world made for nothing is at most two lines longer, for every mistake: each line is
// one event with what was done about it at once, here as there.
func TestStoriesAreHardlyLongerThanTheShortest(t *testing.T) {
	for _, id := range deviation.All() {
		res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 20_000, Fault: id.String()})
		require.NoError(t, err)
		require.NotNil(t, res.Found, "%v", id)
		require.NotNil(t, res.Found.Story, "%v", id)
		shortest := searchedStory(t, id)
		t.Logf("%v: %d lines, and %d", id, len(res.Found.Story.Lines), len(shortest))
		assert.LessOrEqual(t, len(res.Found.Story.Lines), len(shortest)+2, "%v:\n%v\n%v", id, res.Found.Story, shortest)
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
