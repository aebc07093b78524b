package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// maxEvents bounds a history of faults or deploys: it is kept in memory, 24 bytes for each.
const maxEvents = 1_000_000

// spotNotice is what AWS gives between the notice and the end of a spot instance (EC2 User
// Guide, "Spot Instance interruption notices"). Traces of spot instances do not say it.
const spotNotice = 2 * time.Minute

// Fault is one recorded fault.
type Fault struct {
	At     time.Duration // since the start of the run
	Seat   int32         // not negative; may be larger than a fleet
	Kind   FaultKind
	Length time.Duration // of a pause or a partition; of the notice before a preemption
}

// FaultKind is what happens to a seat.
type FaultKind uint8

// Kinds of faults.
const (
	Crash     FaultKind = iota // its process dies
	Pause                      // its process stands still
	Partition                  // nothing passes between it and the broker
	Preempt                    // its machine is taken away after a notice
)

var faultKinds = []string{"crash", "pause", "partition", "preempt"}

func (k FaultKind) String() string { return faultKinds[k] }

// Faults is a recorded history of faults, by their instants.
type Faults struct {
	List    []Fault
	Skipped []Count // rows that name no node, by reason
}

// ReadFaults reads a whole history of faults, gzipped or not, in one of these forms:
//
//   - CSV with the columns time, seat, kind and, if any, length. A kind is crash, pause,
//     partition or preempt. A pause and a partition need a length; that of a preemption is
//     its notice, two minutes if it is not given. A crash has none.
//   - The node failures of Los Alamos (LA-UR-05-7318): a crash of nodenum at Prob Started. A
//     supervisor starts the process elsewhere, so that Prob Fixed does not matter.
//   - A series of one spot instance, JSON with metadata.gap_seconds and data: a 1 that is
//     followed by a 0 is a preemption. The next instance has the next seat.
//   - The history of a spot fleet, rows of milliseconds, add or remove, and a node: a removal
//     is a preemption. Nodes are numbered as they are added.
//
// Offsets count from the start of the run, dates from the first row. Seats may be larger
// than a fleet. Every error is an *[Error].
func ReadFaults(path string) (*Faults, error) {
	l, done, err := openText(path, "history of faults")
	if err != nil {
		return nil, err
	}
	defer done() // Only read from: closing it cannot lose anything.
	f := &faultReader{lines: l}
	if err := f.read(); err != nil {
		return nil, err
	}
	if len(f.list) == 0 {
		return nil, &Error{File: path, Problem: "has no faults", Remedy: "write one row for each fault, or leave the file out"}
	}
	slices.SortStableFunc(f.list, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	if f.clock.written == instant || f.clock.written == local {
		for first, i := f.list[0].At, 0; i < len(f.list); i++ {
			f.list[i].At -= first
		}
	}
	return &Faults{List: f.list, Skipped: counts(f.skipped)}, nil
}

type faultReader struct {
	lines   *lines
	table   *table
	clock   clock
	list    []Fault
	skipped map[string]int
}

func (f *faultReader) read() error {
	head, _ := f.lines.in.Peek(512)
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && head[0] == '{' {
		return f.readSpotSeries()
	}
	if first, _, _ := bytes.Cut(head, []byte("\n")); looksLikeFleet(first) {
		return f.readFleet()
	}
	t, err := newTable(f.lines)
	if err != nil {
		return err
	}
	f.table, f.skipped = t, map[string]int{}
	if price, err := t.column("SpotPrice"); err != nil || price >= 0 {
		return &Error{File: f.lines.file, Line: 1, Field: "SpotPrice", Problem: "is a series of prices, which does not say when an instance was taken away",
			Remedy: "write time,seat,kind with a preempt where the price was above your bid"}
	}
	started, err := t.column("Prob Started")
	if err != nil {
		return err
	}
	if started >= 0 {
		return f.readFailures(started)
	}
	return f.readEvents()
}

func (f *faultReader) add(at int64, seat int, kind FaultKind, length time.Duration) error {
	if len(f.list) == maxEvents {
		return &Error{File: f.lines.file, Problem: fmt.Sprintf("has more than %d faults", maxEvents), Remedy: "cut the history in pieces"}
	}
	f.list = append(f.list, Fault{time.Duration(at), int32(seat), kind, length})
	return nil
}

// maxSeat keeps seats in an int32 with room to spare.
const maxSeat = 1_000_000_000

func parseSeat(text []byte) (seat int, problem, remedy string) {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 || n > maxSeat {
		return 0, quote(text) + " is not a number of a seat", "write a whole number from 0 on; it is taken modulo the size of the fleet"
	}
	return n, "", ""
}

// readEvents reads the form of our own.
func (f *faultReader) readEvents() error {
	const write = "open the file with the line time,seat,kind,length"
	var at [4]int // time, seat, kind, length
	var err error
	for i, name := range []string{"time", "seat", "kind"} {
		if at[i], err = f.table.need(name, write); err != nil {
			return err
		}
	}
	if at[3], err = f.table.column("length"); err != nil {
		return err
	}
	return f.table.each(func(cell func(int) []byte, fail func(int, string, string) error) error {
		ns, problem, remedy := f.clock.read("time", cell(at[0]), 0, f.table.start)
		if problem != "" {
			return fail(at[0], problem, remedy)
		}
		seat, problem, remedy := parseSeat(cell(at[1]))
		if problem != "" {
			return fail(at[1], problem, remedy)
		}
		kind := slices.Index(faultKinds, string(cell(at[2])))
		if kind < 0 {
			return fail(at[2], quote(cell(at[2]))+" is not a kind of fault", "write crash, pause, partition or preempt")
		}
		var text []byte
		if at[3] >= 0 {
			text = cell(at[3])
		}
		length, problem, remedy := lengthOf(FaultKind(kind), text)
		if problem != "" {
			return fail(max(at[3], at[2]), problem, remedy)
		}
		return f.add(ns, seat, FaultKind(kind), length)
	})
}

func lengthOf(kind FaultKind, text []byte) (length time.Duration, problem, remedy string) {
	switch {
	case len(text) == 0 && kind == Crash:
		return 0, "", ""
	case len(text) == 0 && kind == Preempt:
		return spotNotice, "", ""
	case len(text) == 0:
		return 0, fmt.Sprintf("a %v needs a length", kind), "write how long it lasts, for example 30s"
	case kind == Crash:
		return 0, fmt.Sprintf("a crash has no length, and %s stands here", quote(text)), "leave it empty"
	}
	ns, v := parseLength(text)
	switch {
	case v != good:
		problem, remedy = explainNumber("length", text, v, "write seconds, for example 2.5, or like 1m30s")
		if v == negative {
			problem = "length " + quote(text) + " is negative"
		}
		return 0, problem, remedy
	case ns == 0 && kind != Preempt:
		return 0, fmt.Sprintf("a %v of no time is none", kind), "write how long it lasts, or leave the row out"
	}
	return time.Duration(ns), "", ""
}

// readFailures reads the node failures of Los Alamos, which are sorted by system and node.
func (f *faultReader) readFailures(started int) error {
	node, err := f.table.need("nodenum", "keep the columns of LA-UR-05-7318")
	if err != nil {
		return err
	}
	f.clock.written = local // Dates count from the first one.
	return f.table.each(func(cell func(int) []byte, fail func(int, string, string) error) error {
		if len(cell(node)) == 0 {
			f.skipped["no nodenum"]++
			return nil
		}
		n, problem, remedy := parseSeat(cell(node))
		if problem != "" {
			return fail(node, problem, remedy)
		}
		at, err := time.Parse("1/2/2006 15:04", string(cell(started)))
		if err != nil || at.Unix() < 0 || at.Unix() >= int64(maxSpan/time.Second) {
			return fail(started, quote(cell(started))+" is not a date of the form month/day/year hour:minute within 100 years after 1970", "write it like 6/21/2005 10:54")
		}
		return f.add(at.UnixNano(), n, Crash, 0)
	})
}
