package model

import "github.com/quiesce/quiesce/protocol"

// Supervisor is what starts and stops worker processes.
type Supervisor struct {
	Kind    SupervisorKind
	Grace   protocol.Duration // from the decision to stop a process to its SIGKILL
	PreStop protocol.Duration // how long the preStop hook runs; it uses up grace
	Rollout Rollout
}

// SupervisorKind is whose documented behaviour is followed.
type SupervisorKind uint8

// Kinds of supervisor.
const (
	Kubernetes SupervisorKind = iota
	Plain                     // SIGTERM, grace, SIGKILL and nothing else
)

// preStopOverrun is the one-off extension that the kubelet grants when a preStop hook is
// still running at the end of the grace (Kubernetes documentation, "Pod Lifecycle",
// termination of Pods).
const preStopOverrun = 2 * protocol.Second

// StopPlan is the sequence by which a process is stopped.
type StopPlan struct {
	Term protocol.Instant // SIGTERM; Never when SIGKILL comes first
	Kill protocol.Instant // SIGKILL
}

// Stop returns the sequence for a stop that is decided now. Under Kubernetes the preStop
// hook runs first and within the grace; when it overruns, SIGTERM comes at the end of the
// grace and SIGKILL two seconds later. A grace of zero kills at once.
func (s Supervisor) Stop(now protocol.Instant) StopPlan {
	switch {
	case s.Grace <= 0:
		return StopPlan{Term: protocol.Never, Kill: now}
	case s.Kind == Plain || s.PreStop <= 0:
		return StopPlan{Term: now, Kill: now.Add(s.Grace)}
	case s.PreStop < s.Grace:
		return StopPlan{Term: now.Add(s.PreStop), Kill: now.Add(s.Grace)}
	default:
		return StopPlan{Term: now.Add(s.Grace), Kill: now.Add(s.Grace + preStopOverrun)}
	}
}

// WorkerGrace returns what a worker can be told at its start about the time between SIGTERM
// and SIGKILL: the grace less the preStop hook (rule 5).
func (s Supervisor) WorkerGrace() protocol.Duration {
	plan := s.Stop(0)
	if plan.Term == protocol.Never {
		return 0
	}
	return plan.Kill.Sub(plan.Term)
}
