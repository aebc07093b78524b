package explore

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// limit is well above the size of any world that is searched here; reaching it is a failure.
const limit = 1_000_000

// both is how worlds are searched when it does not matter how.
var both = Options{MaxStates: limit, Symmetry: true, Partial: true}

func named(t *testing.T, name string) World {
	t.Helper()
	w, ok := Named(name)
	require.True(t, ok, name)
	return w
}

// holds searches a world in which nothing must break.
func holds(t *testing.T, w World, opts Options) Report {
	t.Helper()
	rep := Run(w, opts)
	require.Empty(t, rep.Broken, "%s:\n%s", w.Name, tale(rep))
	require.True(t, rep.Complete, "%s: %d states seen, and there are more", w.Name, rep.States)
	return rep
}

func tale(rep Report) string {
	var b strings.Builder
	for _, l := range append(rep.Story, rep.Cycle...) {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// searched are the results of all worlds that do not take minutes.
var searched = sync.OnceValue(func() map[string]Report {
	opts := both
	opts.Coverage, opts.Lanes, opts.Each = true, runtime.GOMAXPROCS(0), atOnce
	reports := map[string]Report{}
	for _, w := range Worlds() {
		if !w.Large {
			reports[w.Name] = Run(w, opts)
		}
	}
	return reports
})

func TestEveryWorldIsSeenCompletelyAndHolds(t *testing.T) {
	names := map[string]bool{}
	for _, w := range Worlds() {
		assert.False(t, names[w.Name], "two worlds are called %s", w.Name)
		assert.NotEmpty(t, w.About)
		names[w.Name] = true
		cfg := w.machine()
		assert.NoError(t, cfg.WithDefaults().Validate(), w.Name)
		if w.Large {
			continue // simulate explore --all, in make check
		}
		t.Run(w.Name, func(t *testing.T) {
			rep := searched()[w.Name]
			require.Empty(t, rep.Broken, tale(rep))
			require.True(t, rep.Complete, "%d states seen, and there are more", rep.States)
			t.Logf("%d states, %d transitions, depth %d, %d bytes each", rep.States, rep.Transitions, rep.Depth, rep.Bytes/rep.States)
		})
	}
	assert.GreaterOrEqual(t, len(names), 6)
}

func TestEveryDeviationIsRefuted(t *testing.T) {
	for _, id := range deviation.All() {
		t.Run(id.String(), func(t *testing.T) {
			c := RefutationOf(id)
			w := named(t, c.World)
			w.Deviations = deviation.Of(id)
			opts := both
			if c.Cycles {
				holds(t, w, opts)
				opts.Edges = true
			}
			rep := Run(w, opts)
			assert.Equal(t, c.Invariant.String(), rep.Broken.Invariant, rep.Broken.What)
			assert.Len(t, rep.Story, c.Lines, tale(rep))
		})
	}
}

// Reductions change no verdict: not on the sound protocol, and not on any that is broken.
func TestReductionsAgreeWithTheWholeSearch(t *testing.T) {
	for _, name := range []string{"fair", "foreign", "dies-late", "cancels-at-once", "zombie", "late-and-doubled", "progress", "signals", "rollout", "two-kinds"} {
		w := named(t, name)
		whole := holds(t, w, Options{MaxStates: limit})
		smaller := false
		for _, rep := range []Report{
			holds(t, w, Options{MaxStates: limit, Symmetry: true}), holds(t, w, Options{MaxStates: limit, Partial: true}), searched()[name],
		} {
			assert.LessOrEqual(t, rep.States, whole.States, "%s", name)
			smaller = smaller || rep.Transitions < whole.Transitions
		}
		assert.True(t, smaller || w.Workers == 1, "%s: nothing was reduced", name)
	}
	for _, id := range deviation.All() {
		c := RefutationOf(id)
		w := named(t, c.World)
		w.Deviations = deviation.Of(id)
		for _, opts := range []Options{{}, {Symmetry: true}, {Partial: true}} {
			opts.MaxStates, opts.Edges = limit, c.Cycles
			rep := Run(w, opts)
			assert.Equal(t, c.Invariant.String(), rep.Broken.Invariant, "%v with %+v: %s", id, opts, rep.Broken.What)
			switch {
			case c.Cycles: // where one is entered depends on which orders are tried
			case rep.Cycle != nil: // the schedule without faults takes workers in their order, and symmetry gives them another
				assert.InDelta(t, c.Lines, len(rep.Story), 1, "%v with %+v:\n%s", id, opts, tale(rep))
			default:
				assert.Len(t, rep.Story, c.Lines, "%v with %+v:\n%s", id, opts, tale(rep))
			}
		}
	}
}

// Symmetry is worth it where there is some.
func TestSymmetryMakesAWorldSmaller(t *testing.T) {
	w := named(t, "fair")
	whole, folded := holds(t, w, Options{}), holds(t, w, Options{Symmetry: true})
	assert.Greater(t, whole.States, 2*folded.States, "two workers, and jobs that have ended")
}

// atOnce runs parts in goroutines.
func atOnce(n int, do func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func TestTheSameIsFoundByAnyNumberOfLanes(t *testing.T) {
	broken := named(t, "stop-and-loss")
	broken.Deviations = deviation.Of(deviation.RenewResurrects)
	for _, w := range []World{named(t, "progress"), broken} {
		opts := both
		opts.Coverage = true
		first := Run(w, opts)
		for _, lanes := range []int{1, 2, 3} {
			opts.Lanes, opts.Each = lanes, atOnce
			assert.Equal(t, first, Run(w, opts), "%s, %d lanes", w.Name, lanes)
		}
	}
}

func TestASearchStopsWhenItIsToldTo(t *testing.T) {
	w := named(t, "stop-and-loss")
	rep := Run(w, Options{MaxStates: 5000})
	assert.False(t, rep.Complete)
	assert.Equal(t, "the limit of states", rep.Bound)
	assert.GreaterOrEqual(t, rep.States, 5000)
	calls := 0
	rep = Run(w, Options{Progress: func(p Progress) bool {
		calls++
		assert.Positive(t, p.States)
		return calls < 3
	}})
	assert.Equal(t, 3, calls)
	assert.Equal(t, "it was interrupted", rep.Bound)
}

func TestAStoryEndsInWhatIsReported(t *testing.T) {
	w := named(t, "stop-and-loss")
	w.Deviations = deviation.Of(deviation.ReleaseBeforeReturn)
	rep := Run(w, both)
	require.NotEmpty(t, rep.Broken)
	assert.Contains(t, tale(rep), "SIGTERM")
	assert.Contains(t, rep.Story[len(rep.Story)-1].What, "broker: release job")
}

// From the smallest world on: a handler that hands its job back for ever is fair to everybody,
// and its job is never done. The schedule without faults does not show that.
func TestAFairCycleIsFound(t *testing.T) {
	opts := Options{Edges: true}
	holds(t, named(t, "fair"), opts)
	w := named(t, "fair")
	w.Workers, w.Jobs, w.Returns = 1, 1, Yields
	holds(t, w, Options{})
	rep := Run(w, opts)
	assert.Equal(t, "done-after-faults", rep.Broken.Invariant)
	assert.Contains(t, rep.Broken.What, "for ever, fairly")
}

// Two workers that hand one job to and fro: the story ends where that begins, and one lap of it
// passes time and has handlers come back.
func TestAFairCycleIsToldInOneLap(t *testing.T) {
	w := named(t, "tight")
	holds(t, w, Options{Edges: true})
	w.Deviations = deviation.Of(deviation.DistrustsEarly)
	opts := both
	opts.Edges = true
	rep := Run(w, opts)
	require.Contains(t, rep.Broken.What, "for ever, fairly")
	lap := ""
	for _, l := range rep.Cycle {
		lap += l.What + "\n"
	}
	assert.Contains(t, lap, "time passes")
	assert.Contains(t, lap, "worker 0: the cancelled handler of job 1 returns")
	assert.Contains(t, lap, "worker 1: the cancelled handler of job 1 returns")
	assert.GreaterOrEqual(t, rep.Cycle[0].At, rep.Story[len(rep.Story)-1].At)
	plain := Run(w, Options{Edges: true, Partial: true})
	assert.Equal(t, plain, rep, "whose turn it is cannot be told with symmetry")
}

func TestLivenessIsToldWithItsCycle(t *testing.T) {
	w := named(t, "progress")
	w.Deviations = deviation.Of(deviation.SettlesOnce)
	rep := Run(w, both)
	require.Equal(t, "done-after-faults", rep.Broken.Invariant)
	assert.Contains(t, tale(rep), "ack job 1", "the settling that fails")
	assert.NotEmpty(t, rep.Cycle)
}

// A worker that has stopped to ask breaks nothing that could be seen in a state or a step.
func TestSomeMistakesBreakLivenessAlone(t *testing.T) {
	unfinished := 0
	for _, name := range []string{"weighs", "signals", "limits", "distrust", "zombie", "liar-dies"} {
		w := named(t, name)
		w.Deviations = deviation.Of(deviation.AskingEnds)
		rep := Run(w, both)
		assert.Equal(t, "done-after-faults", rep.Broken.Invariant, "%s: %s", name, rep.Broken.What)
		if rep.Complete {
			unfinished++
		}
	}
	assert.Positive(t, unfinished, "of some states only the schedule without faults shows that they lead nowhere")
}

// A visited state takes little memory, in the smallest worlds too.
func TestAVisitedStateTakesLessThanAHundredBytes(t *testing.T) {
	for name, rep := range searched() {
		assert.Less(t, rep.Bytes/rep.States, 100, name)
	}
}

// Only registration may be over at once: in which order first claims arrive is for a search to find out.
func TestTheFirstRequestOfALifeIsOnTheWire(t *testing.T) {
	for _, w := range Worlds() {
		first := protocol.Claim
		if w.Boots {
			first = protocol.Register
		}
		st := newEngine(w).initial()
		assert.Len(t, st.messages, w.Workers, w.Name)
		for _, m := range st.messages {
			assert.Equal(t, []uint8{uint8(toBroker), uint8(first)}, []uint8{uint8(m.kind), m.tag}, w.Name)
		}
	}
}
