package advice

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func must(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

// fleet is ten workers through six deploys; a run takes milliseconds.
func fleet() *model.Scenario {
	second := int64(protocol.Second)
	s := &model.Scenario{
		Name: "fleet", Duration: 50 * protocol.Minute, Warmup: 2 * protocol.Minute,
		Fleet:      model.Fleet{Workers: 10, Slots: 1, Start: must(dist.Constant(second))},
		Queue:      model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, MaxFailures: 5, Poison: 3, MaxMessageAge: 10 * protocol.Second},
		Jobs:       []model.Job{{Name: "job", Arrivals: must(dist.Exponential(4 * second)), Work: must(dist.Exponential(20 * second)), Checkpoint: 200 * protocol.Millisecond, Declared: 200 * protocol.Millisecond, Undo: protocol.Second}},
		Supervisor: model.Supervisor{Grace: 10 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 50, Percent: true}}},
		Faults:     model.Faults{Network: model.Network{Latency: must(dist.Constant(second / 1000))}},
	}
	for i := range protocol.Instant(6) {
		s.Deploys.At = append(s.Deploys.At, protocol.Instant(5*protocol.Minute)+i*protocol.Instant(6*protocol.Minute))
	}
	return s
}

var lengths = Lengths{P50: 14 * protocol.Second, P90: 46 * protocol.Second, P99: 92 * protocol.Second}

func ask(t *testing.T, q Question) *Answer {
	t.Helper()
	a, err := Ask(t.Context(), q)
	require.NoError(t, err)
	return a
}

func keysOf(changes []Change) (keys []Key) {
	for i := range changes {
		keys = append(keys, changes[i].Key)
	}
	return keys
}

func TestAFleetThatDiesAtTheSignalIsToldToDrain(t *testing.T) {
	a := ask(t, Question{Scenario: fleet(), Today: "crash-only", Jobs: lengths, Surges: true, Seeds: 5, First: 1})
	require.Len(t, a.Policies.Trials, 3)
	assert.NotEqual(t, a.Today, a.Policies.Best)
	assert.Equal(t, Helps, a.Policies.Best.Effect)
	require.NotNil(t, a.Together)
	assert.Equal(t, Policy, a.Together.Changes[0].Key)
	assert.Contains(t, keysOf(a.Together.Changes), Grace, "jobs that are longer than the grace are finished in a longer one")
	assert.Equal(t, -1, a.Policies.Best.Direction("deploy_stall_seconds_mean", a.Today))
	assert.Equal(t, -1, a.Together.Direction("redone_work_seconds", a.Today))
	assert.Less(t, a.Together.Metric("delay_seconds_per_job").Mean, a.Policies.Best.Metric("delay_seconds_per_job").Mean)
	for _, s := range []Stage{a.Policies, a.Settings} {
		for i := range s.Trials[1:] {
			assert.LessOrEqual(t, s.Trials[i].of(Lost[0]), s.Trials[i+1].of(Lost[0]), "ranked by delay")
		}
	}
	assert.Equal(t, 6, a.Deploys)
	assert.Len(t, a.Today.rows, 5)
}

// A fleet that drains already, jobs that fit its grace and no crash: there is nothing to gain, and
// nothing is advised.
func TestWhereNothingIsLostNothingIsAdvised(t *testing.T) {
	s := fleet()
	s.Jobs[0].Work = must(dist.Constant(int64(2 * protocol.Second)))
	s.Supervisor.Grace = 30 * protocol.Second
	a := ask(t, Question{Scenario: s, Today: "hybrid", Jobs: Lengths{P50: 2 * protocol.Second, P90: 2 * protocol.Second, P99: 2 * protocol.Second}, Surges: true, Seeds: 4, First: 1})
	assert.Nil(t, a.Together)
	assert.Equal(t, a.Today, a.Policies.Best)
	require.Len(t, a.Policies.Trials, 2, "what they do already is not tried")
	for _, trial := range append(a.Policies.Trials, a.Settings.Trials...) {
		assert.NotEqual(t, Helps, trial.Effect, "%+v", trial.Tried)
	}
}

