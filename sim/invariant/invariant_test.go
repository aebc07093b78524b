package invariant_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/invariant"
)

const second = int64(protocol.Second)

func table(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

// busyFleet is a small world in which everything goes wrong that a sound protocol survives.
func busyFleet() *model.Scenario {
	return &model.Scenario{
		Name: "busy-fleet", Duration: 30 * protocol.Minute,
		Fleet: model.Fleet{Workers: 8, Slots: 2, Start: table(dist.Constant(2 * second))},
		Queue: model.Queue{
			Lease: 12 * protocol.Second, Heartbeat: 4 * protocol.Second, DriftPPM: 200, Park: 4 * protocol.Second, MaxFailures: 5, Poison: 4, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: 8 * protocol.Second}, SweepPeriod: protocol.Minute, MaxMessageAge: 10 * protocol.Second,
		},
		Jobs: []model.Job{
			{Name: "long", Arrivals: table(dist.Exponential(2 * second)), Work: table(dist.Uniform(4*second, 30*second)), Checkpoint: 500 * protocol.Millisecond,
				Declared: 500 * protocol.Millisecond, Undo: protocol.Second, Effects: 1, Deaf: 20_000_000, Fails: 20_000_000, OOM: 5_000_000,
				CPUBound: 10_000_000, Save: 4 * protocol.Second, UndoFails: 50_000_000, Timeout: 28 * protocol.Second},
			{Name: "short", Arrivals: table(dist.Exponential(second)), Work: table(dist.Exponential(second)), Checkpoint: 100 * protocol.Millisecond, NewVersion: 1},
		},
		Supervisor: model.Supervisor{Grace: 10 * protocol.Second, Repeat: 1500 * protocol.Millisecond, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 2}}},
		Deploys:    model.Deploys{Every: 2 * protocol.Minute},
		Faults: model.Faults{
			Crash: 20 * protocol.Minute, DriftPPM: 150, Drill: 100_000_000,
			Pause:     model.Spell{Every: 10 * protocol.Minute, Length: table(dist.Uniform(second, 30*second))},
			Partition: model.Spell{Every: 10 * protocol.Minute, Length: table(dist.Uniform(second, 20*second))},
			Slow:      model.Spell{Every: 5 * protocol.Minute, Length: table(dist.Constant(10 * second))}, SlowBy: 1500 * protocol.Millisecond,
			Evict:   model.Eviction{Every: 30 * protocol.Minute, Grace: 2 * protocol.Second},
			Preempt: model.Preemption{Every: 30 * protocol.Minute, Notice: 15 * protocol.Second},
			Network: model.Network{Latency: table(dist.Uniform(0, second/10)), Loss: 20_000_000, Duplicate: 20_000_000},
		},
	}
}

func watch(t testing.TB, sc *model.Scenario, policy string, seed uint64, deviations ...deviation.ID) (*invariant.Checker, *meter.Row) {
	p, err := model.PresetNamed(policy)
	require.NoError(t, err)
	p.Deviations = deviation.Of(deviations...)
	w, err := sim.NewWorld(sc, p, seed, nil)
	require.NoError(t, err)
	c := w.Check()
	row, err := w.Run(nil)
	require.NoError(t, err)
	return c, row
}

func TestEveryPolicyKeepsWhatIsPromised(t *testing.T) {
	forgetful := busyFleet()
	forgetful.Faults.Forget, forgetful.Faults.ForgetFor = 3*protocol.Minute, protocol.Second
	held := map[invariant.ID]bool{}
	for _, policy := range model.PresetNames() {
		for seed := range uint64(4) {
			for _, sc := range []*model.Scenario{busyFleet(), forgetful} {
				c, row := watch(t, sc, policy, seed)
				assert.Empty(t, c.Findings(), "%s, seed %d", policy, seed)
				assert.Empty(t, row.Broken)
				for _, id := range invariant.All() {
					held[id] = held[id] || c.Verdict(id) == invariant.Held
				}
			}
		}
	}
	for _, id := range invariant.All() {
		if id != invariant.DoneAfterFaults { // decided when faults stop, which no run does by itself
			assert.True(t, held[id], "%v never had an occasion: it was not watched at all", id)
		}
	}
}

