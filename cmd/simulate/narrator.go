package main

import (
	"fmt"
	"strconv"

	"github.com/quiesce/quiesce/plots/chronicle"
	"github.com/quiesce/quiesce/protocol"
)

// narrator makes a chronicle of what workers learn and do: the workers of a world, or the
// one of a recording. It sees everything from the start, and keeps what reaches into the time
// that was asked for.
type narrator struct {
	story       *chronicle.Chronicle
	from, until protocol.Instant
	kinds       []string
	workers     map[int32]*workerStory
	byTrack     []*workerStory // nil where a track is of no worker
	only        int64          // the seat that is kept; -1 is all
	spans       int            // kept so far
	most        int            // that may be
}

// workerStory is what a narrator knows of a seat.
type workerStory struct {
	track       int // in the chronicle
	life        uint32
	alive       bool
	drains      bool
	signals     int
	held        int
	whole, part *chronicle.Span // of the life that runs, and its phase
	slots       []slotStory
}

// slotStory is what is in a slot.
type slotStory struct {
	claim, part *chronicle.Span
	job         protocol.JobKey // stays when the claim is over
	token       protocol.Token
	verb        protocol.Verb
	reason      protocol.Reason
	lost        bool
	idle        protocol.Instant // since when nothing is left to do under a lost claim; Never
}

func newNarrator(title string, s *selection, kinds []string, most int) *narrator {
	return &narrator{
		story: &chronicle.Chronicle{Title: title}, from: s.from, until: s.until, kinds: kinds,
		workers: make(map[int32]*workerStory), only: s.worker, most: most,
	}
}

// worker returns the story of a seat, nil when it is not kept.
func (n *narrator) worker(seat int32, name string, slots int) *workerStory {
	if n.only >= 0 && int64(seat) != n.only {
		return nil
	}
	w := n.workers[seat]
	if w == nil {
		w = &workerStory{track: n.track(name, slots), slots: make([]slotStory, slots)}
		n.workers[seat], n.byTrack[w.track] = w, w
	}
	return w
}

func (n *narrator) track(name string, slots int) int {
	n.story.Tracks = append(n.story.Tracks, &chronicle.Track{Name: name, Slots: slots})
	n.byTrack = append(n.byTrack, nil)
	return len(n.story.Tracks) - 1
}

// keep takes a span that has come to its end into the chronicle, as far as it was asked for.
func (n *narrator) keep(track int, s *chronicle.Span, at protocol.Instant) {
	if at < n.from || protocol.Instant(s.From) > n.until {
		return
	}
	s.From, s.Until = max(s.From, int64(n.from)), int64(min(at, n.until))
	t := n.story.Tracks[track]
	t.Spans = append(t.Spans, *s)
	n.spans++
}

func (n *narrator) full() bool { return n.spans > n.most }

func (n *narrator) mark(track, row int, at protocol.Instant, job protocol.JobKey, text string) {
	if at < n.from || at > n.until || text == "" {
		return
	}
	t := n.story.Tracks[track]
	t.Marks = append(t.Marks, chronicle.Mark{Row: row, At: int64(at), Name: text, Job: uint64(job)})
}

// holds counts claims.
func (n *narrator) holds(w *workerStory, at protocol.Instant, more int) {
	w.held += more
	if at > n.until {
		return
	}
	t, l := n.story.Tracks[w.track], chronicle.Level{At: int64(max(at, n.from)), Value: w.held}
	if last := len(t.Held) - 1; last >= 0 && t.Held[last].At == l.At {
		t.Held[last] = l
		return
	}
	t.Held = append(t.Held, l)
}

// begins opens a life.
func (n *narrator) begins(w *workerStory, at protocol.Instant, life uint32) {
	if w.alive && w.life == life {
		return
	}
	n.ends(w, at, "", chronicle.Killed)
	*w = workerStory{track: w.track, life: life, alive: true, slots: w.slots}
	name := "life"
	if life > 0 {
		name = fmt.Sprintf("life %d", (life+1)/2)
	}
	w.whole = &chronicle.Span{From: int64(at), Name: name, Class: chronicle.Lifetime}
	n.phase(w, at, chronicle.Starting)
}

