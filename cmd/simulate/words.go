package main

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// What happened, in plain words. An empty text means that something else tells it better:
// of an event, an effect and a record about the same thing one is enough.

// eventInWords says what a worker learns. job is the job of the slot, if it has one.
func eventInWords(e *protocol.Event, job protocol.JobKey, grace protocol.Duration) string {
	switch e.Kind {
	case protocol.Registered:
		if e.Code == protocol.OK {
			return fmt.Sprintf("is known to the broker as incarnation %d", e.Seq)
		}
		return fmt.Sprintf("is not registered: %s", codeInWords(e.Code))
	case protocol.Granted:
		return fmt.Sprintf("learns that job %d is its own (request %d)", e.Job, e.Seq)
	case protocol.ClaimAnswered:
		if e.Code != protocol.OK {
			return fmt.Sprintf("request %d: %s", e.Seq, codeInWords(e.Code))
		}
	case protocol.WithdrawAnswered:
		return fmt.Sprintf("request %d is withdrawn: %s", e.Seq, countInWords(e.Code, int(e.Count)))
	case protocol.RenewAnswered:
		return aboutJob("lease", job) + answerInWords(e.Code, "renewed")
	case protocol.SaveAnswered:
		return aboutJob("progress", job) + answerInWords(e.Code, "saved")
	case protocol.SettleAnswered:
		return aboutJob("settling", job) + answerInWords(e.Code, "confirmed")
	case protocol.SaveAsked:
		return aboutJob("handler", job) + fmt.Sprintf("asks to save its progress at %s of work", brief(protocol.Duration(e.Cursor)))
	case protocol.UndoReturned:
		return aboutJob("undo", job) + map[protocol.Code]string{
			protocol.UndoDone: "done", protocol.UndoSkipped: "done, shared hooks left out", protocol.UndoFailed: "failed",
		}[e.Code]
	case protocol.StopAsked:
		switch {
		case e.Source == protocol.FromSignal && grace > 100*24*protocol.Hour:
			return model.SignalName(e.Signal) + "; no SIGKILL comes"
		case e.Source == protocol.FromSignal:
			return fmt.Sprintf("%s; SIGKILL comes in %s", model.SignalName(e.Signal), brief(grace))
		case e.Source == protocol.FromNotice && e.At != protocol.Never:
			return fmt.Sprintf("is told that it ends at %v of its clock", e.At)
		}
		return fmt.Sprintf("is asked to stop (%v)", e.Source)
	case protocol.KillAtMoved:
		return fmt.Sprintf("SIGKILL is moved to %v", e.At)
	case protocol.QuietAsked:
		return "is asked to be quiet: no more claims"
	case protocol.ResumeAsked:
		return "is asked to claim again"
	case protocol.Reconnected:
		return "reaches the broker again"
	case protocol.CancelAsked:
		return aboutJob("operator", job) + "wants it cancelled"
	}
	return ""
}

// effectInWords says what a worker does.
func effectInWords(e *protocol.Effect) string {
	switch e.Kind {
	case protocol.Register:
		return "registers"
	case protocol.Going:
		return "tells the broker that it is going"
	case protocol.Claim:
		return fmt.Sprintf("asks for %s (request %d)", plural(int(e.Want), "job"), e.Seq)
	case protocol.Withdraw:
		return fmt.Sprintf("takes request %d back", e.Seq)
	case protocol.Renew:
		return aboutJob("lease", e.Job) + "renewing"
	case protocol.Save:
		return aboutJob("progress", e.Job) + "saving"
	case protocol.Settle:
		return settleInWords(e)
	case protocol.Soften:
		return aboutJob("handler", e.Job) + "told that the worker drains; it may go on"
	case protocol.Cancel:
		return aboutJob("handler", e.Job) + fmt.Sprintf("cancelled (%v)", e.Cause)
	case protocol.Undo:
		text := aboutJob("undo", e.Job) + "begins"
		if e.Until != protocol.Never {
			// Both instants are on the worker's clock, their difference is on anybody's.
			text += fmt.Sprintf(", may take %s", brief(e.Until.Sub(e.At)))
		}
		if e.Private {
			text += ", private hooks only"
		}
		return text
	case protocol.PrivateOnly:
		return aboutJob("undo", e.Job) + "goes on with private hooks only"
	case protocol.RefuseSave:
		return aboutJob("handler", e.Job) + "told that nothing was saved: the claim is lost"
	case protocol.Note:
		return noteInWords(e)
	case protocol.Line:
		if e.Job == 0 {
			return fmt.Sprintf("ledger: request %d %v, %s after the stop", e.Seq, e.Outcome, brief(e.Span))
		}
		return fmt.Sprintf("ledger: job %d %v, %s after the stop", e.Job, e.Outcome, brief(e.Span))
	}
	return ""
}

func settleInWords(e *protocol.Effect) string {
	text := fmt.Sprintf("settles job %d: %v", e.Job, e.Verb)
	if e.Reason != protocol.NoReason {
		text += fmt.Sprintf(" (%v)", e.Reason)
	}
	if e.Span > 0 {
		text += fmt.Sprintf(", not before %s from now", brief(e.Span))
	}
	return text
}

// noteInWords tells the notes that no other line tells.
func noteInWords(e *protocol.Effect) string {
	switch e.Note {
	case protocol.LeaseLost:
		return aboutJob("lease", e.Job) + "lost; whatever still runs is a zombie"
	case protocol.RenewalMissed:
		return aboutJob("lease", e.Job) + "a renewal was not answered"
	case protocol.SurplusReleased:
		return fmt.Sprintf("job %d is one too many and goes back", e.Job)
	case protocol.HandlerLeaking:
		return aboutJob("handler", e.Job) + "does not return; its claim is kept"
	case protocol.EverySlotWedged:
		return "every slot is wedged: it drains itself"
	default:
		return ""
	}
}

