package trace

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// looksLikeFleet recognises a row such as 35220000,remove,node170.
func looksLikeFleet(line []byte) bool {
	cells := bytes.Split(bytes.TrimSpace(line), []byte(","))
	return len(cells) == 3 && (string(bytes.TrimSpace(cells[1])) == "add" || string(bytes.TrimSpace(cells[1])) == "remove")
}

// readFleet reads the history of a spot fleet, which has no header.
func (f *faultReader) readFleet() error {
	rows := &table{csvRows: csvRows{lines: f.lines, split: splitter{separator: ','}, columns: columns{count: 3}},
		names: []string{"time in ms", "add or remove", "node"}}
	seats, up := map[string]int{}, map[string]bool{}
	return rows.each(func(cell func(int) []byte, fail func(int, string, string) error) error {
		at, v := parseShifted(cell(0), -3)
		if v != good {
			return fail(0, quote(cell(0))+" is not a number of milliseconds", "write those since the start, for example 35220000")
		}
		name := string(cell(2))
		seat, known := seats[name]
		switch {
		case len(seats) == maxEvents:
			return fail(2, fmt.Sprintf("%s is one more than %d nodes", quote(cell(2)), maxEvents), "cut the history in pieces")
		case string(cell(1)) == "add" && up[name]:
			return fail(2, quote(cell(2))+" is added and was not removed", "correct the row, or leave it out")
		case string(cell(1)) == "add":
			if !known {
				seats[name] = len(seats)
			}
			up[name] = true
			return nil
		case string(cell(1)) != "remove":
			return fail(1, quote(cell(1))+" is neither add nor remove", "write one of them")
		case !up[name]:
			return fail(2, quote(cell(2))+" is removed and was not added", "correct the row, or leave it out")
		}
		up[name] = false
		return f.add(at, seat, Preempt, spotNotice)
	})
}

// readSpotSeries reads {"metadata": {"gap_seconds": 32}, "data": [0, 1, …]}.
func (f *faultReader) readSpotSeries() error {
	s := &jsonScanner{lines: f.lines, line: 1, column: 1}
	var whole spot
	if _, err := s.blanks(); err != nil {
		return err
	}
	s.here(&whole)
	var gap int64
	var lost []int // samples
	data := false
	err := s.members(func(key []byte) (err error) {
		switch string(key) {
		case "metadata":
			return s.members(func(key []byte) (err error) {
				if string(key) != "gap_seconds" {
					_, _, err = s.value(nil)
					return err
				}
				gap, err = s.gap()
				return err
			})
		case "data":
			data = true
			lost, err = s.lost()
			return err
		}
		_, _, err = s.value(nil)
		return err
	})
	if err != nil {
		return err
	}
	if b, err := s.blanks(); err != io.EOF {
		if err != nil {
			return err
		}
		return s.broken(fmt.Sprintf("goes on behind the object with %q", b), "write one object")
	}
	switch {
	case gap == 0:
		return s.fail(&whole, []byte("{"), "metadata.gap_seconds", "object has no metadata.gap_seconds", "write the seconds between two samples")
	case !data:
		return s.fail(&whole, []byte("{"), "data", "object has no data", "write a list of 0 and 1, one for each sample")
	}
	for i, sample := range lost {
		if int64(sample) > int64(maxSpan)/gap {
			return s.fail(&whole, []byte("{"), "data", "series is longer than 100 years", "correct gap_seconds")
		}
		if err := f.add(int64(sample)*gap, i, Preempt, spotNotice); err != nil {
			return err
		}
	}
	return nil
}

// members reads an object; each is called at the value of every key.
func (s *jsonScanner) members(each func(key []byte) error) error {
	if err := s.want('{'); err != nil {
		return err
	}
	var key []byte
	for first := true; ; first = false {
		done, err := s.more('}', first)
		if done || err != nil {
			return err
		}
		if key, err = s.text(key[:0]); err != nil {
			return err
		}
		if err := s.want(':'); err != nil {
			return err
		}
		if err := each(key); err != nil {
			return err
		}
	}
}

func (s *jsonScanner) gap() (int64, error) {
	var at spot
	if _, err := s.blanks(); err != nil && err != io.EOF {
		return 0, err
	}
	s.here(&at)
	text, kind, err := s.value(nil)
	if err != nil {
		return 0, err
	}
	ns, v := parseSeconds(text)
	if kind != jsonNumber || v != good || ns == 0 {
		return 0, s.fail(&at, text, "metadata.gap_seconds", quote(text)+" is not a number of seconds above zero", "write the seconds between two samples")
	}
	return ns, nil
}

// lost reads the samples and returns those at which an instance that was up is up no more.
func (s *jsonScanner) lost() (at []int, err error) {
	if err := s.want('['); err != nil {
		return nil, err
	}
	var where spot
	var text []byte
	up := 0
	for n := 0; ; n++ {
		done, err := s.more(']', n == 0)
		if done || err != nil {
			return at, err
		}
		if _, err := s.blanks(); err != nil && err != io.EOF {
			return nil, err
		}
		s.here(&where)
		var kind jsonKind
		if text, kind, err = s.value(text[:0]); err != nil {
			return nil, err
		}
		now, err := strconv.Atoi(string(text))
		if err != nil || kind != jsonNumber || now < 0 || now > 1 {
			return nil, s.fail(&where, text, "data", quote(text)+" is neither 0 nor 1", "give the series of one instance")
		}
		if up == 1 && now == 0 {
			if len(at) == maxEvents {
				return nil, s.fail(&where, text, "data", fmt.Sprintf("series has more than %d preemptions", maxEvents), "cut it in pieces")
			}
			at = append(at, n)
		}
		up = now
	}
}
