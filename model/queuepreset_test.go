package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryRealQueueHasASourceAndSettingsThatWork(t *testing.T) {
	base := Queue{Lease: 7 * minute, Heartbeat: 100 * second, Margin: second, MaxFailures: 5, Poison: 3, CountAtClaim: true,
		Backoff: protocol.Backoff{Min: second, Max: minute}, SweepPeriod: protocol.Hour, MaxMessageAge: 10 * second}
	before := base
	for _, name := range QueuePresetNames() {
		p, err := QueuePresetNamed(name)
		require.NoError(t, err)
		_, err = PresetNamed(name)
		require.Error(t, err, "%s is also a policy", name)
		assert.NotEmpty(t, p.About, name)
		assert.True(t, strings.Contains(p.Source, "/"), "%s names a repository: %q", name, p.Source)
		q := p.Settings(base)
		assert.True(t, q.Heartbeat == NoHeartbeat || q.Heartbeat < q.Lease, name)
		assert.Equal(t, p.Rescue != LostWithHolder, q.Lease != base.Lease, "%s has a lease exactly when a claim outlives its holder", name)
		assert.LessOrEqual(t, q.Backoff.Min, q.Backoff.Max, name)
		assert.False(t, q.MaxAttempts > 0 && !q.CountAtClaim, name)
		assert.False(t, q.ExpiryFails && q.Poison > 0, "%s counts an expiry twice", name)
		if p.Policy.Deadline == protocol.DeadlineFromConstant {
			assert.Greater(t, p.Policy.Constant, p.Reserve, name)
			assert.Positive(t, p.Reserve, name)
		}
	}
	assert.Equal(t, before, base, "a preset changes a copy")
}

// The numbers are those of the systems' documentation. What a system leaves to its user is the
// scenario's.
func TestEveryRealQueueTriesAJobAndAsksForOneAsItsDefaultsSay(t *testing.T) {
	const endless, own = 0, 7 // failures that are not counted, and those that the scenario allows
	type defaults struct {
		failures, attempts, expiries int // that a job survives, plus one; 0 is no limit
		expiryFails                  bool
		park, poll                   protocol.Duration
	}
	const (
		scenarios = 11 * second
		ours      = protocol.Duration(0) // the protocol's default
	)
	expected := map[string]defaults{
		"asynq":            {26, 0, 0, true, second, ours}, // 25 retries
		"sidekiq":          {26, 0, 0, false, 2 * second, ours},
		"sidekiq-pro":      {26, 0, 3, false, 2 * second, ours},
		"bullmq":           {own, 0, 2, false, 5 * second, ours},
		"celery":           {own, 0, 0, false, second, ours},
		"celery-early-ack": {own, 0, 0, false, second, ours},
		"machinery":        {own, 0, 0, false, second, ours},
		"rq":               {own, 0, 0, false, scenarios, ours},
		"dramatiq":         {21, 0, 0, false, second, ours}, // 20 retries
		"arq":              {own, 5, 0, false, second, ours},
		"river":            {own, 25, 0, false, second, ours},
		"oban":             {own, 20, 0, false, second, ours},
		"pg-boss":          {3, 0, 0, true, 2 * second, ours}, // 2 retries
		"good-job":         {own, 0, 0, false, NoLongPoll, 10 * second},
		"solid-queue":      {own, 0, 0, false, second, ours},
		"graphile":         {own, 25, 0, false, 2 * second, ours},
		"temporal":         {endless, 0, 0, true, scenarios, ours},
		"faktory":          {26, 0, 0, true, 2 * second, ours},
		"shoryuken":        {endless, 0, 0, false, 20 * second, ours},
		"sqs-consumer":     {endless, 0, 0, false, 20 * second, ours},
	}
	for _, name := range QueuePresetNames() {
		p, err := QueuePresetNamed(name)
		require.NoError(t, err)
		q := p.Settings(Queue{MaxFailures: own, Poison: 9, MaxAttempts: 8, Park: scenarios, Poll: second})
		assert.Equal(t, expected[name], defaults{q.MaxFailures, q.MaxAttempts, q.Poison, q.ExpiryFails, q.Park, q.Poll}, name)
	}
	assert.Len(t, expected, len(QueuePresetNames()))
}

func TestRealQueuesMakeMistakesThatNoStopShows(t *testing.T) {
	beside := map[string]string{"shoryuken": "late-claim-dropped", "river": "settle-unfenced", "oban": "settle-unfenced", "faktory": "settle-unfenced"}
	distrusts := []string{"asynq", "solid-queue", "temporal"}
	for _, name := range QueuePresetNames() {
		p, err := QueuePresetNamed(name)
		require.NoError(t, err)
		assert.Contains(t, p.Faults(), "going-unsaid", name)
		assert.Equal(t, !slices.Contains(distrusts, name), slices.Contains(p.Faults(), "never-distrusts"), "%s works on without its claim", name)
		if fault := beside[name]; fault != "" {
			assert.Contains(t, p.Faults(), fault, name)
		}
	}
}

func TestAnUnknownQueueIsAnsweredWithThoseThatAreKnown(t *testing.T) {
	_, err := QueuePresetNamed("sidekick")
	require.ErrorContains(t, err, `there is no queue "sidekick"; use one of arq, asynq, bullmq, celery,`)
}

func TestAScenarioKnowsWhatAColumnStandsFor(t *testing.T) {
	lease := Queue{Lease: 7 * second}
	s := &Scenario{Queue: Queue{Lease: 5 * minute}, Jobs: []Job{{Undo: second, Declared: second}},
		Variants: []Variant{{Preset: Preset{Name: "today"}, Queue: &lease}}}
	_, under, err := s.Under("hybrid")
	require.NoError(t, err)
	assert.Same(t, s, under)

	_, under, err = s.Under("today")
	require.NoError(t, err)
	assert.Equal(t, lease, under.Queue)
	assert.Equal(t, 10*minute, under.Cooldown)
	assert.Equal(t, second, under.Jobs[0].Undo, "its workers are ours")

	preset, under, err := s.Under("arq")
	require.NoError(t, err)
	assert.Equal(t, "arq", preset.Name)
	assert.Equal(t, 310*second, under.Queue.Lease)
	assert.Zero(t, under.Jobs[0].Undo)
	assert.Zero(t, under.Jobs[0].Declared)
	assert.Equal(t, second, s.Jobs[0].Undo, "the scenario is not changed")

	_, _, err = s.Under("nobody")
	require.ErrorContains(t, err, `there is no policy "nobody"; use one of today, none, crash-only`)
}

func TestFaultsAreBuiltInByNameAndAnUnknownOneIsRefused(t *testing.T) {
	hybrid, err := PresetNamed("hybrid")
	require.NoError(t, err)
	faulty, err := hybrid.Unsafe("settles-once", "going-unsaid")
	require.NoError(t, err)
	assert.Equal(t, []string{"going-unsaid", "settles-once"}, faulty.Faults())
	assert.Empty(t, hybrid.Faults())
	again, err := PresetNamed("hybrid")
	require.NoError(t, err)
	assert.Equal(t, hybrid, again, "the preset itself stays sound")
	_, err = hybrid.Unsafe("none")
	require.ErrorContains(t, err, `there is no fault "none"`)
}
