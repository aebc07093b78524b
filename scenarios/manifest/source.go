package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxBytes bounds what is read into memory. The whole of a large cluster's manifests is a few
// MiB; a bigger file is most likely not a manifest.
const maxBytes = 16 << 20

const nameAnother = "name a file with a workload, such as a Deployment, a Compose service or a systemd unit"

// source is the text of one file; errors quote from it.
type source struct {
	file string
	data []byte
	rows []string // filled by row

	scalers []autoscaler
	capital bool // keys of ECS begin with a capital

	parameters *yaml.Node            // of CloudFormation, or nil
	defaults   map[*yaml.Node]string // values that are the default of a parameter, and which one
	used       []string              // those that were needed

	renderer string // how variables are filled in, where the format has a way of its own
}

// newSource refuses what cannot be text before any parser sees it.
func newSource(file string, data []byte) (*source, error) {
	s := &source{file: file, data: data}
	switch {
	case len(data) > maxBytes:
		return nil, s.refuse(fmt.Sprintf("is larger than %d MiB", maxBytes>>20),
			"cut the workload out into a file of its own")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, s.refuse("is UTF-16 text", "save it as UTF-8")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, s.nothing("is empty", nameAnother)
	}
	s.data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for i := 0; i < len(s.data); {
		r, size := utf8.DecodeRune(s.data[i:])
		invalid := r == utf8.RuneError && size == 1
		control := r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if invalid || control {
			line, column := s.position(i)
			return nil, s.at(line, column, "", "is not text: a byte that UTF-8 text does not hold stands here",
				"name a YAML file, saved as UTF-8")
		}
		i += size
	}
	return s, nil
}

// refuse reports a problem with the file as a whole.
func (s *source) refuse(problem, remedy string) *Error {
	return &Error{File: s.file, Problem: problem, Remedy: remedy}
}

// nothing reports a file that is none of those that are read here, or has no workload in it.
func (s *source) nothing(problem, remedy string) *Error {
	return &Error{File: s.file, Problem: problem, Remedy: remedy, NoWorkload: true}
}

func (s *source) at(line, column int, field, problem, remedy string) *Error {
	return &Error{File: s.file, Line: line, Column: column, Field: s.asWritten(field),
		Source: s.row(line), Problem: problem, Remedy: remedy}
}

// lineBreak matches what the YAML parser counts as the end of a line.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

func (s *source) lines() []string {
	if s.rows == nil {
		s.rows = lineBreak.Split(string(s.data), -1)
	}
	return s.rows
}

func (s *source) row(line int) string {
	if line < 1 || line > len(s.lines()) {
		return ""
	}
	return s.lines()[line-1]
}

// position turns a byte offset into line and column. The byte at offset may be invalid.
func (s *source) position(offset int) (line, column int) {
	before := lineBreak.Split(string(s.data[:offset]), -1)
	return len(before), utf8.RuneCountInString(before[len(before)-1]) + 1
}

// indent is the column of the first character of a line that is not a blank.
func indent(row string) int {
	return utf8.RuneCountInString(row) - utf8.RuneCountInString(strings.TrimLeft(row, " \t")) + 1
}
