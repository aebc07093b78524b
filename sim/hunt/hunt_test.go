package hunt_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Whatever is drawn can be written as a file, and the run that the file names is the same one.
func TestWhatIsDrawnCanBeWrittenAndReadBack(t *testing.T) {
	for seed := range uint64(300) {
		fault := ""
		if seed%3 == 0 {
			fault = "release-before-undo"
		}
		sc, err := hunt.Draw(seed, fault)
		require.NoError(t, err)
		sc.Finding.Invariant = "no-job-lost"
		text, err := scenarios.Format(sc)
		require.NoError(t, err)
		read, err := scenarios.Parse("drawn.yaml", text)
		require.NoError(t, err, "%s", text)
		want, err := hunt.Try(sc)
		require.NoError(t, err)
		got, err := hunt.Try(read)
		require.NoError(t, err)
		assert.Equal(t, want.Row.TraceHash, got.Row.TraceHash, "seed %d:\n%s", seed, text)
		assert.Equal(t, want.Findings, got.Findings, "seed %d", seed)
		again, err := scenarios.Format(read)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
	}
}

// The protocol keeps every promise in worlds drawn by chance; simulate hunt tries more of them.
func TestTheProtocolKeepsEveryPromise(t *testing.T) {
	res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 1500})
	require.NoError(t, err)
	require.Nil(t, res.Found, "%+v", res.Found)
	assert.Equal(t, int64(1500), res.Seeds)
}

// caughtBy is every mistake there is, and what names it. A new deviation needs a row; one that
// nothing notices is a hole in the checking.
var caughtBy = map[string]invariant.ID{
	"any-answer-counts":       invariant.SettledAfterReturn,
	"asking-ends":             invariant.DoneAfterFaults,
	"attempt-at-claim":        invariant.DrainSpendsNoBudget,
	"bounces-jobs":            invariant.ReturnsToNewer,
	"cancels-at-stop":         invariant.FinishWhatFits,
	"claim-renumbered":        invariant.RequestsClosed,
	"claims-after-stop":       invariant.StopClaiming,
	"commits-before-saved":    invariant.SavedBeforeCommit,
	"deadline-constant":       invariant.ExitBeforeKill,
	"distrusts-early":         invariant.DoneAfterFaults,
	"escalation-waits":        invariant.EscalatesByRepeat,
	"failure-excused":         invariant.EndsAsReturned,
	"flush-waits":             invariant.ProgressSurvives,
	"going-unsaid":            invariant.DrainSpendsNoBudget,
	"heartbeat-stops-at-stop": invariant.LeaseKeptWhileHandled,
	"heartbeat-under-work":    invariant.LeaseKeptWhileHandled,
	"interruption-cancels":    invariant.NoJobLost,
	"interruption-fails":      invariant.DrainSpendsNoBudget,
	"late-ack-uncounted":      invariant.LateAcksCounted,
	"late-claim-dropped":      invariant.ExitZeroHoldsNothing,
	"late-claim-run":          invariant.NoStartAfterStop,
	"lease-from-reply":        invariant.ToldBeforeLeaseEnds,
	"lease-from-retry":        invariant.ToldBeforeLeaseEnds,
	"leases-forgotten":        invariant.FreedInTime,
	"ledger-flatters":         invariant.LedgerTrue,
	"ledger-omits-left":       invariant.LedgerComplete,
	"limit-leaks":             invariant.DoneAfterFaults,
	"never-distrusts":         invariant.ToldBeforeLeaseEnds,
	"never-softens":           invariant.ToldSoftly,
	"notice-counts-as-signal": invariant.EscalatesByRepeat,
	"owner-by-name":           invariant.FreedInTime,
	"prestop-forgotten":       invariant.ExitBeforeKill,
	"read-then-release":       invariant.NoStaleEffect,
	"release-before-return":   invariant.SettledAfterReturn,
	"release-before-undo":     invariant.UndoBeforeRelease,
	"release-in-two-steps":    invariant.DoneAfterFaults,
	"renew-resurrects":        invariant.ClaimEndsOnce,
	"resumes-undone":          invariant.UndoneNotResumed,
	"runs-beside-zombie":      invariant.NotBesideItself,
	"runs-unknown-version":    invariant.UnderstoodOnly,
	"saves-forgotten":         invariant.ProgressSurvives,
	"second-signal-kills":     invariant.EscalatesByRepeat,
	"settle-under-work":       invariant.SettledUntilAnswered,
	"settle-unfenced":         invariant.NoStaleEffect,
	"settles-once":            invariant.SettledUntilAnswered,
	"shared-undo-after-loss":  invariant.SharedUndoWhileHeld,
	"sweep-drops-rest":        invariant.NoJobLost,
	"sweep-stops-at-living":   invariant.FreedInTime,
	"sweeps-newcomers":        invariant.OneOpenClaim,
	"token-forgotten":         invariant.TokensGrow,
	"undo-skipped":            invariant.ResourcesFreed,
	"unknown-dropped":         invariant.NoGrantDropped,
	"withdraw-skipped":        invariant.RequestsClosed,
	"workers-clock":           invariant.OneOpenClaim,
}

func TestEveryMutantIsCaught(t *testing.T) {
	names := model.UnsafeNames()
	assert.Len(t, caughtBy, len(names), "a row for each, and no more")
	for _, name := range names {
		caught := false
		seed := uint64(0)
		for ; seed < 2000 && !caught; seed++ {
			sc, err := hunt.Draw(seed, name)
			require.NoError(t, err)
			o, err := hunt.Try(sc)
			require.NoError(t, err, name)
			caught = o.Broke(caughtBy[name]) != nil
		}
		assert.True(t, caught, "%s survives: %v does not notice", name, caughtBy[name])
	}
}

