package trace

import (
	"bytes"
	"fmt"
	"strconv"
)

// Fields of the Standard Workload Format, counted from zero.
const (
	swfSubmit     = 1
	swfRunTime    = 3
	swfExecutable = 13
	swfFields     = 18
)

var swfNames = map[int]string{swfSubmit: "submit time", swfRunTime: "run time", swfExecutable: "executable number"}

// swfRows reads the Standard Workload Format. Only the first 18 fields are split: logs
// append node lists and resource requests, which may contain blanks.
type swfRows struct {
	lines  *lines
	fields [swfFields]struct {
		text   []byte
		column int
	}
	kinds *kinds
	name  []byte // room to write exe-N
}

// looksLikeSWF recognises a comment, or a row whose first four fields are numbers.
func looksLikeSWF(line []byte) bool {
	if isComment(line) {
		return true
	}
	fields := bytes.Fields(line)
	if len(fields) < swfFields {
		return false
	}
	for _, field := range fields[:swfRunTime+1] {
		if _, v := parseSeconds(field); v == malformed {
			return false
		}
	}
	return true
}

func isComment(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(";")) }

func (s *swfRows) anyOrder() bool { return false }

func (s *swfRows) next() (r row, skip string, err error) {
	line, err := s.lines.nextFilled()
	for err == nil && isComment(line) {
		line, err = s.lines.nextFilled()
	}
	if err != nil {
		return row{}, "", err
	}
	if n := s.splitFields(line); n < swfFields {
		return row{}, "", s.lines.fail(len(line)+1, "", fmt.Sprintf("row has %d fields where SWF has %d", n, swfFields),
			"complete the row; -1 stands for an unknown value")
	}
	return s.job()
}

// job reads the three fields that matter. The first unknown time decides why it is skipped.
func (s *swfRows) job() (r row, skip string, err error) {
	r.line = uint32(s.lines.number)
	var v verdict
	if r.arrival, v, err = s.seconds(swfSubmit); err != nil {
		return row{}, "", err
	}
	if v == negative {
		if r.arrival != unknownTime {
			return row{}, "", s.fail(swfSubmit, "is negative", "write seconds since the start of the trace, or -1 if unknown")
		}
		skip = "unknown submit time"
	}
	if r.duration, v, err = s.seconds(swfRunTime); err != nil {
		return row{}, "", err
	}
	if v == negative && skip == "" {
		skip = "negative run time"
		if r.duration == unknownTime {
			skip = "unknown run time"
		}
	}
	r.kind, err = s.kind()
	return r, skip, err
}

const unknownTime = -1_000_000_000 // SWF's -1, in ns

func (s *swfRows) splitFields(line []byte) (n int) {
	for at := 0; n < swfFields; n++ {
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		if at == len(line) {
			break
		}
		from := at
		for at < len(line) && line[at] != ' ' && line[at] != '\t' {
			at++
		}
		s.fields[n].text, s.fields[n].column = line[from:at], from+1
	}
	return n
}

func (s *swfRows) seconds(at int) (int64, verdict, error) {
	ns, v := parseSeconds(s.fields[at].text)
	switch v {
	case malformed:
		return 0, v, s.fail(at, "is not a number", "write seconds, or -1 if unknown")
	case tooLarge:
		return 0, v, s.fail(at, "is more than 100 years", "write it in seconds, not in milliseconds")
	}
	return ns, v, nil
}

// kind names the program by its number. SWF numbers from 1 and writes -1 for unknown.
func (s *swfRows) kind() (int32, error) {
	number, err := strconv.ParseInt(string(s.fields[swfExecutable].text), 10, 64)
	if err != nil {
		return 0, s.fail(swfExecutable, "is not a whole number", "write the number of the program, or -1 if unknown")
	}
	if number < 0 {
		return 0, nil
	}
	s.name = strconv.AppendInt(append(s.name[:0], "exe-"...), number, 10)
	kind, problem := s.kinds.intern(s.name)
	if problem != "" {
		return 0, s.lines.fail(s.fields[swfExecutable].column, swfNames[swfExecutable], problem, kindRemedy)
	}
	return kind, nil
}

func (s *swfRows) unsorted(delivered row, window int) *Error {
	problem, remedy := explainUnsorted(swfNames[swfSubmit], s.fields[swfSubmit].text, delivered, window)
	return s.lines.fail(s.fields[swfSubmit].column, swfNames[swfSubmit], problem, remedy+"sort -k2,2n")
}

func (s *swfRows) fail(at int, problem, remedy string) *Error {
	f := s.fields[at]
	return s.lines.fail(f.column, swfNames[at],
		fmt.Sprintf("%s %s (field %d) %s", swfNames[at], quote(f.text), at+1, problem), remedy)
}
