package trace

import "bytes"

// splitter cuts the lines of a CSV file into cells by the rules of RFC 4180. It is not
// encoding/csv because that makes a string per record, even when it reuses the record.
type splitter struct {
	separator byte
	text      []byte // the contents of the record's cells, without their quotes
	cells     []cell
	open      bool // a quoted cell goes on in the next line
}

// cell is a range of splitter.text and its place in the file.
type cell struct{ from, to, line, column int }

// stray is a quote in a place where RFC 4180 allows none.
type stray struct {
	column          int
	problem, remedy string
}

func (s *splitter) begin() { s.text, s.cells, s.open = s.text[:0], s.cells[:0], false }

// value returns a cell without surrounding blanks; it is valid until the next begin.
func (s *splitter) value(i int) []byte {
	return bytes.TrimSpace(s.text[s.cells[i].from:s.cells[i].to])
}

// feed adds a line to the record. The record is complete unless open is set afterwards.
func (s *splitter) feed(line []byte, number int) *stray {
	at := 0
	if s.open {
		s.text = append(s.text, '\n')
		end, bad := s.quoted(line, 0)
		if bad != nil || end == len(line) {
			return bad
		}
		at = end + 1
	}
	for {
		at = s.skipBlanks(line, at)
		s.cells = append(s.cells, cell{from: len(s.text), line: number, column: at + 1})
		var bad *stray
		if at < len(line) && line[at] == '"' {
			s.open = true
			at, bad = s.quoted(line, at+1)
		} else {
			at, bad = s.plain(line, at)
		}
		if bad != nil || at == len(line) {
			return bad
		}
		at++ // Past the separator; a last empty cell may follow it.
	}
}

// plain reads a cell without quotes up to the separator or the end of the line.
func (s *splitter) plain(line []byte, at int) (end int, bad *stray) {
	end = len(line)
	if n := bytes.IndexByte(line[at:], s.separator); n >= 0 {
		end = at + n
	}
	if n := bytes.IndexByte(line[at:end], '"'); n >= 0 {
		return end, &stray{at + n + 1, "quote inside a cell that does not open with one",
			`put the whole cell in quotes and double those inside: "5"" pipe"`}
	}
	s.text = append(s.text, line[at:end]...)
	s.close()
	return end, nil
}

// quoted reads the rest of a quoted cell, up to the separator behind the closing quote;
// without a closing quote it takes the whole line and leaves the cell open.
func (s *splitter) quoted(line []byte, at int) (end int, bad *stray) {
	for {
		n := bytes.IndexByte(line[at:], '"')
		if n < 0 {
			s.text = append(s.text, line[at:]...)
			return len(line), nil
		}
		s.text = append(s.text, line[at:at+n]...)
		at += n + 1
		if at == len(line) || line[at] != '"' {
			break
		}
		s.text = append(s.text, '"')
		at++
	}
	s.open = false
	s.close()
	at = s.skipBlanks(line, at)
	if at < len(line) && line[at] != s.separator {
		return at, &stray{at + 1, "text after a closing quote",
			`double the quotes inside a quoted cell: "5"" pipe"`}
	}
	return at, nil
}

func (s *splitter) close() { s.cells[len(s.cells)-1].to = len(s.text) }

func (s *splitter) skipBlanks(line []byte, at int) int {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') && line[at] != s.separator {
		at++
	}
	return at
}
