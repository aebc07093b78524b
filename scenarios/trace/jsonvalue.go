package trace

import (
	"fmt"
	"io"
)

// jsonKind is what a value is.
type jsonKind int

const (
	jsonText jsonKind = iota
	jsonNumber
	jsonNull
	jsonWord // true or false
	jsonNested
)

// value reads any value. The content of texts, numbers and words is appended to buf; what is
// nested is passed over.
func (s *jsonScanner) value(buf []byte) ([]byte, jsonKind, error) {
	b, err := s.blanks()
	switch {
	case err == io.EOF:
		return buf, 0, s.early()
	case err != nil:
		return buf, 0, err
	case b == '"':
		buf, err = s.text(buf)
		return buf, jsonText, err
	case b == '{' || b == '[':
		return buf, jsonNested, s.nested(b)
	}
	from := len(buf)
	for err == nil && (b == '-' || b == '+' || b == '.' || isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'z') && len(buf) < from+64 {
		s.take(b)
		buf = append(buf, b)
		b, err = s.peek()
	}
	if err != nil && err != io.EOF {
		return buf, 0, err
	}
	switch word := buf[from:]; {
	case string(word) == "null":
		return buf[:from], jsonNull, nil
	case string(word) == "true" || string(word) == "false":
		return buf, jsonWord, nil
	case isJSONNumber(word):
		return buf, jsonNumber, nil
	}
	return buf, 0, s.broken("is not JSON: no value ends here", jsonRemedy)
}

// isJSONNumber is looser than JSON about leading zeros, which do no harm.
func isJSONNumber(text []byte) bool {
	if len(text) == 0 || text[0] == '+' {
		return false
	}
	_, v := parseSeconds(text)
	return v != malformed
}

// nested passes over an object or an array.
func (s *jsonScanner) nested(open byte) error {
	if s.depth++; s.depth > maxDepth {
		return s.broken(fmt.Sprintf("is nested deeper than %d levels", maxDepth), "leave the nested values out")
	}
	s.take(open)
	end := byte(']')
	if open == '{' {
		end = '}'
	}
	var scratch []byte
	for first := true; ; first = false {
		done, err := s.more(end, first)
		if err != nil {
			return err
		}
		if done {
			s.depth--
			return nil
		}
		if open == '{' {
			if scratch, err = s.text(scratch[:0]); err != nil {
				return err
			}
			if err = s.want(':'); err != nil {
				return err
			}
		}
		if scratch, _, err = s.value(scratch[:0]); err != nil {
			return err
		}
	}
}

// more takes the comma before the next element, unless it is the first, or the end.
func (s *jsonScanner) more(end byte, first bool) (done bool, err error) {
	b, err := s.blanks()
	switch {
	case err == io.EOF:
		return false, s.early()
	case err != nil:
		return false, err
	case b == end:
		s.take(b)
		return true, nil
	case first:
		return false, nil
	}
	return false, s.want(',')
}
