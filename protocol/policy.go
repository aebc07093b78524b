package protocol

// Policy is how a worker answers a stop: a handful of independent choices, each safe by
// itself. The zero value is the hybrid policy: finish what fits, hand back the rest, and
// leave correctness to the lease.
type Policy struct {
	OnStop     OnStop
	LateClaim  LateClaim
	Deadline   DeadlineFrom
	Constant   Duration // with DeadlineConstant: how long a drain may take
	AtDeadline AtDeadline
	Estimates  Estimates
}

// OnStop is what the first stop does.
type OnStop uint8

// Answers to the first stop.
const (
	FinishOnStop OnStop = iota // let running handlers go on while they fit
	CancelOnStop               // cancel every handler at once
	DieOnStop                  // exit at once, as a process without a signal handler does
	IgnoreOnStop               // notice nothing, as a PID 1 without a signal handler does
)

// LateClaim is what becomes of a job whose grant arrives after the stop.
type LateClaim uint8

// Answers to a late claim.
const (
	ReturnLateClaim     LateClaim = iota // hand it back
	RunLateClaim                         // run it
	RunLateClaimIfShort                  // run it if nine in ten of its kind take half the time that is left
)

// DeadlineFrom is where the drain's deadline comes from.
type DeadlineFrom uint8

// Sources of the deadline.
const (
	DeadlineFromBudget   DeadlineFrom = iota // the supervisor's grace (rule 5)
	NoDeadline                               // wait for ever
	DeadlineFromConstant                     // Policy.Constant after the stop, whatever the supervisor allows
)

// AtDeadline is what happens to a handler that is still running when its kind must be cancelled.
type AtDeadline uint8

// Answers to the deadline.
const (
	ReleaseAtDeadline AtDeadline = iota // cancel it, undo, release
	DieAtDeadline                       // exit
)

// Estimates says whether a drain weighs going on against handing back.
type Estimates uint8

// Uses of estimates.
const (
	NoEstimates Estimates = iota
	Adaptive              // hand back at once what is expected to start over sooner elsewhere
)
