package manifest

import (
	"math"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
)

// Forever is the grace of a supervisor that sends no SIGKILL.
const Forever time.Duration = math.MaxInt64

// StrategyType says how a rollout replaces pods.
type StrategyType string

const (
	RollingUpdate StrategyType = "RollingUpdate" // a few at a time
	Recreate      StrategyType = "Recreate"      // all old ones stop, then the new ones start
	OnDelete      StrategyType = "OnDelete"      // none, until somebody deletes the old ones
)

// Workload is what a manifest says about the life and death of a fleet of workers.
type Workload struct {
	File       string
	Line       int // where the workload's mapping begins
	Kind       string
	Name       string
	Namespace  string // empty when not written
	APIVersion string

	Supervisor model.SupervisorKind // who stops the workers; Kubernetes is the zero value

	Replicas int // for a Job the pods that run side by side
	Strategy Strategy

	// Grace is what is written, even if the supervisor allows less or more: between the
	// decision to stop and SIGKILL under Kubernetes, preStop hooks included; elsewhere
	// between the stop signal and SIGKILL.
	Grace     time.Duration
	GraceKey  string // what it is called; empty for Kubernetes' terminationGracePeriodSeconds
	GraceSet  bool
	GraceLine int // 0 when not set

	PreStop         []Hook        // at most one per container, in the order of Containers
	PreStopDuration time.Duration // of the worker's container, when known; also ExecStop under systemd and shutdown_delay under Nomad
	StopSignal      string        // such as SIGINT; empty leaves it to the supervisor and the image

	MinReadySeconds         int
	ProgressDeadlineSeconds int           // 0 means none
	ReadinessDelay          time.Duration // a pod is ready no sooner than this after its start
	Containers              []string      // without init containers
	RestartPolicy           string        // in the words of the manifest; empty where the format has none or it is not written

	Processes []Process // what runs; without init containers
	KillMode  string    // systemd's
	Ignored   []Setting // a grace that is written where it has no effect

	// Lines gives the line of each value that was written, by its key. Values of a container
	// stand under "containers/NAME/", such as "containers/worker/preStop".
	Lines map[string]int

	// Unfit is why nobody can say what a stop of the workload does; nil when somebody can. [Parse]
	// returns it as an error.
	Unfit *Error

	// Notes are sentences for the user: what was assumed, what is ignored, what will surprise.
	Notes []string
}

// Strategy is how a rollout proceeds. MaxSurge and MaxUnavailable are as written; for numbers
// of pods call [Workload.Surge] and [Workload.Unavailable].
type Strategy struct {
	Type                StrategyType
	MaxSurge            IntOrPercent
	MaxUnavailable      IntOrPercent
	Partition           int    // StatefulSets: pods below this ordinal keep the old version
	PodManagementPolicy string // StatefulSets: OrderedReady or Parallel
}

// HookKind is the action a preStop hook takes.
type HookKind string

const (
	ExecHook      HookKind = "exec"
	HTTPGetHook   HookKind = "httpGet"
	SleepHook     HookKind = "sleep"
	TCPSocketHook HookKind = "tcpSocket"
)

// Hook is the preStop hook of one container.
type Hook struct {
	Container string
	Kind      HookKind
	Command   string        // the words of an exec, the address of a request
	Duration  time.Duration // 0 unless Known
	Known     bool          // the manifest says for how long the hook sleeps
	AtLeast   bool          // the command does more than sleep, so it may take longer
	Line      int
}

// ID is what a selector calls the workload: its kind and name.
func (w *Workload) ID() string { return strings.ToLower(w.Kind) + "/" + w.Name }

// Matches reports whether a selector names the workload; see [Parse].
func (w *Workload) Matches(selector string) bool {
	return document{kind: w.Kind, name: w.Name, namespace: w.Namespace}.matches(selector)
}

// Surge is the number of pods a rollout may add above Replicas. Deployments and DaemonSets
// round a percentage up, ECS down. No more are added than there are to replace.
func (w *Workload) Surge() int {
	if w.Strategy.Type != RollingUpdate {
		return 0
	}
	n := w.Strategy.MaxSurge.RoundUp(w.Replicas)
	if w.stopTimeouts() {
		n = w.Strategy.MaxSurge.RoundDown(w.Replicas)
	}
	return min(n, w.Replicas)
}

// Unavailable is the number of pods a rollout may take away at once, never more than Replicas.
// Deployments and StatefulSets round a percentage down, DaemonSets up. Where that leaves a
// rollout with nothing to add and nothing to take away it would stand still, so the controllers
// take 1; StatefulSets, which cannot add, always take at least 1. Recreate takes all, OnDelete
// none.
func (w *Workload) Unavailable() int {
	switch w.Strategy.Type {
	case Recreate:
		return w.Replicas
	case OnDelete:
		return 0
	}
	n := w.Strategy.MaxUnavailable.RoundDown(w.Replicas)
	if w.Kind == "DaemonSet" {
		n = w.Strategy.MaxUnavailable.RoundUp(w.Replicas)
	}
	if n == 0 && w.Surge() == 0 {
		n = 1
	}
	return min(n, w.Replicas)
}
