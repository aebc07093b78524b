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
	WithdrawSkipped      // rule 3: forgets a silent request instead of withdrawing it
	CancelsAtStop        // rule 4: cancels at the stop although the job would have fitted
	DeadlineConstant     // rule 5: waits a constant 60 s, whatever the supervisor allows
	SettleUnfenced       // rule 6 (broker): settles by job, without comparing the token
	RenewResurrects      // rule 6 (broker): a renewal after a release brings the lease back
	ReleaseBeforeUndo    // rule 7: hands the job back while its partial work still lies there
	SharedUndoAfterLoss  // rule 7: undoes under shared names although another may hold the job
	ReleaseBeforeReturn  // rule 8: hands the job back when it cancels the handler
	RunsBesideZombie     // rule 8: starts a job of which an earlier execution still runs here
	HeartbeatStopsAtStop // rule 9: the heartbeat ends at the signal
	HeartbeatUnderWork   // rule 9: the heartbeat lives in the context that is cancelled
	LeaseFromReply       // rule 10: counts the lease from the arrival of the answer
	NeverDistrusts       // rule 10: trusts its lease until the broker says otherwise
	SettlesOnce          // rule 11: sends the settling once and never again
	SettleUnderWork      // rule 11: settles in the context that the stop cancels, so nothing is settled after it
	SecondSignalKills    // rule 13: exits at the second SIGTERM, be it an instant after the first, although platforms repeat it
	NoticeCountsAsSignal // rule 13: the SIGTERM after a preStop notice hurries
	RunsUnknownVersion   // rule 14: runs a payload version it does not understand
	UnknownDropped       // rule 14: forgets a job that it does not understand, and keeps the claim
	CommitsBeforeSaved   // rule 16: closes the segment before the broker has the cursor
	InterruptionFails    // rule 17: reports an error after a cancel as a failure
	InterruptionCancels  // rule 17: takes the drain's cancel for an operator's, which is final
	GoingUnsaid          // rule 19: does not say that it is going, so deploys spend poison
	BouncesJobs          // section 6.8 (broker): hands a job that came back to whoever waits longest, old or new
	TokenForgotten       // section 6.7 (broker): counts tokens from the job's record alone

	count
)

var names = [count]string{
	None: "none", ClaimsAfterStop: "claims-after-stop", AnyAnswerCounts: "any-answer-counts",
	LateClaimDropped: "late-claim-dropped", WithdrawSkipped: "withdraw-skipped",
	CancelsAtStop: "cancels-at-stop", DeadlineConstant: "deadline-constant",
	SettleUnfenced: "settle-unfenced", RenewResurrects: "renew-resurrects",
	ReleaseBeforeUndo: "release-before-undo", SharedUndoAfterLoss: "shared-undo-after-loss",
	ReleaseBeforeReturn: "release-before-return", RunsBesideZombie: "runs-beside-zombie",
	HeartbeatStopsAtStop: "heartbeat-stops-at-stop", HeartbeatUnderWork: "heartbeat-under-work",
	LeaseFromReply: "lease-from-reply", NeverDistrusts: "never-distrusts",
	SettlesOnce: "settles-once", SettleUnderWork: "settle-under-work", SecondSignalKills: "second-signal-kills",
	NoticeCountsAsSignal: "notice-counts-as-signal", RunsUnknownVersion: "runs-unknown-version",
	CommitsBeforeSaved: "commits-before-saved", InterruptionFails: "interruption-fails",
	UnknownDropped: "unknown-dropped", InterruptionCancels: "interruption-cancels",
	BouncesJobs: "bounces-jobs", GoingUnsaid: "going-unsaid", TokenForgotten: "token-forgotten",
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
