package trace

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error says what is wrong with a trace, where, and what to write instead. Every error
// of this package is an *Error, except io.EOF at the end of a trace.
type Error struct {
	File    string // the path given to Open, or the name given to NewReader
	Line    int    // from 1; 0 when the problem is the whole file
	Column  int    // in bytes from 1, a byte order mark not counted; 0 when it is the whole line
	Field   string // the CSV column or SWF field, such as "duration"; may be empty
	Source  string // the line, or some 80 characters of it around the column
	Problem string // what is wrong: `duration "-3" is negative`
	Remedy  string // what to do: "write the execution time in seconds, for example 3"

	mark  int   // the character of Source to point at, from 1; 0 for none
	cause error // what the system said, for errors.Is; may be nil
}

// Error gives place, problem and remedy in one line, then the source with a mark below
// the column.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	fmt.Fprintf(&b, ": %s; %s", e.Problem, e.Remedy)
	if e.Source != "" {
		b.WriteString("\n\t" + e.Source)
	}
	if e.mark > 0 {
		b.WriteString("\n\t" + strings.Repeat(" ", e.mark-1) + "^")
	}
	return b.String()
}

// Unwrap returns the system's own error, if there was one.
func (e *Error) Unwrap() error { return e.cause }

const (
	excerptRunes = 80
	excerptLead  = 40 // bytes shown before the column when the line is long
)

// excerpt cuts a line to what fits beside an error, and says which of its characters
// stands at the column (0 when column is 0).
func excerpt(line []byte, column int) (text string, mark int) {
	from := 0
	if column > excerptRunes-excerptLead/2 {
		from = column - excerptLead
		for i := 1; i < utf8.UTFMax && !utf8.RuneStart(line[from]); i++ {
			from-- // Back to the start of a character, if this is text at all.
		}
	}
	var b strings.Builder
	shown := 0
	if from > 0 {
		b.WriteRune('…')
		shown++
	}
	at := from
	for at < len(line) && shown < excerptRunes {
		r, width := utf8.DecodeRune(line[at:])
		shown++
		if at < column && column <= at+width {
			mark = shown
		}
		b.WriteRune(visible(r))
		at += width
	}
	if at < len(line) {
		b.WriteRune('…')
	}
	if column > len(line) { // Something is missing at the end of the line.
		mark = shown + 1
	}
	return b.String(), mark
}

// visible keeps control characters of a broken file away from the terminal.
func visible(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r == utf8.RuneError || !unicode.IsPrint(r):
		return '·'
	}
	return r
}

// quote shows a cell in an error, cut when it is long.
func quote(cell []byte) string {
	const limit = 40
	if len(cell) > limit {
		return fmt.Sprintf("%q…", cell[:limit])
	}
	return fmt.Sprintf("%q", cell)
}
