package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// Severity says how bad a finding is.
type Severity uint8

const (
	Note    Severity = iota + 1 // ought to be a decision
	Warning                     // works, and costs
	Error                       // cannot work
)

func (s Severity) String() string { return [...]string{"", "note", "warning", "error"}[s] }

// Finding is one thing that a lint has found.
type Finding struct {
	Lint     string // its name, which does not change
	Severity Severity
	File     string
	Line     int
	Workload string // kind/name, as --select takes it
	Field    string // the key that is wrong
	Problem  string // a sentence without a full stop, with the numbers
	Remedy   string // what to write instead
}

// Options are what a manifest does not say about a worker. Whatever is zero has the default named
// beside it.
type Options struct {
	Undo       time.Duration // what the slowest undo takes; DefaultUndo
	Gap        time.Duration // the longest a handler goes without looking for its cancellation
	LongestJob time.Duration // 0 looks for no job that outlasts a grace
}

// DefaultUndo is what a worker assumes of a kind that declares none.
const DefaultUndo = time.Second

// Lint is one thing that is looked for.
type Lint struct {
	Name   string
	Worst  Severity // that its findings have
	About  string
	Source string // of the fact it rests on
	look   func(*view)
}

// Check returns what all lints find in the workloads, ordered by file, line and severity, the
// worst first.
func Check(workloads []manifest.Workload, o Options) []Finding {
	if o.Undo == 0 {
		o.Undo = DefaultUndo
	}
	var all []Finding
	for i := range workloads {
		w := &workloads[i]
		for _, l := range lints {
			v := &view{Workload: w, options: o, kind: protocol.KindConfig{Undo: protocol.Duration(o.Undo), Gap: protocol.Duration(o.Gap)}}
			l.look(v)
			for _, f := range v.found {
				f.Lint, f.File, f.Workload = l.Name, w.File, w.ID()
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(b.Severity, a.Severity))
	})
	return all
}

// Count returns how many findings have a severity.
func Count(all []Finding, s Severity) int {
	n := 0
	for i := range all {
		if all[i].Severity == s {
			n++
		}
	}
	return n
}
