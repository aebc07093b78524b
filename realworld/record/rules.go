package record

import "github.com/quiesce/quiesce/protocol"

// Rule is one of the rules of package protocol.
type Rule struct {
	Number    int // 0: none of them; a matter of the driver, or of the machine's bookkeeping
	Name      string
	Functions string // in package protocol
}

// rules are named as in the comment of package protocol, which a test compares.
var rules = [...]Rule{
	1:  {1, "Stop claiming first", "ask, asks"},
	2:  {2, "An answer counts only for the request that is out and not withdrawn", "answered, runsNow"},
	3:  {3, "A claim request can be repeated under its id and withdrawn", "withdraw"},
	4:  {4, "Finish what fits", "beginDrain"},
	5:  {5, "Every deadline comes from the supervisor's budget", "plan, cancelAt, rebase, firstKillAt"},
	6:  {6, "A claim ends with one verb, which never changes once it was sent", "settle, claimEnded"},
	7:  {7, "Undo before release", "undoThen, endUndo, restrictUndo"},
	8:  {8, "A claim is never settled before its handler has returned", "onHandlerReturned, runsHere"},
	9:  {9, "Heartbeats outlive handlers", "keepsAlive, renewable"},
	10: {10, "A worker distrusts its lease", "trustFrom, distrusts, loseTrust, onReconnected"},
	11: {11, "Settling is retried until it is answered or settleBy has come", "settleAgain"},
	13: {13, "Stops have several sources, and only the repeat of an OS signal escalates", "countSignal, onStopAgain"},
	14: {14, "Refuse what you do not understand", "understands"},
	16: {16, "Progress survives", "onSaveAsked, cursorStored, undoThen"},
	17: {17, "A handler is told twice, softly at the stop and then by a cancel with its cause", "soften, cancel, judgeReturn"},
	18: {18, "Every drain leaves a ledger", "openLedger, line, closeLedger"},
	19: {19, "Deploys do not eat budgets", "beginDrain"},
}

// ruleOf returns the rule that decides about the first effect that differs. It reads what
// was recorded: that is what the other version wanted.
func ruleOf(s *Step) Rule {
	for i := range max(len(s.Recorded), len(s.Effects)) {
		var was, is Asked
		if i < len(s.Recorded) {
			was = s.Recorded[i]
		}
		if i < len(s.Effects) {
			is = Of(&s.Effects[i])
		}
		switch {
		case i >= len(s.Recorded):
			return rules[decides(is, s.Event.Kind)]
		case i >= len(s.Effects) || was != is:
			return rules[decides(was, s.Event.Kind)]
		}
	}
	if len(s.Recorded) > 0 { // the same in kind: instants or numbers differ, in any of them
		return rules[decides(s.Recorded[0], s.Event.Kind)]
	}
	return rules[0]
}

// decides returns the number of the rule that an effect is asked for by, 0 for none.
func decides(a Asked, told protocol.EventKind) int {
	switch a.Kind {
	case protocol.Going:
		return 19
	case protocol.Claim:
		return 1
	case protocol.Withdraw:
		return 3
	case protocol.Renew:
		return 9
	case protocol.Save, protocol.CommitSegment, protocol.RefuseSave:
		return 16
	case protocol.Settle:
		return settles(a, told)
	case protocol.Start:
		return 2
	case protocol.Soften:
		return 17
	case protocol.Cancel:
		return cancels(protocol.Cause(a.Detail))
	case protocol.Undo, protocol.PrivateOnly:
		return 7
	case protocol.Note:
		return notes(protocol.NoteCode(a.Detail))
	case protocol.Line:
		return 18
	case protocol.Exit:
		if a.Detail == protocol.ExitAtOnce {
			return 13
		}
		return 5
	default:
		return 0
	}
}

func settles(a Asked, told protocol.EventKind) int {
	switch {
	case a.Verb() == protocol.Refuse:
		return 14
	case a.Verb() == protocol.Quarantine:
		return 7
	case a.Reason() == protocol.BecauseLate:
		return 2
	case a.Reason() == protocol.BecauseBusy:
		return 8
	case told == protocol.HandlerReturned:
		return 17
	case told == protocol.Tick:
		return 11
	default:
		return 6
	}
}

func cancels(cause protocol.Cause) int {
	switch cause {
	case protocol.ErrDraining:
		return 5
	case protocol.ErrHurry:
		return 13
	case protocol.ErrLeaseLost:
		return 10
	default:
		return 17
	}
}

func notes(n protocol.NoteCode) int {
	switch n {
	case protocol.FinishedInGrace:
		return 4
	case protocol.AckedAfterCancel, protocol.CancelledByTimeout:
		return 17
	case protocol.CancelledByDrain:
		return 5
	case protocol.Undone:
		return 7
	case protocol.LeaseLost, protocol.RenewalMissed:
		return 10
	case protocol.SurplusReleased:
		return 2
	case protocol.JobsWithdrawn:
		return 3
	case protocol.SettleSuperseded:
		return 6
	case protocol.LeftUnsettled:
		return 11
	case protocol.HandlerLeaking, protocol.HandlerLeaked:
		return 8
	default:
		return 0
	}
}
