package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBestOfTheRoundsIsKept(t *testing.T) {
	var r rate
	r.keep(rate{PerSecond: 100, ServerCPU: 4, ClientCPU: 9, PerCall: 2})
	r.keep(rate{PerSecond: 300, ServerCPU: 5, ClientCPU: 7})
	r.keep(rate{PerSecond: 200, ServerCPU: 3, ClientCPU: 8})
	assert.Equal(t, rate{PerSecond: 300, ServerCPU: 3, ClientCPU: 7, PerCall: 2}, r)
}

func TestRatiosAndLatenciesAreMedians(t *testing.T) {
	r := redisReport{Work: []workRow{{System: "quiesce", Slots: 100, ratios: []float64{0.9, 0.2, 0.6}}}}
	for _, ms := range []float64{5, 100, 1, 2} {
		r.keepWaits("quiesce", 100, waits{P50: 1, P99: ms})
	}
	r.finish()
	assert.Equal(t, 0.6, r.Work[0].OfLimit)
	require.Len(t, r.Latency, 1)
	assert.Equal(t, waits{P50: 1, P99: 3.5}, r.Latency[0].waits)
	assert.Zero(t, median(nil))
}

func TestGoalsCompareWhatWasMeasured(t *testing.T) {
	r := redisReport{
		Work: []workRow{
			{System: "quiesce", Slots: 100, rate: rate{PerSecond: 130_000, ServerCPU: 4}, OfLimit: 0.5},
			{System: "asynq", Slots: 100, rate: rate{ServerCPU: 5}},
		},
		Enqueue: []enqueueRow{{System: "quiesce", How: "bulk of 1,000", rate: rate{PerSecond: 249_999}}},
		Latency: []latencyRow{
			{System: "quiesce", PerSecond: 100, waits: waits{P99: 2}},
			{System: "asynq", PerSecond: 10, waits: waits{P99: 1.9}},
			{System: pingName, PerSecond: 100, waits: waits{P99: 0.7}},
		},
	}
	met := map[string]bool{}
	for _, g := range r.goals() {
		met[g.Goal] = g.Met
	}
	assert.Equal(t, map[string]bool{
		"120,000 jobs/s at 100 slots":                              true,
		"60% of the bare scripts' rate at 100 slots":               false,
		"bulk enqueue of 250,000 jobs/s":                           false,
		"less server CPU per job than asynq at 100 slots":          true,
		"start latency p99 at 100/s no worse than asynq's at 10/s": false,
		"start latency p99 at most three times that of PING":       true,
	}, met, "river was not measured")
	assert.Empty(t, (&redisReport{}).goals())
}

func TestTablesSayWhatIsNotKnown(t *testing.T) {
	var out bytes.Buffer
	r := redisReport{Work: []workRow{{System: "river", Slots: 1, rate: rate{PerSecond: 1234567, ClientCPU: 2}}}, Failed: []string{"river, 1 slots: it broke"}, Skipped: []string{"asynq is skipped: it is not here"}}
	require.NoError(t, r.table(&out))
	assert.Regexp(t, `river +1 +1,234,567 +– +– +2.0`, out.String())
	assert.Contains(t, out.String(), "failed: river, 1 slots: it broke\n")
	assert.Contains(t, out.String(), "skipped: asynq is skipped: it is not here\n")

	out.Reset()
	d := drainReport{Rows: []drainRow{
		{System: "river", Jobs: 2, Signal: "SIGTERM", Killed: true, outcome: outcome{Unfinished: 1, AddedMean: 3, AddedMax: 4, StallMean: 5, StallMax: 6}},
		{System: "asynq", Jobs: 2, Signal: "SIGTERM", Exit: 1.5, outcome: outcome{AddedMean: 3, AddedMax: 4}},
		{System: "quiesce", Jobs: 2, Signal: "SIGKILL", Problem: "it went wrong"},
	}}
	require.NoError(t, d.table(&out))
	assert.Regexp(t, `river +≥3.00 +≥4.00 +≥5.00 +≥6.00 +0.00 +killed`, out.String())
	assert.Regexp(t, `asynq +3.00 +4.00 +0.00 +0.00 +0.00 +1.50`, out.String())
	assert.Contains(t, out.String(), "quiesce, SIGKILL, 2 jobs: it went wrong\n")
}
