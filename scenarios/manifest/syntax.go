package manifest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// parserStage marks the messages of the YAML parser proper, whose lines count from 0; those
	// of its scanner count from 1.
	parserStage = regexp.MustCompile(`did not find expected (key|node content|'-' indicator|<document start>|',' or)`)
)

// syntaxError explains why a file is not YAML. The reasons are tried from the most to the least
// telling: a template, a tab, and only then the parser's own words.
func (s *source) syntaxError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // only digits matched
		message = strings.TrimPrefix(message, m[0])
	}
	if parserStage.MatchString(message) && line < len(s.lines()) && strings.HasPrefix(err.Error(), "yaml: line") {
		line++
	}
	line = min(line, len(s.lines()))

	if l, tagLine, column, found := s.strayTag(line); found {
		return s.at(tagLine, column, "", fmt.Sprintf("%s stands here, so this is a template and not YAML yet (line %d: %s)",
			s.dialect(l).tag, line, message), s.renderRemedy(l))
	}
	if tabLine, column, found := s.tabIndent(line); found {
		return s.at(tabLine, column, "", "is indented with a tab, which YAML does not allow", "indent with spaces")
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		line = s.firstLineWith("*" + m[1])
		column := max(strings.Index(s.row(line), "*"+m[1]), 0)
		return s.at(line, len([]rune(s.row(line)[:column]))+1, "", fmt.Sprintf("alias *%s has no anchor before it", m[1]),
			fmt.Sprintf("write &%s before the value it stands for", m[1]))
	}
	switch filepath.Ext(s.file) {
	case ".toml", ".timer", ".socket", ".ini", ".cfg", ".conf", ".hcl", ".txt", ".md", ".sh":
		return s.nothing("is of none of the forms that are read", nameAnother)
	case ".json":
		if strings.Contains(message, "<document start>") {
			return s.at(line, indent(s.row(line)), "", "is a second JSON value, and a file has one", `put them into one list: jq -s '{apiVersion: "v1", kind: "List", items: .}'`)
		}
		return s.at(line, indent(s.row(line)), "", "is not JSON: "+message, "check quotes, commas and brackets from here on")
	}
	return s.at(line, indent(s.row(line)), "", "is not YAML: "+message, "check indentation, quotes and brackets from here on")
}

// tabIndent looks for a tab in the indentation of the bad line, or of the next one: the parser
// may have given up at the end of the line before.
func (s *source) tabIndent(badLine int) (line, column int, found bool) {
	for line := badLine; line <= min(badLine+1, len(s.lines())); line++ {
		row := s.row(line)
		blanks := row[:len(row)-len(strings.TrimLeft(row, " \t"))]
		if i := strings.IndexByte(blanks, '\t'); i >= 0 && len(blanks) < len(row) {
			return line, i + 1, true
		}
	}
	return 0, 0, false
}

func (s *source) firstLineWith(text string) int {
	for i, row := range s.lines() {
		if strings.Contains(row, text) {
			return i + 1
		}
	}
	return 1
}
