package scenarios

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// Parse reads a scenario out of data, the text of the file called file. Files that the
// scenario names are looked for relative to that file's folder. The result has every default
// filled in; data is not kept. Every error is an [*Error] and reports the problem that comes
// first in the file: of spelling and form, and only then of values that do not go together.
func Parse(file string, data []byte) (*model.Scenario, error) { return parse(file, data, nil) }

func parse(file string, data []byte, overrides []Override) (*model.Scenario, error) {
	src, err := newSource(file, data)
	if err != nil {
		return nil, err
	}
	root, err := src.root()
	if err != nil {
		return nil, err
	}
	r := &reader{src: src}
	r.override(root, overrides)
	var d document
	r.mapping(&d, place{node: root})
	if err := r.first(); err != nil {
		return nil, blame(err, overrides) // A misspelt lease has not set the lease; what follows from it would mislead.
	}
	s := r.scenario(&d)
	if err := r.first(); err != nil {
		return nil, blame(err, overrides)
	}
	return s, nil
}

// scenario resolves what depends on several keys, and checks what they say together.
func (r *reader) scenario(d *document) *model.Scenario {
	s := &model.Scenario{
		Name: d.Name.value, About: d.About.value, Duration: d.Duration.value,
		Faults: d.Faults.model(),
	}
	s.Queue, s.Variants = r.queue(&d.Queue)
	if !d.Name.written() {
		s.Name = strings.TrimSuffix(filepath.Base(r.src.file), filepath.Ext(r.src.file))
	}
	s.Warmup = defaultWarmup(s.Duration)
	if d.Warmup.written() {
		s.Warmup = d.Warmup.value
	}
	if s.Warmup >= s.Duration {
		r.fail(d.Warmup.place, s.Warmup.String()+" must be shorter than duration "+s.Duration.String(), "shorten warmup or lengthen duration")
	}
	var deployed *manifest.Workload
	s.Supervisor, deployed = r.supervisor(&d.Supervisor, &d.Fleet.Workers)
	s.Fleet = r.fleet(d, deployed)
	r.stopsOfNodes(&d.Faults, s)
	s.Jobs, s.Trace = r.jobs(&d.Jobs, s.Supervisor.WorkerGrace())
	r.countJobs(&d.Jobs, s)
	s.Policies = r.policies(d, s)
	s.Deploys = r.deploys(&d.Deploys, s.Duration)
	s.Faults.At = r.faultsAt(&d.Faults.At, s.Duration)
	s.Finding = r.finding(&d.Finding, s)
	s.Faults.Trace = r.faultTrace(&d.Faults.Trace, s.Duration)
	s.Remarks = r.remarks
	return s
}

// defaultWarmup lets the queue fill before anything is measured.
func defaultWarmup(duration protocol.Duration) protocol.Duration {
	return min(duration/10, 30*protocol.Minute)
}

// maxWorkers is what one machine can simulate; the table of keys has it too.
const maxWorkers = 1_000_000

// fleet takes from the manifest, if there is one, what the scenario does not say.
func (r *reader) fleet(d *document, deployed *manifest.Workload) model.Fleet {
	f := model.Fleet{Workers: d.Fleet.Workers.value, Slots: d.Fleet.Slots.value, Prefetch: d.Fleet.Prefetch.value, Start: d.Fleet.Start.table}
	if deployed != nil && !d.Fleet.Start.written() {
		var note string
		if f.Start, note = startAfterProbe(f.Start, deployed.ReadinessDelay); note != "" {
			r.remarks = append(r.remarks, note)
		}
	}
	switch {
	case d.Fleet.Workers.written():
	case deployed == nil:
		at := d.Fleet.place
		if !at.written() {
			at = d.place
		}
		at.field = d.Fleet.Workers.field
		r.fail(at, "is missing", "write fleet: {workers: 100}, or name a manifest under supervisor")
	case deployed.Replicas < 1 || deployed.Replicas > maxWorkers:
		r.fail(d.Supervisor.Manifest.place, fmt.Sprintf("has %d replicas", deployed.Replicas), "write fleet: {workers: 100}")
	default:
		f.Workers = deployed.Replicas
	}
	return f
}

// deploys checks that the instants lie within the run.
func (r *reader) deploys(d *deployKeys, duration protocol.Duration) model.Deploys {
	if d.Count.written() && !d.Every.written() {
		r.fail(d.Count.place, "counts the deploys by every, which is not written", "write every, or drop count")
	}
	if d.written() && !d.Every.written() && !d.At.written() && !d.Trace.written() {
		r.fail(d.place, "says no time", "write every: 20m, at: [10m, 40m] or trace: FILE")
	}
	if d.App.written() && !d.Trace.written() {
		r.fail(d.App.place, "chooses rows of a trace, which is not written", "write trace: FILE, or drop app")
	}
	for i, at := range d.At.places {
		if d.At.each[i] >= duration {
			r.fail(at, d.At.each[i].String()+" is not before the end at "+duration.String(), "move it, or lengthen duration")
		}
	}
	at := append(d.At.value, r.deployTrace(d, duration)...)
	slices.Sort(at)
	return model.Deploys{Every: d.Every.value, At: at, Count: d.Count.value}
}
