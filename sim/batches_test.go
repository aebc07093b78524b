package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
)

// batchOfTwo is a batch of two jobs, of which the second is done long after the first. A message
// takes 100 ms.
const batchOfTwo = `
name: batch-of-two
duration: 10m
warmup: 0s
fleet: {workers: 1, slots: 2, start: 1s}
queue: {lease: 30s, heartbeat: 10s}
jobs: {mail: {arrivals: {every: 1m}, count: 2, duration: 5s, checkpoint: 1s, batch: 2}}
faults: {network: {latency: 100ms}}
policies: [{name: late, counted: after_ack}, {name: every-run, counted: by_run}, hybrid]
`

// batchRun runs it with what edits put in place under a column. It returns what became of the
// batch, and when the broker had the first ack.
func batchRun(t *testing.T, column string, edits ...string) (row *meter.Row, acked protocol.Instant) {
	sc, err := scenarios.Parse("batch.yaml", []byte(strings.NewReplacer(edits...).Replace(batchOfTwo)))
	require.NoError(t, err)
	preset, sc, err := sc.Under(column)
	require.NoError(t, err)
	w, err := sim.NewWorld(sc, preset, 1, nil)
	require.NoError(t, err)
	w.Observe(func(o sim.Observation) {
		if o.Kind == sim.SawRecord && o.Record.Kind == meter.JobFinished && acked == 0 {
			acked = o.At
		}
	})
	row, err = w.Run(nil)
	require.NoError(t, err)
	return row, acked
}

func TestACounterAfterTheAckIsLostWithAProcessThatWaitsForTheAck(t *testing.T) {
	row, acked := batchRun(t, "late")
	assert.Equal(t, int64(1), row.Counts[meter.BatchesDone])
	assert.Zero(t, row.Counts[meter.BatchesNeverCompleted])
	for _, c := range []struct {
		after protocol.Duration
		lost  int64
		why   string
	}{
		{-2 * protocol.Second, 0, "the job was not done, and is run again"},
		{-50 * protocol.Millisecond, 1, "the ack was on its way to the broker"},
		{50 * protocol.Millisecond, 1, "its answer was on its way back"},
		{150 * protocol.Millisecond, 0, "the request that counts was on its way to the broker"},
		{250 * protocol.Millisecond, 0, "the counter was written"},
	} {
		t.Run(c.after.String(), func(t *testing.T) {
			crash := fmt.Sprintf("at: [{time: %v, kind: crash}]", protocol.Duration(acked.Add(c.after)))
			for column, lost := range map[string]int64{"late": c.lost, "every-run": 0, "hybrid": 0} {
				row, _ := batchRun(t, column, "100ms}", "100ms}, "+crash)
				assert.Equal(t, int64(1), row.Counts[meter.BatchesDone], "%s: every job is done", column)
				assert.Equal(t, lost, row.Counts[meter.BatchesNeverCompleted], "%s: %s", column, c.why)
				assert.Zero(t, row.Counts[meter.BatchesCompletedEarly], column)
			}
		})
	}
}

// The answer that does not come is the machine's business: it repeats the ack, and what belongs to
// it with it.
func TestACounterAfterTheAckIsWrittenByTheRepeatWhenAnAnswerIsLost(t *testing.T) {
	_, acked := batchRun(t, "late")
	for _, at := range []protocol.Duration{50 * protocol.Millisecond, 150 * protocol.Millisecond, 250 * protocol.Millisecond} {
		cut := fmt.Sprintf("at: [{time: %v, kind: partition, length: 70ms}]", protocol.Duration(acked.Add(at)))
		row, _ := batchRun(t, "late", "100ms}", "100ms}, "+cut)
		assert.Equal(t, int64(1), row.Counts[meter.BatchesDone])
		assert.Zero(t, row.Counts[meter.BatchesNeverCompleted], "cut off %v after the ack", at)
	}
}

// A handler that hears nothing outlives its claim in a process that stands still. Another worker
// does the job, and then it does so too, before the other job of the batch has come.
func TestACounterOfEveryRunIsAtZeroTooEarlyWhenAJobIsDoneTwice(t *testing.T) {
	edits := []string{"workers: 1", "workers: 2", "batch: 2", "batch: 2, deaf: 100%", "100ms}", ""}
	for column, early := range map[string]int64{"every-run": 1, "late": 0, "hybrid": 0} {
		twice := 0
		for seat := range 2 {
			edits[len(edits)-1] = fmt.Sprintf("100ms}, at: [{time: 62s, seat: %d, kind: pause, length: 40s}]", seat)
			row, _ := batchRun(t, column, edits...)
			if row.Counts[meter.EffectsAppliedTwice] == 0 {
				continue // it stands still with nothing to do
			}
			twice++
			assert.Equal(t, int64(1), row.Counts[meter.BatchesDone], column)
			assert.Equal(t, early, row.Counts[meter.BatchesCompletedEarly], column)
			assert.Zero(t, row.Counts[meter.BatchesNeverCompleted], column)
		}
		assert.Equal(t, 1, twice, "%s: the job was done twice", column)
	}
}

func TestBatchesOfTheWarmUpAndOfTheLastMomentAreLeftOut(t *testing.T) {
	for edit, done := range map[string]int64{
		"warmup: 59s": 1,
		"warmup: 61s": 0, // its first job had come
	} {
		row, _ := batchRun(t, "hybrid", "warmup: 0s", edit)
		assert.Equal(t, done, row.Counts[meter.BatchesDone], edit)
	}
	for edit, done := range map[string]int64{
		"duration: 3m6s": 1, // its last ack is a minute old, two leases
		"duration: 3m5s": 0,
	} {
		row, _ := batchRun(t, "hybrid", "duration: 10m", edit)
		assert.Equal(t, done, row.Counts[meter.BatchesDone], edit)
	}
}
