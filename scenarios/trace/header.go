package trace

import (
	"bytes"
	"fmt"
	"strings"
)

// columns says where the cells of a job stand in each record.
type columns struct {
	arrival, duration int
	kind              int // -1 when the file has no such column
	count             int
}

const separators = ",;\t|"

// findHeader looks for arrival and duration with each separator. Nil means that this is
// not the header of a CSV trace.
func findHeader(line []byte) *splitter {
	for _, separator := range []byte(separators) {
		s := &splitter{separator: separator}
		if s.feed(line, 1) == nil && !s.open && s.find("arrival") != nil && s.find("duration") != nil {
			return s
		}
	}
	return nil
}

// find returns the cells that hold a name, in any case.
func (s *splitter) find(name string) (at []int) {
	for i := range s.cells {
		if strings.EqualFold(string(s.value(i)), name) {
			at = append(at, i)
		}
	}
	return at
}

// newCSV reads the rows below a header that findHeader has split.
func newCSV(l *lines, header *splitter, k *kinds) (rows, error) {
	c := &csvRows{lines: l, split: splitter{separator: header.separator}, kinds: k}
	c.columns = columns{kind: -1, count: len(header.cells)}
	for _, column := range []struct {
		name string
		at   *int
	}{{"arrival", &c.columns.arrival}, {"duration", &c.columns.duration}, {"kind", &c.columns.kind}} {
		found := header.find(column.name)
		if len(found) > 1 {
			return nil, l.fail(header.cells[found[1]].column, column.name,
				fmt.Sprintf("header names %s twice", column.name), "rename one of the two columns")
		}
		if len(found) == 1 {
			*column.at = found[0]
		}
	}
	return c, nil
}

// What is said of a history of faults that was taken for a job trace.
const (
	isFaults     = "is a history of faults, not a trace of jobs"
	faultsRemedy = "name it in a scenario: faults: {trace: FILE}"
)

// unknownHeader explains why the first line opens neither a CSV nor an SWF trace.
func unknownHeader(l *lines) error {
	const want = "open a CSV file with the line arrival,duration,kind, or name its columns with --map arrival=COLUMN,duration=COLUMN"
	line := l.text
	if bytes.IndexByte(line, '\r') >= 0 {
		return l.fail(bytes.IndexByte(line, '\r')+1, "", "line has a carriage return inside", "end lines with a line feed")
	}
	header, err := splitHeader(l)
	if err != nil {
		return err
	}
	if looksLikeFleet(line) || header.find("Prob Started") != nil || header.find("seat") != nil && header.find("time") != nil {
		return l.fail(1, "", "file "+isFaults, faultsRemedy)
	}
	if _, v := parseLength(header.value(0)); v != malformed || looksLikeDate(header.value(0)) {
		return l.fail(1, "", "file has no header, its first line is a row", want)
	}
	return missingColumn(l, header, want)
}

func missingColumn(l *lines, header *splitter, want string) *Error {
	name := "arrival"
	if header.find(name) != nil {
		name = "duration"
	}
	problem := fmt.Sprintf("header has no column %s", name)
	if name == "arrival" && nearest(header, "duration") < 0 && isDeploys(header) {
		want += "; if these are deploys, name it in a scenario: deploys: {trace: FILE}"
		return l.fail(1, name, problem, want)
	}
	near := nearest(header, name)
	if near < 0 {
		return l.fail(1, name, problem, want)
	}
	return l.fail(header.cells[near].column, name, problem,
		fmt.Sprintf("did you mean %s? rename it to %s, in seconds, or name the columns with --map %s", quote(header.value(near)), name, "arrival=COLUMN,duration=COLUMN"))
}

// isDeploys reports whether a header has what a history of deploys needs.
func isDeploys(header *splitter) bool {
	for i := range header.cells {
		if strings.HasPrefix(strings.ToLower(string(header.value(i))), "time") {
			return true
		}
	}
	return false
}

// aliases are names that other logs give to our columns.
var aliases = map[string][]string{
	"arrival":  {"arriv", "submit", "created", "create", "enqueued", "queued", "timestamp", "start", "time"},
	"duration": {"durat", "run_time", "runtime", "exec", "elapsed", "latency", "service", "took"},
}

// nearest returns the column that most likely means name, or -1. A slip of up to two
// letters comes before an alias.
func nearest(header *splitter, name string) int {
	for i := range header.cells {
		if distance(strings.ToLower(string(header.value(i))), name) <= 2 {
			return i
		}
	}
	for _, alias := range aliases[name] {
		for i := range header.cells {
			if strings.Contains(strings.ToLower(string(header.value(i))), alias) {
				return i
			}
		}
	}
	return -1
}

// distance is the number of letters to insert, delete or replace between two words. A
// word far longer than the other is not worth the work and counts as its length.
func distance(word, name string) int {
	if len(word) > len(name)+2 {
		return len(word)
	}
	above := make([]int, len(name)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(word) {
		left := i + 1
		for j := range len(name) {
			here := min(left, above[j+1]) + 1
			if word[i] == name[j] {
				here = min(here, above[j])
			} else {
				here = min(here, above[j]+1)
			}
			above[j], left = left, here
		}
		above[len(name)] = left
	}
	return above[len(name)]
}

func likelySeparator(line []byte) byte {
	likely, most := separators[0], -1
	for _, separator := range []byte(separators) {
		if n := bytes.Count(line, []byte{separator}); n > most {
			likely, most = separator, n
		}
	}
	return likely
}

func separatorName(separator byte) string {
	return map[byte]string{',': "a comma", ';': "a semicolon", '\t': "a tab", '|': "a bar"}[separator]
}

func shellSeparator(separator byte) string {
	return map[byte]string{',': ",", ';': "';'", '\t': `$'\t'`, '|': "'|'"}[separator]
}
