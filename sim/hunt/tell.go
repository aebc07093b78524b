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

// Story tells how a promise came to be broken: what happened to the job and the workers that the
// finding is about, and then the finding itself.
type Story struct {
	Lines []Line
	What  string // the finding, at the instant at which it was noticed
	At    protocol.Instant

	all int // lines before any was left out
}

// Line is one event and what was done about it at once: a process is told something, a handler or
// an undo returns, the broker takes a request in, a fault strikes, a deadline comes. These are
// what a search of every order counts as steps, too, so that the lengths of both can be compared.
type Line struct {
	At   protocol.Instant
	Text string
}

// screen is how many lines of a story are told at most: the first and the last.
const screen = 23

// Tell tells the run that a scenario names up to the instant at which an invariant is broken. It
// returns nil when the invariant is not broken.
func Tell(sc *model.Scenario, id invariant.ID) (*Story, error) {
	o, err := Try(sc)
	if err != nil {
		return nil, err
	}
	f := o.Broke(id)
	if f == nil {
		return nil, nil
	}
	return tell(sc, f)
}

// tell tells a run up to a finding that it is known to show.
func tell(sc *model.Scenario, f *invariant.Finding) (*Story, error) {
	t := &teller{finding: f}
	t.holders(sc)
	if _, err := try(sc, func(w *sim.World) { w.Observe(t.see) }); err != nil {
		return nil, err
	}
	return &Story{Lines: t.short(), What: f.Text + ": " + f.Invariant.String() + " is broken", At: f.At, all: len(inLines(lastOfEach(t.parts)))}, nil
}

// part is one thing that was seen. What one process did at the same instant, without having been
// told anything new, belongs to one line.
type part struct {
	at        protocol.Instant
	who, what string
	seat      int32 // of the process that it happened in
	holder    int32 // whom a grant is to
	cause     bool  // it begins a line
	kind      partKind
}

// broker is the seat of what happens at the broker.
const broker = -1

// partKind tells parts of which several may follow one another.
type partKind uint8

const (
	requestPart partKind = iota + 1
	renewalPart
)

// short leaves out what a job went through before the claims that the finding is about, which
// are the last two and that of the worker that broke it, and what still does not fit on a screen.
func (t *teller) short() []Line {
	parts := t.parts
	if n := len(t.grants); n > 2 && len(parts) > 12 {
		from := t.grants[n-2]
		for _, g := range slices.Backward(t.grants) {
			if parts[g].holder == t.finding.Seat {
				from = min(from, g)
				break
			}
		}
		parts = append(parts[:1:1], parts[max(from, 1):]...)
	}
	lines := inLines(lastOfEach(parts))
	if len(lines) > screen {
		lines = append(lines[:1:1], lines[len(lines)-screen+1:]...)
	}
	return lines
}

