package trace

import (
	"bytes"
	"fmt"
	"io"
)

// csvRows reads the CSV form: a header, then one record per job.
type csvRows struct {
	lines    *lines
	split    splitter
	columns  columns
	kinds    *kinds
	instants instants
	form     arrivalForm
	formLine int    // the first row, which set the form
	raw      []byte // the lines of a record that spans several; empty otherwise
	start    int    // the line the record starts in
}

// arrivalForm is what the arrival column holds. The first row decides it for the file.
type arrivalForm int

const (
	unseen  arrivalForm = iota
	offset              // seconds or Go durations
	instant             // RFC 3339
	local               // a date without a zone, in mapped columns
)

func (f arrivalForm) String() string {
	return [...]string{"nothing", "an offset", "an RFC 3339 instant", "a date without a zone"}[f]
}

func (c *csvRows) next() (r row, skip string, err error) {
	if err := c.record(); err != nil {
		return row{}, "", err
	}
	r.line = uint32(c.start)
	if r.arrival, err = c.arrival(); err != nil {
		return row{}, "", err
	}
	if r.duration, err = c.duration(); err != nil {
		return row{}, "", err
	}
	if r.kind, err = c.kind(); err != nil {
		return row{}, "", err
	}
	return r, "", nil
}

func (c *csvRows) anyOrder() bool { return false }

// record reads the next record into c.split; it has as many cells as the header.
func (c *csvRows) record() error {
	if err := c.readLines(); err != nil {
		return err
	}
	if got := len(c.split.cells); got != c.columns.count {
		return c.miscounted(got)
	}
	return nil
}

func (c *csvRows) readLines() error {
	line, err := c.lines.nextFilled()
	if err != nil {
		return err
	}
	c.split.begin()
	c.raw, c.start = c.raw[:0], c.lines.number
	for {
		bad := c.split.feed(line, c.lines.number)
		if bad != nil {
			return c.lines.fail(bad.column, "", bad.problem, bad.remedy)
		}
		if !c.split.open && len(c.raw) == 0 {
			return nil // The common case: one record, one line, nothing copied.
		}
		// Errors quote the line of a cell, and the reader forgets a line when it goes on.
		c.raw = append(append(c.raw, line...), '\n')
		if !c.split.open {
			return nil
		}
		if len(c.raw) > maxLine {
			return c.neverClosed()
		}
		line, err = c.lines.next()
		if err == io.EOF {
			return c.neverClosed()
		}
		if err != nil {
			return err
		}
	}
}

func (c *csvRows) neverClosed() *Error {
	return c.fail(len(c.split.cells)-1, "", "quote is never closed",
		"close it, or leave the quote out")
}

func (c *csvRows) miscounted(got int) *Error {
	problem := fmt.Sprintf("row has %d cells where the header has %d", got, c.columns.count)
	if got < c.columns.count {
		end := len(c.lines.text) + 1
		return c.lines.fail(end, "", problem, "complete the row; an empty cell still needs its separator")
	}
	return c.fail(c.columns.count, "", problem,
		fmt.Sprintf("quote cells that contain %s, and write numbers with a decimal point", separatorName(c.split.separator)))
}

// withUnits is for numbers that are too large for seconds.
const withUnits = ", or say the unit: --map arrival=arrival:ms,duration=duration:ms"

func (c *csvRows) arrival() (int64, error) {
	at := c.columns.arrival
	text := c.split.value(at)
	form := offset
	if looksLikeDate(text) {
		form = instant
	}
	if c.form == unseen {
		c.form, c.formLine = form, c.split.cells[at].line
	}
	if form != c.form {
		return 0, c.fail(at, "arrival",
			fmt.Sprintf("arrival %s is %v, but line %d holds %v", quote(text), form, c.formLine, c.form),
			"write all arrivals of a file in one form")
	}
	var ns int64
	var v verdict
	if form == instant {
		ns, v = c.instants.parse(text)
	} else {
		ns, v = parseLength(text)
	}
	if v != good {
		problem, remedy := explainArrival(text, form, v)
		if form == offset && v == tooLarge {
			remedy += withUnits
		}
		return 0, c.fail(at, "arrival", problem, remedy)
	}
	return ns, nil
}

func (c *csvRows) duration() (int64, error) {
	text := c.split.value(c.columns.duration)
	ns, v := parseLength(text)
	if v != good {
		problem, remedy := explainDuration(text, v)
		if v == tooLarge {
			remedy += withUnits
		}
		return 0, c.fail(c.columns.duration, "duration", problem, remedy)
	}
	return ns, nil
}

func (c *csvRows) kind() (int32, error) {
	if c.columns.kind < 0 {
		return 0, nil
	}
	kind, problem := c.kinds.intern(c.split.value(c.columns.kind))
	if problem != "" {
		return 0, c.fail(c.columns.kind, "kind", problem, kindRemedy)
	}
	return kind, nil
}

func (c *csvRows) unsorted(delivered row, window int) *Error {
	at := c.columns.arrival
	problem, remedy := explainUnsorted("arrival", c.split.value(at), delivered, window)
	key := "n"
	if c.form == instant {
		key = ""
	}
	return c.fail(at, "arrival", problem, remedy+
		fmt.Sprintf("sort -t%s -k%d,%d%s, with the header line left on top", shellSeparator(c.split.separator), at+1, at+1, key))
}

// fail describes a problem of one cell, quoting the line that the cell starts in.
func (c *csvRows) fail(at int, field, problem, remedy string) *Error {
	where := c.split.cells[at]
	source := c.lines.text
	if len(c.raw) > 0 {
		source = bytes.Split(c.raw, []byte("\n"))[where.line-c.start]
	}
	text, mark := excerpt(source, where.column)
	return &Error{File: c.lines.file, Line: where.line, Column: where.column, Field: field,
		Source: text, Problem: problem, Remedy: remedy, mark: mark}
}
