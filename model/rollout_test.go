package model

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func number(n int) IntOrPercent  { return IntOrPercent{Value: n} }
func percent(n int) IntOrPercent { return IntOrPercent{Value: n, Percent: true} }

// The pairs are those of Kubernetes' ResolveFenceposts: surge is rounded up, unavailable
// down, and both at zero would let nothing move.
func TestPercentagesAreRoundedAsKubernetesDoes(t *testing.T) {
	cases := []struct {
		workers            int
		surge, unavailable IntOrPercent
		wantSurge          int
		wantUnavailable    int
	}{
		{10, percent(25), percent(25), 3, 2},
		{4, percent(25), percent(25), 1, 1},
		{3, percent(25), percent(25), 1, 0},
		{1, percent(25), percent(25), 1, 0},
		{2, percent(0), percent(25), 0, 1},
		{10, number(0), number(0), 0, 1},
		{10, percent(0), percent(0), 0, 1},
		{10, number(0), percent(5), 0, 1},
		{10, percent(1), number(0), 1, 0},
		{101, percent(1), number(0), 2, 0},
		{3, number(5), number(5), 5, 3},
		{10, percent(100), percent(100), 10, 10},
		{1000, percent(25), number(0), 250, 0},
	}
	for _, c := range cases {
		r := Rollout{MaxSurge: c.surge, MaxUnavailable: c.unavailable}
		assert.Equal(t, c.wantSurge, r.Surge(c.workers), "%+v", c)
		assert.Equal(t, c.wantUnavailable, r.Unavailable(c.workers), "%+v", c)
	}
}

func TestOnlyARollingUpdateSurges(t *testing.T) {
	for _, strategy := range []Strategy{Recreate, OneByOne, OnDelete} {
		assert.Zero(t, Rollout{Strategy: strategy, MaxSurge: number(3)}.Surge(10))
	}
}

func TestADeploymentsMovesAreThoseOfItsController(t *testing.T) {
	cases := map[string]struct {
		surge, unavailable int
		before             Pods
		want               Move
	}{
		"surge first, old ones stay until somebody is ready":  {1, 0, Pods{OldReady: 4}, Move{Start: 1}},
		"one is ready, so an old one may stop":                {1, 0, Pods{OldReady: 4, NewReady: 1}, Move{StopReady: 1}},
		"those that are being stopped count as nothing":       {1, 0, Pods{OldReady: 3, NewReady: 1, Stopping: 1}, Move{Start: 1}},
		"without surge old ones stop first":                   {0, 2, Pods{OldReady: 4}, Move{StopReady: 2}},
		"what is not ready is stopped before what is":         {0, 1, Pods{OldReady: 3, OldStarting: 1}, Move{StopStarting: 1}},
		"starting new ones use up what may be unavailable":    {0, 2, Pods{OldReady: 2, NewStarting: 2}, Move{}},
		"a new one that starts speaks for nobody yet":         {1, 0, Pods{OldReady: 3, OldStarting: 1, NewStarting: 1}, Move{}},
		"nothing moves while availability is at its limit":    {1, 0, Pods{OldReady: 4, NewStarting: 1}, Move{}},
		"the last old one stops when all new ones are ready":  {1, 0, Pods{OldReady: 1, NewReady: 4}, Move{StopReady: 1}},
		"a finished rollout rests":                            {1, 0, Pods{NewReady: 4}, Move{}},
		"old ones that crashed are replaced by new ones":      {0, 1, Pods{OldReady: 2}, Move{Start: 2}},
		"surge and unavailability are used at the same time":  {2, 2, Pods{OldReady: 4}, Move{Start: 2, StopReady: 2}},
		"no more new ones than workers, however much surge":   {9, 0, Pods{OldReady: 4}, Move{Start: 4}},
		"never a negative start when there are too many pods": {0, 1, Pods{OldReady: 2, NewReady: 5}, Move{StopReady: 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := Rollout{MaxSurge: number(c.surge), MaxUnavailable: number(c.unavailable)}
			assert.Equal(t, c.want, r.Next(4, c.before))
		})
	}
}

// fleet is a toy: pods become ready and end in any order.
type fleet struct {
	Pods
	workers int
}

func (f *fleet) apply(m Move) {
	f.NewStarting += m.Start
	f.OldStarting -= m.StopStarting
	f.OldReady -= m.StopReady
	f.Stopping += m.StopStarting + m.StopReady
}

// happens lets one pod get on by itself; it reports false when nothing is under way.
func (f *fleet) happens(t *rapid.T) bool {
	var under []string
	for _, pods := range []struct {
		what string
		n    int
	}{{"new ready", f.NewStarting}, {"old ready", f.OldStarting}, {"stopped", f.Stopping}} {
		if pods.n > 0 {
			under = append(under, pods.what)
		}
	}
	if len(under) == 0 {
		return false
	}
	switch rapid.SampledFrom(under).Draw(t, "happens") {
	case "new ready":
		f.NewStarting, f.NewReady = f.NewStarting-1, f.NewReady+1
	case "old ready":
		f.OldStarting, f.OldReady = f.OldStarting-1, f.OldReady+1
	case "stopped":
		f.Stopping--
	}
	return true
}

// roll drives a rollout to its end and calls check around every move that is not empty.
func roll(t *rapid.T, r Rollout, f *fleet, check func(before Pods, m Move)) {
	for step := 0; ; step++ {
		if step > 100*f.workers+100 {
			t.Fatalf("no end after %d steps: %+v", step, f.Pods)
		}
		before := f.Pods
		if m := r.Next(f.workers, f.Pods); m != (Move{}) {
			require.GreaterOrEqual(t, m.Start, 0)
			require.True(t, m.StopReady >= 0 && m.StopReady <= before.OldReady, "%+v of %+v", m, before)
			require.True(t, m.StopStarting >= 0 && m.StopStarting <= before.OldStarting, "%+v of %+v", m, before)
			f.apply(m)
			check(before, m)
			continue
		}
		if r.Done(f.workers, f.Pods) {
			return
		}
		if !f.happens(t) {
			t.Fatalf("stuck at %+v", f.Pods)
		}
	}
}

