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
	window window
	file   string
	owned  io.Closer // the file that Open opened; nil for NewReader
	base   int64     // ns; the first arrival
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
	// next returns the next row of the file, an *Error, or io.EOF.
	next() (row, error)
	// unsorted describes the row just read, which arrives before one already delivered.
	unsorted(delivered row) *Error
}

// row is a job whose arrival is still absolute, in the file's own terms.
type row struct {
	arrival  int64 // ns since the file's zero, or since 1970
	duration int64 // ns
	kind     string
	line     int
	skip     string // why the row is left out; empty for a job
}

// Open starts reading the trace in a file. It blocks while it reads the header and the
// first window, so that most mistakes in a file show here. The caller closes the Reader.
//
// Errors are *[Error]; a missing file also matches [fs.ErrNotExist].
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	r, err := openFile(path, file)
	if err != nil {
		file.Close() // Nothing was written: the first error is the one that matters.
		return nil, err
	}
	r.owned = file
	return r, nil
}

func openFile(path string, file *os.File) (*Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, openError(path, err)
	}
	if info.IsDir() {
		return nil, &Error{File: path, Problem: "is a directory", Remedy: "name one trace file inside it"}
	}
	return NewReader(path, file)
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
func NewReader(name string, in io.Reader) (*Reader, error) {
	return newReader(name, in, windowRows)
}

func newReader(name string, in io.Reader, size int) (*Reader, error) {
	lines, err := openLines(name, in)
	if err != nil {
		return nil, err
	}
	rows, err := detect(lines)
	if err != nil {
		return nil, err
	}
	r := &Reader{rows: rows, window: newWindow(size), file: name, tally: tally{skipped: map[string]int{}}}
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
	r.last = r.window.pop()
	return Job{
		Arrival:  time.Duration(r.last.arrival - r.base),
		Duration: time.Duration(r.last.duration),
		Kind:     r.last.kind,
		Line:     r.last.line,
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
		next, err := r.rows.next()
		switch {
		case err == io.EOF:
			r.ended = true
		case err != nil:
			return err
		case next.skip != "":
			r.tally.skipped[next.skip]++
		case r.last.line > 0 && next.arrival < r.last.arrival:
			return r.rows.unsorted(r.last)
		default:
			r.note(next.arrival)
			r.window.push(next)
		}
	}
	return nil
}

func (r *Reader) note(arrival int64) {
	if arrival < r.tally.newest {
		r.tally.outOfOrder++
		return
	}
	r.tally.newest = arrival
}

func (r *Reader) noJobs() *Error {
	if len(r.tally.skipped) > 0 {
		return &Error{File: r.file, Problem: "has no job to replay: all rows were skipped, " + listSkips(r.tally.skipped),
			Remedy: "use a trace that records submit and run times"}
	}
	return &Error{File: r.file, Problem: "has no rows",
		Remedy: "write one row per job below the header, for example 0.5,3,mail"}
}
