package hunt

import (
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Line is one line of a story.
type Line struct {
	At   protocol.Instant
	Text string
	kind lineKind
}

// lineKind tells lines of which several may follow one another.
type lineKind uint8

const (
	requestLine lineKind = iota + 1
	renewalLine
)

// screen is how many lines of a story are told at most: the first and the last.
const screen = 24

// Tell tells the run that a scenario names up to the instant at which an invariant is broken: what
// happened to the job and the workers that it is about. The last line is the finding itself. It
// returns nothing when the invariant is not broken.
func Tell(sc *model.Scenario, id invariant.ID) ([]Line, error) {
	o, err := Try(sc)
	if err != nil {
		return nil, err
	}
	f := o.Broke(id)
	if f == nil {
		return nil, nil
	}
	t := &teller{finding: f}
	t.holders(sc)
	if _, err := try(sc, func(w *sim.World) { w.Observe(t.see) }); err != nil {
		return nil, err
	}
	return append(t.short(), Line{At: f.At, Text: f.Text + ": " + id.String() + " is broken"}), nil
}

// short leaves out what a job went through before the claims that the finding is about, which
// are the last two, and what still does not fit on a screen.
func (t *teller) short() []Line {
	lines := t.lines
	if n := len(t.grants); n > 2 && len(lines) > 12 {
		lines = append(lines[:1:1], lines[max(t.grants[n-2], 1):]...)
	}
	lines = lastOfEach(lines)
	if most := screen - 1; len(lines) > most {
		lines = append(lines[:1:1], lines[len(lines)-most+1:]...)
	}
	return lines
}

// lastOfEach keeps of several claim requests in a row the last two, and of renewals the last: the
// others were answered, or the story would be about them.
func lastOfEach(lines []Line) []Line {
	var kept []Line
	for i, l := range lines {
		again := 0 // how many of its kind follow at once
		for k := i + 1; k < len(lines) && l.kind != 0 && lines[k].kind == l.kind; k++ {
			again++
		}
		if l.kind == requestLine && again >= 2 || l.kind == renewalLine && again >= 1 {
			continue
		}
		kept = append(kept, l)
	}
	return kept
}

// teller picks what belongs to a story.
type teller struct {
	finding *invariant.Finding
	seats   []int32 // workers that it is about
	lines   []Line
	grants  []int // lines that tell of a grant
	done    bool
}

// holders finds the workers that ever held the job, up to the finding.
func (t *teller) holders(sc *model.Scenario) {
	if t.finding.Seat >= 0 {
		t.seats = []int32{t.finding.Seat}
	}
	if t.finding.Job == 0 {
		return
	}
	_, _ = try(sc, func(w *sim.World) { // it went well before
		w.Observe(func(ob sim.Observation) {
			if ob.At <= t.finding.At && ob.Kind == sim.SawRecord && ob.Record.Kind == meter.ClaimGranted && ob.Record.Job == t.finding.Job && !slices.Contains(t.seats, ob.Seat) {
				t.seats = append(t.seats, ob.Seat)
			}
		})
	})
}

func (t *teller) see(ob sim.Observation) {
	if t.done || ob.At > t.finding.At {
		t.done = true
		return
	}
	if ob.Kind != sim.SawRecord && !slices.Contains(t.seats, ob.Seat) {
		return
	}
	text := ""
	switch ob.Kind {
	case sim.SawEvent:
		text = t.event(&ob)
	case sim.SawEffect:
		text = t.effect(&ob)
	case sim.SawRecord:
		text = t.record(&ob)
	case sim.SawFault:
		if ob.Text == "crash" {
			return // its record tells whom it hit
		}
		text = fmt.Sprintf("worker %d: %s", ob.Seat, ob.Text)
	}
	if n := len(t.lines); text == "" || n > 0 && t.lines[n-1].At == ob.At && t.lines[n-1].Text == text {
		return
	}
	kind := lineKind(0)
	switch {
	case ob.Kind == sim.SawEffect && ob.Effect.Kind == protocol.Claim:
		kind = requestLine
	case ob.Kind == sim.SawEffect && ob.Effect.Kind == protocol.Renew:
		kind = renewalLine
	}
	t.lines = append(t.lines, Line{ob.At, text, kind})
}

func (t *teller) event(ob *sim.Observation) string {
	e := &ob.Event
	switch {
	case e.Kind == protocol.StopAsked && e.Source == protocol.FromSignal:
		return fmt.Sprintf("worker %d is sent %v", ob.Seat, e.Signal)
	case e.Kind == protocol.StopAsked:
		return fmt.Sprintf("worker %d is told to stop (%v), SIGKILL comes at %v", ob.Seat, e.Source, e.At)
	}
	return ""
}

// aboutRequests are the invariants whose stories are about claim requests.
var aboutRequests = []invariant.ID{invariant.StopClaiming, invariant.RequestsClosed, invariant.AnswerObeyedOnce, invariant.NoGrantDropped, invariant.ExitZeroHoldsNothing, invariant.NoStartAfterStop}

// aboutRenewals are those whose stories are about renewals.
var aboutRenewals = []invariant.ID{invariant.LeaseKeptWhileHandled, invariant.ClaimEndsOnce, invariant.NoStaleEffect, invariant.OneOpenClaim, invariant.ToldBeforeLeaseEnds, invariant.SavedBeforeCommit, invariant.SettledUntilAnswered}

func (t *teller) effect(ob *sim.Observation) string {
	e := &ob.Effect
	requests := slices.Contains(aboutRequests, t.finding.Invariant)
	switch e.Kind {
	case protocol.Claim:
		if requests {
			return fmt.Sprintf("worker %d asks for jobs (request %d)", ob.Seat, e.Seq)
		}
	case protocol.Withdraw:
		if requests {
			return fmt.Sprintf("worker %d withdraws request %d", ob.Seat, e.Seq)
		}
	case protocol.Exit:
		return fmt.Sprintf("worker %d exits with status %d", ob.Seat, e.Status)
	}
	if e.Job != t.finding.Job || e.Job == 0 {
		return ""
	}
	switch e.Kind {
	case protocol.Renew:
		if !slices.Contains(aboutRenewals, t.finding.Invariant) {
			return ""
		}
		return fmt.Sprintf("worker %d renews job %d", ob.Seat, e.Job)
	case protocol.Settle:
		return fmt.Sprintf("worker %d sends %v for job %d%s", ob.Seat, e.Verb, e.Job, because(e.Reason))
	case protocol.Start:
		return fmt.Sprintf("worker %d starts job %d", ob.Seat, e.Job)
	case protocol.Cancel:
		return fmt.Sprintf("worker %d cancels job %d: %v", ob.Seat, e.Job, e.Cause)
	case protocol.Undo:
		return fmt.Sprintf("worker %d begins to undo job %d", ob.Seat, e.Job)
	case protocol.CommitSegment:
		if t.finding.Invariant == invariant.SavedBeforeCommit {
			return fmt.Sprintf("worker %d closes a segment of job %d", ob.Seat, e.Job)
		}
	}
	return ""
}

func because(r protocol.Reason) string {
	if r == protocol.NoReason {
		return ""
	}
	return fmt.Sprintf(" (%v)", r)
}

func (t *teller) record(ob *sim.Observation) string {
	r := &ob.Record
	mine := slices.Contains(t.seats, r.Seat)
	switch {
	case r.Kind == meter.ProcessKilled && mine:
		return fmt.Sprintf("worker %d is killed", r.Seat)
	case r.Kind == meter.ProcessCrashed && mine:
		return fmt.Sprintf("worker %d dies", r.Seat)
	case r.Job != t.finding.Job || r.Job == 0:
		return ""
	}
	switch r.Kind {
	case meter.JobEnqueued:
		return fmt.Sprintf("job %d arrives", r.Job)
	case meter.ClaimGranted:
		t.grants = append(t.grants, len(t.lines))
		return fmt.Sprintf("the broker gives job %d to worker %d", r.Job, r.Seat)
	case meter.ExecutionEnded:
		return fmt.Sprintf("the handler of job %d in worker %d %s", r.Job, r.Seat, howEnded(r.How))
	case meter.ClaimEnded:
		return fmt.Sprintf("the broker ends worker %d's claim on job %d: %v%s", r.Seat, r.Job, r.Verb, because(r.Reason))
	case meter.LeaseExpired:
		return fmt.Sprintf("worker %d's lease on job %d has run out", r.Seat, r.Job)
	case meter.UndoEnded:
		return fmt.Sprintf("the undo of job %d in worker %d ends", r.Job, r.Seat)
	case meter.JobDead:
		return fmt.Sprintf("job %d is dead-lettered", r.Job)
	case meter.JobForgotten:
		return fmt.Sprintf("a failover forgets what was written about job %d", r.Job)
	}
	return ""
}

func howEnded(how meter.How) string {
	return [...]string{"returns nil", "fails", "returns early", "dies with it"}[how]
}