// recordInWords says what the meter was told, and who it is about.
func recordInWords(r *meter.Record) (text string, broker bool) {
	switch r.Kind {
	case meter.JobEnqueued:
		return fmt.Sprintf("job %d arrives with %s of work", r.Job, brief(r.Work)), true
	case meter.ClaimGranted:
		return fmt.Sprintf("job %d is granted to worker %d, token %d", r.Job, r.Seat, r.Token), true
	case meter.ClaimEnded:
		return fmt.Sprintf("job %d: claim of worker %d ended by %v%s", r.Job, r.Seat, r.Verb, because(r)), true
	case meter.LeaseExpired:
		return fmt.Sprintf("job %d: lease of worker %d ran out%s", r.Job, r.Seat, because(r)), true
	case meter.JobFinished:
		return fmt.Sprintf("job %d is finished", r.Job), true
	case meter.JobDead:
		return fmt.Sprintf("job %d is dead-lettered%s", r.Job, because(r)), true
	case meter.JobQuarantined:
		return fmt.Sprintf("job %d is quarantined", r.Job), true
	case meter.JobCancelled:
		return fmt.Sprintf("job %d is cancelled", r.Job), true
	case meter.JobStarving:
		return fmt.Sprintf("job %d is starving: interrupted again and again without progress", r.Job), true
	case meter.JobForgotten:
		return fmt.Sprintf("job %d: a failover forgot something about it", r.Job), true
	case meter.ExecutionStarted:
		if r.Work > 0 {
			return fmt.Sprintf("job %d: handler starts where %s of work were saved", r.Job, brief(r.Work)), false
		}
		return fmt.Sprintf("job %d: handler starts", r.Job), false
	case meter.ExecutionEnded:
		if r.How == meter.Succeeded {
			return fmt.Sprintf("job %d: handler finishes after %s of work", r.Job, brief(r.Work)), false
		}
		return fmt.Sprintf("job %d: handler %s at %s of %s of work", r.Job, howInWords(r), brief(r.Work), brief(r.Total)), false
	case meter.ProcessExited:
		return fmt.Sprintf("exits with status %d, %s after the stop", r.Status, brief(r.Span)), false
	case meter.ProcessKilled:
		return fmt.Sprintf("SIGKILL, %s after the stop", brief(r.Span)), false
	case meter.ProcessCrashed:
		return "crashes", false
	}
	return "", false
}

func howInWords(r *meter.Record) string {
	switch r.How {
	case meter.Failed:
		return "fails"
	case meter.Interrupted:
		return "returns interrupted"
	default:
		return "is killed"
	}
}

func because(r *meter.Record) string {
	if r.Reason == protocol.NoReason {
		return ""
	}
	text := fmt.Sprintf(" (%v)", r.Reason)
	if r.Eroded {
		text += ", which costs an attempt"
	}
	return text
}

// batchInWords says what became of the counter of a batch.
func batchInWords(o *sim.Observation) string {
	c := &o.Count
	if o.Kind == sim.SawUncounted {
		return fmt.Sprintf("job %d is done and was never counted down: its batch waits at %d", c.Job, c.Left)
	}
	text := fmt.Sprintf("job %d is counted down", c.Job)
	if c.Again {
		text += " once more"
	}
	switch {
	case c.Left != 0:
		return fmt.Sprintf("%s: its batch is at %d", text, c.Left)
	case c.Undone > 0:
		return fmt.Sprintf("%s: its batch is at 0 and goes on, although %s not done", text, wasWere(int(c.Undone), "job"))
	default:
		return text + ": its batch is at 0 and goes on"
	}
}

// faultInWords translates the world's own words for faults; the crash is told by a record.
func faultInWords(text string) string {
	switch text {
	case "crash":
		return ""
	case "pause":
		return "stands still: nothing runs, every clock goes on"
	case "resume":
		return "runs again"
	case "partition":
		return "is cut off from the broker"
	case "drill":
		return "will be killed in its drain, as a drill"
	case "eviction":
		return "is evicted: SIGKILL will come sooner than it was told"
	case "preemption":
		return "its machine will be taken away"
	case "scale-in":
		return "is scaled in"
	case "preempt":
		return "loses its node, after a notice"
	default:
		return text
	}
}

func aboutJob(what string, job protocol.JobKey) string {
	if job == 0 {
		return what + ": "
	}
	return fmt.Sprintf("job %d: %s ", job, what)
}

func answerInWords(c protocol.Code, done string) string {
	if c == protocol.OK || c == protocol.Repeat {
		return done
	}
	return "not " + done + ": " + codeInWords(c)
}

func codeInWords(c protocol.Code) string {
	switch c {
	case protocol.Repeat:
		return "done before"
	case protocol.Expired:
		return "the lease has run out"
	case protocol.Closed:
		return "the claim was ended before"
	case protocol.Stale:
		return "the job is somebody else's by now"
	case protocol.Refused:
		return "the broker refuses"
	case protocol.Unknown:
		return "no answer"
	case protocol.CancelOrder:
		return "an operator wants it cancelled"
	default:
		return c.String()
	}
}

func countInWords(c protocol.Code, jobs int) string {
	if c != protocol.OK {
		return codeInWords(c)
	}
	if jobs == 0 {
		return "nothing was granted"
	}
	return plural(jobs, "job") + " went back"
}
