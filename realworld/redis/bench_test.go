//go:build unix

package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
)

// Jobs that do nothing, enqueued before, through a worker. Beside the time, which other load
// on the machine changes, it gives the processor time of both sides.
func BenchmarkWorker(b *testing.B) {
	for _, slots := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			f := newFixture(b)
			jobs := make([]Job, 1000)
			for i := range jobs {
				jobs[i] = Job{Kind: "k", Payload: make([]byte, 100)}
			}
			for n := 0; n < b.N; n += len(jobs) {
				_, err := f.q.Enqueue(b.Context(), jobs[:min(len(jobs), b.N-n)]...)
				require.NoError(b, err)
			}
			var done atomic.Int64
			all := make(chan struct{})
			mux := worker.NewMux()
			mux.Handle("k", func(context.Context, *worker.Job) error {
				if done.Add(1) == int64(b.N) {
					close(all)
				}
				return nil
			})
			w, err := worker.New(f, mux, worker.Options{Slots: slots, Queues: []string{"q"}, Grace: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			finished := make(chan error)
			served, own, calls := redisCPU(f), ownCPU(), turns(f)
			b.ResetTimer()
			go func() { finished <- w.Run(ctx, nil) }()
			<-all
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric((redisCPU(f)-served)/float64(b.N), "redis-µs/job")
			b.ReportMetric((ownCPU()-own)/float64(b.N), "go-µs/job")
			b.ReportMetric(float64(b.N)/float64(turns(f)-calls), "jobs/call")
			cancel()
			require.NoError(b, <-finished)
		})
	}
}

// redisCPU is the processor time that the server has used, in microseconds: the part of
// the cost that other load on the machine does not change.
func redisCPU(f *fixture) float64 {
	info, err := f.client.Do(context.Background(), f.client.B().Info().Section("cpu").Build()).ToString()
	require.NoError(f.t, err)
	sum := 0.0
	for _, line := range strings.Fields(info) {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			v, err := strconv.ParseFloat(value, 64)
			require.NoError(f.t, err)
			sum += v * 1e6
		}
	}
	return sum
}

// turns is how many scripts the server has run.
func turns(f *fixture) int {
	info, err := f.client.Do(context.Background(), f.client.B().Info().Section("commandstats").Build()).ToString()
	require.NoError(f.t, err)
	_, rest, _ := strings.Cut(info, "cmdstat_evalsha:calls=")
	count, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(count)
	require.NoError(f.t, err)
	return n
}

func ownCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

func BenchmarkEnqueue(b *testing.B) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			f := newFixture(b)
			jobs := make([]Job, size)
			for i := range jobs {
				jobs[i] = Job{Kind: "k", Payload: make([]byte, 100)}
			}
			served, own := redisCPU(f), ownCPU()
			b.ResetTimer()
			for n := 0; n < b.N; n += size {
				_, err := f.q.Enqueue(b.Context(), jobs[:min(size, b.N-n)]...)
				require.NoError(b, err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric((redisCPU(f)-served)/float64(b.N), "redis-µs/job")
			b.ReportMetric((ownCPU()-own)/float64(b.N), "go-µs/job")
		})
	}
}
