package protocol

import "fmt"

// inWords says an effect to somebody who never saw the code.
func inWords(e Effect) string {
	job := fmt.Sprintf("job %d (token %d, slot %d)", e.Job, e.Token, e.Slot)
	if e.Slot == NoSlot {
		job = fmt.Sprintf("job %d (token %d)", e.Job, e.Token)
	}
	request := fmt.Sprintf("request %d", e.Seq)
	if e.Queue > 0 {
		request += fmt.Sprintf(" of queue %d", e.Queue)
	}
	cursor := ""
	if e.Cursor != 0 {
		cursor = fmt.Sprintf(", carrying cursor %d", e.Cursor)
	}
	switch e.Kind {
	case Register:
		return "register with the broker"
	case Going:
		return fmt.Sprintf("tell the broker: going (queue %d)", e.Queue)
	case Claim:
		return fmt.Sprintf("ask for %d, %s", e.Want, request)
	case Withdraw:
		return "withdraw " + request
	case Renew:
		return "renew " + job + cursor
	case Save:
		return "save progress of " + job + cursor
	case Settle:
		return "settle " + job + ": " + verdict(e) + cursor
	case Start:
		return "start " + job
	case Soften:
		return "tell " + job + " softly: draining"
	case Cancel:
		return fmt.Sprintf("cancel %s: %v", job, e.Cause)
	case Undo:
		if e.Private {
			return fmt.Sprintf("undo %s until %v, private hooks only", job, e.Until)
		}
		return fmt.Sprintf("undo %s until %v", job, e.Until)
	case PrivateOnly:
		return "leave out the shared undo hooks of " + job
	case CommitSegment:
		return fmt.Sprintf("undo of %s reaches back to cursor %d only", job, e.Cursor)
	case RefuseSave:
		return "refuse to save progress of " + job
	case Note:
		return note(e, job, request)
	case Line:
		if e.Slot == NoSlot {
			return fmt.Sprintf("ledger: %s %v after %v", request, e.Outcome, e.Span)
		}
		return fmt.Sprintf("ledger: %s %v after %v", job, e.Outcome, e.Span)
	case Exit:
		return fmt.Sprintf("exit with status %d; exit hooks until %v", e.Status, e.Until)
	}
	return e.Kind.String()
}

func verdict(e Effect) string {
	s := e.Verb.String()
	if e.Reason != NoReason {
		s += " because of " + e.Reason.String()
	}
	if e.Span > 0 {
		s += fmt.Sprintf(", not again before %v", e.Span)
	}
	return s
}

func note(e Effect, job, request string) string {
	switch {
	case e.Note == JobsWithdrawn:
		return fmt.Sprintf("note: %d jobs withdrawn", e.Want)
	case e.Job != 0:
		return fmt.Sprintf("note: %v, %s", e.Note, job)
	case e.Seq != 0:
		return fmt.Sprintf("note: %v, %s", e.Note, request)
	}
	return fmt.Sprintf("note: %v", e.Note)
}
