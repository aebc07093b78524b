package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// handed is how a job left the worker that was told to stop.
type handed struct {
	after  protocol.Duration // since SIGTERM
	verb   protocol.Verb     // none: it was not handed back at all
	eroded bool
	early  bool // while its handler still ran
}

// stopToday sends SIGTERM to a worker that runs a job without an end, under a grace of two
// minutes, and says how the job left it.
func stopToday(t *testing.T, queue string) handed {
	sc := *spareFleet()
	sc.Duration, sc.Warmup, sc.Trace = hours, 0, oneJob{protocol.Instant(protocol.Minute)}
	sc.Supervisor = model.Supervisor{Kind: model.Plain, Grace: 2 * protocol.Minute}
	sc.Jobs = []model.Job{{Name: "job", Checkpoint: 100 * protocol.Millisecond}}
	preset, under, err := sc.Under(queue)
	require.NoError(t, err)
	w, err := NewWorld(under, preset, 1, nil)
	require.NoError(t, err)
	var (
		out     handed
		term    protocol.Instant
		running bool
	)
	w.Observe(func(o Observation) {
		switch {
		case o.Kind != SawRecord || term == 0 && o.Record.Kind != meter.ExecutionStarted:
		case o.Record.Kind == meter.ExecutionStarted:
			running = true
		case o.Record.Kind == meter.ExecutionEnded:
			running = false
		case o.Record.Kind == meter.ClaimEnded && out.verb == protocol.NoVerb:
			out = handed{o.At.Sub(term), o.Record.Verb, o.Record.Eroded, running}
		}
	})
	require.NoError(t, w.runTo(protocol.Instant(70*protocol.Second), nil))
	for i := range w.fleet.used() {
		if p := w.fleet.at(i); p.state == seatUp && p.execs[0].works() {
			term = w.now
			w.stopProcess(p)
			break
		}
	}
	require.NotZero(t, term, "nobody runs the job")
	require.NoError(t, w.runTo(term.Add(3*protocol.Minute), nil))
	return out
}

// TestWhatSIGTERMDoesToARunningJobUnderEachRealQueue has the columns "drain wait", "requeue at
// deadline" and "costs an attempt" of the comparison of these systems.
func TestWhatSIGTERMDoesToARunningJobUnderEachRealQueue(t *testing.T) {
	const sec = protocol.Second
	kept := handed{}
	expected := map[string]handed{
		"asynq":            {after: 8 * sec, verb: protocol.Release, early: true},
		"sidekiq":          {after: 25 * sec, verb: protocol.Release, early: true},
		"sidekiq-pro":      {after: 25 * sec, verb: protocol.Release, early: true},
		"solid-queue":      {after: 5 * sec, verb: protocol.Release, early: true},
		"arq":              {after: 0, verb: protocol.Release, eroded: true},
		"temporal":         {after: 0, verb: protocol.Fail, eroded: true},
		"graphile":         {after: 5 * sec, verb: protocol.Fail, eroded: true},
		"faktory":          {after: 25 * sec, verb: protocol.Fail, eroded: true},
		"pg-boss":          {after: 30 * sec, verb: protocol.Fail, eroded: true, early: true},
		"bullmq":           kept,
		"celery":           kept,
		"celery-early-ack": kept,
		"machinery":        kept,
		"rq":               kept,
		"dramatiq":         kept,
		"river":            kept,
		"oban":             kept,
		"good-job":         kept,
		"shoryuken":        kept,
		"sqs-consumer":     kept,
	}
	for _, queue := range model.QueuePresetNames() {
		want, ok := expected[queue]
		require.True(t, ok, "%s is not in the table", queue)
		got := stopToday(t, queue)
		assert.InDelta(t, int64(want.after), int64(got.after), float64(150*protocol.Millisecond), "%s: when", queue)
		got.after = want.after
		// A killed process, a closed session: that is no hand-back.
		assert.Equal(t, want, got, queue)
	}
	assert.Len(t, expected, len(model.QueuePresetNames()))
}

// TestAMetricTellsAFailedInterruptionFromAFailure: an attempt that a deploy spent is not one
// that the job spent.
func TestAMetricTellsAFailedInterruptionFromAFailure(t *testing.T) {
	sc := smallFleet()
	sc.Faults = model.Faults{}
	sc.Jobs[0].Fails = 0
	preset, under, err := sc.Under("graphile")
	require.NoError(t, err)
	w, err := NewWorld(under, preset, 1, nil)
	require.NoError(t, err)
	row := run(t, w)
	assert.Zero(t, row.Counts[meter.Failures], "no handler failed by itself")
	assert.Positive(t, row.ByReason[protocol.BecauseDrain])
	assert.GreaterOrEqual(t, row.Counts[meter.AttemptsEroded], row.ByReason[protocol.BecauseDrain])
	assert.Positive(t, row.Stalls[meter.ByDeploy].N, "and the job stalls until its backoff is over")
}
