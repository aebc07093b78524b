// Package chronicle draws what happened on workers: as a trace that Perfetto and
// chrome://tracing open, and as a page that any browser shows. What is drawn comes as plain
// spans and marks, whoever saw them; the same ones give the same bytes.
package chronicle

import (
	"cmp"
	"slices"
)

// Chronicle is what happened, on one clock. Times are in nanoseconds since its zero.
type Chronicle struct {
	Title       string
	From, Until int64
	Tracks      []*Track
	Stalls      []Stall
}

// Track is one worker, or somebody else that things happened at.
type Track struct {
	Name  string
	Slots int // rows beside the first, which is for the process itself
	Spans []Span
	Marks []Mark
	Held  []Level // claims held, whenever their number changed
}

// Span is something that took time. Within a row, one that lies in another is a part of it,
// and two never overlap otherwise.
type Span struct {
	Row         int // 0 is the process, 1 its first slot
	From, Until int64
	Name        string
	Class       Class
	Job         uint64 // 0 is none
	Details     []Detail
}

// Mark is something that took no time.
type Mark struct {
	Row  int
	At   int64
	Name string
	Job  uint64
}

// Level is a number from an instant on.
type Level struct {
	At    int64
	Value int
}

// Stall is a job that stood still, between the work of one row and that of another.
type Stall struct {
	Job         uint64
	From, Until int64
	Left, Went  Place // where it was interrupted, and where it went on
	Open        bool  // it did not go on by then: Went is nowhere
}

// Place is a row of a track.
type Place struct{ Track, Row int }

// Nowhere is no place: of work that nobody saw.
var Nowhere = Place{-1, -1}

// Detail is what is told of a span when it is asked for.
type Detail struct{ Name, Value string }

// Class is what a span is, and so its colour.
type Class uint8

// Classes: first those of a process, then how a claim ended, then the parts of a claim.
const (
	Starting Class = iota
	Serving
	Quiet
	Draining
	Lifetime // all of one life

	Unfinished // the claim goes on beyond the end
	Finished
	Failed
	HandedBack // released unfinished
	Parked     // quarantined
	Lost       // the lease, or to somebody else
	Killed     // with its process, or left behind by it

	Running
	Undoing
	Settling

	classes
)

// String is the class's name in the page and in the trace.
func (c Class) String() string {
	return [classes]string{
		"starting", "serving", "quiet", "draining", "life", "unfinished", "finished", "failed", "handed-back", "quarantined", "lost", "killed",
		"running", "undoing", "settling",
	}[c]
}

// ordered returns the spans of a track by row and time, those that others lie in before them.
func (t *Track) ordered() []Span {
	spans := slices.Clone(t.Spans)
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.From, b.From), cmp.Compare(b.Until, a.Until), cmp.Compare(a.Class, b.Class))
	})
	return spans
}
