package trace

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// role is what a cell means.
type role int

const (
	roleArrival role = iota
	roleDuration
	roleEnd
	roleKind
	roleSubkind    // a second part of the kind
	roleConclusion // how the job ended

	roles
)

var roleNames = [roles]string{"arrival", "duration", "end", "kind", "kind", "conclusion"}

// form is a way in which files are written that need not be sorted: which column has which
// role, and how a kind is made. A [Map] is one, and so is each format of others.
type form struct {
	columns [roles]Column // those without a name are not there
	hashes  bool          // kind and subkind are hashes, of which the beginning tells enough

	named [roles]time.Duration // the unit that the name of a mapped column says, if it says one
}

func (m Map) form() *form {
	f := &form{columns: [roles]Column{roleArrival: m.Arrival, roleDuration: m.Duration, roleEnd: m.End, roleKind: m.Kind}}
	for _, at := range []role{roleArrival, roleDuration, roleEnd} {
		f.named[at] = unitInName(f.columns[at].Name)
	}
	return f
}

func (f *form) has(r role) bool { return f.columns[r].Name != "" }

// azure is the Azure Functions Invocation Trace 2021: a row is written when the function
// ends, and both columns are seconds (Zhang et al., SOSP 2021).
var azure = &form{
	columns: [roles]Column{roleEnd: {Name: "end_timestamp"}, roleDuration: {Name: "duration"}, roleKind: {Name: "app"}, roleSubkind: {Name: "func"}},
	hashes:  true,
}

// jsonForms are the objects that are understood without a map.
var jsonForms = []*form{
	// Job lists of GitHub Actions as ci-metrics tools keep them.
	{columns: [roles]Column{roleArrival: {Name: "Started"}, roleEnd: {Name: "Completed"}, roleKind: {Name: "Workflow"}, roleSubkind: {Name: "Job"}, roleConclusion: {Name: "Conclusion"}}},
	// GitHub's REST API, "List jobs for a workflow run".
	{columns: [roles]Column{roleArrival: {Name: "started_at"}, roleEnd: {Name: "completed_at"}, roleKind: {Name: "workflow_name"}, roleSubkind: {Name: "name"}, roleConclusion: {Name: "conclusion"}}},
	// The same of GitHub's command line, gh run view --json jobs.
	{columns: [roles]Column{roleArrival: {Name: "startedAt"}, roleEnd: {Name: "completedAt"}, roleKind: {Name: "workflowName"}, roleSubkind: {Name: "name"}, roleConclusion: {Name: "conclusion"}}},
	{columns: [roles]Column{roleArrival: {Name: "arrival"}, roleDuration: {Name: "duration"}, roleKind: {Name: "kind"}}},
}

// evaluator makes rows of cells.
type evaluator struct {
	*form
	clock clock
	kinds *kinds
	name  []byte
}

// badCell is a cell that makes no sense; the reader of the format knows where it stands.
type badCell struct {
	role            role
	problem, remedy string
}

// noTime recognises a cell without a time: an empty one, what databases, Python, R and sacct write in
// its place, and the zero of Go, which gh writes.
func noTime(cell []byte) bool {
	switch string(cell) {
	case "", `\N`, "NULL", "null", "None", "NaT", "NA", "N/A", "Unknown", "0001-01-01T00:00:00Z":
		return true
	}
	return false
}

