package invariant

import "fmt"

// ID names one invariant.
type ID uint8

// The invariants, by the rule of package protocol that they watch, and after those the ones
// that several rules keep together.
const (
	StopClaiming ID = iota
	NoStartAfterStop
	AnswerObeyedOnce
	NoGrantDropped
	RequestsClosed
	FinishWhatFits
	ExitBeforeKill
	NoStaleEffect
	ClaimEndsOnce
	UndoBeforeRelease
	SharedUndoWhileHeld
	ResourcesFreed
	SettledAfterReturn
	NotBesideItself
	LeaseKeptWhileHandled
	ToldBeforeLeaseEnds
	SettledUntilAnswered
	EscalatesByRepeat
	UnderstoodOnly
	SavedBeforeCommit
	ProgressSurvives
	UndoneNotResumed
	ToldSoftly
	LateAcksCounted
	AckedOnlyIfFinished
	EndsAsReturned
	LedgerComplete
	LedgerTrue
	DrainSpendsNoBudget
	NoJobLost
	OneOpenClaim
	FreedInTime
	TokensGrow
	ReturnsToNewer
	ExitZeroHoldsNothing
	DoneAfterFaults

	// Count is the number of invariants.
	Count
)

// entry is what is known of an invariant beside its checker.
type entry struct {
	name  string
	rule  int // of package protocol; 0 when it is no single one's
	about string
}

// table has a row for each. Rules 12 and 15 are kept outside of the machine, by whoever
// composes several components or starts a process, and have none.
var table = [Count]entry{
	StopClaiming:          {"stop-claiming", 1, "no claim request is sent after a stop"},
	NoStartAfterStop:      {"no-start-after-stop", 2, "no handler is started after a stop, unless the policy runs late claims"},
	AnswerObeyedOnce:      {"answer-obeyed-once", 2, "a handler is started for the request that is out, and never for one that was answered or withdrawn"},
	NoGrantDropped:        {"no-grant-dropped", 2, "a job that was granted to the request that is out is run or handed back"},
	RequestsClosed:        {"requests-closed", 3, "a new claim request is sent only when the one before it was answered or withdrawn"},
	FinishWhatFits:        {"finish-what-fits", 4, "a drain cancels no handler before what is told of SIGKILL makes it necessary"},
	ExitBeforeKill:        {"exit-before-kill", 5, "a process that is scheduled exits before the SIGKILL it was told of"},
	NoStaleEffect:         {"no-stale-effect", 6, "what carries an older token than the newest changes nothing"},
	ClaimEndsOnce:         {"claim-ends-once", 6, "a claim that ended stays ended, and is not renewed"},
	UndoBeforeRelease:     {"undo-before-release", 7, "a claim is not settled while undo hooks run under it, except by a quarantine"},
	SharedUndoWhileHeld:   {"shared-undo-while-held", 7, "shared undo hooks run only while the claim is held"},
	ResourcesFreed:        {"resources-freed", 7, "partial work that a handler left is undone"},
	SettledAfterReturn:    {"settled-after-return", 8, "a claim is not settled before its handler has returned"},
	NotBesideItself:       {"not-beside-itself", 8, "no job is started in a process in which an earlier execution of it still runs"},
	LeaseKeptWhileHandled: {"lease-kept-while-handled", 9, "while a handler runs in a process that is scheduled, and renewals are answered in time, its lease does not run out"},
	ToldBeforeLeaseEnds:   {"told-before-lease-ends", 10, "a handler in a process that is scheduled is told before its lease runs out"},
	SettledUntilAnswered:  {"settled-until-answered", 11, "how a claim ends is sent, and sent again, until it is answered"},
	EscalatesByRepeat:     {"escalates-by-repeat", 13, "the repeat of an OS signal hurries whatever runs, and nothing else hurries or exits at once"},
	UnderstoodOnly:        {"understood-only", 14, "no handler is started for a payload version outside of what is understood"},
	SavedBeforeCommit:     {"saved-before-commit", 16, "a segment is closed only when the broker has its cursor"},
	ProgressSurvives:      {"progress-survives", 16, "what a handler saves is sent at once or with the next renewal, and the handler is told what became of it"},
	UndoneNotResumed:      {"undone-not-resumed", 16, "a cursor that is not stored when undo begins is not sent any more"},
	ToldSoftly:            {"told-softly", 17, "a handler that runs at the stop is told softly first"},
	LateAcksCounted:       {"late-acks-counted", 17, "a handler that finishes after its cancel is counted"},
	AckedOnlyIfFinished:   {"acked-only-if-finished", 17, "a job is acked only if a handler returned nil under that token, and had nothing left to commit"},
	EndsAsReturned:        {"ends-as-returned", 17, "a claim ends as its handler returned: done, failed, or handed back and why"},
	LedgerComplete:        {"ledger-complete", 18, "whatever is open at the stop has exactly one line in the ledger by the exit"},
	LedgerTrue:            {"ledger-true", 18, "a line of the ledger says what became of its job or claim request"},
	DrainSpendsNoBudget:   {"drain-spends-no-budget", 19, "a drain spends no failure, no poison and no attempt of a job"},
	NoJobLost:             {"no-job-lost", 0, "a job that was enqueued is known until it is done, failed too often, parked for undo that failed, or cancelled by an operator"},
	OneOpenClaim:          {"one-open-claim", 0, "by the broker's clock at most one claim of a job is open"},
	FreedInTime:           {"freed-in-time", 0, "a claim that is not renewed is freed when its lease is over, or by the next sweep after that"},
	TokensGrow:            {"tokens-grow", 0, "no two claims of a job have the same token, and later ones have larger ones"},
	ReturnsToNewer:        {"returns-to-newer", 0, "a job that comes back goes to a waiting worker of a newer generation if there is one"},
	ExitZeroHoldsNothing:  {"exit-zero-holds-nothing", 0, "a process that exits with status 0 holds no claim, and gets none later"},
	DoneAfterFaults:       {"done-after-faults", 0, "once nothing goes wrong any more every job comes to its end"},
}

// String returns the name used in reports.
func (id ID) String() string { return table[id].name }

// About returns the invariant as a sentence.
func (id ID) About() string { return table[id].about }

// Rule returns the rule of package protocol that the invariant watches, 0 when it is not one.
func (id ID) Rule() int { return table[id].rule }

// All returns every invariant.
func All() []ID {
	all := make([]ID, Count)
	for i := range all {
		all[i] = ID(i)
	}
	return all
}

// Named returns the invariant with a name.
func Named(name string) (ID, error) {
	for id := range table {
		if table[id].name == name {
			return ID(id), nil
		}
	}
	return 0, fmt.Errorf("there is no invariant %q", name)
}
