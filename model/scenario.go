package model

import (
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// PPB is a probability in parts per billion: 0.01% is 100,000.
type PPB int64

// Certain is the probability of what always happens.
const Certain PPB = 1_000_000_000

// Scenario is a world to simulate, with every default filled in. Durations are simulated
// time; distributions are quantile tables, so that no float decides an instant.
type Scenario struct {
	Name, About string
	Duration    protocol.Duration // of the whole run
	Warmup      protocol.Duration // interruptions and jobs before it are not measured
	Fleet       Fleet
	Queue       Queue
	Jobs        []Job // job kinds; protocol.Kind is the index
	Trace       Trace // arrivals and work, instead of Job.Arrivals and Job.Work; nil is none
	Supervisor  Supervisor
	Deploys     Deploys
	Faults      Faults
	Policies    []string          // names to compare, see Under; the first is the baseline
	Variants    []Variant         // what Policies may name beside the presets
	Cooldown    protocol.Duration // interruptions this close to the end are left out of stall; 0 is two leases
	Finding     *Finding          // the run in which a promise was seen to be broken; nil of a scenario that was not found
	Remarks     []string          // what the files that it names leave open, a sentence each; for reports alone
}

// Finding names one run of a scenario, and what it showed.
type Finding struct {
	Policy    string // a name in Policies
	Seed      uint64
	Invariant string     // which was broken
	Overrides []Override // of random numbers
}

// Override is a random number that is not drawn: see sim.Address.
type Override struct {
	Stream        string
	Entity, Index uint64
	Value         uint64 // 0 is the harmless one
}

// Fleet is the workers that a deploy replaces.
type Fleet struct {
	Workers  int         // desired at all times
	Slots    int         // jobs at once per worker
	Prefetch int         // jobs that a worker claims beside those that it works on, and keeps waiting
	Start    *dist.Table // from the creation of a process to its Register
}

// Claims returns how many claims a worker holds at most.
func (f *Fleet) Claims() int { return f.Slots + f.Prefetch }

// Queue is the broker and what it was told about jobs.
type Queue struct {
	Lease         protocol.Duration
	Heartbeat     protocol.Duration
	Margin        protocol.Duration // trust ends this much before the lease; 0 is the protocol's default
	DriftPPM      int64             // clock drift the workers allow for
	Park          protocol.Duration // longest long poll; 0 is the protocol's default
	MaxFailures   int               // failures after which a job is dead-lettered; 0 is no limit
	Poison        int               // expiries in a row after which a job is dead-lettered; 0 is no limit
	Starving      int               // interruptions without progress after which a job is reported
	Backoff       protocol.Backoff  // between a failure and the next attempt
	CountAtClaim  bool              // a claim spends one of MaxAttempts, as in many real queues
	MaxAttempts   int               // with CountAtClaim
	SweepPeriod   protocol.Duration // of the sweep under the policies that have one
	SweepSlack    protocol.Duration // how long after expiry the sweep waits
	OnExpiry      OnExpiry
	MaxMessageAge protocol.Duration // the longest life of a message; rows of the dead are kept this long
	Poll          protocol.Duration // between two claims that came back empty; 0 is the protocol's default
	InStep        bool              // workers ask for jobs on the ticks of Poll since their start, so who began together asks together; ours wait from each answer on, with jitter
	Counted       Counting          // how workers count down the batches of their jobs
	Service       protocol.Duration // a call keeps the broker busy this long, and later ones wait in line; 0 is any number at once
	Habits
}

// Timing is what a queue tells its workers' machines; what is zero has the protocol's defaults.
func (q *Queue) Timing() protocol.Config {
	return protocol.Config{
		Lease: q.Lease, Heartbeat: q.Heartbeat, Margin: q.Margin, DriftPPM: q.DriftPPM,
		Park: q.Park, Poll: protocol.Backoff{Min: q.Poll, Max: q.Poll},
	}
}

// Habits are what some real brokers do and ours does not; the zero value is ours.
type Habits struct {
	ExpiryFails     bool              // an expired lease is a failure of the job: it waits for its backoff and spends one of MaxFailures
	ReleaseRestores bool              // with CountAtClaim: a release gives the attempt back
	FreedByHangup   bool              // a holder's claims end with its connection
	SweepAtBoot     bool              // a process that registers sweeps, besides the period
	BackoffSpread   protocol.Duration // up to this much is added to a backoff
	MaxClaims       int               // so many claims are open at once, of all workers together; 0 is no limit
	MoverPeriod     protocol.Duration // delayed jobs are looked at this often; 0 is at once when they are due
}

// NoLongPoll as Queue.Park makes the broker answer every claim at once.
const NoLongPoll protocol.Duration = -1

// NoHeartbeat as Queue.Heartbeat is a worker that never renews its leases.
const NoHeartbeat protocol.Duration = protocol.Forever

// Counting is how the counter of a batch, which is at zero once all of its jobs are done, is
// written. It is the application's and lies beside the queue.
type Counting uint8

// Ways of counting.
const (
	CountedByJob    Counting = iota // by a handler that has done its work, before its ack; a job counts once, however often it is run
	CountedByRun                    // likewise; every run counts
	CountedAfterAck                 // by a request of its own once the ack is answered; a job counts once
)

// OnExpiry is what the broker does with a job whose lease ran out.
type OnExpiry uint8

// Answers to expiry.
const (
	Redeliver OnExpiry = iota
	QuarantineExpired
	BuryExpired // it is dead-lettered, as if it had failed for good
)

// Job is one kind of job and how its handler behaves.
type Job struct {
	Name       string
	Arrivals   *dist.Table       // gaps between arrivals; nil with a trace
	Count      int               // jobs of the kind altogether; 0 is no limit
	Work       *dist.Table       // time of one undisturbed execution; nil with a trace
	Checkpoint protocol.Duration // the handler looks for cancellation this often
	Declared   protocol.Duration // the gap its options declare; at most what fits the grace
	Undo       protocol.Duration // its undo hooks take this long; 0 is nothing to undo
	UndoFails  PPB               // undo hooks fail
	Deaf       PPB               // an execution never looks for cancellation
	CPUBound   PPB               // an execution starves its process: timers and answers wait for its end
	Fails      PPB               // an execution that comes to its end reports an error
	OOM        PPB               // an execution kills its process at a point of its work
	Save       protocol.Duration // work between two saved cursors; 0 is none
	Flush      bool              // a saved cursor does not wait for the next renewal
	Batch      int               // jobs of the kind come in batches of so many, in order of arrival; 0 is none
	Effects    int               // unfenced effects on the outside, spread over the work, the last at its end
	Timeout    protocol.Duration // limit of one execution; 0 is none
	Version    uint16            // of the payload
	NewVersion uint16            // of the payload once the first deploy has begun; same as Version if not rolled
}

// Trace is a recorded series of jobs. Every call of Open starts it anew.
type Trace interface {
	Open() (JobStream, error)
}

// JobStream yields jobs by arrival.
type JobStream interface {
	// Next returns the next job; ok is false at the end. Errors were found when the trace
	// was first read, so here they are reported once more and end the run.
	Next() (arrival protocol.Instant, work protocol.Duration, kind protocol.Kind, ok bool, err error)
	Close() error
}

// Deploys says when a rollout begins.
type Deploys struct {
	Every protocol.Duration // from the start on; 0 is none
	At    []protocol.Instant
	Count int // of those by Every; 0 is no limit
}

// Faults is what goes wrong.
type Faults struct {
	Crash     protocol.Duration // mean time between crashes of one worker process; 0 is never
	Pause     Spell             // the process stands still, its clock runs on
	Partition Spell             // nothing passes between one worker and the broker
	Slow      Spell             // the broker answers late
	SlowBy    protocol.Duration // by this much
	Forget    protocol.Duration // mean time between failovers of the broker; 0 is never
	ForgetFor protocol.Duration // each loses the writes of this long
	DriftPPM  int64             // each worker's clock runs apart by up to this, either way
	Network   Network
	Drill     PPB               // a drain is killed on purpose, at an instant of its grace
	Liveness  protocol.Duration // a draining process fails its probe and is killed this long after the stop signal; 0 is never
	Evict     Eviction
	Preempt   Preemption
	ScaleIn   ScaleIn
	At        []NodeFault // beside the drawn ones, in any order
	Trace     FaultTrace  // recorded faults, beside those; nil is none
}

// Eviction is a stop that comes from the node: of less grace than the workers were told.
type Eviction struct {
	Every protocol.Duration // mean time between two of one seat; 0 is never
	Grace protocol.Duration
}

// Preemption takes the machine away from under a process, which is given notice of when.
type Preemption struct {
	Every  protocol.Duration // mean time between two of one seat; 0 is never
	Notice protocol.Duration // from the notice to the end
}

// ScaleIn stops a part of the fleet and starts as many again later, as an autoscaler does.
type ScaleIn struct {
	Every     protocol.Duration // 0 is never
	Workers   int
	Back      protocol.Duration // from the stop to the start of as many new ones
	IdleFirst bool              // victims are those that work on nothing, as far as there are any
}

// FaultTrace is a recorded series of faults of nodes. Every call of Open starts it anew.
type FaultTrace interface {
	Open() (FaultStream, error)
}

// FaultStream yields faults by their instant.
type FaultStream interface {
	// Next returns the next fault; ok is false at the end. An error ends the run.
	Next() (f NodeFault, ok bool, err error)
	Close() error
}

// NodeFault is one recorded fault. A fleet of n workers runs on n nodes: seat s stands on node
// s mod n, and so does a node of the trace. The fault hits every process that stands there,
// be it the one that is about to be replaced or its successor.
type NodeFault struct {
	At     protocol.Instant
	Node   int32 // not negative; may be larger than the fleet
	Kind   FaultKind
	Length protocol.Duration // of a pause or a partition; of the notice before a preemption
}

// FaultKind is what happens to the processes of a node.
type FaultKind uint8

// Kinds of faults.
const (
	NodeCrash     FaultKind = iota // they die, and start again at once
	NodePause                      // they stand still, their clocks run on
	NodePartition                  // nothing passes between them and the broker
	NodePreempt                    // they are stopped, killed at the end of the notice at the latest, and replaced
)

func (k FaultKind) String() string {
	return [...]string{"crash", "pause", "partition", "preempt"}[k]
}

// Spell is a fault that lasts, per worker or per broker.
type Spell struct {
	Every  protocol.Duration // mean time between two; 0 is never
	Length *dist.Table
}

// Network is how messages travel between workers and the broker, in each direction.
type Network struct {
	Latency   *dist.Table
	Loss      PPB
	Duplicate PPB
}