// What a worker has fetched ahead is a claim like the others.
func TestWhatIsFetchedAheadIsWatchedAsWell(t *testing.T) {
	sc := busyFleet()
	sc.Fleet.Prefetch = 3
	for _, policy := range []string{"hybrid", "release-now", "finish-only"} {
		c, row := watch(t, sc, policy, 1)
		assert.Empty(t, c.Findings(), policy)
		assert.Positive(t, row.Counts[meter.Released], policy)
	}
}

// Each checker is seen to fail, and by the mistake that it is there for.
func TestCheckersFindWhatTheyAreThereFor(t *testing.T) {
	for id, want := range map[deviation.ID]invariant.ID{
		deviation.ClaimsAfterStop:      invariant.StopClaiming,
		deviation.WithdrawSkipped:      invariant.RequestsClosed,
		deviation.UnknownDropped:       invariant.NoGrantDropped,
		deviation.CancelsAtStop:        invariant.FinishWhatFits,
		deviation.DeadlineConstant:     invariant.ExitBeforeKill,
		deviation.SettleUnfenced:       invariant.NoStaleEffect,
		deviation.ReleaseBeforeUndo:    invariant.UndoBeforeRelease,
		deviation.SharedUndoAfterLoss:  invariant.SharedUndoWhileHeld,
		deviation.ReleaseBeforeReturn:  invariant.SettledAfterReturn,
		deviation.HeartbeatStopsAtStop: invariant.LeaseKeptWhileHandled,
		deviation.NeverDistrusts:       invariant.ToldBeforeLeaseEnds,
		deviation.SettlesOnce:          invariant.SettledUntilAnswered,
		deviation.SecondSignalKills:    invariant.EscalatesByRepeat,
		deviation.RunsUnknownVersion:   invariant.UnderstoodOnly,
		deviation.CommitsBeforeSaved:   invariant.SavedBeforeCommit,
		deviation.GoingUnsaid:          invariant.DrainSpendsNoBudget,
		deviation.InterruptionFails:    invariant.DrainSpendsNoBudget,
		deviation.InterruptionCancels:  invariant.NoJobLost,
		deviation.LateClaimDropped:     invariant.ExitZeroHoldsNothing,
		deviation.BouncesJobs:          invariant.ReturnsToNewer,
		deviation.SavesForgotten:       invariant.ProgressSurvives,
		deviation.ResumesUndone:        invariant.UndoneNotResumed,
		deviation.FailureExcused:       invariant.EndsAsReturned,
		deviation.LedgerFlatters:       invariant.LedgerTrue,
		deviation.OwnerByName:          invariant.FreedInTime,
	} {
		sc := busyFleet()
		switch id {
		case deviation.SecondSignalKills:
			sc.Supervisor.Repeat = 300 * protocol.Millisecond
		case deviation.DeadlineConstant, deviation.InterruptionCancels, deviation.CancelsAtStop:
			sc.Supervisor.Repeat = 0
		case deviation.HeartbeatStopsAtStop:
			sc.Supervisor.Grace, sc.Supervisor.Repeat = 40*protocol.Second, 0
		case deviation.WithdrawSkipped:
			sc.Faults.Network.Loss = 200_000_000
		}
		times := int64(0)
		for seed := uint64(0); seed < 8 && times == 0; seed++ {
			c, _ := watch(t, sc, "hybrid", seed, id)
			times = c.Times(want)
		}
		assert.Positive(t, times, "%v does not break %v", id, want)
	}
}

