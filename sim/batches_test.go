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
	row, acked, _ = batchSeen(t, column, edits...)
	return row, acked
}

// batchSeen is batchRun for who looks on: it returns the counts as well, without their lives.
func batchSeen(t *testing.T, column string, edits ...string) (row *meter.Row, acked protocol.Instant, counts []sim.Observation) {
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
		if o.Kind == sim.SawCount || o.Kind == sim.SawUncounted {
			o.Life = 0
			counts = append(counts, o)
		}
	})
	row, err = w.Run(nil)
	require.NoError(t, err)
	return row, acked, counts
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

func TestBatchesOfTheWarmUpAndOfTheLastMomentAndUnfinishedOnesAreLeftOut(t *testing.T) {
	for edit, done := range map[string]int64{
		"warmup: 59s": 1,
		"warmup: 61s": 0, // its first job had come
	} {
		row, _ := batchRun(t, "hybrid", "warmup: 0s", edit)
		assert.Equal(t, done, row.Counts[meter.BatchesDone], edit)
	}
	row, _ := batchRun(t, "hybrid", "count: 2", "count: 1")
	assert.Zero(t, row.Counts[meter.BatchesDone], "of the batch a job has never come")
	for edit, done := range map[string]int64{
		"duration: 3m6s": 1, // its last ack is a minute old, two leases
		"duration: 3m5s": 0,
	} {
		row, _ := batchRun(t, "hybrid", "duration: 10m", edit)
		assert.Equal(t, done, row.Counts[meter.BatchesDone], edit)
	}
}

func TestCountersAreSeen(t *testing.T) {
	const end = protocol.Instant(10 * protocol.Minute)
	count := func(at protocol.Instant, job protocol.JobKey, left, undone int32) sim.Observation {
		return sim.Observation{At: at, Kind: sim.SawCount, Count: sim.Count{Job: job, Left: left, Undone: undone}}
	}
	for column, after := range map[string]protocol.Duration{
		"late":   200 * protocol.Millisecond, // the answer to the ack, and the request
		"hybrid": -100 * protocol.Millisecond,
	} {
		_, acked, counts := batchSeen(t, column)
		at := acked.Add(after)
		assert.Equal(t, []sim.Observation{count(at, 1, 1, 1), count(at.Add(protocol.Minute), 2, 0, 0)}, counts, column)
	}

	_, acked, _ := batchSeen(t, "late")
	crash := fmt.Sprintf("100ms}, at: [{time: %v, kind: crash}]", protocol.Duration(acked.Add(50*protocol.Millisecond)))
	_, _, counts := batchSeen(t, "late", "100ms}", crash)
	lost := sim.Observation{At: end, Kind: sim.SawUncounted, Seat: -1, Count: sim.Count{Job: 1, Left: 1}}
	assert.Equal(t, []sim.Observation{count(counts[0].At, 2, 1, 0), lost}, counts)
	_, _, counts = batchSeen(t, "late", "100ms}", crash, "duration: 10m", "duration: 3m5s")
	assert.Len(t, counts, 1, "its last ack is too new for a verdict")

	_, _, counts = batchSeen(t, "every-run", "workers: 1", "workers: 2", "batch: 2", "batch: 2, deaf: 100%", "100ms}", "100ms}, at: [{time: 62s, seat: 0, kind: pause, length: 40s}, {time: 62s, seat: 1, kind: pause, length: 40s}]")
	require.Len(t, counts, 3)
	assert.Equal(t, sim.Count{Job: 1, Left: 1, Undone: 1}, counts[0].Count)
	assert.Equal(t, sim.Count{Job: 1, Left: 0, Undone: 1, Again: true}, counts[1].Count)
	assert.NotEqual(t, counts[0].Seat, counts[1].Seat, "by whoever did it")
}
