package advice

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model/meter"
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
