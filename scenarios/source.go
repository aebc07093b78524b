package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxBytes bounds a scenario file; people write them by hand.
const maxBytes = 1 << 20

// source is the text of one file; errors quote from it.
type source struct {
	file string
	data []byte
	rows []string
}

// lineBreak matches what the YAML parser counts as the end of a line.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// newSource refuses what cannot be text before the parser sees it, since the parser does not
// say where such a byte stands.
func newSource(file string, data []byte) (*source, *Error) {
	s := &source{file: file, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	switch {
	case len(data) > maxBytes:
		return nil, s.whole(fmt.Sprintf("is larger than %d MiB", maxBytes>>20), "name a scenario, not a trace")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, s.whole("is UTF-16 text", "save it as UTF-8")
	case len(bytes.TrimSpace(s.data)) == 0:
		return nil, s.whole("is empty", "start from `simulate scenarios show "+DefaultName+"`")
	}
	for i := 0; i < len(s.data); {
		r, size := utf8.DecodeRune(s.data[i:])
		invalid := r == utf8.RuneError && size == 1
		control := r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if invalid || control {
			before := lineBreak.Split(string(s.data[:i]), -1)
			column := utf8.RuneCountInString(before[len(before)-1]) + 1
			s.rows = lineBreak.Split(string(s.data), -1)
			return nil, s.at(len(before), column, "", "holds a byte here that UTF-8 text does not hold", "name a YAML file, saved as UTF-8")
		}
		i += size
	}
	s.rows = lineBreak.Split(string(s.data), -1)
	return s, nil
}

// root returns the mapping that the file is.
func (s *source) root() (*yaml.Node, *Error) {
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(s.data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, s.whole("holds only comments", "start from `simulate scenarios show "+DefaultName+"`")
	} else if err != nil {
		return nil, s.syntaxError(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, s.at(second.Line, second.Column, "", "begins a second document", "write one scenario per file")
	} else if !errors.Is(err, io.EOF) {
		return nil, s.syntaxError(err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, s.at(root.Line, root.Column, "", "is not a mapping", "write keys and values, for example duration: 6h")
	}
	return root, nil
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// parserStage marks the messages of the YAML parser proper, whose lines count from 0;
	// those of its scanner count from 1.
	parserStage = regexp.MustCompile(`did not find expected (key|node content|'-' indicator|<document start>|',' or)`)
)

// syntaxError places the parser's message, which has a line at best.
func (s *source) syntaxError(err error) *Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line, numbered := 1, false
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // Only digits matched.
		message, numbered = strings.TrimPrefix(message, m[0]), true
	}
	if numbered && parserStage.MatchString(message) {
		line++
	}
	line = max(1, min(line, len(s.rows)))
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		return s.unknownAlias("*"+m[1], line)
	}
	for l := line; l <= min(line+1, len(s.rows)); l++ { // The parser may have given up a line early.
		row := s.rows[l-1]
		blanks := row[:len(row)-len(strings.TrimLeft(row, " \t"))]
		if i := strings.IndexByte(blanks, '\t'); i >= 0 {
			return s.at(l, i+1, "", "is indented with a tab, which YAML does not allow", "indent with spaces")
		}
	}
	row := s.rows[line-1]
	indent := utf8.RuneCountInString(row) - utf8.RuneCountInString(strings.TrimLeft(row, " \t"))
	return s.at(line, indent+1, "", "is not YAML: "+message, "check indentation, quotes and brackets from here on")
}

func (s *source) unknownAlias(alias string, line int) *Error {
	column := 1
	for i, row := range s.rows {
		if at := strings.Index(row, alias); at >= 0 {
			line, column = i+1, utf8.RuneCountInString(row[:at])+1
			break
		}
	}
	return s.at(line, column, "", fmt.Sprintf("alias %s has no anchor before it", alias),
		fmt.Sprintf("write &%s before the value it stands for", alias[1:]))
}

// whole reports a problem with the file as such.
func (s *source) whole(problem, remedy string) *Error {
	return &Error{File: s.file, Problem: problem, Remedy: remedy}
}

func (s *source) at(line, column int, field, problem, remedy string) *Error {
	e := &Error{File: s.file, Line: line, Column: column, Field: field, Problem: problem, Remedy: remedy}
	if line >= 1 && line <= len(s.rows) {
		e.Source = s.rows[line-1]
	}
	return e
}
