package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// assumptions is what FromInput starts from; trace and manifest replace what they know. The
// duration and the arrivals are always replaced.
const assumptions = `
duration: 1h
fleet: {workers: 10, slots: 1, start: 5s}
queue: {lease: 5m, max_failures: 5, poison: 3}
jobs: {job: {arrivals: {every: 1m}, duration: 1s, checkpoint: 1s, undo: 1s}}
supervisor: {kind: kubernetes, grace: 30s, rollout: {max_surge: 25%, max_unavailable: 25%}}
faults: {network: {latency: {p50: 1ms, p99: 20ms}}}
`

const (
	assumedDeploys = 20
	assumedSpan    = 6 * protocol.Hour // without a trace
	longestSpan    = 7 * day           // of a trace that is simulated
)

// FromInput makes a scenario of real input: a job trace, a manifest, or both. The
// selector names the workload when the manifest has several. What neither says is assumed, and
// the notes say so, a sentence each. Every error is an [*Error].
func FromInput(jobsPath, manifestPath, selector string) (*model.Scenario, []string, error) {
	return FromMappedInput(jobsPath, trace.Map{}, manifestPath, selector)
}

// FromMappedInput is [FromInput] for a job trace whose columns have other names.
func FromMappedInput(jobsPath string, columns trace.Map, manifestPath, selector string) (*model.Scenario, []string, error) {
	if jobsPath == "" && manifestPath == "" {
		return nil, nil, &Error{File: "input", Problem: "is neither a trace nor a manifest", Remedy: "give --jobs TRACE, --manifest FILE or both"}
	}
	s, err := Parse("assumptions", []byte(assumptions))
	if err != nil {
		return nil, nil, err
	}
	in := &input{scenario: s}
	if manifestPath != "" {
		if err := in.readManifest(manifestPath, selector); err != nil {
			return nil, nil, err
		}
	}
	in.fitHandler(&s.Jobs[0])
	if jobsPath != "" {
		if err := in.readTrace(jobsPath, columns); err != nil {
			return nil, nil, err
		}
	} else if err := in.inventJobs(); err != nil {
		return nil, nil, err
	}
	in.schedule()
	in.explain(manifestPath == "")
	s.Name = nameOf(jobsPath, manifestPath)
	s.About = fmt.Sprintf("%d deploys over %v", assumedDeploys, in.span)
	return s, in.notes, nil
}

// input is a scenario while it is put together.
type input struct {
	scenario *model.Scenario
	span     protocol.Duration // in which jobs arrive and deploys happen
	atOnce   bool              // all jobs arrive at the first instant
	notes    []string
}

func (in *input) note(format string, args ...any) {
	in.notes = append(in.notes, fmt.Sprintf(format, args...))
}

func (in *input) readManifest(path, selector string) error {
	w, err := manifest.Load(path, selector)
	if err != nil {
		return foreign(err)
	}
	if w.Replicas > maxWorkers {
		return &Error{File: path, Field: "replicas", Problem: fmt.Sprintf("%d is more than %d", w.Replicas, maxWorkers), Remedy: "simulate a part of the fleet"}
	}
	s := in.scenario
	s.Supervisor, s.Fleet.Workers = w.Supervision(), w.Replicas
	for _, n := range w.Notes {
		in.note("manifest: %s", n)
	}
	if w.Replicas < 1 {
		s.Fleet.Workers = 1
		in.note("manifest: %d replicas do no work; 1 assumed", w.Replicas)
	}
	if s.Supervisor.Rollout.Strategy == model.OneByOne && (w.Unavailable() > 1 || w.Strategy.PodManagementPolicy == "Parallel") {
		in.note("manifest: the pods are replaced one by one here, although the manifest allows more at once")
	}
	var note string
	if s.Fleet.Start, note = startAfterProbe(s.Fleet.Start, w.ReadinessDelay); note != "" {
		in.note("%s", note)
	}
	return nil
}

// startAfterProbe returns a start that is as late as a probe can find a process ready, and says so; it
// says nothing where the start is as late by itself.
func startAfterProbe(start *dist.Table, delay time.Duration) (late *dist.Table, note string) {
	if int64(delay) <= start.Max() {
		return start, ""
	}
	late, err := dist.Constant(int64(delay))
	if err != nil {
		panic(err) // only what is negative cannot be
	}
	return late, fmt.Sprintf("manifest: a pod is ready %v after its start at the soonest, so its worker asks for jobs then", protocol.Duration(delay))
}

// fitHandler shortens what a worker would refuse to declare under this grace.
func (in *input) fitHandler(job *model.Job) {
	grace := in.scenario.Supervisor.WorkerGrace()
	if fits := max(grace-reserveOf(grace), 0); job.Undo > fits {
		in.note("assumed that undoing takes %v, all that the grace leaves beside the reserve", fits)
		job.Undo = fits
	}
	job.Declared = defaultGap(job.Checkpoint, job.Undo, grace)
}

// schedule spreads the deploys evenly over the measured part of the span. Two leases follow
// it, so that the stalls of the last deploy can end.
func (in *input) schedule() {
	s := in.scenario
	s.Duration = in.span + 2*s.Queue.Lease
	s.Warmup = defaultWarmup(in.span)
	if in.atOnce {
		s.Warmup = 0 // or no job would be measured
	}
	in.note("assumed a warm-up of %v, in which nothing is measured; a scenario can set another", s.Warmup)
	step := (in.span - s.Warmup) / assumedDeploys
	for i := range protocol.Duration(assumedDeploys) {
		s.Deploys.At = append(s.Deploys.At, protocol.Instant(s.Warmup+i*step+step/2))
	}
	in.note("assumed %d deploys, one in every %v from %v on", assumedDeploys, step, protocol.Duration(s.Deploys.At[0]))
}

// explain says what was assumed and not replaced.
func (in *input) explain(noManifest bool) {
	s, job := in.scenario, in.scenario.Jobs[0]
	in.note("assumed lease %v, heartbeat %v; a job is dead-lettered after %d expired leases in a row or %d failures",
		s.Queue.Lease, s.Queue.Heartbeat, s.Queue.Poison, s.Queue.MaxFailures)
	in.note("assumed that handlers look for cancellation every %v and undo in %v", job.Checkpoint, job.Undo)
	in.note("assumed that a process asks for jobs %v after its start", protocol.Duration(s.Fleet.Start.Max()))
	in.note("assumed network latency %v, and that no message is lost and no worker crashes", s.Faults.Network.Latency)
	if noManifest {
		in.note("no manifest: assumed %d workers under Kubernetes, grace %v, max_surge 25%%, max_unavailable 25%%", s.Fleet.Workers, s.Supervisor.Grace)
	}
}

// nameOf calls the scenario after its files.
func nameOf(paths ...string) string {
	var parts []string
	for _, p := range paths {
		if p != "" {
			base := strings.TrimSuffix(filepath.Base(p), ".gz")
			parts = append(parts, strings.TrimSuffix(base, filepath.Ext(base)))
		}
	}
	return strings.Join(parts, "+")
}
