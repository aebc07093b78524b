package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// supervisor resolves who stops the workers, and returns the workload of the manifest that says it, or
// nil. The number of workers counts where it is written.
func (r *reader) supervisor(k *supervisorKeys, workers *count) (s model.Supervisor, deployed *manifest.Workload) {
	if k.Manifest.written() {
		return r.deployed(k, workers)
	}
	if k.Select.written() {
		r.fail(k.Select.place, "chooses a workload of a manifest, which is not written", "write manifest: FILE, or drop select")
	}
	s.Kind, _ = model.SupervisorNamed(k.Kind.value) // The table of keys admits no other name.
	s.Grace, s.Rollout = r.graceOf(k, s.Kind), r.rollout(&k.Rollout)
	s.Signal, s.Repeat = model.SignalNamed(k.Signal.value), k.Repeat.value
	waits := k.waits()
	for i := range waits {
		w := &waits[i]
		switch {
		case !w.d.written():
		case s.Kind.Habits().Before != w.key:
			r.fail(w.d.place, "has no meaning under kind "+s.Kind.String(), "drop it, or write kind: "+w.kind.String())
		default:
			s.PreStop = w.d.value
		}
	}
	switch s.Tells = k.PreStopTells.value; {
	case s.Tells && s.Kind != model.Kubernetes:
		r.fail(k.PreStopTells.place, "has no meaning under kind "+s.Kind.String(), "drop it, or write kind: kubernetes")
	case s.Tells && s.PreStop == 0:
		r.fail(k.PreStopTells.place, "has no preStop hook that could tell", "write prestop: 5s, or drop it")
	}
	at := k.Grace.place
	if !at.written() {
		at = k.PreStop.place
	}
	r.leavesTime(at, s, "raise grace")
	return s, nil
}

// wait is a key for what the stop signal waits for, and the kind of supervisor that has it.
type wait struct {
	key  string
	kind model.SupervisorKind
	d    *duration
}

func (k *supervisorKeys) waits() []wait {
	return []wait{
		{"prestop", model.Kubernetes, &k.PreStop},
		{"exec_stop", model.Systemd, &k.ExecStop},
		{"shutdown_delay", model.Nomad, &k.ShutdownDelay},
	}
}

// graceOf refuses what the supervisor would not keep to: it says nothing and takes its own
// limit, which is how people find out in production.
func (r *reader) graceOf(k *supervisorKeys, kind model.SupervisorKind) protocol.Duration {
	h := kind.Habits()
	grace := k.Grace.value
	switch {
	case !k.Grace.written():
		return h.Grace
	case h.Fixed() && grace != h.Grace:
		r.fail(k.Grace.place, fmt.Sprintf("%v cannot be: %s always allows %v", grace, h.Title, h.Grace), "drop it")
	case grace > h.Most:
		r.fail(k.Grace.place, fmt.Sprintf("%v is more than %s allows, %v", grace, h.Title, h.Most), fmt.Sprintf("write at most %v", h.Most))
	case grace < h.Least:
		r.fail(k.Grace.place, fmt.Sprintf("%v is less than %s allows, %v", grace, h.Title, h.Least), fmt.Sprintf("write at least %v", h.Least))
	}
	return grace
}

// leavesTime refuses a grace that is over before a worker could hand anything back.
func (r *reader) leavesTime(at place, s model.Supervisor, remedy string) {
	grace := s.WorkerGrace()
	reserve := reserveOf(grace)
	switch {
	case grace > reserve:
	case s.PreStop > 0 && s.Grace > 0 && s.Kind == model.Kubernetes:
		r.fail(at, fmt.Sprintf("leaves too little: grace %v less prestop %v = %v must exceed reserve %v", time.Duration(s.Grace), time.Duration(s.PreStop), time.Duration(grace), reserve), remedy+" or shorten the preStop hook")
	default:
		r.fail(at, fmt.Sprintf("%v must exceed reserve %v", time.Duration(s.Grace), reserve), remedy)
	}
}

// deployed takes everything from a manifest, but for the number of workers where the scenario says
// it: then so many are replaced in the way of the manifest.
func (r *reader) deployed(k *supervisorKeys, workers *count) (model.Supervisor, *manifest.Workload) {
	for _, p := range []place{k.Kind.place, k.Grace.place, k.PreStop.place, k.ExecStop.place, k.ShutdownDelay.place, k.Signal.place, k.Repeat.place, k.PreStopTells.place, k.Rollout.place} {
		if p.written() {
			r.fail(p, "comes from the manifest already", "drop it, or drop manifest")
			return model.Supervisor{}, new(manifest.Workload)
		}
	}
	w, err := manifest.Load(r.path(k.Manifest.value), k.Select.value)
	if err != nil {
		e := foreign(err)
		e.Remedy = strings.Replace(e.Remedy, "--select ", "select: ", 1) // which is a key here
		r.elsewhere(k.Manifest.place, e)
		return model.Supervisor{}, new(manifest.Workload)
	}
	for _, n := range w.Notes {
		r.remarks = append(r.remarks, "manifest: "+n)
	}
	if workers.written() && workers.value != w.Replicas {
		r.remarks = append(r.remarks, fmt.Sprintf("manifest: its number of workers, %d, gives way to fleet.workers %d", w.Replicas, workers.value))
		w.Replicas = workers.value
	}
	s := w.Supervision()
	r.leavesTime(k.Manifest.place, s, "raise "+w.GraceName())
	return s, w
}

var strategies = map[string]model.Strategy{
	"rolling": model.RollingUpdate, "recreate": model.Recreate, "stateful": model.OneByOne, "on_delete": model.OnDelete,
}

// rollout refuses limits that its strategy does not know, as the Kubernetes API does.
func (r *reader) rollout(k *rolloutKeys) model.Rollout {
	out := model.Rollout{Strategy: strategies[k.Strategy.value]}
	refuse := func(p place, strategy string) {
		if p.written() {
			r.fail(p, "has no meaning under strategy "+k.Strategy.value, "drop it, or write strategy: "+strategy)
		}
	}
	if out.Strategy == model.OneByOne {
		out.Partition = k.Partition.value
	} else {
		refuse(k.Partition.place, "stateful")
	}
	if out.Strategy != model.RollingUpdate {
		refuse(k.MaxSurge.place, "rolling")
		refuse(k.MaxUnavailable.place, "rolling")
		return out
	}
	out.MaxSurge, out.MaxUnavailable = k.MaxSurge.value, k.MaxUnavailable.value
	if out.MaxSurge.Value == 0 && out.MaxUnavailable.Value == 0 {
		at := k.MaxUnavailable.place
		if !at.written() {
			at = k.MaxSurge.place
		}
		r.fail(at, "is 0 and so is max_surge: nothing could move", "raise one of them")
	}
	if out.MaxUnavailable.Percent && out.MaxUnavailable.Value > 100 {
		r.fail(k.MaxUnavailable.place, fmt.Sprintf("%d%% is more than all", out.MaxUnavailable.Value), "write at most 100%")
	}
	return out
}
