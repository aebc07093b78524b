package trace

import (
	"bytes"
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

// date reads RFC 3339, and the same with a blank for the T, with the zone as databases and
// languages write it, or without one. Only times between rows count, so a date without a zone
// is taken for UTC.
func (c *clock) date(text []byte) (ns int64, written arrivalForm, v verdict) {
	c.loose = append(c.loose[:0], text...)
	if len(text) > 10 && text[10] == ' ' {
		c.loose[10] = 'T'
	}
	c.loose = spellZone(c.loose)
	written = instant
	if _, _, zoned := cutOffset(c.loose); !zoned {
		c.loose, written = append(c.loose, 'Z'), local
	}
	ns, v = c.instants.parse(c.loose)
	return ns, written, v
}

// spellZone writes the zone of a date as RFC 3339 does: PostgreSQL writes +00, Git and Ruby
// " +0100", Ruby and Python " UTC", Go " +0000 UTC". What is none of these stays as it is.
func spellZone(text []byte) []byte {
	named := false
	for _, name := range []string{"UTC", "GMT"} {
		if cut, ok := bytes.CutSuffix(text, []byte(name)); ok {
			text, named = bytes.TrimRight(cut, " "), true
		}
	}
	sign := bytes.LastIndexAny(text, "+-")
	if sign <= len("2006-01-02") {
		if named {
			text = append(text, 'Z')
		}
		return text
	}
	zone := string(text[sign:])
	switch digits := text[sign+1:]; {
	case len(digits) == 2 && allDigits(digits, -1):
		zone += ":00"
	case len(digits) == 4 && allDigits(digits, -1):
		zone = zone[:3] + ":" + zone[3:]
	}
	return append(bytes.TrimRight(text[:sign], " "), zone...)
}
