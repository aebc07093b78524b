package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Options configure Metrics.
type Options struct {
	// BySeat adds the label "seat" to every metric. Without it the workers of a process are
	// added up, and Prometheus's own instance label tells processes apart.
	BySeat bool
}

// Metrics are those of the workers of one process. It is a prometheus.Collector.
type Metrics struct {
	bySeat     bool
	collectors []prometheus.Collector

	jobs, executions, interruptions, cancels, ackedAfterCancel, leaking *prometheus.CounterVec
	leasesLost, renewalsMissed, brokerErrors, drains, ledgerLines       *prometheus.CounterVec
	exits                                                               *prometheus.CounterVec
	executionSeconds, drainSeconds                                      *prometheus.HistogramVec
	slots, workers, grace, reserve, gapAllowed                          *prometheus.GaugeVec

	left, gap *prometheus.Desc // worked out at each scrape

	mu    sync.Mutex
	alive map[*observer]bool
	gaps  map[gapKey]protocol.Duration
}

// gapKey is what a longest gap is of.
type gapKey struct{ seat, kind string }

// Upper bounds of the histograms, in seconds. Executions last from milliseconds to hours;
// drains are as long as the graces that people give: 30 s, a minute, five.
var (
	executionBounds = []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600}
	drainBounds     = []float64{0.1, 0.5, 1, 2.5, 5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 300, 600}
)

// New returns metrics that count nothing yet. Register them once, and give each worker an
// Observer of its own.
func New(opt Options) *Metrics {
	m := &Metrics{bySeat: opt.BySeat, alive: map[*observer]bool{}, gaps: map[gapKey]protocol.Duration{}}
	m.jobs = m.counter("jobs_total", "Claims that ended, by what became of the job.", "kind", "outcome")
	m.executions = m.counter("executions_total", "Handlers that came back, by how.", "kind", "returned")
	m.executionSeconds = m.histogram("execution_seconds", "Time from the start of a handler to its return.", executionBounds, "kind")
	m.interruptions = m.counter("interruptions_total", "Jobs handed back unfinished, by reason.", "reason")
	m.cancels = m.counter("cancels_total", "Handlers that were cancelled, by cause.", "cause")
	m.ackedAfterCancel = m.counter("acked_after_cancel_total", "Jobs finished by handlers that had been cancelled.", "kind")
	m.leaking = m.counter("handlers_leaking_total", "Handlers still running in a drain when the time to undo them was over.", "kind")
	m.leasesLost = m.counter("leases_lost_total", "Claims lost while their handler or undo ran.", "kind")
	m.renewalsMissed = m.counter("renewals_missed_total", "Renewals of a lease that were not answered in time, or with an error.")
	m.brokerErrors = m.counter("broker_errors_total", "Calls of the broker that failed or were not answered, once for each job concerned.", "call")
	m.drains = m.counter("drains_total", "Drains that began, by what asked for the stop.", "source")
	m.drainSeconds = m.histogram("drain_seconds", "Time from the stop to rest.", drainBounds)
	m.ledgerLines = m.counter("ledger_lines_total", "Jobs and claim requests that were open at a stop, by what became of them.", "outcome")
	m.exits = m.counter("exits_total", "Lives of workers that ended, by exit status.", "status")
	m.slots = m.gauge("slots", "Slots by the state of what is in them.", "state")
	m.workers = m.gauge("workers", "Workers by phase.", "phase")
	m.grace = m.gauge("grace_seconds", "Configured time between the stop and SIGKILL.")
	m.reserve = m.gauge("reserve_seconds", "Part of the grace kept for settling, flushing and the exit.")
	m.gapAllowed = m.gauge("checkpoint_gap_allowed_seconds", "Longest time between two looks for cancellation that was declared for the kind, or else that the grace has room for.", "kind")
	m.left = m.describe("drain_left_seconds", "Time left until SIGKILL; only during a drain, and the least of all workers.")
	m.gap = m.describe("checkpoint_gap_seconds", "Longest time that a handler left between two looks for cancellation, or took to return after one.", "kind")
	return m
}

// Observer returns what looks on at one worker, for worker.Options.Observers. Every worker
// needs one of its own.
func (m *Metrics) Observer() worker.Observer { return &observer{metrics: m} }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.collectors {
		c.Describe(out)
	}
	out <- m.left
	out <- m.gap
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors {
		c.Collect(out)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, d := range m.gaps {
		out <- prometheus.MustNewConstMetric(m.gap, prometheus.GaugeValue, seconds(d), m.values(key.seat, key.kind)...)
	}
	for seat, d := range m.timeLeft() {
		out <- prometheus.MustNewConstMetric(m.left, prometheus.GaugeValue, seconds(d), m.values(seat)...)
	}
}

// timeLeft is how long it is until SIGKILL, by label; m is locked.
func (m *Metrics) timeLeft() map[string]protocol.Duration {
	left := map[string]protocol.Duration{}
	for o := range m.alive {
		at := protocol.Instant(o.killAt.Load())
		if at == protocol.Never {
			continue
		}
		d := max(at.Sub(o.setup.Clock.Now()), 0)
		if soonest, known := left[o.seat]; !known || d < soonest {
			left[o.seat] = d
		}
	}
	return left
}

// looked takes in a gap between two looks for cancellation.
func (m *Metrics) looked(key gapKey, gap protocol.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gaps[key] = max(m.gaps[key], gap)
}

// values are the values of labels, with that of the seat where it is one.
func (m *Metrics) values(seat string, others ...string) []string {
	if m.bySeat {
		return append([]string{seat}, others...)
	}
	return others
}

func (m *Metrics) labels(others []string) []string { return m.values("seat", others...) }

const namespace = "quiesce"

func (m *Metrics) describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, m.labels(labels), nil)
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, m.labels(labels))
	m.collectors = append(m.collectors, v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, m.labels(labels))
	m.collectors = append(m.collectors, v)
	return v
}

func (m *Metrics) histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, m.labels(labels))
	m.collectors = append(m.collectors, v)
	return v
}

func seconds(d protocol.Duration) float64 { return time.Duration(d).Seconds() }
