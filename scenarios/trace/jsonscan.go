package trace

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// jsonScanner reads JSON byte by byte and knows where it is. It is not encoding/json, since
// that tells neither line nor column and makes a string of every token; a file of one line
// and any length is read in constant memory.
type jsonScanner struct {
	lines  *lines // for the file, its errors and its bytes
	line   int
	column int    // of the next byte
	recent []byte // the end of the current line up to there
	cut    bool   // recent is not all of it
	depth  int
}

// Limits of what is kept: of a line for an excerpt, and of nesting.
const (
	recentBytes = 256
	maxDepth    = 200
)

// spot is a place in the file and the text before it, which is gone once it is read.
type spot struct {
	line, column int
	before       []byte
}

func (s *jsonScanner) here(to *spot) {
	to.line, to.column = s.line, s.column
	from := max(0, len(s.recent)-excerptLead)
	to.before = to.before[:0]
	if from > 0 || s.cut {
		to.before = append(to.before, "…"...)
	}
	to.before = append(to.before, s.recent[from:]...)
}

// fail describes a problem at a spot, quoting what stands there.
func (s *jsonScanner) fail(at *spot, text []byte, field, problem, remedy string) *Error {
	source, mark := excerpt(append(append([]byte(nil), at.before...), text...), len(at.before)+1)
	return &Error{File: s.lines.file, Line: at.line, Column: at.column, Field: field,
		Source: source, Problem: problem, Remedy: remedy, mark: mark}
}

// broken describes a problem of the next byte.
func (s *jsonScanner) broken(problem, remedy string) error {
	var at spot
	s.here(&at)
	rest, _ := s.lines.in.Peek(excerptRunes)
	for i, b := range rest {
		if b == '\n' || b == '\r' {
			rest = rest[:i]
			break
		}
	}
	return s.fail(&at, rest, "", problem, remedy)
}

const jsonRemedy = "check the file with a JSON tool; it may have been cut short"

// peek returns the next byte without taking it; at the end of the file an io.EOF.
func (s *jsonScanner) peek() (byte, error) {
	b, err := s.lines.in.Peek(1)
	if len(b) > 0 {
		return b[0], nil
	}
	if err == io.EOF {
		return 0, io.EOF
	}
	s.lines.number = s.line
	return 0, s.lines.readError(err)
}

// take takes the byte that was peeked at.
func (s *jsonScanner) take(b byte) {
	s.lines.in.Discard(1) // Cannot fail: it is buffered.
	s.column++
	if b == '\n' {
		s.line, s.column, s.recent, s.cut = s.line+1, 1, s.recent[:0], false
		return
	}
	if len(s.recent) == 2*recentBytes {
		s.recent, s.cut = append(s.recent[:0], s.recent[recentBytes:]...), true
	}
	s.recent = append(s.recent, b)
}

// blanks passes over white space and returns the byte behind it, not taken.
func (s *jsonScanner) blanks() (byte, error) {
	for {
		b, err := s.peek()
		if err != nil || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, err
		}
		s.take(b)
	}
}

// want passes over white space and takes one byte that must stand there.
func (s *jsonScanner) want(b byte) error {
	got, err := s.blanks()
	switch {
	case err == io.EOF:
		return s.early()
	case err != nil:
		return err
	case got != b:
		return s.broken(fmt.Sprintf("is not JSON: %q should stand here", b), jsonRemedy)
	}
	s.take(b)
	return nil
}

func (s *jsonScanner) early() error {
	return s.broken("ends in the middle of a value", "the file was cut short: copy or download it again")
}

// text reads a string and appends its content to buf. A nil buf is filled, too, so callers
// that pass a string over give the same scratch again.
func (s *jsonScanner) text(buf []byte) ([]byte, error) {
	if err := s.want('"'); err != nil {
		return buf, err
	}
	for {
		b, err := s.peek()
		switch {
		case err == io.EOF:
			return buf, s.early()
		case err != nil:
			return buf, err
		case b < ' ':
			return buf, s.broken("is not JSON: a string goes on behind the end of a line, or holds a control character", jsonRemedy)
		case len(buf) > maxLine:
			return buf, s.broken(fmt.Sprintf("string is longer than %d bytes", maxLine), "leave long texts out")
		case b == '"':
			s.take(b)
			return buf, nil
		case b == '\\':
			if buf, err = s.escape(buf); err != nil {
				return buf, err
			}
		default:
			s.take(b)
			buf = append(buf, b)
		}
	}
}

var jsonEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *jsonScanner) escape(buf []byte) ([]byte, error) {
	s.take('\\')
	b, err := s.peek()
	if err == io.EOF {
		return buf, s.early()
	}
	if err != nil {
		return buf, err
	}
	if plain, ok := jsonEscapes[b]; ok {
		s.take(b)
		return append(buf, plain), nil
	}
	if b != 'u' {
		return buf, s.broken("is not JSON: unknown escape in a string", jsonRemedy)
	}
	s.take(b)
	r, err := s.hex()
	if err != nil {
		return buf, err
	}
	if r >= 0xdc00 && r < 0xe000 { // The second half of a pair; it completes a first half.
		if first, n := lastSurrogate(buf); n > 0 {
			return utf8.AppendRune(buf[:len(buf)-n], 0x10000+(first-0xd800)<<10+(r-0xdc00)), nil
		}
	}
	if r >= 0xd800 && r < 0xdc00 {
		return append(buf, 0xed, byte(0xa0|r>>6&0x0f), byte(0x80|r&0x3f)), nil // Completed by what follows, or no text.
	}
	return utf8.AppendRune(buf, r), nil
}

// lastSurrogate finds the first half of a pair at the end of buf, written as three bytes that
// no valid text has.
func lastSurrogate(buf []byte) (r rune, n int) {
	if len(buf) < 3 {
		return 0, 0
	}
	end := buf[len(buf)-3:]
	if end[0] != 0xed || end[1]&0xf0 != 0xa0 {
		return 0, 0
	}
	return 0xd000 | rune(end[1]&0x3f)<<6 | rune(end[2]&0x3f), 3
}

func (s *jsonScanner) hex() (r rune, err error) {
	for range 4 {
		b, err := s.peek()
		if err == io.EOF {
			return 0, s.early()
		}
		if err != nil {
			return 0, err
		}
		switch {
		case isDigit(b):
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, s.broken("is not JSON: \\u needs four hexadecimal digits", jsonRemedy)
		}
		s.take(b)
	}
	return r, nil
}
