package protocol

// EffectKind tags an Effect.
type EffectKind uint8

// Effects, named in the imperative. Those of the first group go to the broker, have no
// order among each other, and are attempted once each: the machine repeats what must be
// repeated. The others are for the driver itself.
const (
	Register EffectKind = iota // make this incarnation known; answered by Registered
	Going                      // say once that this incarnation will stop; no answer is awaited
	Claim                      // ask for Want jobs under (incarnation, Queue, Seq)
	Withdraw                   // take the claim request (incarnation, Queue, Seq) back
	Renew                      // extend the lease of a slot's claim
	Save                       // store a cursor under a slot's claim
	Settle                     // end a claim with a verb; NoSlot: once, its answer counts nothing

	Start         // run the handler of the slot's job
	Soften        // tell the handler that the worker drains (rule 17, first notice)
	Cancel        // cancel the handler, with a cause (rule 17, second notice)
	Undo          // run the undo hooks of the slot's scope until Until
	PrivateOnly   // leave out the shared hooks that have not begun
	CommitSegment // the cursor is stored: undo reaches back to it and no further; may come again
	RefuseSave    // tell the handler that its claim is lost and nothing was saved
	Note          // something to count and to log
	Line          // one line of the drain's ledger
	Exit          // run the exit hooks until Until, then exit with Status

	effectKinds
)

// Verb is how a claim ends.
type Verb uint8

// Verbs of Settle.
const (
	NoVerb     Verb = iota
	Ack             // the job is finished
	Release         // handed back unfinished and unblamed, runnable now or after Span
	Fail            // the handler failed: spends one of the failures the job may have
	Refuse          // not understood here: handed back with a delay, spends nothing
	Quarantine      // parked: partial work could not be undone

	verbs
)

// Reason is why a job was interrupted.
type Reason uint8

// Reasons of an interruption. The first group rides on a Settle or Withdraw; the second is
// noted by the broker.
const (
	NoReason         Reason = iota
	BecauseDrain            // the drain's deadline for its kind
	BecauseHurry            // a repeated signal
	BecauseYield            // the handler handed it back
	BecauseLate             // granted after the stop
	BecauseWithdrawn        // granted to a request that was withdrawn
	BecauseRefused          // kind or version not understood
	BecauseBusy             // an earlier execution of it still runs in this process
	BecauseDistrust         // the worker gave its lease up before it could run out
	BecauseCancelled        // an operator's cancel: terminal

	BecauseExpired // the lease ran out
	BecauseCut     // the lease ran out under a worker that had said it was going

	Reasons // the number of reasons
)

// Cause is what a cancelled handler is told.
type Cause uint8

// Causes of a cancel.
const (
	NoCause Cause = iota
	ErrDraining
	ErrHurry
	ErrLeaseLost
	ErrTimeout
	ErrCancelled

	causes
)

// NoteCode says what a Note counts.
type NoteCode uint8

// Notes.
const (
	NoNote             NoteCode = iota
	FinishedInGrace             // acked after a stop without having been cancelled
	AckedAfterCancel            // the handler finished although it had been cancelled
	CancelledByDrain            // the drain cancelled a handler
	CancelledByTimeout          // the kind's own limit cancelled a handler
	Undone                      // undo hooks ran and succeeded
	LeaseLost                   // a claim was lost while its handler or undo ran
	RenewalMissed               // a renewal was not answered in time, or with an error
	SurplusReleased             // a job beyond what was asked for went back
	JobsWithdrawn               // a withdraw was answered; Want is the number of jobs it freed
	SettleSuperseded            // the broker had another holder or another verb
	LeftUnsettled               // the end of the drain came before the broker's answer
	HandlerLeaking              // a handler was still running when its undo slice ended
	HandlerLeaked               // a handler, or undo that had outlived its slice, was still running at the end
	EverySlotWedged             // the worker drains itself

	noteCodes
)

// Outcome is what became of a slot or request that was open at the stop (rule 18).
type Outcome uint8

// Outcomes in the ledger.
const (
	NoOutcome Outcome = iota
	WasFinished
	WasFailed
	WasHandedBack // granted after the stop and released, or its handler yielded
	WasReleased
	WasRefused
	WasWithdrawn
	WasAnswered // a request answered after the stop: empty, or its jobs are run
	WasQuarantined
	WasSuperseded
	WasLost // its claim ended under a handler or undo of its, and no settling of ours was taken
	WasLeaked
	WasUnsettled

	outcomes
)

// Exit statuses. When several apply the first of 5, 3, 4, 1, 0 wins.
const (
	ExitClean     = 0 // nothing held
	ExitRefused   = 1 // the broker refused this incarnation
	ExitLeaked    = 3 // a handler did not return
	ExitUnsettled = 4 // the broker did not answer
	ExitAtOnce    = 5 // told to exit at once
)

// Effect is one thing the driver must do, of fixed size and without pointers.
type Effect struct {
	Kind    EffectKind
	Verb    Verb     // Settle
	Reason  Reason   // Settle, Withdraw
	Cause   Cause    // Cancel
	Note    NoteCode // Note
	Outcome Outcome  // Line
	Status  uint8    // Exit
	Queue   uint8
	Private bool // Undo: leave the shared hooks out
	JobKind Kind
	Slot    int32
	Want    int32 // Claim: how many jobs; Note JobsWithdrawn: how many went back
	Seq     uint64
	Job     JobKey
	Token   Token
	At      Instant  // when the machine asked for it; hand it back as Event.Sent
	Until   Instant  // Undo, Exit
	Span    Duration // Settle: delay before the job may be claimed again; Line: time since the stop
	Cursor  Cursor
}

// Effects collects what one Step asks for. Its memory belongs to the driver and is used
// again: a driver resets it, steps, and carries out All before the next Step.
type Effects struct {
	buf []Effect
	now Instant
}

// NewEffects returns a buffer large enough for any Step of a machine with the given number
// of slots and queues.
func NewEffects(slots, queues int) *Effects {
	return &Effects{buf: make([]Effect, 0, EffectsPerStep(slots, queues))}
}

// EffectsPerStep bounds the number of effects of one Step. The worst is a stop whose
// SIGKILL is due, after a pause: a slot misses a renewal and renews (2), is told to drain
// (1), cancelled (2), noted as leaking (1) and as leaked with its line (2), and with one
// deviation settled too early (1); a request is sent, its queue told Going, and it is
// withdrawn, noted and given its line (5); the worker registers, drains itself and exits.
func EffectsPerStep(slots, queues int) int { return 9*slots + 5*queues + 4 }

// Reset forgets the collected effects and keeps the memory.
func (fx *Effects) Reset() { fx.buf = fx.buf[:0] }

// All returns the collected effects, valid until the next Reset.
func (fx *Effects) All() []Effect { return fx.buf }

func (fx *Effects) put(e Effect) {
	e.At = fx.now
	fx.buf = append(fx.buf, e)
}

// about starts an effect about the claim in slot i.
func about(kind EffectKind, i int, s *Slot) Effect {
	return Effect{Kind: kind, Slot: int32(i), Queue: s.queue, JobKind: s.kind, Job: s.job, Token: s.token}
}

func (fx *Effects) note(code NoteCode, i int, s *Slot) {
	e := about(Note, i, s)
	e.Note = code
	fx.put(e)
}
