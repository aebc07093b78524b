package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPlan(t *testing.T) {
	const s = Second
	now := Instant(100 * s)
	at := func(ms int) Instant { return now.Add(Duration(ms) * Millisecond) }
	for _, c := range []struct {
		name    string
		killAt  Instant
		reserve Duration
		want    budget
	}{
		{"half of the reserve settles, a quarter flushes, a quarter exits", at(30_000), 5 * s, budget{at(25_000), at(27_500), at(28_750), at(30_000)}},
		{"a long grace moves everything and stretches nothing", at(600_000), 5 * s, budget{at(595_000), at(597_500), at(598_750), at(600_000)}},
		{"exactly the reserve is left: undo has no time", at(5_000), 5 * s, budget{at(0), at(2_500), at(3_750), at(5_000)}},
		{"a little less: the exit is shortened first", at(4_000), 5 * s, budget{at(0), at(2_500), at(3_750), at(4_000)}},
		{"less still: then the flush", at(3_000), 5 * s, budget{at(0), at(2_500), at(3_000), at(3_000)}},
		{"very little: settling has all of it", at(1_000), 5 * s, budget{at(0), at(1_000), at(1_000), at(1_000)}},
		{"nothing", at(0), 5 * s, budget{at(0), at(0), at(0), at(0)}},
		{"SIGKILL should have come already", at(-9_000), 5 * s, budget{at(0), at(0), at(0), at(0)}},
		{"no reserve", at(2_000), 0, budget{at(2_000), at(2_000), at(2_000), at(2_000)}},
		{"no deadline", Never, 5 * s, budget{Never, Never, Never, Never}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, plan(now, c.killAt, c.reserve)) })
	}
}

func TestCancelAtComesSoonerForKindsThatNeedLonger(t *testing.T) {
	cfg := Config{Kinds: []KindConfig{{}, {Gap: Second}, {Gap: Second, Undo: 2 * Second}, {Gap: Forever, Undo: Forever}}}
	m := Machine{cfg: &cfg, budget: plan(0, Instant(30*Second), 6*Second)}
	require.Equal(t, Instant(24*Second), m.cancelAt(0), "nothing to notice and nothing to undo: undoBy itself")
	require.Equal(t, Instant(23*Second), m.cancelAt(1))
	require.Equal(t, Instant(21*Second), m.cancelAt(2))
	require.Negative(t, m.cancelAt(3), "what can never fit is cancelled at once")
	m.budget = plan(0, Never, 6*Second)
	require.Equal(t, Never, m.cancelAt(3))
}

// A SIGKILL that comes nearer must not begin a slice of the budget afresh: settling would
// else eat the time of the exit each time it is told so.
func TestANearerKillMovesNoInstantAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := func(name string) Duration {
			return Duration(rapid.IntRange(0, 20_000).Draw(t, name)) * Millisecond
		}
		cfg := Config{Reserve: ms("reserve")}
		m := Machine{cfg: &cfg, budget: budget{Never, Never, Never, Never}}
		m.rebase(0, Instant(ms("kill at")))
		before := m.budget
		m.rebase(Instant(ms("now")), before.killAt.Add(-ms("nearer")))
		after := m.budget
		if after.undoBy > before.undoBy || after.settleBy > before.settleBy || after.exitBy > before.exitBy || after.killAt > before.killAt {
			t.Fatalf("%v became %v", before, after)
		}
		m.mustHold()
	})
}

// A reserve that left no time to undo would park every job that a short notice interrupts.
func TestTheReserveGivesWayToUndoDownToHalfOfWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		name string
		left Duration
		undo Duration // from now on; the reserve is 5 s, gap and undo need 3 s
	}{
		{"both fit", 20 * Second, 15 * Second},
		{"exactly", 8 * Second, 3 * Second},
		{"the reserve gives way", 7 * Second, 3 * Second},
		{"down to half", 6 * Second, 3 * Second},
		{"then undo is cut as well", 4 * Second, 2 * Second},
		{"nothing", 0, 0},
	} {
		s := occupied(plainKind)
		s.do(StopBySignal(SIGTERM, s.now.Add(c.left)))
		require.Equal(t, s.now.Add(c.undo), s.m.budget.undoBy, c.name)
	}
	idle := newStage(1, nil).serve()
	idle.do(StopBySignal(SIGTERM, idle.now.Add(4*Second)))
	require.Equal(t, idle.now, idle.m.budget.undoBy, "where nothing runs, nothing gives way")
}
