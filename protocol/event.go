package protocol

// JobKey identifies a job within one broker.
type JobKey uint64

// Token is a fencing token: it grows with every claim of one job, and the broker refuses
// whatever carries an older one. Zero is no token.
type Token uint64

// Kind is the index of a job kind in Config.Kinds.
type Kind uint16

// Cursor is an opaque handle of saved progress. Zero is "nothing saved"; the driver knows
// what the others stand for. The machine only carries them.
type Cursor uint64

// NoSlot is the slot number of what belongs to no slot.
const NoSlot = -1

// EventKind tags an Event.
type EventKind uint8

// Events, named in the past tense where they report something. What comes over a wire or
// from a person may come late, twice, or for another life; no such event is ever
// impossible.
const (
	Tick             EventKind = iota // nothing but the passing of time
	Registered                        // the broker knows this incarnation, or refuses it
	Granted                           // one job of a claim answer; ClaimAnswered follows
	ClaimAnswered                     // the end of a claim answer
	WithdrawAnswered                  // a claim request was taken back
	RenewAnswered                     // the lease of one slot was extended, or not
	SaveAnswered                      // a cursor was stored, or not
	SettleAnswered                    // a claim was ended, or not
	HandlerReturned                   // the handler of a slot came back
	SaveAsked                         // a handler asked for its cursor to be saved
	UndoReturned                      // the undo hooks of a slot came back
	StopAsked                         // SIGTERM, SIGINT, notice, context, supervisor
	KillAtMoved                       // the supervisor changed its mind about SIGKILL
	QuietAsked                        // claim nothing, otherwise live on
	ResumeAsked                       // the end of quiet
	CancelAsked                       // an operator cancels the job of a slot
	Estimated                         // one bucket of the durations of a kind
	Reconnected                       // the way to the broker was gone and is there again

	eventKinds
)

// Code is the result that an event reports.
type Code uint8

// Codes. A broker answers with one of the first group; handlers and undo hooks return one
// of the second.
const (
	NoCode      Code = iota
	OK               // done
	Repeat           // done before, by the same token and verb
	Expired          // the lease ran out and nobody took the job: it may be settled, not renewed
	Closed           // this claim was ended already, with another verb
	Stale            // a newer token exists: the job is somebody else's
	Refused          // certainly nothing was done
	Unknown          // an error or a timeout of the transport: it may have been done
	CancelOrder      // to a renewal: extended, but an operator wants the job cancelled

	ReturnedNil    // the handler finished the job
	ReturnedYield  // the handler hands the job back of its own accord
	ReturnedError  // any other error: a failure before a cancel, an interruption after
	ReturnedFailed // an error marked as a failure whatever the cause
	ReturnedPanic  // a panic, or the handler's goroutine ended without a return
	UndoDone       // every undo hook ran
	UndoSkipped    // the shared hooks were left out
	UndoFailed     // a hook failed

	codes
)

// Source is where a stop comes from (rule 13).
type Source uint8

// Sources of a stop.
const (
	FromSignal     Source = iota // an OS signal; only these escalate by repetition
	FromNotice                   // preStop hook, spot notice, API
	FromContext                  // the context given to the driver is done
	FromSupervisor               // a message of the supervisor
	FromSelf                     // the machine itself: every slot is wedged

	sources
)

// Signal is the number of an OS signal, as on Linux.
type Signal uint8

// Signals that mean something to the machine. Others count like SIGTERM.
const (
	SIGINT  Signal = 2
	SIGTERM Signal = 15
)

// Event is one thing that happened, of fixed size and without pointers. Which fields are
// meant depends on Kind; use the constructors.
type Event struct {
	Kind    EventKind
	Code    Code
	Source  Source
	Signal  Signal
	Queue   uint8
	Clean   bool // HandlerReturned: nothing is left to undo or to commit
	Flush   bool // SaveAsked: do not wait for the next renewal
	More    bool // another event is at hand and is stepped next: jobs are asked for after that
	JobKind Kind
	Version uint16
	Slot    int32
	Count   uint32   // WithdrawAnswered: jobs taken back; Estimated: executions in the bucket
	Seq     uint64   // the claim request answered; Registered: the incarnation; Estimated: the bucket
	Job     JobKey   // Granted; answers about a slot: Effect.Job of the effect that is answered
	Token   Token    // whatever belongs to a claim
	At      Instant  // StopAsked, KillAtMoved: the instant of SIGKILL, or Never
	Sent    Instant  // answers about a slot: Effect.At of the effect that is answered
	Span    Duration // Granted, ClaimAnswered: how long the broker had the request parked
	Cursor  Cursor   // RenewAnswered, SaveAnswered, SaveAsked
}

