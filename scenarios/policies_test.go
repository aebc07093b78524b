package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

func under(t *testing.T, s *model.Scenario, name string) (model.Preset, *model.Scenario) {
	p, c, err := s.Under(name)
	require.NoError(t, err)
	return p, c
}

func TestAQueuePresetIsComparedWithHybridUnlessPoliciesAreWritten(t *testing.T) {
	assert.Equal(t, []string{"asynq", "hybrid"}, parsed(t, "queue: {preset: asynq}").Policies)
	assert.Equal(t, []string{"drain"}, parsed(t, "queue: {preset: asynq}\npolicies: [drain]").Policies)
	assert.Equal(t, []string{"crash-only", "drain", "hybrid"}, parsed(t, "").Policies)
}

func TestAQueuePresetSetsTheBrokerOfEveryColumnAndTheWorkersOfItsOwn(t *testing.T) {
	s := parsed(t, "queue: {preset: oban}\njobs: {mail: {arrivals: {poisson: 3/s}, duration: 2s, undo: 1s}}")
	preset, today := under(t, s, "oban")
	assert.Equal(t, protocol.Hour, today.Queue.Lease)
	assert.Equal(t, model.NoHeartbeat, today.Queue.Heartbeat, "its workers never renew")
	assert.Zero(t, today.Jobs[0].Undo, "and know no undo")
	assert.True(t, preset.Deviations.Has(deviation.SettleUnfenced))
	assert.Equal(t, model.RescueBySweep, preset.Rescue)

	preset, ours := under(t, s, "hybrid")
	assert.Equal(t, protocol.Hour, ours.Queue.Lease)
	assert.Equal(t, 20*protocol.Minute, ours.Queue.Heartbeat, "a third of the lease, as everywhere")
	assert.True(t, ours.Queue.CountAtClaim)
	assert.Equal(t, protocol.Second, ours.Jobs[0].Undo)
	assert.Equal(t, deviation.Set{}, preset.Deviations)
}

func TestWhatIsWrittenBesideAPresetChangesIt(t *testing.T) {
	s := parsed(t, "queue: {preset: asynq, lease: 1m, max_failures: 3, sweep: {slack: 5s}, long_poll: 7s}")
	_, today := under(t, s, "asynq")
	assert.Equal(t, protocol.Minute, today.Queue.Lease)
	assert.Equal(t, 5*protocol.Second, today.Queue.Heartbeat, "the preset's")
	assert.Equal(t, 3, today.Queue.MaxFailures)
	assert.Equal(t, protocol.Minute, today.Queue.SweepPeriod, "the preset's")
	assert.Equal(t, 5*protocol.Second, today.Queue.SweepSlack)
	assert.Equal(t, 7*protocol.Second, today.Queue.Park)
	assert.True(t, today.Queue.ExpiryFails)
}

func TestARealQueueBesideAnotherQueueBringsItsOwnSettings(t *testing.T) {
	s := parsed(t, "queue: {lease: 5m}")
	_, today := under(t, s, "bullmq")
	assert.Equal(t, 30*protocol.Second, today.Queue.Lease)
	assert.Equal(t, 2, today.Queue.Poison)
	assert.Equal(t, 10*protocol.Minute, today.Cooldown, "the same interruptions count in every column")
	assert.Equal(t, 5*protocol.Minute, s.Queue.Lease, "the scenario itself is not changed")
}

func TestADescribedColumnHasItsFaultsAndNothingElse(t *testing.T) {
	s := parsed(t, "policies: [{name: today, policy: finish-only, unsafe: [heartbeat-stops-at-stop, never-distrusts]}, {name: lean, queue: asynq}, hybrid]")
	assert.Equal(t, []string{"today", "lean", "hybrid"}, s.Policies)
	preset, c := under(t, s, "today")
	assert.Equal(t, deviation.Of(deviation.HeartbeatStopsAtStop, deviation.NeverDistrusts), preset.Deviations)
	assert.Equal(t, protocol.RunLateClaim, preset.Policy.LateClaim)
	assert.Same(t, s, c)
	preset, c = under(t, s, "lean")
	assert.Equal(t, "lean", preset.Name)
	assert.Equal(t, 30*protocol.Second, c.Queue.Lease)
}

func TestAColumnInStepPollsAsTheOthersButOnTicks(t *testing.T) {
	s := parsed(t, "queue: {long_poll: 0s, poll: 1s}\npolicies: [{name: today, policy: drain, in_step: true}, {name: idle, queue: good-job, in_step: true}, hybrid]")
	preset, c := under(t, s, "today")
	assert.Equal(t, model.NoRescue, preset.Rescue)
	step := s.Queue
	step.InStep = true
	assert.Equal(t, step, c.Queue)
	_, c = under(t, s, "idle")
	assert.True(t, c.Queue.InStep)
	assert.Equal(t, 10*protocol.Second, c.Queue.Poll, "the preset's")
	_, c = under(t, s, "hybrid")
	assert.False(t, c.Queue.InStep)
	assert.Equal(t, [2]protocol.Duration{protocol.Second, model.NoLongPoll}, [2]protocol.Duration{c.Queue.Poll, c.Queue.Park})
}

func TestAColumnCountsBatchesDownInItsOwnWay(t *testing.T) {
	s := parsed(t, "jobs: {mail: {arrivals: {every: 1s}, duration: 1s, batch: 9}}\npolicies: [{name: late, policy: crash-only, counted: after_ack}, {name: twice, queue: sidekiq, counted: by_run}, {name: once, counted: by_job}, hybrid]")
	for column, want := range map[string]model.Counting{"late": model.CountedAfterAck, "twice": model.CountedByRun, "once": model.CountedByJob, "hybrid": model.CountedByJob} {
		_, c := under(t, s, column)
		assert.Equal(t, want, c.Queue.Counted, column)
		c.Queue.Counted = model.CountedByJob
		if column != "twice" {
			assert.Equal(t, s.Queue, c.Queue, "%s: nothing else is changed", column)
		}
	}
	preset, _ := under(t, s, "late")
	assert.Equal(t, protocol.DieOnStop, preset.Policy.OnStop)
}
