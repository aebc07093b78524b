package model

import (
	"fmt"
	"sort"
	"strings"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// QueuePreset is a real queue as people run it today: what its workers do at a stop, the
// mistakes in it, what frees the jobs of a worker that vanished, and its broker's settings.
// Numbers are the system's defaults at the state given in Source.
//
// A preset is a model of the behaviour at shutdown and of nothing else. Storage, throughput
// and the order of jobs are the reference broker's, and so are its tokens: of a queue that
// compares none, only what SettleUnfenced breaks is broken.
type QueuePreset struct {
	Preset
	Source string       // where the numbers come from
	set    func(*Queue) // puts the system's settings in place of a scenario's
}

// Settings returns the queue of a scenario as this system has it. What the system leaves to
// its user stays the scenario's.
func (p *QueuePreset) Settings(q Queue) Queue {
	q.Margin = 0 // the protocol's default for the lease that follows
	q.Poison, q.CountAtClaim, q.MaxAttempts, q.OnExpiry, q.Habits = 0, false, 0, Redeliver, Habits{}
	q.Poll, q.InStep, q.Counted = 0, false, CountedByJob
	p.set(&q)
	return q
}

// queuePresets are in the order of the documentation.
var queuePresets = append(append(append([]QueuePreset{}, redisQueues...), sqlQueues...), servedQueues...)

// QueuePresetNames returns the names of all real queues, in the order of the documentation.
func QueuePresetNames() []string {
	names := make([]string, len(queuePresets))
	for i := range queuePresets {
		names[i] = queuePresets[i].Name
	}
	return names
}

// QueuePresetNamed returns the real queue with a name; the error lists the names there are.
func QueuePresetNamed(name string) (*QueuePreset, error) {
	for i := range queuePresets {
		if queuePresets[i].Name == name {
			return &queuePresets[i], nil
		}
	}
	names := QueuePresetNames()
	sort.Strings(names)
	return nil, fmt.Errorf("there is no queue %q; use one of %s", name, strings.Join(names, ", "))
}

// Mistakes that most queues share. None of them tells its broker that a worker is going, so
// a job that a deploy cuts off is blamed like one that crashed. And where leases are not
// renewed, or a lost one is only logged, a handler works on without its claim.
var (
	unsaid   = deviation.Of(deviation.GoingUnsaid)
	trusting = unsaid.With(deviation.NeverDistrusts)
)

// waitsThenStops is a drain of a constant length: handlers go on for wait, are told to stop
// and have tail to return in, whatever the supervisor allows. It comes with a reserve of
// twice the tail, the first half of which the protocol spends on settling.
func waitsThenStops(wait, tail protocol.Duration) protocol.Policy {
	return protocol.Policy{
		LateClaim: protocol.RunLateClaim,
		Deadline:  protocol.DeadlineFromConstant, Constant: wait + 2*tail,
	}
}

// returning is a policy whose late claims go back instead.
func returning(p protocol.Policy) protocol.Policy {
	p.LateClaim = protocol.ReturnLateClaim
	return p
}

// dying is a policy that does not hand back what is left at the deadline.
func dying(p protocol.Policy) protocol.Policy {
	p.AtDeadline = protocol.DieAtDeadline
	return p
}

// waitsForever works every job to its end, those that are claimed after the stop as well;
// the supervisor's SIGKILL is the only deadline.
var waitsForever = protocol.Policy{LateClaim: protocol.RunLateClaim, Deadline: protocol.NoDeadline}

// atOnce is a tail of nothing: the process is gone the moment its wait is over.
const atOnce protocol.Duration = 1
