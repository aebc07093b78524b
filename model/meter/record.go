package meter

import "github.com/quiesce/quiesce/protocol"

// Kind tags a Record.
type Kind uint8

// Records. Whoever runs workers, simulated or real, writes these; every metric is computed
// from them and from nothing else, but for the events of a simulation and the batches of an
// application, which no worker knows of.
const (
	JobEnqueued      Kind = iota // Job, At
	ClaimGranted                 // Job, Token
	ExecutionStarted             // Job, Token, Work: how far earlier ones had come that is not done again
	ExecutionEnded               // Job, Token, Work: how far it came, Total, Span; Count: unfenced effects in all; How, Cause
	ExecutionPaused              // Job, Token: its process stands still
	ExecutionResumed             // Job, Token
	UndoEnded                    // Job, Token
	ClaimEnded                   // Job, Token, Verb, Reason, Cause, Eroded: the broker's decision
	LeaseExpired                 // Job, Token, Reason, Cause, Eroded
	JobFinished                  // Job
	JobDead                      // Job; Reason is none when failures did it
	JobQuarantined               // Job
	JobCancelled                 // Job
	JobStarving                  // Job
	JobForgotten                 // Job: a failover undid something about it

	HandlerNoted    // Note, Count
	LedgerLine      // Outcome
	StopAsked       // a process was told to stop
	ProcessExited   // Span: since it was told to stop; Status
	ProcessKilled   // SIGKILL at the end of the grace; Span: since it was told to stop
	ProcessCrashed  // without having been asked to stop
	RolloutBegan    // Deploy
	RolloutFinished // Deploy, Span
)

// Cause is why an execution was interrupted, by what happened to its process.
type Cause uint8

// Causes.
const (
	ByOther   Cause = iota // among them the preemption of its node
	ByDeploy               // its process was being stopped
	ByCrash                // its process died by itself
	ByRefusal              // its worker did not understand it
	ByLease                // its process lived on, its lease did not: pause, partition, distrust

	Causes // the number of causes
)

// String returns the cause's name in reports.
func (c Cause) String() string {
	return [Causes]string{"other", "deploy", "crash", "refusal", "lease"}[c]
}

// CauseOfCancel returns why an execution is interrupted that was cancelled with a cause of the
// protocol's; stop is why its process is being stopped.
func CauseOfCancel(told protocol.Cause, stop Cause) Cause {
	switch told {
	case protocol.ErrDraining, protocol.ErrHurry:
		return stop
	case protocol.ErrLeaseLost:
		return ByLease
	default:
		return ByOther
	}
}

// How is the way in which an execution ended.
type How uint8

// Ways to end.
const (
	Succeeded   How = iota // its handler finished the job; the broker may still not know
	Failed                 // its handler failed by itself
	Interrupted            // its handler returned because it was cancelled, or yielded
	Killed                 // its process died
)

// Record is one thing that happened, of fixed size and without pointers.
type Record struct {
	At      protocol.Instant
	Job     protocol.JobKey
	Token   protocol.Token
	Work    protocol.Duration
	Total   protocol.Duration // ExecutionEnded: all of the job's work
	Span    protocol.Duration // ExecutionEnded: where it started; otherwise a length of time
	Deploy  int32             // the newest rollout that has begun, from 1; 0 before the first
	Count   int32
	Seat    int32
	Kind    Kind
	How     How
	Cause   Cause
	Verb    protocol.Verb
	Reason  protocol.Reason
	Note    protocol.NoteCode
	Outcome protocol.Outcome
	Status  uint8
	Eroded  bool
	Paused  bool // ExecutionEnded: its process stood still, and worked until ExecutionPaused
}