// ends closes a life and all that was open in it.
func (n *narrator) ends(w *workerStory, at protocol.Instant, how string, class chronicle.Class) {
	if !w.alive {
		return
	}
	for i := range w.slots {
		n.closes(w, i, at, class, how)
	}
	n.keep(w.track, w.part, at)
	if how != "" {
		w.whole.Details = append(w.whole.Details, chronicle.Detail{Name: "end", Value: how})
	}
	n.keep(w.track, w.whole, at)
	n.mark(w.track, 0, at, 0, how)
	w.alive = false
}

func (n *narrator) phase(w *workerStory, at protocol.Instant, class chronicle.Class) {
	if w.part != nil {
		if w.part.Class == class {
			return
		}
		n.keep(w.track, w.part, at)
	}
	w.part = &chronicle.Span{From: int64(at), Name: class.String(), Class: class}
}

// event takes in what a worker learns. what is how it is told, job what it is about.
func (n *narrator) event(w *workerStory, at protocol.Instant, ev *protocol.Event, job protocol.JobKey, what string) {
	switch ev.Kind {
	case protocol.Registered:
		if ev.Code == protocol.OK && w.part.Class == chronicle.Starting {
			n.phase(w, at, chronicle.Serving)
		}
	case protocol.QuietAsked, protocol.ResumeAsked:
		if !w.drains && w.part.Class != chronicle.Starting {
			n.phase(w, at, map[protocol.EventKind]chronicle.Class{protocol.QuietAsked: chronicle.Quiet, protocol.ResumeAsked: chronicle.Serving}[ev.Kind])
		}
		n.mark(w.track, 0, at, 0, what)
	case protocol.StopAsked, protocol.KillAtMoved, protocol.Reconnected:
		n.mark(w.track, 0, at, 0, what)
	case protocol.CancelAsked:
		n.mark(w.track, int(ev.Slot)+1, at, job, what)
	case protocol.HandlerReturned, protocol.UndoReturned:
		if s := w.slot(ev.Slot); s != nil {
			n.partEnds(w, s, at)
			if s.lost {
				s.idle = at // unless something is done next
			}
		}
	case protocol.SettleAnswered:
		if s := w.slot(ev.Slot); s != nil && s.job == ev.Job && s.token == ev.Token && s.verb != protocol.NoVerb && (ev.Code == protocol.OK || ev.Code == protocol.Repeat) {
			class, outcome := s.outcome()
			n.closes(w, int(ev.Slot), at, class, outcome)
		}
	}
}

// slot returns what is in a slot, nil when there is nothing.
func (w *workerStory) slot(i int32) *slotStory {
	if i < 0 || int(i) >= len(w.slots) || w.slots[i].claim == nil {
		return nil
	}
	return &w.slots[i]
}

func (s *slotStory) outcome() (chronicle.Class, string) {
	switch s.verb {
	case protocol.Ack:
		return chronicle.Finished, "finished"
	case protocol.Fail:
		return chronicle.Failed, "failed"
	case protocol.Quarantine:
		return chronicle.Parked, "quarantined"
	case protocol.Refuse:
		return chronicle.HandedBack, "refused"
	default:
		return chronicle.HandedBack, fmt.Sprintf("handed back (%v)", s.reason)
	}
}

// effect takes in what a worker does.
func (n *narrator) effect(w *workerStory, at protocol.Instant, e *protocol.Effect, what string) {
	switch e.Kind {
	case protocol.Going:
		w.drains = true
		n.phase(w, at, chronicle.Draining)
	case protocol.Start:
		n.opens(w, at, e)
		n.partBegins(w, e.Slot, at, "runs", chronicle.Running)
	case protocol.Cancel, protocol.PrivateOnly, protocol.RefuseSave:
		n.mark(w.track, int(e.Slot)+1, at, e.Job, what)
	case protocol.Undo:
		n.partBegins(w, e.Slot, at, "undo", chronicle.Undoing)
	case protocol.Settle:
		n.settles(w, at, e)
	case protocol.Note:
		n.note(w, at, e, what)
	}
}

