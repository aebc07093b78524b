// Package deviation names the ways in which a drain protocol goes wrong in practice.
//
// A deviation is one bit. Set, it breaks exactly one rule of the protocol in exactly one
// function, the way people (or other queues) really break it. Deviations exist so that
// every check of this project can be seen to fail, and so that a mistake can be priced.
// They live under internal/ and in a type without exported fields: code outside this
// module can neither name one nor set one, and the zero value, which production runs,
// has none.
package deviation

import "sort"

// ID names one deviation.
type ID uint8

// The deviations, by the rule of package protocol that they break. Those marked (broker)
// are read by the reference broker, the others by the machine.
const (
	None ID = iota

	ClaimsAfterStop      // rule 1: goes on asking for jobs after the stop
	AnyAnswerCounts      // rule 2: obeys an answer to a request that is closed or withdrawn
	LateClaimDropped     // rule 2: forgets a job granted after the stop instead of handing it back
	LateClaimRun         // rule 2: runs a job granted after the stop, although the policy is to hand it back
	WithdrawSkipped      // rule 3: forgets a silent request instead of withdrawing it
	ClaimRenumbered      // rule 3: repeats a silent request under a new id, so that what the old one brought is forgotten
	AskingEnds           // rule 3: asks for no more jobs once it has taken a request back: what asked has ended with it
	CancelsAtStop        // rule 4: cancels at the stop although the job would have fitted
	DeadlineConstant     // rule 5: waits a constant 60 s, whatever the supervisor allows
	PreStopForgotten     // rule 5: counts the whole grace from the signal, although a preStop hook used part of it
	SettleUnfenced       // rule 6 (broker): settles by job, without comparing the token
	ReadThenRelease      // rule 6 (broker): releases by job once it has read that the worker holds it, and somebody else may by then
	RenewResurrects      // rule 6 (broker): a renewal after a release brings the lease back
	ReleaseInTwoSteps    // rule 6 (broker): a release ends the lease, and only its repeat makes the job claimable
	ReleaseBeforeUndo    // rule 7: hands the job back while its partial work still lies there
	UndoSkipped          // rule 7: hands the job back and leaves its partial work where it lies
	SharedUndoAfterLoss  // rule 7: undoes under shared names although another may hold the job
	ReleaseBeforeReturn  // rule 8: hands the job back when it cancels the handler
	RunsBesideZombie     // rule 8: starts a job of which an earlier execution still runs here
	HeartbeatStopsAtStop // rule 9: the heartbeat ends at the signal
	HeartbeatUnderWork   // rule 9: the heartbeat lives in the context that is cancelled
	LeaseFromReply       // rule 10: counts the lease from the arrival of the answer
	LeaseFromRetry       // rule 10: counts the lease from the last attempt of the request, which may have been granted at the first
	NeverDistrusts       // rule 10: trusts its lease until the broker says otherwise
	DistrustsEarly       // rule 10: cancels a handler its gap before trust ends although no renewal was missed, so that long jobs go round for ever
	SettlesOnce          // rule 11: sends the settling once and never again
	SettleUnderWork      // rule 11: settles in the context that the stop cancels, so nothing is settled after it
	SecondSignalKills    // rule 13: exits at the second SIGTERM, be it an instant after the first, although platforms repeat it
	EscalationWaits      // rule 13: obeys the second signal only once what the first began is over
	NoticeCountsAsSignal // rule 13: the SIGTERM after a preStop notice hurries
	RunsUnknownVersion   // rule 14: runs a payload version it does not understand
	UnknownDropped       // rule 14: forgets a job that it does not understand, and keeps the claim
	CommitsBeforeSaved   // rule 16: closes the segment before the broker has the cursor
	SavesForgotten       // rule 16: renews a claim and leaves the saved cursor out
	FlushWaits           // rule 16: has a cursor that is to go at once wait for the next renewal
	ResumesUndone        // rule 16: hands a job back with a cursor whose work it has just undone
	InterruptionFails    // rule 17: reports an error after a cancel as a failure
	InterruptionCancels  // rule 17: takes the drain's cancel for an operator's, which is final
	FailureExcused       // rule 17: takes whatever comes back in a drain for an interruption, so that a failure is never counted
	NeverSoftens         // rule 17: tells a handler nothing of the drain before it cancels it
	LateAckUncounted     // rule 17: acks a job whose handler finished after its cancel without counting it
	LedgerOmitsLeft      // rule 18: writes no line about what it leaves behind
	LedgerFlatters       // rule 18: writes down as finished what it handed back
	AttemptAtClaim       // rule 19 (broker): counts a failure at the claim, and leaves it there when the job is handed back
	GoingUnsaid          // rule 19: does not say that it is going, so deploys spend poison
	BouncesJobs          // section 6.8 (broker): hands a job that came back to whoever waits longest, old or new
	WorkersClock         // section 6.1 (broker): a renewal extends the lease from the worker's own time
	TokenForgotten       // section 6.7 (broker): counts tokens from the job's record alone
	LeasesForgotten      // section 6.7 (broker): a failover loses every lease and keeps the claims
	SweepsNewcomers      // section 6.1 (broker): the sweep takes a claim that was never renewed for one of the dead
	SweepDropsRest       // section 6.1 (broker): the sweep frees one claim of an owner and drops the others with it
	SweepStopsAtLiving   // section 6.1 (broker): the sweep goes through claims by age and looks behind none that it must not free
	OwnerByName          // section 6.1 (broker): a renewal extends also the leases of the lives before it in its seat
	LimitLeaks           // section 6.2 (broker): a claim that expired counts against the limit of claims for ever

	count
)

