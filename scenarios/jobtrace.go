package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// otherKind stands for the kinds of a trace beyond the most frequent ones.
const otherKind = "other"

// jobTrace is a trace file as the simulator wants it: kinds are numbers, and nothing but a
// window of rows is in memory.
type jobTrace struct {
	path    string
	columns trace.Map
	kinds   []string                 // sorted; the index is the protocol.Kind
	index   map[string]protocol.Kind // of the kinds that keep their name
	summary trace.Summary
	notes   []string
}

// newJobTrace reads the file once, to see that it is sound and which kinds there are.
func newJobTrace(path string, columns trace.Map) (*jobTrace, error) {
	summary, err := columns.Summarize(path)
	if err != nil {
		return nil, err
	}
	t := &jobTrace{path: path, columns: columns, summary: summary, index: map[string]protocol.Kind{}}
	kept := frequent(summary.Kinds)
	t.kinds = slices.Clone(kept)
	if len(kept) < len(summary.Kinds) && !slices.Contains(kept, otherKind) {
		t.kinds = append(t.kinds, otherKind)
	}
	slices.Sort(t.kinds)
	for _, name := range kept {
		at, _ := slices.BinarySearch(t.kinds, name)
		t.index[name] = protocol.Kind(at)
	}
	for _, warning := range summary.Warnings {
		t.notes = append(t.notes, "trace: "+warning)
	}
	if len(kept) < len(summary.Kinds) {
		t.notes = append(t.notes, fmt.Sprintf("trace: of %d kinds the %d most frequent keep their names, the rest is one kind %q",
			len(summary.Kinds), len(kept), otherKind))
	}
	return t, nil
}

// frequent returns the names that keep a kind of their own.
func frequent(kinds []trace.Count) []string {
	byRows := slices.Clone(kinds)
	slices.SortFunc(byRows, func(a, b trace.Count) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Name, b.Name))
	})
	if len(byRows) > maxKinds {
		byRows = byRows[:maxKinds-1]
	}
	list := make([]string, len(byRows))
	for i, k := range byRows {
		list[i] = k.Name
	}
	return list
}

// jobs returns the kinds of the trace, all of which behave like one.
func (t *jobTrace) jobs(like model.Job) []model.Job {
	list := make([]model.Job, len(t.kinds))
	for i, name := range t.kinds {
		list[i] = like
		list[i].Name = name
	}
	return list
}

// Open starts the trace anew.
func (t *jobTrace) Open() (model.JobStream, error) {
	r, err := t.columns.Open(t.path)
	if err != nil {
		return nil, foreign(err)
	}
	return &jobStream{trace: t, rows: r}, nil
}

type jobStream struct {
	trace *jobTrace
	rows  *trace.Reader
}

func (s *jobStream) Next() (arrival protocol.Instant, work protocol.Duration, kind protocol.Kind, ok bool, err error) {
	job, err := s.rows.Next()
	if errors.Is(err, io.EOF) {
		return 0, 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, 0, false, foreign(err)
	}
	kind, known := s.trace.index[job.Kind]
	if !known {
		at, folded := slices.BinarySearch(s.trace.kinds, otherKind)
		if !folded {
			return 0, 0, 0, false, &Error{File: s.trace.path, Line: job.Line, Column: 1, Field: "kind",
				Problem: quote(job.Kind) + " was not there when the trace was first read", Remedy: "leave the file alone while it is used"}
		}
		kind = protocol.Kind(at)
	}
	return protocol.Instant(job.Arrival), protocol.Duration(job.Duration), kind, true, nil
}

func (s *jobStream) Close() error { return s.rows.Close() }
