package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/internal/shelf"
)

// Nothing that a job carries gets into a recording: not what it was given, saved, returned,
// or panicked with.
func TestNoPayloadGetsIntoARecording(t *testing.T) {
	const secret = "0xSECRET-PAYLOAD"
	dir := t.TempDir()
	recorder, err := New(options(dir))
	require.NoError(t, err)
	var n atomic.Int64
	require.NoError(t, shelf.New(50, []byte(secret)).Work(func(ctx context.Context, job *worker.Job) error {
		if err := job.Flush(ctx, []byte(secret)); err != nil {
			return err
		}
		job.Save([]byte(secret))
		switch n.Add(1) % 4 {
		case 1:
			return errors.New(secret)
		case 2:
			return worker.Failed(fmt.Errorf("with %s", secret))
		case 3:
			panic(secret)
		}
		return nil
	}, 4, recorder))
	for _, path := range segments(t, dir) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(data), "render", "it is the recording of this worker")
		for i := range len(secret) - 4 {
			assert.False(t, bytes.Contains(data, []byte(secret[i:i+5])), "%q is in %s", secret[i:i+5], path)
		}
	}
	_, result, _ := replay(t, dir)
	assert.Nil(t, result.Divergence)
	assert.Greater(t, result.Steps, uint64(300))
	assert.True(t, result.Ended)
}

// A recorder allocates nothing while it records.
func TestRecordingAllocatesNothing(t *testing.T) {
	l := newLife(t, options(t.TempDir()))
	ev, fx := protocol.Event{Kind: protocol.QuietAsked}, l.fx
	l.machine.Step(l.now, ev, fx)
	for range 10_000 {
		l.recorder.Step(l.now, ev, fx.All(), &l.machine)
	}
	l.recorder.out.settle(t)
	assert.Less(t, testing.AllocsPerRun(1000, func() { l.recorder.Step(l.now, ev, fx.All(), &l.machine) }), 0.1)
	l.killed()
}

// BenchmarkWorker is the cost of the recorder to a worker whose jobs and whose broker take
// no time: each iteration runs the same jobs once without and once with it. The fastest of
// each are compared, because the others were disturbed.
func BenchmarkWorker(b *testing.B) {
	for _, slots := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			const jobs = 5_000
			dir := b.TempDir()
			without, with := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			nothing := func(context.Context, *worker.Job) error { return nil }
			for b.Loop() {
				began := time.Now()
				require.NoError(b, shelf.New(jobs, nil).Work(nothing, slots))
				without = min(without, time.Since(began))
				recorder, err := New(options(dir))
				require.NoError(b, err)
				began = time.Now()
				require.NoError(b, shelf.New(jobs, nil).Work(nothing, slots, recorder))
				with = min(with, time.Since(began))
			}
			b.ReportMetric(float64(with)/float64(without), "with/without")
			b.ReportMetric(float64(without.Nanoseconds())/jobs, "ns/job-without")
			b.ReportMetric(float64(with.Nanoseconds())/jobs, "ns/job-with")
		})
	}
}

// BenchmarkStep is the same per step: the machine alone, and the recorder beside it.
func BenchmarkStep(b *testing.B) {
	l := newLife(b, options(b.TempDir()))
	seq := l.machine.Requests()[0].Seq()
	l.step(protocol.GrantedJob(0, seq, 1, 1_700_000_000_000_000, 0, 1, 0), protocol.ClaimClosed(0, seq, protocol.OK, 0))
	save := protocol.SaveCursor(0, 9, true)
	for _, c := range []struct {
		name     string
		recorded bool
	}{{"machine", false}, {"recorded", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.fx.Reset()
				l.machine.Step(l.now, save, l.fx)
				if c.recorded {
					l.recorder.Step(l.now, save, l.fx.All(), &l.machine)
				}
			}
		})
	}
}