// opens begins a claim's span.
func (n *narrator) opens(w *workerStory, at protocol.Instant, e *protocol.Effect) {
	n.closes(w, int(e.Slot), at, chronicle.Lost, "")
	kind := strconv.Itoa(int(e.JobKind))
	if int(e.JobKind) < len(n.kinds) {
		kind = n.kinds[e.JobKind]
	}
	w.slots[e.Slot] = slotStory{job: e.Job, token: e.Token, idle: protocol.Never, claim: &chronicle.Span{
		Row: int(e.Slot) + 1, From: int64(at), Name: fmt.Sprintf("job %d", e.Job), Class: chronicle.Unfinished, Job: uint64(e.Job),
		Details: []chronicle.Detail{{Name: "kind", Value: kind}, {Name: "token", Value: strconv.FormatUint(uint64(e.Token), 10)}},
	}}
	n.holds(w, at, 1)
}

func (n *narrator) settles(w *workerStory, at protocol.Instant, e *protocol.Effect) {
	if e.Slot < 0 {
		n.mark(w.track, 0, at, e.Job, settleInWords(e))
		return
	}
	if s := w.slot(e.Slot); s == nil || s.job != e.Job || s.token != e.Token {
		n.opens(w, at, e) // it goes back without having been run
	}
	s := w.slot(e.Slot)
	if s.verb == protocol.NoVerb {
		s.verb, s.reason = e.Verb, e.Reason
		n.partBegins(w, e.Slot, at, "settles: "+e.Verb.String(), chronicle.Settling)
	}
}

func (n *narrator) note(w *workerStory, at protocol.Instant, e *protocol.Effect, what string) {
	s := w.slot(e.Slot)
	switch e.Note {
	case protocol.LeaseLost:
		if s != nil && !s.lost {
			s.lost = true
			n.holds(w, at, -1)
		}
		n.mark(w.track, int(e.Slot)+1, at, e.Job, what)
	case protocol.HandlerLeaking:
		n.mark(w.track, int(e.Slot)+1, at, e.Job, what)
	case protocol.EverySlotWedged:
		n.mark(w.track, 0, at, 0, what)
	case protocol.SettleSuperseded:
		if s != nil {
			n.closes(w, int(e.Slot), at, chronicle.Lost, "superseded: its claim had ended elsewhere")
		}
	case protocol.HandlerLeaked, protocol.LeftUnsettled:
		if s != nil {
			n.closes(w, int(e.Slot), at, chronicle.Killed, e.Note.String())
		}
	}
}

func (n *narrator) partBegins(w *workerStory, slot int32, at protocol.Instant, name string, class chronicle.Class) {
	s := w.slot(slot)
	if s == nil {
		return
	}
	n.partEnds(w, s, at)
	s.idle = protocol.Never
	s.part = &chronicle.Span{Row: s.claim.Row, From: int64(at), Name: name, Class: class, Job: s.claim.Job}
}

func (n *narrator) partEnds(w *workerStory, s *slotStory, at protocol.Instant) {
	if s.part != nil {
		n.keep(w.track, s.part, at)
		s.part = nil
	}
}

// closes ends what is in a slot. A claim that was lost ended when nothing was done under it
// any more, which nobody says.
func (n *narrator) closes(w *workerStory, slot int, at protocol.Instant, class chronicle.Class, outcome string) {
	s := &w.slots[slot]
	if s.claim == nil {
		return
	}
	switch {
	case s.lost && s.idle != protocol.Never:
		at, class, outcome = s.idle, chronicle.Lost, "its lease was lost"
	case !s.lost:
		n.holds(w, at, -1)
	}
	n.partEnds(w, s, at)
	s.claim.Class = class
	if outcome != "" {
		s.claim.Details = append(s.claim.Details, chronicle.Detail{Name: "outcome", Value: outcome})
	}
	n.keep(w.track, s.claim, at)
	*s = slotStory{job: s.job, idle: protocol.Never}
}

// finish closes what is open at the end.
func (n *narrator) finish(end protocol.Instant) {
	n.story.From, n.story.Until = int64(n.from), int64(min(n.until, end))
	for _, w := range n.byTrack {
		if w != nil {
			n.ends(w, min(n.until, end), "", chronicle.Unfinished)
		}
	}
}