// What a mutant shows is made small without becoming another finding.
func TestWhatIsMadeSmallKeepsItsInvariant(t *testing.T) {
	for _, name := range []string{
		"late-claim-dropped", "release-before-return", "release-before-undo", "settle-unfenced",
		"heartbeat-under-work", "second-signal-kills", "interruption-cancels",
	} {
		res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 2000, Fault: name})
		require.NoError(t, err)
		require.NotNil(t, res.Found, name)
		f := res.Found
		o, err := hunt.Try(f.Scenario)
		require.NoError(t, err)
		require.NotNil(t, o.Broke(f.Invariant), "%s: minimised away", name)
		require.NotNil(t, f.Story, name)
		assert.NotEmpty(t, f.Story.Lines, name)
		assert.Contains(t, f.Story.What, f.Invariant.String()+" is broken")
		assert.Equal(t, o.Broke(f.Invariant).At, f.Story.At)
		drawn, err := hunt.Draw(f.Seed, name)
		require.NoError(t, err)
		assert.LessOrEqual(t, f.Scenario.Fleet.Workers, drawn.Fleet.Workers)
		assert.LessOrEqual(t, f.Scenario.Duration, drawn.Duration)
		assert.LessOrEqual(t, len(f.Scenario.Faults.At)+len(f.Scenario.Deploys.At), len(drawn.Faults.At)+len(drawn.Deploys.At))
	}
}

func TestTheFirstSeedIsFoundWhateverTheCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want string
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		res, err := hunt.Hunt(t.Context(), hunt.Plan{First: 3, Seeds: 500, Fault: "late-claim-dropped"})
		require.NoError(t, err)
		require.NotNil(t, res.Found)
		text, err := scenarios.Format(res.Found.Scenario)
		require.NoError(t, err)
		got := fmt.Sprint(res.Seeds, res.Found.Seed, res.Found.Runs, string(text), *res.Found.Story)
		if want == "" {
			want = got
		}
		assert.Equal(t, want, got, "GOMAXPROCS %d", procs)
	}
}

func TestAHuntThatIsStoppedHasFoundNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := hunt.Hunt(ctx, hunt.Plan{})
	require.NoError(t, err)
	assert.Nil(t, res.Found)
}

func TestTheCanaryDies(t *testing.T) {
	assert.True(t, hunt.CanaryDied())
	assert.Subset(t, hunt.Canary(), hunt.CanaryBreaks)
}

// Jobs that nothing frees any more are found once nothing goes wrong: here the broker's sweep
// comes only after the jobs should have ended.
func TestWhatIsNeverDoneIsFound(t *testing.T) {
	sc, err := hunt.Draw(1, "")
	require.NoError(t, err)
	sc.Faults = model.Faults{Network: sc.Faults.Network, At: []model.NodeFault{{At: protocol.Instant(12 * protocol.Second), Kind: model.NodeCrash}}}
	sc.Fleet.Workers, sc.Deploys = 1, model.Deploys{}
	none, err := model.PresetNamed("hybrid")
	require.NoError(t, err)
	none.Name, none.Rescue = "never", model.NoRescue
	sc.Variants = []model.Variant{{Preset: none}}
	sc.Policies, sc.Finding.Policy = []string{"never"}, "never"
	o, err := hunt.Try(sc)
	require.NoError(t, err)
	assert.Equal(t, invariant.Undecided, o.Checker.Verdict(invariant.DoneAfterFaults), "such a policy promises nothing of the kind")
	assert.Equal(t, "nothing frees the jobs of the dead", o.Checker.NotPromised(invariant.DoneAfterFaults))
}

func TestAnExplanationSaysWhatItHangsOn(t *testing.T) {
	res, err := hunt.Hunt(t.Context(), hunt.Plan{Seeds: 500, Fault: "second-signal-kills"})
	require.NoError(t, err)
	require.NotNil(t, res.Found)
	e, err := hunt.Explain(res.Found.Scenario, res.Found.Invariant)
	require.NoError(t, err)
	assert.Equal(t, res.Found.Story, e.Story)
	assert.Less(t, e.Inevitable, len(e.Story.Lines))
	free, bound := 0, 0
	for _, f := range e.Facts {
		assert.Positive(t, f.Tried)
		if f.Free() {
			free++
		} else {
			bound++
		}
	}
	assert.Positive(t, free, "a lease has nothing to do with signals")
	assert.Positive(t, bound, "without its deploy nobody is stopped")

	sound, err := hunt.Draw(0, "")
	require.NoError(t, err)
	_, err = hunt.Explain(sound, invariant.NoJobLost)
	assert.ErrorContains(t, err, "nothing is to be explained")
}

func TestAScenarioWithoutAFindingNamesNoRun(t *testing.T) {
	sc, err := hunt.Draw(0, "")
	require.NoError(t, err)
	sc.Finding = nil
	_, err = hunt.Try(sc)
	assert.ErrorContains(t, err, "it has no finding")
	_, err = hunt.Draw(0, "no-such-mistake")
	assert.ErrorContains(t, err, "no-such-mistake")
}

func BenchmarkTry(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		sc, err := hunt.Draw(seed, "")
		require.NoError(b, err)
		_, err = hunt.Try(sc)
		require.NoError(b, err)
		seed++
	}
}
