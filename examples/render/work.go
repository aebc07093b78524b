package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/guard"
	"github.com/quiesce/quiesce/realworld/metrics"
	"github.com/quiesce/quiesce/realworld/record"
	"github.com/quiesce/quiesce/realworld/redis"
)

// work is the worker: what it needs, in the order in which it needs it.
func work(c config, handlers func(*renderer) *worker.Mux) int {
	ctx := context.Background()
	fail := func(err error) int {
		slog.Error("the worker does not start", "error", err)
		return 1
	}

	// The seat first: it removes what a killed worker left before anything new is made.
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
	seat, err := realworld.TakeSeat(waiting, c.state, c.seat)
	cancel()
	if err != nil {
		return fail(err)
	}
	if err := seat.UseForTemp(); err != nil {
		return fail(err)
	}

	broker, err := redis.Open(ctx, redis.Options{URL: c.redis, Queues: c.queues()})
	if err != nil {
		return fail(err)
	}
	// It is not closed: the exit does that, and Close would wait for a Redis that does not answer.
	queue, err := broker.Queue(queueName)
	if err != nil {
		return fail(err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}

	recorder, err := record.New(record.Options{Dir: filepath.Join(c.state, "flight")})
	if err != nil {
		return fail(err)
	}
	counted, counts := metrics.New(metrics.Options{}), prometheus.NewRegistry()
	counts.MustRegister(counted, metrics.Partitions(broker))
	telling, err := guard.Tell(c.queues()) // says nothing when there is no guard
	if err != nil {
		return fail(err)
	}
	grace, err := realworld.Grace(c.grace)
	if err != nil {
		return fail(err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fail(err)
	}
	w, err := worker.New(broker, handlers(&renderer{out: c.out, self: self, enqueue: queue.Enqueue}), worker.Options{
		Seat:      host + "/" + c.seat,
		Queues:    []string{queueName},
		Slots:     c.slots,
		Grace:     grace,
		Lease:     c.lease,
		Alone:     seat.Alone(),
		Track:     seat.Track,
		Observers: []worker.Observer{recorder, counted.Observer(), telling},
	})
	if err != nil {
		return fail(err)
	}

	stops := realworld.NewStops()
	defer stops.Close()
	realworld.Systemd(stops, w, realworld.SystemdOptions{}) // does nothing elsewhere
	stops.Signals()
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		stops.Learn(realworld.Pod{}.KillAt, func(err error) {
			slog.Warn("the pod's end is not known, QUIESCE_GRACE counts", "why", err)
		})
	}
	endpoint, err := realworld.Listen(c.endpoint(), w, stops, realworld.EndpointOptions{})
	if err != nil {
		return fail(err)
	}
	if c.listen != "" {
		asked := http.NewServeMux()
		asked.Handle("/", realworld.Probes(w, stops))
		asked.Handle("/metrics", promhttp.HandlerFor(counts, promhttp.HandlerOpts{}))
		listener, err := net.Listen("tcp", c.listen)
		if err != nil {
			return fail(err)
		}
		server := &http.Server{Handler: asked, ReadHeaderTimeout: time.Second}
		defer server.Close()
		go server.Serve(listener)
	}

	status := worker.ExitStatus(w.Run(ctx, stops.Events()))
	if c.lastWords != "" {
		words := lastWords(status, w.Ledger())
		if err := os.WriteFile(c.lastWords, []byte(words+"\n"), 0o644); err != nil {
			slog.Warn("the last words are lost", "words", words, "error", err)
		}
	}
	endpoint.Close() // whoever waits in prestop gets the answer
	if status == 0 {
		seat.Close() // after any other end the next start clears up
	}
	return status
}

// lastWords is the ledger in a line: "exit status 0: 2 finished, 1 released".
func lastWords(status int, ledger []worker.LedgerLine) string {
	counts := map[protocol.Outcome]int{}
	var order []protocol.Outcome
	for _, line := range ledger {
		if counts[line.Outcome] == 0 {
			order = append(order, line.Outcome)
		}
		counts[line.Outcome]++
	}
	var sums []string
	for _, o := range order {
		sums = append(sums, fmt.Sprintf("%d %v", counts[o], o))
	}
	if sums == nil {
		sums = []string{"nothing was open"}
	}
	return fmt.Sprintf("exit status %d: %s", status, strings.Join(sums, ", "))
}

// logged is middleware: a line for each execution.
func logged(next worker.Handler) worker.Handler {
	return func(ctx context.Context, job *worker.Job) error {
		began := time.Now()
		err := next(ctx, job)
		slog.Info("job", "kind", job.Kind, "job", job.Key, "took", time.Since(began).Round(time.Millisecond), "error", err)
		return err
	}
}
