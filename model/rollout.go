package model

// Strategy is how a rollout replaces the processes of a fleet.
type Strategy uint8

// Strategies.
const (
	RollingUpdate Strategy = iota // a Deployment's: bounded by MaxSurge and MaxUnavailable
	Recreate                      // all old ones first, then all new ones
	OneByOne                      // a StatefulSet's: in reverse order, each ready before the next
	OnDelete                      // a rollout replaces nothing; whatever restarts is new
)

// IntOrPercent is a number of processes, or a share of the fleet in percent.
type IntOrPercent struct {
	Value   int
	Percent bool
}

func (v IntOrPercent) of(workers int, roundUp bool) int {
	if !v.Percent {
		return v.Value
	}
	n := v.Value * workers
	if roundUp {
		n += 99
	}
	return n / 100
}

// Rollout is how a fleet is replaced.
type Rollout struct {
	Strategy       Strategy
	MaxSurge       IntOrPercent // processes above the desired number
	MaxUnavailable IntOrPercent // processes below the desired number that may be not ready
	Partition      int          // OneByOne: seats below it keep the old version
}

// Surge returns how many processes may exist above workers. Percentages are rounded up, as
// Kubernetes does (Deployment API, spec.strategy.rollingUpdate.maxSurge).
func (r Rollout) Surge(workers int) int {
	if r.Strategy != RollingUpdate {
		return 0
	}
	return r.MaxSurge.of(workers, true)
}

// Unavailable returns how many of workers may be not ready. Percentages are rounded down;
// when both limits come out as zero this one is one, since nothing could move otherwise
// (Kubernetes, ResolveFenceposts).
func (r Rollout) Unavailable(workers int) int {
	n := min(r.MaxUnavailable.of(workers, false), workers)
	if n == 0 && r.Surge(workers) == 0 {
		return 1
	}
	return n
}

// Pods counts the processes of a fleet during a rollout. Those that are being stopped count
// as Stopping and as nothing else, as in Kubernetes.
type Pods struct {
	OldReady, OldStarting int
	NewReady, NewStarting int
	Stopping              int
}

// Move is what a rollout does next.
type Move struct {
	Start        int // new processes
	StopStarting int // old processes that are not ready
	StopReady    int // old processes that are
}

// Next returns the next move of a rollout over a fleet of workers. It is asked again after
// every change.
func (r Rollout) Next(workers int, p Pods) Move {
	switch r.Strategy {
	case OnDelete:
		return Move{}
	case Recreate:
		if p.OldReady+p.OldStarting > 0 {
			return Move{StopReady: p.OldReady, StopStarting: p.OldStarting}
		}
		if p.Stopping > 0 {
			return Move{}
		}
		return Move{Start: max(0, workers-p.NewReady-p.NewStarting)}
	case OneByOne:
		return r.nextInOrder(workers, p)
	default:
		return r.nextRolling(workers, p)
	}
}

// nextInOrder moves only while everything is up: a StatefulSet waits for the replaced
// process to be ready before it goes on to the next ordinal.
func (r Rollout) nextInOrder(workers int, p Pods) Move {
	all := p.OldReady + p.OldStarting + p.NewReady + p.NewStarting
	switch {
	case p.Stopping > 0:
		return Move{}
	case all < workers:
		return Move{Start: workers - all}
	case p.NewStarting > 0 || p.NewReady >= workers-r.Partition:
		return Move{}
	case p.OldStarting > 0:
		return Move{StopStarting: 1}
	default: // more old ones than the partition keeps
		return Move{StopReady: 1}
	}
}

func (r Rollout) nextRolling(workers int, p Pods) Move {
	var m Move
	old, fresh := p.OldReady+p.OldStarting, p.NewReady+p.NewStarting
	m.Start = max(0, min(workers-fresh, workers+r.Surge(workers)-old-fresh))
	// Processes that are not ready serve nobody: old ones go first and cost no availability,
	// new ones speak for nobody yet.
	canStop := max(0, old+p.NewReady-(workers-r.Unavailable(workers)))
	m.StopStarting = min(p.OldStarting, canStop)
	m.StopReady = min(p.OldReady, canStop-m.StopStarting)
	return m
}

// Done reports whether the rollout has come to its end.
func (r Rollout) Done(workers int, p Pods) bool {
	switch r.Strategy {
	case OnDelete:
		return true
	case OneByOne:
		return p.Stopping == 0 && p.NewReady >= workers-r.Partition
	default:
		return p.OldReady+p.OldStarting+p.Stopping == 0 && p.NewReady >= workers
	}
}
