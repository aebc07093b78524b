package metrics_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/metrics"
)

// shelf is a broker of jobs that are all there from the beginning, as fast as a broker can be.
type shelf struct {
	mu      sync.Mutex
	jobs    int // not granted yet
	settled atomic.Int64
	all     chan struct{} // closed when every job is settled
	want    int64
}

func newShelf(jobs int) *shelf {
	return &shelf{jobs: jobs, all: make(chan struct{}), want: int64(jobs)}
}

func (s *shelf) Register(context.Context, worker.Life) (uint64, error) { return 7, nil }
func (s *shelf) Going(context.Context, uint64, string) error           { return nil }

func (s *shelf) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	s.mu.Lock()
	first, n := s.jobs, min(req.Want, s.jobs)
	s.jobs -= n
	s.mu.Unlock()
	if n == 0 {
		<-ctx.Done()
		return worker.ClaimAnswer{}, ctx.Err()
	}
	grants := make([]worker.Grant, n)
	for i := range grants {
		grants[i] = worker.Grant{Job: protocol.JobKey(first - i), Token: protocol.Token(first - i), Kind: "render"}
	}
	return worker.ClaimAnswer{Grants: grants}, nil
}

func (s *shelf) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

func (s *shelf) Renew(_ context.Context, r []worker.Renewal) ([]protocol.Code, error) {
	return done(len(r)), nil
}

func (s *shelf) Save(context.Context, worker.Renewal) (protocol.Code, error) { return protocol.OK, nil }

func (s *shelf) Settle(_ context.Context, all []worker.Settlement) ([]protocol.Code, error) {
	if s.settled.Add(int64(len(all))) == s.want {
		close(s.all)
	}
	return done(len(all)), nil
}

func (s *shelf) Capabilities() worker.Capabilities { return worker.Capabilities{} }

func done(n int) []protocol.Code {
	c := make([]protocol.Code, n)
	for i := range c {
		c[i] = protocol.OK
	}
	return c
}

// work runs a worker until every job of the shelf is settled, and stops it.
func work(t testing.TB, s *shelf, slots int, observers ...worker.Observer) {
	mux := worker.NewMux()
	mux.Handle("render", func(context.Context, *worker.Job) error { return nil })
	w, err := worker.New(s, mux, worker.Options{
		Seat: "web-1", Slots: slots, Grace: 30 * time.Second, Observers: observers,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	left := make(chan error)
	go func() { left <- w.Run(ctx, nil) }()
	<-s.all
	stop()
	require.NoError(t, <-left)
}

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
	work(t, newShelf(jobs), 10, m.Observer())
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
