package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// stalledRow is a row with one deploy stall of the given length.
func stalledRow(seconds float64) *meter.Row {
	m := meter.New(meter.Window{Until: protocol.Instant(protocol.Hour)})
	length := protocol.Instant(seconds * 1e9)
	for _, r := range []meter.Record{
		{Kind: meter.JobEnqueued, Job: 1},
		{Kind: meter.ClaimGranted, Job: 1, Token: 1},
		{Kind: meter.ExecutionStarted, Job: 1, Token: 1},
		{Kind: meter.ExecutionEnded, Job: 1, Token: 1, How: meter.Killed, Cause: meter.ByDeploy},
		{Kind: meter.LeaseExpired, Job: 1, Token: 1, At: length},
		{Kind: meter.ExecutionStarted, Job: 1, Token: 2, At: length},
	} {
		m.Add(r)
	}
	return m.Finish(func(protocol.JobKey) (meter.Ending, protocol.Duration) { return meter.Ending{Known: true}, 0 })
}

func table(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

const second = int64(protocol.Second)

// tiny is a world of some thousand events with three deploys.
func tiny() *model.Scenario {
	return &model.Scenario{
		Name: "tiny", Duration: 20 * protocol.Minute,
		Fleet:      model.Fleet{Workers: 4, Slots: 2, Start: table(dist.Constant(second))},
		Queue:      model.Queue{Lease: protocol.Minute, Heartbeat: 20 * protocol.Second, SweepPeriod: protocol.Hour, MaxMessageAge: 10 * protocol.Second},
		Jobs:       []model.Job{{Name: "job", Arrivals: table(dist.Exponential(4 * second)), Work: table(dist.Exponential(20 * second)), Undo: protocol.Second}},
		Supervisor: model.Supervisor{Grace: 10 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 1}}},
		Deploys:    model.Deploys{Every: 5 * protocol.Minute},
	}
}

func TestRunPutsRowsByPolicyAndSeed(t *testing.T) {
	plan := Plan{Scenario: tiny(), Policies: []string{"crash-only", "hybrid"}, Seeds: 3, First: 5}
	last := 0
	plan.Progress = func(done, total int) {
		last++
		assert.Equal(t, last, done, "one call after every run, in order")
		assert.Equal(t, 6, total)
	}
	r, err := Run(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, 6, last)
	assert.Equal(t, []uint64{5, 6, 7}, r.Seeds)
	assert.Equal(t, "tiny", r.Scenario)
	assert.Equal(t, 3, r.Asked)
	require.Len(t, r.Rows, 2)
	for p, policy := range plan.Policies {
		require.Len(t, r.Rows[p], 3)
		for s, seed := range r.Seeds {
			alone, err := Run(context.Background(), Plan{Scenario: plan.Scenario, Policies: []string{policy}, Seeds: 1, First: seed})
			require.NoError(t, err)
			assert.Equal(t, alone.Rows[0][0].Metrics(), r.Rows[p][s].Metrics(), "%s with seed %d", policy, seed)
			assert.Equal(t, alone.Rows[0][0].TraceHash, r.Rows[p][s].TraceHash, "%s with seed %d", policy, seed)
		}
	}
	for s := range r.Seeds {
		assert.Equal(t, r.Rows[0][s].Counts[meter.JobsEnqueued], r.Rows[1][s].Counts[meter.JobsEnqueued], "the same jobs arrive under both policies")
	}
}

func TestResultsDoNotDependOnTheNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	plan := Plan{Scenario: tiny(), Policies: []string{"hybrid", "crash-only", "none"}, Seeds: 4, First: 1}
	var want *Results
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		got, err := Run(context.Background(), plan)
		require.NoError(t, err)
		got.Wall = 0
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got, "GOMAXPROCS %d", procs)
		assert.Equal(t, flat(want.Paired()), flat(got.Paired()), "GOMAXPROCS %d", procs)
	}
}

// flat writes differences out, since NaN is not equal to itself.
func flat(all []Difference) []string {
	var lines []string
	for _, d := range all {
		for _, e := range d.Metrics {
			lines = append(lines, fmt.Sprint(d.Policy, e.Name, e.Mean, e.Lo, e.Hi, e.Variance, *e.Pairing))
		}
	}
	return lines
}

func TestAStoppedRunReturnsWholeReplications(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plan := Plan{Scenario: tiny(), Policies: []string{"crash-only", "hybrid"}, Seeds: 1000, First: 1}
	plan.Progress = func(done, _ int) {
		if done == 7 {
			cancel()
		}
	}
	r, err := Run(ctx, plan)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.Equal(t, 1000, r.Asked)
	// Seven runs are three pairs; tasks that were under way may have made it four or five.
	assert.GreaterOrEqual(t, len(r.Seeds), 2)
	assert.Less(t, len(r.Seeds), 10)
	for p := range r.Rows {
		require.Len(t, r.Rows[p], len(r.Seeds))
		for _, row := range r.Rows[p] {
			assert.NotNil(t, row)
		}
	}
	assert.Contains(t, strings.Join(r.Notes(), "\n"), "stopped early")
}

func TestAReplicationIsCompleteWhenEveryPolicyIs(t *testing.T) {
	r := &meter.Row{}
	rows := [][]*meter.Row{{r, r, nil, nil}, {r, nil, r, nil}}
	for s, want := range []bool{true, false, false, false} {
		assert.Equal(t, want, complete(rows, s), "replication %d", s)
	}
}

func TestARunThatWasStoppedBeforeItBeganIsEmpty(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, Plan{Scenario: tiny(), Policies: []string{"hybrid", "drain"}, Seeds: 3})
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.Empty(t, r.Seeds)
	assert.NotPanics(t, func() { r.Estimates(); r.Paired(); r.Notes() })
}

func TestPlansThatCannotBeRun(t *testing.T) {
	for _, c := range []struct {
		name string
		plan Plan
		want string
	}{
		{"an unknown policy", Plan{Scenario: tiny(), Policies: []string{"hybrid", "hibryd"}, Seeds: 1}, `no policy "hibryd"`},
		{"no policy", Plan{Scenario: tiny(), Seeds: 1}, "0 policies"},
		{"no seed", Plan{Scenario: tiny(), Policies: []string{"hybrid"}}, "0 seeds"},
		{"a negative number of seeds", Plan{Scenario: tiny(), Policies: []string{"hybrid"}, Seeds: -1}, "-1 seeds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Run(context.Background(), c.plan)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, r)
		})
	}
}

var errTorn = errors.New("the trace is torn")

// tornTrace opens a few times, and then no more.
type tornTrace struct{ opened, good atomic.Int64 }

func (t *tornTrace) Open() (model.JobStream, error) {
	if t.opened.Add(1) > t.good.Load() {
		return nil, errTorn
	}
	return noJobs{}, nil
}

type noJobs struct{}

func (noJobs) Next() (protocol.Instant, protocol.Duration, protocol.Kind, bool, error) {
	return 0, 0, 0, false, nil
}
func (noJobs) Close() error { return nil }

func TestAnErrorInOneRunEndsAll(t *testing.T) {
	trace := &tornTrace{}
	trace.good.Store(3)
	sc := tiny()
	sc.Trace = trace
	r, err := Run(context.Background(), Plan{Scenario: sc, Policies: []string{"hybrid"}, Seeds: 500, First: 1})
	require.ErrorIs(t, err, errTorn)
	assert.Nil(t, r)
	assert.Less(t, trace.opened.Load(), int64(100), "no run is begun in vain")
}
