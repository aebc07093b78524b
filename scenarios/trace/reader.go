package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Job is one row of a trace.
type Job struct {
	Arrival  time.Duration // since the first arrival of the trace
	Duration time.Duration // execution time, without any waiting
	Kind     string        // "job" when the trace does not say; equal kinds share one string
	Line     int           // where the row starts in the file, counted from 1
}

// Reader streams the jobs of one trace in the order of their arrival. It belongs to one
// goroutine.
type Reader struct {
	rows   rows
	kinds  *kinds
	window window
	file   string
	owned  io.Closer // the file that Open opened; nil for NewReader
	base   int64     // ns; the first arrival
	number uint32    // jobs read so far
	last   row       // the latest row delivered; line 0 before the first
	ended  bool      // rows has no more to give
	err    error     // what every further Next returns
	tally  tally
}

// tally counts what a summary reports about the reading itself.
type tally struct {
	skipped    map[string]int // rows left out, by reason
	outOfOrder int            // rows that arrive before a row above them
	newest     int64          // ns; the largest arrival read so far
}

// rows reads one format. Implementations reuse their buffers and allocate nothing per row.
type rows interface {
	// next returns the next row of the file, an *Error, or io.EOF. A row that is left out
	// comes with the reason; for a job, skip is empty.
	next() (r row, skip string, err error)
	// unsorted describes the row just read, which arrives before one already delivered.
	unsorted(delivered row, window int) *Error
	// anyOrder reports whether files of this format are not expected to be sorted.
	anyOrder() bool
}

// row is a job whose arrival is still absolute, in the file's own terms.
type row struct {
	arrival  int64 // ns since the file's zero, or since 1970
	duration int64 // ns
	kind     int32
	line     uint32
	number   uint32 // of the job in the file: several may stand in one line
}

// Open starts reading the trace in a file. It blocks while it reads the header and the
// first window, so that most mistakes in a file show here. The caller closes the Reader.
//
// Errors are *[Error]; a missing file also matches [fs.ErrNotExist].
func Open(path string) (*Reader, error) { return Map{}.Open(path) }

// Open starts reading a trace whose columns the map names; see the function [Open].
func (m Map) Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	r, err := openFile(path, file, m)
	if err != nil {
		file.Close() // Nothing was written: the first error is the one that matters.
		return nil, err
	}
	r.owned = file
	return r, nil
}

func openFile(path string, file *os.File, m Map) (*Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, openError(path, err)
	}
	if info.IsDir() {
		return nil, &Error{File: path, Problem: "is a directory", Remedy: "name one trace file inside it"}
	}
	return m.NewReader(path, file)
}

func openError(path string, err error) *Error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{File: path, Problem: "does not exist", Remedy: "check the path of the trace", cause: err}
	}
	return &Error{File: path, Problem: fmt.Sprintf("cannot be opened: %v", err),
		Remedy: "check the path and its permissions", cause: err}
}

// NewReader reads a trace from in, which stays the caller's to close. The name stands
// for the file in errors, and its extension helps to tell the format. Like [Open], it
// blocks until the first window is read.
func NewReader(name string, in io.Reader) (*Reader, error) { return Map{}.NewReader(name, in) }

// NewReader reads a trace whose columns the map names; see the function [NewReader].
func (m Map) NewReader(name string, in io.Reader) (*Reader, error) {
	return newReader(name, in, m, 0)
}

// newReader sorts within a window of so many rows; 0 is what suits the format.
func newReader(name string, in io.Reader, m Map, size int) (*Reader, error) {
	lines, err := openLines(name, in)
	if err != nil {
		return nil, err
	}
	kinds := newKinds()
	rows, err := detect(lines, m, kinds)
	if err != nil {
		return nil, err
	}
	switch {
	case size == 0 && rows.anyOrder():
		size = sortedRows
	case size == 0:
		size = windowRows
	}
	r := &Reader{rows: rows, kinds: kinds, window: newWindow(size), file: name, tally: tally{skipped: map[string]int{}}}
	if err := r.fill(); err != nil {
		return nil, err
	}
	if r.window.empty() {
		return nil, r.noJobs()
	}
	r.base = r.window.first().arrival
	return r, nil
}

// Next returns the next job. At the end it returns io.EOF, for a bad row an *[Error];
// after either, it goes on returning the same.
func (r *Reader) Next() (Job, error) {
	if r.err == nil {
		r.err = r.fill()
	}
	if r.err == nil && r.window.empty() {
		r.err = io.EOF
	}
	if r.err != nil {
		return Job{}, r.err
	}
	next := r.window.pop()
	if next.arrival-r.base > int64(maxSpan) {
		// Arrivals that are ends less durations may lie before the file's zero.
		r.err = &Error{File: r.file, Line: int(next.line), Problem: "job arrives more than 100 years after the first one",
			Remedy: "check the units of the columns"}
		return Job{}, r.err
	}
	r.last = next
	return Job{
		Arrival:  time.Duration(next.arrival - r.base),
		Duration: time.Duration(next.duration),
		Kind:     r.kinds.names[next.kind],
		Line:     int(next.line),
	}, nil
}

// Close ends the reading and closes the file that [Open] opened. A second Close does
// nothing.
func (r *Reader) Close() error {
	r.err = &Error{File: r.file, Problem: "is closed", Remedy: "read all jobs before Close", cause: fs.ErrClosed}
	if r.owned == nil {
		return nil
	}
	err := r.owned.Close()
	r.owned = nil
	return err
}

// fill reads until the window is full or the file ends.
func (r *Reader) fill() error {
	for !r.ended && !r.window.full() {
		next, skip, err := r.rows.next()
		switch {
		case err == io.EOF:
			r.ended = true
		case err != nil:
			return err
		case skip != "":
			r.tally.skipped[skip]++
		case r.last.line > 0 && next.arrival < r.last.arrival:
			return r.rows.unsorted(r.last, r.window.size)
		default:
			r.note(next.arrival)
			r.number++
			next.number = r.number
			r.window.push(next)
		}
	}
	return nil
}

func (r *Reader) note(arrival int64) {
	if r.number > 0 && arrival < r.tally.newest {
		r.tally.outOfOrder++
		return
	}
	r.tally.newest = arrival
}

func (r *Reader) noJobs() *Error {
	if len(r.tally.skipped) > 0 {
		return &Error{File: r.file, Problem: "has no job to replay: all rows were skipped, " + listSkips(r.tally.skipped),
			Remedy: "use a trace that records when jobs came and how long they ran"}
	}
	return &Error{File: r.file, Problem: "has no rows",
		Remedy: "write one row per job below the header, for example 0.5,3,mail"}
}
