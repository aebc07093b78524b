package metrics_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/internal/shelf"
	"github.com/quiesce/quiesce/realworld/metrics"
)

func nothing(context.Context, *worker.Job) error { return nil }

// A worker in production, with goroutines and a broker, is counted like a machine in a test,
// and may be scraped all the while.
func TestAWorkerIsCounted(t *testing.T) {
	const jobs = 2000
	m := metrics.New(metrics.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var scrapes sync.WaitGroup
	scrapes.Go(func() {
		for ctx.Err() == nil {
			values(t, m)
		}
	})
	require.NoError(t, shelf.New(jobs, nil).Work(nothing, 10, m.Observer()))
	cancel()
	scrapes.Wait()
	v := values(t, m)
	assert.Equal(t, float64(jobs), v["quiesce_jobs_total{kind=render,outcome=finished}"])
	assert.Equal(t, float64(jobs), v["quiesce_executions_total{kind=render,returned=nil}"])
	assert.Equal(t, float64(jobs), v["quiesce_execution_seconds{kind=render} count"])
	assert.Equal(t, 1.0, v["quiesce_drains_total{source=context}"])
	assert.Equal(t, 1.0, v["quiesce_exits_total{status=0}"])
	assert.Equal(t, 1.0, v["quiesce_workers{phase=Gone}"])
}

func TestCountingAllocatesNothing(t *testing.T) {
	l := newLife(metrics.New(metrics.Options{}), "web-1")
	l.granted(0, 1).step(protocol.SaveCursor(0, 9, true))
	ev := protocol.Settled(0, 1, 101, protocol.OK)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		l.observer.Step(l.now, ev, l.fx.All(), &l.machine)
		l.observer.Executed(worker.Execution{Job: 1, Token: 101, Code: protocol.ReturnedNil, Took: 5, Gap: 3})
	}))
}

// BenchmarkJob is the four steps of a job on the machine alone, and with the metrics, in turn.
// The fastest of each are compared, because the others were disturbed.
func BenchmarkJob(b *testing.B) {
	for _, slots := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			const jobs = 1000
			l := newLifeOf(metrics.New(metrics.Options{}), "web-1", slots)
			counting := l.observer
			alone, counted := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for b.Loop() {
				l.observer = blind{}
				alone = min(alone, l.runs(jobs))
				l.observer = counting
				counted = min(counted, l.runs(jobs))
			}
			b.ReportMetric(float64(alone.Nanoseconds())/jobs, "ns/job-alone")
			b.ReportMetric(float64(counted.Nanoseconds())/jobs, "ns/job-counted")
			b.ReportMetric(float64(counted)/float64(alone), "counted/alone")
		})
	}
}

// runs takes a number of jobs through one slot and returns how long that took.
func (l *life) runs(jobs int) time.Duration {
	began := time.Now()
	for job := range protocol.JobKey(jobs) {
		seq := l.machine.Requests()[0].Seq()
		l.step(protocol.GrantedJob(0, seq, job+1, 1, 0, 1, 0), protocol.ClaimClosed(0, seq, protocol.OK, 0))
		l.observer.Executed(worker.Execution{Job: job + 1, Token: 1, Code: protocol.ReturnedNil, Took: 5, Gap: 3})
		l.step(protocol.Returned(0, protocol.ReturnedNil, true), protocol.Settled(0, job+1, 1, protocol.OK))
	}
	return time.Since(began)
}

type blind struct{ worker.Observer }

func (blind) Step(protocol.Instant, protocol.Event, []protocol.Effect, worker.State) {}
func (blind) Executed(worker.Execution)                                              {}
