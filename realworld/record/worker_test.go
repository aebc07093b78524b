package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// shelf is a broker of jobs that are all there from the beginning, as fast as a broker can be.
type shelf struct {
	payload []byte
	mu      sync.Mutex
	jobs    int // not granted yet
	settled atomic.Int64
	all     chan struct{} // closed when every job is settled
	want    int64
}

func newShelf(jobs int, payload []byte) *shelf {
	return &shelf{payload: payload, jobs: jobs, all: make(chan struct{}), want: int64(jobs)}
}

func (s *shelf) Register(context.Context, worker.Life) (uint64, error) { return 7, nil }
func (s *shelf) Going(context.Context, uint64, string) error           { return nil }

func (s *shelf) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	s.mu.Lock()
	n := min(req.Want, s.jobs)
	first := s.jobs
	s.jobs -= n
	s.mu.Unlock()
	if n == 0 {
		<-ctx.Done()
		return worker.ClaimAnswer{}, ctx.Err()
	}
	grants := make([]worker.Grant, n)
	for i := range grants {
		job := protocol.JobKey(first - i)
		grants[i] = worker.Grant{Job: job, Token: protocol.Token(job), Kind: "render", Payload: s.payload, Cursor: s.payload}
	}
	return worker.ClaimAnswer{Grants: grants}, nil
}

func (s *shelf) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

func (s *shelf) Renew(_ context.Context, r []worker.Renewal) ([]protocol.Code, error) {
	return codes(len(r)), nil
}

func (s *shelf) Save(context.Context, worker.Renewal) (protocol.Code, error) { return protocol.OK, nil }

func (s *shelf) Settle(_ context.Context, all []worker.Settlement) ([]protocol.Code, error) {
	if s.settled.Add(int64(len(all))) == s.want {
		close(s.all)
	}
	return codes(len(all)), nil
}

func (s *shelf) Capabilities() worker.Capabilities { return worker.Capabilities{} }

func codes(n int) []protocol.Code {
	c := make([]protocol.Code, n)
	for i := range c {
		c[i] = protocol.OK
	}
	return c
}

// work runs a worker until every job is settled.
func work(t testing.TB, s *shelf, h worker.Handler, slots int, observers ...worker.Observer) {
	mux := worker.NewMux()
	mux.Handle("render", h)
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

// Nothing that a job carries gets into a recording: not what it was given, saved, returned,
// or panicked with.
func TestNoPayloadGetsIntoARecording(t *testing.T) {
	const secret = "0xSECRET-PAYLOAD"
	dir := t.TempDir()
	recorder, err := New(options(dir))
	require.NoError(t, err)
	var n atomic.Int64
	s := newShelf(50, []byte(secret))
	work(t, s, func(ctx context.Context, job *worker.Job) error {
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
	}, 4, recorder)
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
				work(b, newShelf(jobs, nil), nothing, slots)
				without = min(without, time.Since(began))
				recorder, err := New(options(dir))
				require.NoError(b, err)
				began = time.Now()
				work(b, newShelf(jobs, nil), nothing, slots, recorder)
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