func TestAFindingSaysWhenWhoAndWhat(t *testing.T) {
	c, row := watch(t, busyFleet(), "hybrid", 1, deviation.ReleaseBeforeUndo)
	require.NotEmpty(t, c.Findings())
	f := c.Findings()[0]
	assert.Equal(t, invariant.UndoBeforeRelease, f.Invariant)
	assert.Positive(t, f.Step)
	assert.Positive(t, f.At)
	assert.Contains(t, f.Text, "while its undo ran")
	assert.Equal(t, invariant.Broken, c.Verdict(f.Invariant))
	require.NotEmpty(t, row.Broken)
	assert.Equal(t, "undo-before-release", row.Broken[0].Invariant)
	assert.Equal(t, c.Times(f.Invariant), row.Broken[0].Times)
	assert.True(t, row.Broken[0].Expected, "a fault is built in")
}

func TestWatchingChangesNothing(t *testing.T) {
	p, err := model.PresetNamed("hybrid")
	require.NoError(t, err)
	w, err := sim.NewWorld(busyFleet(), p, 3, nil)
	require.NoError(t, err)
	want, err := w.Run(nil)
	require.NoError(t, err)
	_, row := watch(t, busyFleet(), "hybrid", 3)
	assert.Equal(t, want.TraceHash, row.TraceHash)
}

func TestNothingIsAllocatedPerEventOnceWarm(t *testing.T) {
	mallocs := func(checked bool, length protocol.Duration) float64 {
		var before, after runtime.MemStats
		sc := busyFleet()
		sc.Duration = length
		p, err := model.PresetNamed("hybrid")
		require.NoError(t, err)
		runtime.ReadMemStats(&before)
		w, err := sim.NewWorld(sc, p, 1, nil)
		require.NoError(t, err)
		if checked {
			w.Check()
		}
		_, err = w.Run(nil)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	// What twice the time allocates more, with checkers and without: pages and queues that
	// reach a new maximum, but nothing per event.
	short, long := protocol.Hour, 4*protocol.Hour
	more := mallocs(true, long) - mallocs(true, short)
	than := mallocs(false, long) - mallocs(false, short)
	assert.Less(t, more-than, 500.0)
}

func TestWhatIsNotPromisedIsUndecided(t *testing.T) {
	sc := busyFleet()
	sc.Faults.Forget, sc.Faults.ForgetFor = protocol.Minute, 5*protocol.Second
	c, _ := watch(t, sc, "hybrid", 1)
	assert.Equal(t, invariant.Undecided, c.Verdict(invariant.NoJobLost))
	assert.Equal(t, "the broker forgets its last writes", c.NotPromised(invariant.NoJobLost))
	assert.Positive(t, c.Occasions(invariant.NoJobLost))
	assert.Equal(t, invariant.Held, c.Verdict(invariant.TokensGrow), "this one is promised even so")
}

// A promise that some fault takes away must be broken there by somebody, or the row of the
// matrix is an excuse that nobody needs. The rows of the broker's faults are tried.
func TestForgettingBreaksWhatItIsSaidToBreak(t *testing.T) {
	sc := busyFleet()
	sc.Faults.Forget, sc.Faults.ForgetFor = protocol.Minute, 10*protocol.Second
	_, row := watch(t, sc, "hybrid", 1)
	assert.Positive(t, row.Counts[meter.JobsLost])
}

func TestNamesAreOnesOwnAndEveryRuleIsThere(t *testing.T) {
	seen, rules := map[string]bool{}, map[int]bool{}
	for _, id := range invariant.All() {
		assert.NotEmpty(t, id.String())
		assert.NotEmpty(t, id.About())
		assert.False(t, seen[id.String()], "%v stands there twice", id)
		seen[id.String()], rules[id.Rule()] = true, true
		got, err := invariant.Named(id.String())
		require.NoError(t, err)
		assert.Equal(t, id, got)
	}
	for rule := 1; rule <= 19; rule++ {
		if rule != 12 && rule != 15 {
			assert.True(t, rules[rule], "no invariant watches rule %d", rule)
		}
	}
	_, err := invariant.Named("no-such")
	assert.ErrorContains(t, err, "no-such")
	for _, f := range invariant.Faults() {
		assert.False(t, strings.HasSuffix(f.String(), "."))
		assert.NotEmpty(t, f.Excludes(), "%v takes nothing away", f)
	}
}
