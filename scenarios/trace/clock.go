package trace

import (
	"fmt"
	"time"
)

// clock reads the instants of a file. All of them are of one form, since they count from one
// zero: that of the offsets, or 1970.
type clock struct {
	instants instants
	loose    []byte
	written  arrivalForm
	line     int // the first row, which set the form
}

// read reads an offset or a date; with a unit, a plain number. When it cannot, problem says
// why.
func (c *clock) read(field string, text []byte, unit time.Duration, line int) (ns int64, problem, remedy string) {
	written, v := offset, good
	switch {
	case unit != 0:
		ns, v = parseUnit(text, unit)
	case looksLikeDate(text):
		ns, written, v = c.date(text)
	default:
		ns, v = parseLength(text)
	}
	switch {
	case v != good && unit != 0:
		problem, remedy = explainUnit(field, text, unit, v)
		return 0, problem, remedy
	case v != good:
		problem, remedy = explainInstant(field, text, written, v)
		return 0, problem, remedy
	}
	if c.written == unseen {
		c.written, c.line = written, line
	}
	if written != c.written {
		return 0, fmt.Sprintf("%s %s is %v, but line %d holds %v", field, quote(text), written, c.line, c.written),
			"write all instants of a file in one form"
	}
	return ns, "", ""
}

// date reads RFC 3339, and the same with a blank for the T or without a zone. Only times
// between rows count, so a date without a zone is taken for UTC.
func (c *clock) date(text []byte) (ns int64, written arrivalForm, v verdict) {
	c.loose = append(c.loose[:0], text...)
	if len(text) > 10 && text[10] == ' ' {
		c.loose[10] = 'T'
	}
	written = instant
	if _, _, zoned := cutOffset(c.loose); !zoned {
		c.loose, written = append(c.loose, 'Z'), local
	}
	ns, v = c.instants.parse(c.loose)
	return ns, written, v
}