var names = [count]string{
	None: "none", ClaimsAfterStop: "claims-after-stop", AnyAnswerCounts: "any-answer-counts",
	LateClaimDropped: "late-claim-dropped", WithdrawSkipped: "withdraw-skipped", AskingEnds: "asking-ends",
	CancelsAtStop: "cancels-at-stop", DeadlineConstant: "deadline-constant",
	SettleUnfenced: "settle-unfenced", RenewResurrects: "renew-resurrects",
	ReleaseBeforeUndo: "release-before-undo", SharedUndoAfterLoss: "shared-undo-after-loss",
	ReleaseBeforeReturn: "release-before-return", RunsBesideZombie: "runs-beside-zombie",
	HeartbeatStopsAtStop: "heartbeat-stops-at-stop", HeartbeatUnderWork: "heartbeat-under-work",
	LeaseFromReply: "lease-from-reply", NeverDistrusts: "never-distrusts", DistrustsEarly: "distrusts-early",
	SettlesOnce: "settles-once", SettleUnderWork: "settle-under-work", SecondSignalKills: "second-signal-kills",
	NoticeCountsAsSignal: "notice-counts-as-signal", RunsUnknownVersion: "runs-unknown-version",
	CommitsBeforeSaved: "commits-before-saved", InterruptionFails: "interruption-fails",
	LateClaimRun: "late-claim-run", ClaimRenumbered: "claim-renumbered", PreStopForgotten: "prestop-forgotten",
	ReadThenRelease: "read-then-release", UndoSkipped: "undo-skipped", LeaseFromRetry: "lease-from-retry",
	NeverSoftens: "never-softens", LateAckUncounted: "late-ack-uncounted", LedgerOmitsLeft: "ledger-omits-left",
	AttemptAtClaim: "attempt-at-claim", WorkersClock: "workers-clock",
	UnknownDropped: "unknown-dropped", InterruptionCancels: "interruption-cancels",
	BouncesJobs: "bounces-jobs", GoingUnsaid: "going-unsaid", TokenForgotten: "token-forgotten",
	EscalationWaits: "escalation-waits", ReleaseInTwoSteps: "release-in-two-steps", LeasesForgotten: "leases-forgotten",
	SavesForgotten: "saves-forgotten", FlushWaits: "flush-waits", ResumesUndone: "resumes-undone", FailureExcused: "failure-excused", LedgerFlatters: "ledger-flatters",
	SweepsNewcomers: "sweeps-newcomers", SweepDropsRest: "sweep-drops-rest",
	SweepStopsAtLiving: "sweep-stops-at-living", OwnerByName: "owner-by-name",
	LimitLeaks: "limit-leaks",
}

// String returns the name used in reports.
func (id ID) String() string { return names[id] }

// All returns every deviation but None, sorted by name.
func All() []ID {
	all := make([]ID, 0, count-1)
	for id := None + 1; id < count; id++ {
		all = append(all, id)
	}
	sort.Slice(all, func(i, j int) bool { return names[all[i]] < names[all[j]] })
	return all
}

// Named returns the deviation with a name; None has none that can be asked for.
func Named(name string) (ID, bool) {
	for id := None + 1; id < count; id++ {
		if names[id] == name {
			return id, true
		}
	}
	return None, false
}

// Set is a set of deviations; the zero value is the sound protocol.
type Set struct{ bits uint64 }

// Of returns the set of the given deviations.
func Of(ids ...ID) Set {
	var s Set
	for _, id := range ids {
		s.bits |= 1 << id
	}
	return s
}

// Has reports whether the set holds id.
func (s Set) Has(id ID) bool { return s.bits&(1<<id) != 0 }

// With returns the set and one deviation more.
func (s Set) With(id ID) Set {
	s.bits |= 1 << id
	return s
}
