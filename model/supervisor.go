package model

import "github.com/quiesce/quiesce/protocol"

// Supervisor is what starts and stops worker processes.
type Supervisor struct {
	Kind  SupervisorKind
	Grace protocol.Duration // as configured; protocol.Forever is no SIGKILL at all
	// PreStop is how long the stop signal waits for something: a preStop hook under
	// Kubernetes, ExecStop under systemd, shutdown_delay under Nomad. Nothing else waits.
	PreStop protocol.Duration
	Tells   bool              // the preStop hook tells the worker, which begins to drain then
	Signal  protocol.Signal   // the stop signal; 0 is the kind's own
	Repeat  protocol.Duration // the stop signal comes once more after this; 0 is the kind's own
	Rollout Rollout
}

// preStopOverrun is the one-off extension that the kubelet grants when a preStop hook is
// still running at the end of the grace (Kubernetes documentation, "Pod Lifecycle",
// termination of Pods).
const preStopOverrun = 2 * protocol.Second

// StopPlan is the sequence by which a process is stopped.
type StopPlan struct {
	Term     protocol.Instant // the stop signal; Never when SIGKILL comes first
	Again    protocol.Instant // the stop signal once more; Never when it comes once
	Kill     protocol.Instant // SIGKILL; Never when there is none
	Signal   protocol.Signal  // the stop signal
	Continue bool             // SIGCONT follows every stop signal at once
}

// Allowed returns the grace that is in force: the configured one within the limits of the
// kind, which are applied without a word.
func (s Supervisor) Allowed() protocol.Duration {
	h := s.Kind.Habits()
	return max(min(s.Grace, h.Most), h.Least)
}

// Stop returns the sequence for a stop that is decided now. A grace of zero kills at once.
func (s Supervisor) Stop(now protocol.Instant) StopPlan {
	grace := s.Allowed()
	if grace <= 0 {
		return StopPlan{Term: protocol.Never, Again: protocol.Never, Kill: now}
	}
	h := s.Kind.Habits()
	plan := StopPlan{Term: now, Again: protocol.Never, Kill: now.Add(grace), Signal: s.StopSignal(), Continue: h.Continues}
	switch s.Kind {
	case Kubernetes:
		plan.Term, plan.Kill = s.afterHook(now, grace)
	case Systemd:
		// TimeoutStopSec limits each ExecStop command, and then once more the rest of the
		// service, which is sent SIGTERM (systemd.service, TimeoutStopSec=).
		plan.Term = now.Add(min(s.PreStop, grace))
		plan.Kill = plan.Term.Add(grace)
	case Nomad:
		// Deregistered at once, signalled after shutdown_delay; kill_timeout counts from the
		// signal (Nomad, "task Block", shutdown_delay).
		plan.Term = now.Add(s.PreStop)
		plan.Kill = plan.Term.Add(grace)
	}
	repeat := s.Repeat
	if repeat == 0 {
		repeat = h.Repeat
	}
	if again := plan.Term.Add(repeat); repeat > 0 && again < plan.Kill {
		plan.Again = again
	}
	return plan
}

// afterHook is Kubernetes: the preStop hook runs first and within the grace; when it
// overruns, the stop signal comes at the end of the grace and SIGKILL two seconds later.
func (s Supervisor) afterHook(now protocol.Instant, grace protocol.Duration) (term, kill protocol.Instant) {
	if s.PreStop < grace {
		return now.Add(s.PreStop), now.Add(grace)
	}
	return now.Add(grace), now.Add(grace + preStopOverrun)
}

// CutShort brings SIGKILL forward where a fault kills a process before its grace is over: a
// liveness probe that a draining process fails, a drill. Nobody is told of it beforehand. drill
// says whether one strikes in a span that begins with the stop signal, and when.
func (p StopPlan) CutShort(liveness protocol.Duration, drill func(span protocol.Duration) (after protocol.Duration, strikes bool)) StopPlan {
	if p.Term == protocol.Never {
		return p
	}
	if liveness > 0 {
		p.Kill = min(p.Kill, p.Term.Add(liveness))
	}
	if after, strikes := drill(p.Kill.Sub(p.Term)); strikes {
		p.Kill = p.Term.Add(after)
	}
	return p
}

// Evict returns the sequence for a stop by the node: the usual one, but with less grace.
func (s Supervisor) Evict(now protocol.Instant, grace protocol.Duration) StopPlan {
	plan := s.Stop(now)
	plan.Kill = min(plan.Kill, now.Add(grace))
	return plan
}

// TakenAway returns the sequence for a process whose machine ends at an instant: no signal, and
// SIGKILL then.
func TakenAway(at protocol.Instant) StopPlan {
	return StopPlan{Term: protocol.Never, Again: protocol.Never, Kill: at}
}

// StopSignal returns the signal that asks a process to stop.
func (s Supervisor) StopSignal() protocol.Signal {
	if s.Signal == 0 {
		return s.Kind.Habits().Signal
	}
	return s.Signal
}

// WorkerGrace returns what a worker can be told at its start about the time between its first
// notice and SIGKILL: the grace less what the stop signal waits for, unless that tells the
// worker itself (rule 5).
func (s Supervisor) WorkerGrace() protocol.Duration {
	plan := s.Stop(0)
	if plan.Term == protocol.Never {
		return 0
	}
	if s.Tells {
		return min(s.Allowed(), longestTold)
	}
	return min(plan.Kill.Sub(plan.Term), longestTold)
}

// longestGrace bounds the search for a grace: nobody waits for more.
const longestGrace = 7 * 24 * protocol.Hour

// ShortestGrace returns the shortest grace in whole seconds that leaves a worker enough, as
// WorkerGrace counts; ok is false when the supervisor allows none that does. What is enough must
// not cease to be as more is left.
func (s Supervisor) ShortestGrace(enough func(left protocol.Duration) bool) (grace protocol.Duration, ok bool) {
	// After a hook that overruns the grace the kubelet grants two seconds more, so what is left
	// grows steadily only beyond the hook.
	low := protocol.Duration(1)
	if s.Kind == Kubernetes {
		low += s.PreStop / protocol.Second
	}
	high := low + longestGrace/protocol.Second
	suits := func(seconds protocol.Duration) bool {
		s.Grace = seconds * protocol.Second
		return enough(s.WorkerGrace())
	}
	if !suits(high) {
		return 0, false
	}
	for low < high {
		if middle := low + (high-low)/2; suits(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low * protocol.Second, true
}

// longestTold is what a worker is told that will never be killed: a year, so that sums of a
// few such durations are still instants.
const longestTold = 365 * 24 * protocol.Hour
