package advice

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// delaying is a trial whose replications delay each job by so many milliseconds.
func delaying(ms ...int64) *Trial {
	t := &Trial{Tried: &Change{Key: Grace}}
	for _, d := range ms {
		row := &meter.Row{}
		row.Counts[meter.JobsDelayed], row.Sums[meter.DelayTime] = 1, d*1000
		row.Counts[meter.Interruptions] = 100
		t.rows = append(t.rows, row)
	}
	return t
}

func TestADifferenceMustBeClearAndMatter(t *testing.T) {
	for _, c := range []struct {
		what  string
		trial *Trial
		want  Effect
	}{
		{"a tenth less, each time", delaying(900, 1801, 2699, 3601, 4499, 5401), Helps},
		{"a tenth more, each time", delaying(1100, 2201, 3299, 4401, 5499, 6601), Hurts},
		{"certain, and too little for anybody to notice", delaying(999, 1999, 2999, 3999, 4999, 5999), Unclear},
		{"much, and not certain", delaying(100, 3900, 200, 5800, 4000, 1000), Unclear},
	} {
		base := delaying(1000, 2000, 3000, 4000, 5000, 6000)
		compare(base, []*Trial{c.trial})
		assert.Equal(t, c.want, c.trial.Effect, c.what)
	}
}

// losing is a trial with so many attempts eroded in each replication, beside its delays.
func losing(attempts int64, ms ...int64) *Trial {
	t := delaying(ms...)
	for i, row := range t.rows {
		row.Counts[meter.AttemptsEroded] = attempts + int64(i)
	}
	return t
}

func TestWhatBringsAndTakesIsATrade(t *testing.T) {
	base := losing(100, 1000, 2000, 3000, 4000, 5000, 6000)
	trade, good, bad := losing(200, 900, 1901, 2899, 3901, 4899, 5900), losing(50, 900, 1901, 2899, 3901, 4899, 5900), losing(200, 1100, 2101, 3099, 4101, 5099, 6100)
	compare(base, []*Trial{trade, good, bad})
	assert.Equal(t, []Effect{Trades, Helps, Hurts}, []Effect{trade.Effect, good.Effect, bad.Effect})
	assert.Equal(t, 1, trade.Direction("attempts_eroded", base))
}

// What would be significant alone is not where each trial has seven chances.
func TestADifferenceIsCorrectedForAllThatIsLookedAt(t *testing.T) {
	base, trial := delaying(1000, 1000, 1000, 1000), delaying(970, 980, 955, 985)
	compare(base, []*Trial{trial})
	p := trial.Difference(Lost[0]).Pairing.Adjusted
	require.Less(t, p, 0.05)
	require.Greater(t, p*float64(len(Lost)), 0.05)
	assert.Equal(t, Unclear, trial.Effect)
}

func TestChangesOfOneSettingComeFromTheNearest(t *testing.T) {
	surge := func(percent int) *Trial {
		return &Trial{Tried: &Change{Key: Surge, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: percent, Percent: true}}}}
	}
	to := func(d protocol.Duration) *Trial {
		return &Trial{Tried: &Change{Key: Lease, From: 5 * protocol.Minute, To: d}}
	}
	for _, c := range [][2]*Trial{{surge(25), surge(100)}, {to(2 * protocol.Minute), to(protocol.Minute)}, {to(6 * protocol.Minute), to(30 * protocol.Minute)}} {
		assert.Negative(t, smallerChange(c[0], c[1]))
	}
}

// Of several values of a setting that help alike, the one nearest to what is comes into the advice,
// wherever it stands by its delay.
func TestTheNearestOfThoseThatHelpIsAdvised(t *testing.T) {
	base := delaying(1000, 1001, 1002, 1003)
	near, far := delaying(900, 905, 895, 900), delaying(899, 904, 894, 899)
	near.Tried = &Change{Key: Lease, From: 5 * protocol.Minute, To: 2 * protocol.Minute}
	far.Tried = &Change{Key: Lease, From: 5 * protocol.Minute, To: 30 * protocol.Second}
	s := stage(base, []*Trial{near, far})
	require.Same(t, far, s.Trials[0])
	s.Idle = false // rows that were made up
	assert.Equal(t, []Change{*near.Tried}, s.helping(), "a difference of a thousandth, though certain, does not matter")
	s.Idle = true
	assert.Empty(t, s.helping())
}

func TestOfOneSettingTheSmallestChangeIsTakenThatIsNotClearlyWorse(t *testing.T) {
	base := delaying(1000, 1001, 1002, 1003)
	small, alike, large := delaying(900, 905, 895, 900), delaying(899, 904, 896, 901), delaying(500, 505, 495, 500)
	harmful := delaying(2000, 2001, 2002, 2003)
	compare(base, []*Trial{harmful, small, alike, large})
	assert.Same(t, small, leastChange([]*Trial{harmful, small, alike}), "the larger change is not told from it")
	assert.Same(t, large, leastChange([]*Trial{small, alike, large}), "the larger change is clearly better")
	assert.Nil(t, leastChange([]*Trial{harmful}))
}

func TestEachReplicationHasItsOwnDeploys(t *testing.T) {
	a := asking{Question: Question{Scenario: fleet(), Today: "hybrid", First: 1}}
	first, second := a.world(&Trial{}, 0), a.world(&Trial{}, 1)
	assert.NotEqual(t, first.Deploys.At, second.Deploys.At)
	assert.Equal(t, first.Deploys.At, a.world(delaying(), 0).Deploys.At, "and every trial the same")
	_, _, err := first.Under(column)
	assert.NoError(t, err)
}