// answer is what a driver received from the broker for one effect about a slot. Slot, job
// and token are the effect's own, handed back: tokens grow per job, so two jobs may have the
// same. sent is the effect's instant, so that trust can be counted from it (rule 10).
func answer(kind EventKind, slot int, job JobKey, token Token, code Code, sent Instant) Event {
	return Event{Kind: kind, Slot: int32(slot), Job: job, Token: token, Code: code, Sent: sent}
}

// RegisteredAs reports the answer to Register: OK with the incarnation's number, Refused,
// or Unknown.
func RegisteredAs(incarnation uint64, code Code) Event {
	return Event{Kind: Registered, Seq: incarnation, Code: code}
}

// GrantedJob reports one job of the answer to claim request seq of a queue. parked is how
// long the broker had kept the request waiting when it granted the job.
func GrantedJob(queue int, seq uint64, job JobKey, token Token, kind Kind, version uint16, parked Duration) Event {
	return Event{Kind: Granted, Queue: uint8(queue), Seq: seq, Job: job, Token: token, JobKind: kind, Version: version, Span: parked, Code: OK}
}

// ClaimClosed reports the end of the answer to claim request seq: OK, Refused (certainly
// nothing was granted) or Unknown.
func ClaimClosed(queue int, seq uint64, code Code, parked Duration) Event {
	return Event{Kind: ClaimAnswered, Queue: uint8(queue), Seq: seq, Code: code, Span: parked}
}

// WithdrawClosed reports the answer to a Withdraw: OK and how many jobs went back, or Unknown.
func WithdrawClosed(queue int, seq uint64, code Code, jobs int) Event {
	return Event{Kind: WithdrawAnswered, Queue: uint8(queue), Seq: seq, Code: code, Count: uint32(jobs)}
}

// Renewed reports the answer to the Renew sent at sent: OK, CancelOrder, Expired, Closed,
// Stale or Unknown. cursor is the one that rode on it, if any.
func Renewed(slot int, job JobKey, token Token, code Code, sent Instant, cursor Cursor) Event {
	ev := answer(RenewAnswered, slot, job, token, code, sent)
	ev.Cursor = cursor
	return ev
}

// Saved reports the answer to the Save sent at sent, with the codes of a renewal.
func Saved(slot int, job JobKey, token Token, code Code, sent Instant, cursor Cursor) Event {
	ev := answer(SaveAnswered, slot, job, token, code, sent)
	ev.Cursor = cursor
	return ev
}

// Settled reports the answer to a Settle: OK, Repeat, Closed, Stale or Unknown.
func Settled(slot int, job JobKey, token Token, code Code) Event {
	return answer(SettleAnswered, slot, job, token, code, 0)
}

// Returned reports that the handler of a slot came back. clean says that nothing is left
// to undo and nothing to commit.
func Returned(slot int, code Code, clean bool) Event {
	return Event{Kind: HandlerReturned, Slot: int32(slot), Code: code, Clean: clean}
}

// Undid reports that the undo hooks of a slot came back: UndoDone, UndoSkipped, UndoFailed.
func Undid(slot int, code Code) Event {
	return Event{Kind: UndoReturned, Slot: int32(slot), Code: code}
}

// SaveCursor reports that the handler of a slot wants its progress kept.
func SaveCursor(slot int, cursor Cursor, flush bool) Event {
	return Event{Kind: SaveAsked, Slot: int32(slot), Cursor: cursor, Flush: flush}
}

// StopBySignal reports an OS signal that means stop. killAt is Never when nobody said it.
func StopBySignal(sig Signal, killAt Instant) Event {
	return Event{Kind: StopAsked, Source: FromSignal, Signal: sig, At: killAt}
}

// StopFrom reports a stop of another source than a signal.
func StopFrom(source Source, killAt Instant) Event {
	return Event{Kind: StopAsked, Source: source, At: killAt}
}

// KillAt reports that SIGKILL will now come at the given instant.
func KillAt(at Instant) Event { return Event{Kind: KillAtMoved, At: at} }

// OperatorCancel reports that an operator wants the job of a claim cancelled.
func OperatorCancel(slot int, job JobKey, token Token) Event {
	return answer(CancelAsked, slot, job, token, NoCode, 0)
}

// Estimate reports how many executions of a kind took between 2^bucket and 2^(bucket+1)
// milliseconds; bucket 0 also holds the shorter ones.
func Estimate(kind Kind, bucket int, executions uint32) Event {
	return Event{Kind: Estimated, JobKind: kind, Seq: uint64(bucket), Count: executions}
}