func TestTooFewJobsInTheWayOfAStopSayNothing(t *testing.T) {
	s := fleet()
	s.Jobs[0].Count = 1
	a := ask(t, Question{Scenario: s, Today: "crash-only", Jobs: lengths, Seeds: 2, First: 1})
	assert.True(t, a.Policies.Idle)
	assert.Equal(t, a.Today, a.Policies.Best)
	assert.Nil(t, a.Together)
}

// Leases and cursors of ours mean nothing to a real queue: where no policy helps, they are tried with hybrid.
func TestSettingsAreNotTriedOnARealQueue(t *testing.T) {
	s := fleet()
	s.Jobs[0].Count = 1
	a := ask(t, Question{Scenario: s, Today: "asynq", Jobs: lengths, Seeds: 2, First: 1})
	assert.Equal(t, a.Today, a.Policies.Best)
	require.Len(t, a.Settings.Base.Changes, 1)
	assert.Equal(t, "hybrid", a.Settings.Base.Changes[0].Policy)
}

func TestProgressOnlyGrows(t *testing.T) {
	last, all := 0, 0
	ask(t, Question{Scenario: fleet(), Today: "crash-only", Jobs: lengths, Seeds: 2, First: 1, Progress: func(done, total int) {
		assert.GreaterOrEqual(t, done, last)
		assert.LessOrEqual(t, done, total)
		last, all = done, total
	}})
	assert.Greater(t, last, all/2)
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	q := Question{Scenario: fleet(), Today: "finish-only", Jobs: lengths, Seeds: 3, First: 7}
	a, b := ask(t, q), ask(t, q)
	assert.Equal(t, a.Today.rows, b.Today.rows)
	require.Equal(t, len(a.Settings.Trials), len(b.Settings.Trials))
	for i := range a.Settings.Trials {
		assert.Equal(t, *a.Settings.Trials[i].Tried, *b.Settings.Trials[i].Tried)
		assert.Equal(t, a.Settings.Trials[i].Metric(Lost[0]).Mean, b.Settings.Trials[i].Metric(Lost[0]).Mean)
	}
	q.First = 8
	assert.NotEqual(t, a.Today.Metric(Lost[0]).Mean, ask(t, q).Today.Metric(Lost[0]).Mean)
	assert.Equal(t, fleet().Deploys.At, q.Scenario.Deploys.At, "the scenario is left as it was")
}

func TestDeploysComeAtOtherMomentsInEachReplication(t *testing.T) {
	at := fleet().Deploys.At
	seen := make(map[protocol.Instant]bool)
	for seed := range uint64(20) {
		shifted := moved(at, seed)
		require.Len(t, shifted, len(at))
		seen[shifted[0]] = true
		for i := range at {
			assert.Equal(t, shifted[0].Sub(at[0]), shifted[i].Sub(at[i]), "all by the same")
		}
		assert.LessOrEqual(t, max(shifted[0].Sub(at[0]), at[0].Sub(shifted[0])), 3*protocol.Minute, "not past the next")
	}
	assert.Len(t, seen, 20)
	assert.Equal(t, at[:1], moved(at[:1], 3))
}

