package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// table reads a CSV file with a header, row by row; it is for files that are read once and
// kept, such as histories of faults and deploys.
type table struct {
	csvRows
	names []string
	heads []cell // of the header, where the names stand
}

// newTable takes the first line for the header.
func newTable(l *lines) (*table, error) {
	head, _ := l.in.Peek(512)
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && (head[0] == '[' || head[0] == '{') {
		return nil, &Error{File: l.file, Line: 1, Problem: "is JSON, and CSV is read here",
			Remedy: `write it with a header line, for example by jq -r '.[] | [.KEY] | @csv'`}
	}
	if _, err := l.nextFilled(); err == io.EOF {
		return nil, &Error{File: l.file, Problem: "has only blank lines", Remedy: "write a header line and one row for each"}
	} else if err != nil {
		return nil, err
	}
	header, err := splitHeader(l)
	if err != nil {
		return nil, err
	}
	t := &table{csvRows: csvRows{lines: l, split: splitter{separator: header.separator}, columns: columns{count: len(header.cells)}}}
	for i, c := range header.cells {
		t.names = append(t.names, string(header.value(i)))
		t.heads = append(t.heads, c)
	}
	return t, nil
}

// column finds a column by its name in any case; -1 is none, two are refused.
func (t *table) column(name string) (int, error) {
	return t.only(name, "rename one of the two columns", func(have string) bool { return strings.EqualFold(have, name) })
}

// only finds the column whose name fits what field needs. Which of several is meant the file
// does not say, and what the first of them holds may be plausible and wrong.
func (t *table) only(field, remedy string, fits func(string) bool) (int, error) {
	at := -1
	for i, have := range t.names {
		switch {
		case !fits(have):
		case at < 0:
			at = i
		default:
			return 0, t.lines.fail(t.heads[i].column, field,
				fmt.Sprintf("header has two columns for %s, %s and %s", field, quote([]byte(t.names[at])), quote([]byte(have))), remedy)
		}
	}
	return at, nil
}

// need is column for one that must be there.
func (t *table) need(name, remedy string) (int, error) {
	at, err := t.column(name)
	if err == nil && at < 0 {
		err = t.lacks(name, remedy)
	}
	return at, err
}

func (t *table) lacks(name, remedy string) *Error {
	return &Error{File: t.lines.file, Line: 1, Field: name, Problem: fmt.Sprintf("header has no column %s", name),
		Remedy: fmt.Sprintf("%s; it has %s", remedy, listNames(t.names))}
}

// openText opens a file that may be gzipped; close is for the caller to call.
func openText(path, what string) (l *lines, close func() error, err error) {
	file, err := os.Open(path)
	if err != nil {
		e := openError(path, err)
		e.Remedy = "check the path of the " + what
		return nil, nil, e
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, nil, &Error{File: path, Problem: "is a directory", Remedy: "name one file inside it"}
	}
	if l, err = openLines(path, file); err != nil {
		file.Close()
		var e *Error
		if errors.As(err, &e) && e.Problem == isEmpty {
			e.Remedy = "check whether this is the " + what
		}
		return nil, nil, err
	}
	return l, file.Close, nil
}

// each shows every row: cell returns the text of a column, fail the error of one.
func (t *table) each(look func(cell func(int) []byte, fail func(int, string, string) error) error) error {
	fail := func(at int, problem, remedy string) error { return t.fail(at, t.names[at], problem, remedy) }
	for {
		err := t.record()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = look(t.split.value, fail)
		}
		if err != nil {
			return err
		}
	}
}
