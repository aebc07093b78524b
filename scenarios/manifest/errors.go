package manifest

import (
	"fmt"
	"strings"
	"unicode"
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
		b.WriteString(printable(e.Field) + " ")
	}
	b.WriteString(printable(e.Problem))
	if e.Remedy != "" {
		b.WriteString("; " + printable(e.Remedy))
	}
	if e.Line > 0 {
		text, caret := excerpt(e.Source, e.Column)
		b.WriteString("\n    " + text + "\n    " + strings.Repeat(" ", caret) + "^")
	}
	return b.String()
}

// excerptWidth keeps the caret in sight when the line is a whole minified file.
const excerptWidth = 100

// excerpt cuts a window around column out of line and tells how far in the caret goes.
func excerpt(line string, column int) (text string, caret int) {
	runes := []rune(line)
	caret = min(max(column-1, 0), len(runes))
	start := 0
	if caret > excerptWidth*3/4 {
		start = caret - excerptWidth/2
	}
	end := min(len(runes), start+excerptWidth)
	return strings.TrimRight(printable(string(runes[start:end])), " "), caret - start
}

// printable keeps what a manifest says from breaking the line or driving the terminal. Each
// character stays one cell, so that the caret stays under its column.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}