// job makes a row of the cells by their roles; those of roles that the form does not have
// are not looked at. An empty cell leaves the row out, and so does a job that never ran.
func (e *evaluator) job(cells *[roles][]byte, line int) (r row, skip string, bad *badCell) {
	if string(cells[roleConclusion]) == "skipped" {
		return row{}, "conclusion skipped", nil
	}
	for _, at := range []role{roleArrival, roleDuration, roleEnd} {
		if e.has(at) && noTime(cells[at]) {
			return row{}, "no " + roleNames[at], nil
		}
	}
	var arrival, duration, end int64
	if e.has(roleArrival) {
		if arrival, bad = e.instant(roleArrival, cells, line); bad != nil {
			return row{}, "", bad
		}
	}
	if e.has(roleDuration) {
		if duration, bad = e.duration(cells[roleDuration]); bad != nil {
			return row{}, "", bad
		}
	}
	if e.has(roleEnd) {
		if end, bad = e.instant(roleEnd, cells, line); bad != nil {
			return row{}, "", bad
		}
		switch {
		case !e.has(roleArrival):
			arrival = end - duration
		case end < arrival && len(cells[roleConclusion]) > 0:
			return row{}, "an end before its start", nil // GitHub cancelled it while it waited.
		case end < arrival:
			return row{}, "", &badCell{roleEnd, fmt.Sprintf("end %s is before arrival %s", quote(cells[roleEnd]), quote(cells[roleArrival])),
				"correct the row, or leave it out"}
		default:
			duration = end - arrival
		}
	}
	kind, problem := e.kinds.intern(e.kind(cells))
	if problem != "" {
		return row{}, "", &badCell{roleKind, problem, kindRemedy}
	}
	return row{arrival: arrival, duration: duration, kind: kind, line: uint32(line)}, "", nil
}

// instant reads an arrival or an end.
func (e *evaluator) instant(at role, cells *[roles][]byte, line int) (int64, *badCell) {
	if bad := e.misnamed(at, cells[at]); bad != nil {
		return 0, bad
	}
	ns, problem, remedy := e.clock.read(roleNames[at], cells[at], e.columns[at].Unit, line)
	if problem != "" {
		return 0, e.unitless(at, problem, remedy)
	}
	return ns, nil
}

// unitless adds to the remedy of a number that is too large what is most likely wrong with it.
func (e *evaluator) unitless(at role, problem, remedy string) *badCell {
	if e.columns[at].Unit == 0 && strings.HasSuffix(problem, beyondSpan) {
		remedy = fmt.Sprintf("write it in seconds, or say its unit with --map, such as %s=COLUMN:ms", roleNames[at])
	}
	return &badCell{at, problem, remedy}
}

func (e *evaluator) duration(text []byte) (int64, *badCell) {
	if bad := e.misnamed(roleDuration, text); bad != nil {
		return 0, bad
	}
	unit := e.columns[roleDuration].Unit
	if unit == 0 {
		ns, v := parseLength(text)
		if v != good {
			problem, remedy := explainDuration(text, v)
			return 0, e.unitless(roleDuration, problem, remedy)
		}
		return ns, nil
	}
	ns, v := parseUnit(text, unit)
	if v != good {
		problem, remedy := explainUnit("duration", text, unit, v)
		return 0, &badCell{roleDuration, problem, remedy}
	}
	return ns, nil
}

// kind joins the two parts of a kind, if there are two.
func (e *evaluator) kind(cells *[roles][]byte) []byte {
	kind, sub, joint := cells[roleKind], cells[roleSubkind], " / "
	if e.hashes {
		const enough = 8 // 32 bits of each of the two
		kind, sub, joint = kind[:min(len(kind), enough)], sub[:min(len(sub), enough)], "/"
	}
	switch {
	case len(sub) == 0:
		return kind
	case len(kind) == 0:
		return sub
	}
	e.name = append(append(append(e.name[:0], kind...), joint...), sub...)
	return e.name
}

// parseUnit reads a plain number of units, rounded to the nanosecond. In minutes and longer
// the number itself is read to nine places.
func parseUnit(text []byte, unit time.Duration) (ns int64, v verdict) {
	switch unit {
	case time.Nanosecond:
		return parseShifted(text, -9)
	case time.Microsecond:
		return parseShifted(text, -6)
	case time.Millisecond:
		return parseShifted(text, -3)
	}
	ns, v = parseSeconds(text)
	times := int64(unit / time.Second)
	if v != malformed && max(ns, -ns) > int64(maxSpan)/times {
		return 0, tooLarge
	}
	return ns * times, v
}

func explainUnit(field string, text []byte, unit time.Duration, v verdict) (problem, remedy string) {
	cell := field + " " + quote(bytes.TrimSpace(text))
	switch v {
	case negative:
		return cell + " is negative", "correct the row, or leave it out"
	case tooLarge:
		return fmt.Sprintf("%s is more than 100 years in units of %v", cell, unit), "name the right unit after the column"
	}
	return fmt.Sprintf("%s is not a number of units of %v", cell, unit), "leave the unit out if the column has dates or durations such as 1m30s"
}
