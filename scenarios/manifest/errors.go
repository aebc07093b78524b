package manifest

import (
	"fmt"
	"strings"

	"github.com/quiesce/quiesce/internal/excerpt"
)

// Error reports why a manifest was refused. Line and Column count from 1, in characters;
// both are 0 when the problem is with the file as a whole.
type Error struct {
	File         string
	Line, Column int
	Field        string // the key whose value is wrong; empty when no key is to blame
	Source       string // the text of the line
	Problem      string
	Remedy       string // what to do; may be empty

	// NoWorkload says that nothing is wrong with the file, but that nothing in it is read here.
	NoWorkload bool
}

// Error gives position, problem and remedy on the first line, then the source line with a
// caret under the column.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(excerpt.Printable(e.Field) + " ")
	}
	b.WriteString(excerpt.Printable(e.Problem))
	if e.Remedy != "" {
		b.WriteString("; " + excerpt.Printable(e.Remedy))
	}
	if e.Line > 0 {
		text, caret := excerpt.Around(e.Source, e.Column)
		b.WriteString("\n    " + text + "\n    " + strings.Repeat(" ", caret) + "^")
	}
	return b.String()
}
