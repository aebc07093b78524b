//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quiesce/quiesce/protocol"
	. "github.com/quiesce/quiesce/protocol/worker"
)

// ready is a broker that answers at once, with as many jobs as are wanted until it has none
// left: what remains is what the worker itself costs.
type ready struct {
	left   atomic.Int64
	done   atomic.Int64
	total  int64
	token  atomic.Uint64
	empty  chan struct{}
	calls  atomic.Int64
	settle atomic.Int64
	trip   time.Duration // of each call
}

func (b *ready) Register(context.Context, Life) (uint64, error)       { return 1, nil }
func (b *ready) Going(context.Context, uint64, string) error          { return nil }
func (b *ready) Capabilities() Capabilities                           { return Capabilities{} }
func (b *ready) Save(context.Context, Renewal) (protocol.Code, error) { return protocol.OK, nil }

func (b *ready) Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error) {
	b.calls.Add(1)
	b.travel()
	n := min(int64(req.Want), b.left.Load())
	if n == 0 {
		<-ctx.Done()
		return ClaimAnswer{}, ctx.Err()
	}
	b.left.Add(-n)
	grants := make([]Grant, n)
	for i := range grants {
		t := b.token.Add(1)
		grants[i] = Grant{Job: protocol.JobKey(t), Token: protocol.Token(t), Kind: "job", Version: 1}
	}
	return ClaimAnswer{Grants: grants}, nil
}

func (b *ready) Withdraw(context.Context, uint64, string, uint64) (int, error) { return 0, nil }

func (b *ready) Renew(_ context.Context, r []Renewal) ([]protocol.Code, error) {
	return fine(len(r)), nil
}

func (b *ready) Settle(_ context.Context, s []Settlement) ([]protocol.Code, error) {
	b.settle.Add(1)
	b.travel()
	if b.done.Add(int64(len(s))) == b.total {
		close(b.empty)
	}
	return fine(len(s)), nil
}

// travel takes as long as a round trip.
func (b *ready) travel() {
	if b.trip > 0 {
		time.Sleep(b.trip)
	}
}

func fine(n int) []protocol.Code {
	codes := make([]protocol.Code, n)
	for i := range codes {
		codes[i] = protocol.OK
	}
	return codes
}

// BenchmarkJobs is what one job costs in the worker, from its grant to its ack, when neither
// handler nor broker cost anything: cpu-ns/op over all goroutines. On a busy machine only
// the ratios mean something.
func BenchmarkJobs(b *testing.B) {
	run := func(trip time.Duration, slots int) {
		b.Run(fmt.Sprintf("trip=%v/slots=%d", trip, slots), func(b *testing.B) { benchmarkJobs(b, slots, trip) })
	}
	for _, slots := range []int{1, 10, 100, 1000} {
		run(0, slots)
	}
	for _, slots := range []int{100, 1000} { // fewer would mostly sleep
		run(100*time.Microsecond, slots)
	}
}

func benchmarkJobs(b *testing.B, slots int, trip time.Duration) {
	broker := &ready{total: int64(b.N), empty: make(chan struct{}), trip: trip}
	broker.left.Store(int64(b.N))
	mux := NewMux()
	mux.Handle("job", func(context.Context, *Job) error { return nil }, Versions(1, 1))
	w, err := New(broker, mux, Options{Slots: slots, Grace: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	ctx, cancel := context.WithCancel(b.Context())
	left := make(chan error)
	b.ResetTimer()
	used := cpuTime(b)
	go func() { left <- w.Run(ctx, nil) }()
	<-broker.empty
	used = cpuTime(b) - used
	b.StopTimer()
	cancel()
	if err := <-left; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/float64(broker.calls.Load()), "jobs/claim")
	b.ReportMetric(float64(b.N)/float64(broker.settle.Load()), "jobs/settle")
}

// cpuTime is the processor time that this process has used. On a shared machine it says
// more than the time on the wall.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
