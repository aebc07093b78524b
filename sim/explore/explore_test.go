package explore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
)

// limit is well above the size of any world here; reaching it is a failure.
const limit = 1_000_000

func TestTwoByTwoIsSeenCompletelyAndHolds(t *testing.T) {
	rep := Run(TwoByTwo(), limit)
	require.Empty(t, rep.Broken, strings.Join(rep.Story, "\n"))
	assert.True(t, rep.Complete, "%d states seen, and there are more", rep.States)
	assert.Greater(t, rep.States, 50_000, "a world this small has lost its interesting orders")
	t.Logf("%d states, %d transitions, depth %d", rep.States, rep.Transitions, rep.Depth)
}

func TestDeviationsAreRefutedByTheInvariantTheyBreak(t *testing.T) {
	for _, c := range []struct {
		deviation deviation.ID
		broken    string // part of what is reported
		story     int    // the longest story that is accepted
	}{
		{deviation.LateClaimDropped, "exited with status 0 and holds", 4},
		{deviation.WithdrawSkipped, "exited with status 0 and holds", 4},
		{deviation.ReleaseBeforeReturn, "rule 8", 10},
		{deviation.ReleaseBeforeUndo, "rule 7", 12},
		{deviation.InterruptionFails, "rule 17", 12},
		{deviation.InterruptionCancels, "rule 17", 12},
		{deviation.RenewResurrects, "exited with status 0 and holds", 25},
		{deviation.DeadlineConstant, "rule 5", 25},
		{deviation.GoingUnsaid, "rule 19", 40},
	} {
		w := TwoByTwo()
		w.Deviations = deviation.Of(c.deviation)
		rep := Run(w, limit)
		assert.Contains(t, rep.Broken, c.broken, "%v", c.deviation)
		assert.LessOrEqual(t, len(rep.Story), c.story, "%v:\n%s", c.deviation, strings.Join(rep.Story, "\n"))
		assert.NotEmpty(t, rep.Story, "%v", c.deviation)
	}
}

func TestTheSameSearchTwiceSeesTheSame(t *testing.T) {
	w := TwoByTwo()
	w.Jobs, w.Losses = 1, 0
	first := Run(w, limit)
	assert.True(t, first.Complete)
	assert.Equal(t, first, Run(w, limit))
}

func TestAStoryEndsInTheStateThatIsReported(t *testing.T) {
	w := TwoByTwo()
	w.Deviations = deviation.Of(deviation.ReleaseBeforeReturn)
	rep := Run(w, limit)
	require.NotEmpty(t, rep.Broken)
	assert.Contains(t, strings.Join(rep.Story, "\n"), "SIGTERM")
	assert.Contains(t, rep.Story[len(rep.Story)-1], "release job")
}

// Merging states by their canonical form must lose none: every path of a given length,
// followed without merging anything, ends in a state that the merged search knows too.
func TestCanonicalFormsLoseNoState(t *testing.T) {
	w := TwoByTwo()
	w.Workers, w.Jobs = 1, 1
	const depth = 14
	s := newSearch(w)

	unmerged := map[[2]uint64]bool{}
	paths := 0
	var walk func(st *state, left int)
	walk = func(st *state, left int) {
		paths++
		unmerged[digest(s.key(st))] = true
		if left == 0 {
			return
		}
		for _, a := range s.actions(st, nil) {
			c := s.clone(st)
			s.apply(c, a)
			walk(c, left-1)
			s.recycle(c)
		}
	}
	walk(s.initial(), depth)

	merged := map[[2]uint64]bool{}
	level := []*state{s.initial()}
	merged[digest(s.key(level[0]))] = true
	for range depth {
		var next []*state
		for _, st := range level {
			for _, a := range s.actions(st, nil) {
				c := s.clone(st)
				s.apply(c, a)
				if k := digest(s.key(c)); !merged[k] {
					merged[k] = true
					next = append(next, c)
				}
			}
		}
		level = next
	}
	assert.Equal(t, unmerged, merged)
	assert.Greater(t, paths, 20*len(merged), "so few paths prove nothing")
}

// A copy must share nothing with what it was copied from.
func TestACloneIsIndependent(t *testing.T) {
	s := newSearch(TwoByTwo())
	st := s.initial()
	for depth := 0; depth < 12; depth++ {
		before := string(s.key(st))
		acts := s.actions(st, nil)
		for _, a := range acts {
			s.apply(s.clone(st), a)
			require.Equal(t, before, string(s.key(st)), "%s changed the state it was cloned from", s.describe(st, a))
		}
		c := s.clone(st)
		s.apply(c, acts[depth%len(acts)])
		st = c
	}
}

func BenchmarkTwoByTwo(b *testing.B) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += Run(TwoByTwo(), limit).Transitions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "transitions/s")
}