// lastOfEach keeps of several claim requests in a row the last two, and of renewals the last: the
// others were answered, or the story would be about them.
func lastOfEach(parts []part) []part {
	var kept []part
	for i, p := range parts {
		again := 0 // how many of its kind follow at once
		for k := i + 1; k < len(parts) && p.kind != 0 && parts[k].kind == p.kind; k++ {
			again++
		}
		if p.kind == requestPart && again >= 2 || p.kind == renewalPart && again >= 1 {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// inLines puts into one line what was done about one event at once.
func inLines(parts []part) []Line {
	var lines []Line
	for i := 0; i < len(parts); {
		first := parts[i]
		text, who := first.who+" "+first.what, first.who
		last := i + 1
		for last < len(parts) && parts[last].at == first.at && parts[last].seat == first.seat && !parts[last].cause {
			last++
		}
		for k := i + 1; k < last; k++ {
			switch p := parts[k]; {
			case p.who != who:
				text += "; " + p.who + " " + p.what
			case k+1 < last && parts[k+1].who == who:
				text += ", " + p.what
			default:
				text += " and " + p.what
			}
			who = parts[k].who
		}
		lines = append(lines, Line{first.at, text})
		i = last
	}
	return lines
}

// teller picks what belongs to a story.
type teller struct {
	finding *invariant.Finding
	seats   []int32 // workers that it is about
	parts   []part
	grants  []int // parts that tell of a grant
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
	p := part{who: fmt.Sprintf("worker %d", ob.Seat), seat: ob.Seat}
	switch ob.Kind {
	case sim.SawEvent:
		p.what, p.cause = t.event(&ob), true
	case sim.SawEffect:
		p.what, p.kind = t.effect(&ob)
	case sim.SawRecord:
		p = t.record(&ob)
	case sim.SawFault:
		p.what, p.cause = faults[ob.Text], true
	}
	p.at = ob.At
	if n := len(t.parts); p.what == "" || n > 0 && t.parts[n-1] == p {
		return
	}
	t.parts = append(t.parts, p)
}

// faults says what befell a worker. What its record tells, or what it is told then, is not said
// twice: a crash, and whatever gives notice.
var faults = map[string]string{
	"pause": "is paused", "resume": "goes on", "partition": "is cut off", "drill": "is chosen for a drill",
}

func (t *teller) event(ob *sim.Observation) string {
	e := &ob.Event
	switch {
	case e.Kind == protocol.StopAsked && e.Source == protocol.FromSignal:
		return fmt.Sprintf("is sent %v", e.Signal)
	case e.Kind == protocol.StopAsked:
		return fmt.Sprintf("is told to stop (%v), SIGKILL comes at %v", e.Source, e.At)
	}
	return ""
}

// aboutRequests are the invariants whose stories are about claim requests.
var aboutRequests = []invariant.ID{invariant.StopClaiming, invariant.RequestsClosed, invariant.AnswerObeyedOnce, invariant.NoGrantDropped, invariant.ExitZeroHoldsNothing, invariant.NoStartAfterStop, invariant.LedgerComplete}

// aboutRenewals are those whose stories are about renewals.
var aboutRenewals = []invariant.ID{invariant.LeaseKeptWhileHandled, invariant.ClaimEndsOnce, invariant.NoStaleEffect, invariant.OneOpenClaim, invariant.ToldBeforeLeaseEnds, invariant.SavedBeforeCommit, invariant.SettledUntilAnswered}

func (t *teller) effect(ob *sim.Observation) (string, partKind) {
	e := &ob.Effect
	requests := slices.Contains(aboutRequests, t.finding.Invariant)
	switch e.Kind {
	case protocol.Claim:
		if requests {
			return fmt.Sprintf("asks for jobs (request %d)", e.Seq), requestPart
		}
	case protocol.Withdraw:
		if requests {
			return fmt.Sprintf("withdraws request %d", e.Seq), 0
		}
	case protocol.Exit:
		return fmt.Sprintf("exits with status %d", e.Status), 0
	}
	if e.Job != t.finding.Job || e.Job == 0 {
		return "", 0
	}
	switch e.Kind {
	case protocol.Renew:
		if slices.Contains(aboutRenewals, t.finding.Invariant) {
			return fmt.Sprintf("renews job %d", e.Job), renewalPart
		}
	case protocol.Settle:
		return fmt.Sprintf("sends %v for job %d%s", e.Verb, e.Job, because(e.Reason)), 0
	case protocol.Start:
		return fmt.Sprintf("starts job %d", e.Job), 0
	case protocol.Cancel:
		return fmt.Sprintf("cancels job %d (%v)", e.Job, e.Cause), 0
	case protocol.Undo:
		return fmt.Sprintf("begins to undo job %d", e.Job), 0
	case protocol.CommitSegment:
		if t.finding.Invariant == invariant.SavedBeforeCommit {
			return fmt.Sprintf("closes a segment of job %d", e.Job), 0
		}
	}
	return "", 0
}

func because(r protocol.Reason) string {
	if r == protocol.NoReason {
		return ""
	}
	return fmt.Sprintf(" (%v)", r)
}

func (t *teller) record(ob *sim.Observation) part {
	r := &ob.Record
	worker, job := fmt.Sprintf("worker %d", r.Seat), fmt.Sprintf("job %d", r.Job)
	mine := slices.Contains(t.seats, r.Seat)
	switch {
	case r.Kind == meter.ProcessKilled && mine:
		return part{who: worker, what: "is killed", seat: r.Seat, cause: true}
	case r.Kind == meter.ProcessCrashed && mine:
		return part{who: worker, what: "dies", seat: r.Seat, cause: true}
	case r.Job != t.finding.Job || r.Job == 0:
		return part{}
	}
	switch r.Kind {
	case meter.JobEnqueued:
		return part{seat: broker, who: job, what: "arrives", cause: true}
	case meter.ClaimGranted: // of what the broker just took in: a request, a new job, a release
		t.grants = append(t.grants, len(t.parts))
		return part{seat: broker, holder: r.Seat, who: "the broker", what: fmt.Sprintf("gives %s to %s", job, worker)}
	case meter.ExecutionEnded:
		return part{seat: r.Seat, who: fmt.Sprintf("the handler of %s in %s", job, worker), what: howEnded(r.How), cause: true}
	case meter.ClaimEnded:
		return part{seat: broker, who: "the broker", what: fmt.Sprintf("ends %s's claim on %s: %v%s", worker, job, r.Verb, because(r.Reason)), cause: true}
	case meter.LeaseExpired:
		return part{seat: broker, who: worker + "'s lease on " + job, what: "has run out", cause: true}
	case meter.UndoEnded:
		return part{seat: r.Seat, who: fmt.Sprintf("the undo of %s in %s", job, worker), what: "ends", cause: true}
	case meter.JobDead:
		return part{seat: broker, who: job, what: "is dead-lettered"}
	case meter.JobForgotten:
		return part{seat: broker, who: "a failover", what: "forgets what was written about " + job, cause: true}
	}
	return part{}
}

func howEnded(how meter.How) string {
	return [...]string{"returns nil", "fails", "returns early", "dies with it"}[how]
}
