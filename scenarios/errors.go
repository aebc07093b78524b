package scenarios

import (
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/internal/excerpt"
)

// Error says what is wrong with a scenario, where, and what to write instead. Every error of
// this package is an *Error.
type Error struct {
	File         string
	Line, Column int    // from 1, in characters; 0 when the problem is the file as a whole
	Field        string // the key with its parents, such as "queue.lease"; may be empty
	Source       string // the text of the line
	Problem      string // "is longer than lease 5m0s"
	Remedy       string // "write at most 100s"; may be empty

	cause error // of package trace or manifest, about the file it names
}

// Error gives place, problem and remedy on the first line, then the source with a caret under
// the column.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + " ")
	}
	b.WriteString(e.Problem)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	if e.Line > 0 {
		text, caret := excerpt.Around(e.Source, e.Column)
		b.WriteString("\n    " + text + "\n    " + strings.Repeat(" ", caret) + "^")
	}
	return b.String()
}

// Unwrap returns the error of package trace or manifest that this one passes on, if it does.
func (e *Error) Unwrap() error { return e.cause }