func TestWhatIsTried(t *testing.T) {
	tos := func(s *model.Scenario, k Key, surges bool) (all []string) {
		for _, c := range settings(s, lengths, surges) {
			switch {
			case c.Key != k:
			case k == Surge:
				all = append(all, fmt.Sprintf("%d%%", c.Rollout.MaxSurge.Value))
			default:
				all = append(all, c.To.String())
			}
		}
		return all
	}
	s := fleet()
	assert.Equal(t, []string{"20s", "55s", "2m0s"}, tos(s, Grace, false), "p50, p90 and p99 with what a drain needs beside them")
	assert.Equal(t, []string{"2m0s", "1m0s", "30s"}, tos(s, Lease, false))
	assert.Equal(t, []string{"50s"}, tos(s, Heartbeat, false))
	assert.Empty(t, tos(s, Gap, false), "cancellation is looked for often enough")
	assert.Equal(t, []string{"2s"}, tos(s, Save, false))
	assert.Empty(t, tos(s, Surge, false), "the supervisor cannot be told")
	assert.Equal(t, []string{"25%", "100%"}, tos(s, Surge, true))

	s.Jobs[0].Checkpoint, s.Jobs[0].Save = protocol.Second, protocol.Second
	assert.Equal(t, []string{"200ms"}, tos(s, Gap, false))
	assert.Empty(t, tos(s, Save, false), "they save already")
	s.Queue.Lease = 30 * protocol.Second
	assert.Empty(t, tos(s, Lease, false))
	s.Supervisor.Kind = model.Nomad
	assert.Equal(t, []string{"20s"}, tos(s, Grace, false), "not more than the supervisor allows")
	s.Supervisor.Kind = model.CloudRun
	assert.Empty(t, tos(s, Grace, false))
	s.Supervisor.Kind, s.Supervisor.Rollout = model.Kubernetes, model.Rollout{Strategy: model.RollingUpdate, MaxSurge: model.IntOrPercent{Value: 3}}
	assert.Equal(t, []string{"100%"}, tos(s, Surge, true), "a quarter is what is")
	s.Supervisor.Rollout.MaxUnavailable = model.IntOrPercent{Value: 1}
	assert.Equal(t, []string{"25%", "100%"}, tos(s, Surge, true), "today old workers go before new ones come")
	s.Fleet.Workers = 1
	assert.Equal(t, []string{"25%"}, tos(s, Surge, true), "of one worker a quarter is all")
}

func TestGracesThatAreTried(t *testing.T) {
	s := fleet()
	tried := func(p50, p90, p99 protocol.Duration) []protocol.Duration {
		return graces(s, Lengths{P50: p50, P90: p90, P99: p99})
	}
	assert.Equal(t, []protocol.Duration{11 * protocol.Minute}, tried(protocol.Second, 10*protocol.Minute, 30*protocol.Minute),
		"today's grace does for the short ones, and nobody waits for the long ones")
	assert.Equal(t, []protocol.Duration{150 * protocol.Second}, tried(2*protocol.Minute, 2*protocol.Minute, 2*protocol.Minute), "each once")
	assert.Equal(t, protocol.Minute, rounded(10*protocol.Minute), "nobody saves less often")
}

func TestAChangeIsCarriedOut(t *testing.T) {
	s := fleet()
	s.Queue.Margin = 6 * protocol.Second
	changed := *s
	for _, c := range []Change{{Key: Lease, To: protocol.Minute}, {Key: Grace, To: protocol.Minute}, {Key: Save, To: 5 * protocol.Second}, {Key: Gap, To: 50 * protocol.Millisecond}} {
		c.on(&changed)
	}
	assert.Equal(t, protocol.Minute, changed.Queue.Lease)
	assert.Equal(t, 20*protocol.Second, changed.Queue.Heartbeat, "keeps its share of the lease")
	assert.Equal(t, 1200*protocol.Millisecond, changed.Queue.Margin)
	assert.Equal(t, protocol.Minute, changed.Supervisor.Grace)
	assert.Equal(t, 5*protocol.Second, changed.Jobs[0].Save)
	assert.Equal(t, 50*protocol.Millisecond, changed.Jobs[0].Declared)
	assert.Equal(t, 50*protocol.Millisecond, changed.Jobs[0].Checkpoint)
	assert.Zero(t, s.Jobs[0].Save, "the fleet as it is stays as it is")
	surge := model.Rollout{MaxSurge: model.IntOrPercent{Value: 100, Percent: true}}
	(&Change{Key: Surge, Rollout: surge}).on(&changed)
	assert.Equal(t, surge, changed.Supervisor.Rollout)
	never := *s
	never.Queue.Heartbeat = model.NoHeartbeat
	(&Change{Key: Lease, To: protocol.Minute}).on(&never)
	assert.EqualValues(t, model.NoHeartbeat, never.Queue.Heartbeat, "what is never renewed is not renewed now")
	(&Change{Key: Heartbeat, To: protocol.Second}).on(&changed)
	assert.Equal(t, protocol.Second, changed.Queue.Heartbeat)
}

func TestAskStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Ask(ctx, Question{Scenario: fleet(), Today: "hybrid", Jobs: lengths, Seeds: 2})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Ask(t.Context(), Question{Scenario: fleet(), Today: "hybrid", Seeds: 1})
	assert.ErrorContains(t, err, "at least 2 are needed")
}