func someFleet(t *rapid.T) *fleet {
	f := &fleet{workers: rapid.IntRange(1, 12).Draw(t, "workers")}
	f.OldStarting = rapid.IntRange(0, f.workers).Draw(t, "not ready")
	f.OldReady = f.workers - f.OldStarting
	return f
}

func someShare(t *rapid.T, name string) IntOrPercent {
	if rapid.Bool().Draw(t, name+" in percent") {
		return percent(rapid.IntRange(0, 120).Draw(t, name))
	}
	return number(rapid.IntRange(0, 5).Draw(t, name))
}

func TestARollingUpdateEndsAndKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := someFleet(t)
		r := Rollout{MaxSurge: someShare(t, "surge"), MaxUnavailable: someShare(t, "unavailable")}
		least := min(f.OldReady, f.workers-r.Unavailable(f.workers))
		roll(t, r, f, func(before Pods, m Move) {
			require.LessOrEqual(t, f.OldReady+f.OldStarting+f.NewReady+f.NewStarting, f.workers+r.Surge(f.workers), "%+v of %+v", m, before)
			require.GreaterOrEqual(t, f.OldReady+f.NewReady, least, "%+v of %+v", m, before)
			if m.StopReady > 0 {
				require.GreaterOrEqual(t, f.OldReady+f.NewReady, f.workers-r.Unavailable(f.workers), "%+v of %+v", m, before)
			}
		})
		require.Equal(t, Pods{NewReady: f.workers}, f.Pods)
	})
}

func TestRecreateNeverHasOldAndNewTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := someFleet(t)
		roll(t, Rollout{Strategy: Recreate}, f, func(before Pods, m Move) {
			fresh, old := f.NewReady+f.NewStarting, f.OldReady+f.OldStarting+f.Stopping
			require.True(t, fresh == 0 || old == 0, "%+v of %+v", m, before)
		})
		require.Equal(t, Pods{NewReady: f.workers}, f.Pods)
	})
}

func TestAStatefulSetMovesOneAtATimeAndRespectsItsPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := someFleet(t)
		r := Rollout{Strategy: OneByOne, Partition: rapid.IntRange(0, f.workers+1).Draw(t, "partition")}
		roll(t, r, f, func(before Pods, m Move) {
			require.Equal(t, 1, m.Start+m.StopReady+m.StopStarting, "%+v of %+v", m, before)
			require.Zero(t, before.Stopping+before.NewStarting, "it moves only when the last move is complete")
			require.LessOrEqual(t, f.OldReady+f.OldStarting+f.NewReady+f.NewStarting+f.Stopping, f.workers)
		})
		kept := min(r.Partition, f.workers)
		require.Equal(t, f.workers-kept, f.NewReady)
		require.Equal(t, kept, f.OldReady+f.OldStarting)
	})
}

func TestAStatefulSetStopsWhatIsNotReadyBeforeWhatIs(t *testing.T) {
	r := Rollout{Strategy: OneByOne}
	assert.Equal(t, Move{StopStarting: 1}, r.Next(4, Pods{OldReady: 3, OldStarting: 1}))
	assert.Equal(t, Move{StopReady: 1}, r.Next(4, Pods{OldReady: 3, NewReady: 1}))
}

func TestARolloutIsDoneWhenAllAreNewAndNobodyIsLeftToGo(t *testing.T) {
	for _, strategy := range []Strategy{RollingUpdate, Recreate} {
		r := Rollout{Strategy: strategy}
		assert.True(t, r.Done(4, Pods{NewReady: 4}))
		for _, p := range []Pods{{NewReady: 3}, {NewReady: 3, NewStarting: 1}, {NewReady: 4, Stopping: 1}, {NewReady: 4, OldReady: 1},
			{NewReady: 4, OldStarting: 1}, {NewReady: 4, OldReady: 1, OldStarting: 1}} {
			assert.False(t, r.Done(4, p), "%+v", p)
		}
	}
	r := Rollout{Strategy: OneByOne, Partition: 1}
	assert.True(t, r.Done(4, Pods{OldReady: 1, NewReady: 3}))
	assert.False(t, r.Done(4, Pods{OldReady: 1, NewReady: 2, NewStarting: 1}))
	assert.False(t, r.Done(4, Pods{NewReady: 3, Stopping: 1}), "the one that stays is on its way out")
}

func TestOnDeleteMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := someFleet(t)
		r := Rollout{Strategy: OnDelete, MaxSurge: number(3)}
		require.True(t, r.Done(f.workers, f.Pods))
		require.Equal(t, Move{}, r.Next(f.workers, f.Pods))
	})
}

func ExampleRollout_Next() {
	r := Rollout{MaxSurge: percent(25)}
	f := fleet{workers: 4, Pods: Pods{OldReady: 4}}
	for !r.Done(f.workers, f.Pods) {
		m := r.Next(f.workers, f.Pods)
		f.apply(m)
		fmt.Printf("start %d, stop %d\n", m.Start, m.StopReady)
		f.NewReady, f.NewStarting, f.Stopping = f.NewReady+f.NewStarting, 0, 0
	}
	// Output:
	// start 1, stop 0
	// start 0, stop 1
	// start 1, stop 0
	// start 0, stop 1
	// start 1, stop 0
	// start 0, stop 1
	// start 1, stop 0
	// start 0, stop 1
}
