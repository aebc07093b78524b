package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// language is a kind of template, known by how its tags open.
type language struct {
	open   string
	close  string
	tag    string
	remedy string // %s is the file
}

var (
	goTemplate = language{"{{", "}}", "a Helm or Go template tag", "render it first: helm template . > rendered.yaml"}
	jinja      = language{"{%", "%}", "a Jinja tag", "render it first: jinja2 %s > rendered.yaml, or the tool that fills it in"}
	erb        = language{"<%", "%>", "an ERB tag", "render it first: erb %s > rendered.yaml"}
	envsubst   = language{"${", "}", "a variable for envsubst", "fill it in first: envsubst < %s > rendered.yaml"}
)

var languages = []language{goTemplate, jinja, erb, envsubst}

// findTag gives the first tag in text and the byte it opens at.
func findTag(text string) (language, int, bool) {
	first, at := language{}, len(text)
	for _, l := range languages {
		if i := strings.Index(text, l.open); i >= 0 && i < at {
			first, at = l, i
		}
	}
	return first, at, first.open != ""
}

// cut leaves out what follows the tag that text begins with.
func (l language) cut(text string) string {
	if tag, _, closed := strings.Cut(text, l.close); closed {
		return tag + l.close
	}
	return text
}

// bareVariable is a variable of envsubst and Compose without braces; $$ is a plain $ to them.
var bareVariable = regexp.MustCompile(`(?:^|[^$])(\$[A-Za-z_][A-Za-z0-9_]*)`)

// rendered refuses a template tag in a value that is needed.
func (r *reader) rendered(node *yaml.Node, field string) bool {
	if r.isWorkedOut(node, field) {
		return false
	}
	if name := r.src.defaults[node]; name != "" && !slices.Contains(r.src.used, name) {
		r.src.used = append(r.src.used, name)
	}
	text := node.Value
	if isBareTag(node) {
		text = goTemplate.open
	}
	l, _, found := findTag(text)
	tag := l.open
	if bare := bareVariable.FindStringSubmatch(text); bare != nil && !found {
		l, found = envsubst, true
		tag, text = bare[1], bare[1] // It has no end of its own.
	}
	if !found {
		return true
	}
	// A folded value may have its tag on a later line: then the start of the value must do.
	row := []rune(r.src.row(node.Line))
	rest := string(row[min(node.Column-1, len(row)):])
	column := node.Column
	if i := strings.Index(rest, tag); i >= 0 {
		column += utf8.RuneCountInString(rest[:i])
		if tag == l.open {
			text = rest[i:]
		}
	}
	r.fail(&yaml.Node{Line: node.Line, Column: column}, field,
		fmt.Sprintf("holds %s, %s", r.src.dialect(l).tag, clip(l.cut(text))), r.src.renderRemedy(l))
	return false
}

// isBareTag recognises {{ .Value }} without quotes. To YAML it is a mapping whose only key is a
// mapping, so the parser lets it pass.
func isBareTag(node *yaml.Node) bool {
	if node.Kind != yaml.MappingNode || node.Style&yaml.FlowStyle == 0 || len(node.Content) != 2 {
		return false
	}
	key := node.Content[0]
	return key.Kind == yaml.MappingNode && key.Line == node.Line && key.Column == node.Column+1
}

// strayTag finds the tag that most likely keeps a file from being YAML: one that begins a line
// or a value. A tag within a value is harmless, unless the parser stumbled on that very line.
func (s *source) strayTag(badLine int) (l language, line, column int, found bool) {
	for i, row := range s.lines() {
		if strings.HasPrefix(strings.TrimSpace(row), "#") {
			continue
		}
		l, at, ok := findTag(row)
		if !ok || l == envsubst {
			continue
		}
		before := strings.TrimSpace(row[:at])
		if before == "" || strings.HasSuffix(before, ":") || strings.HasSuffix(" "+before, " -") || i+1 == badLine {
			return l, i + 1, utf8.RuneCountInString(row[:at]) + 1, true
		}
	}
	return language{}, 0, 0, false
}

// dialect tells Jinja from Go: both write {{ }}, only Jinja writes {% %}.
func (s *source) dialect(l language) language {
	if l == goTemplate && bytes.Contains(s.data, []byte(jinja.open)) {
		return jinja
	}
	return l
}

func (s *source) renderRemedy(l language) string {
	if l == envsubst && s.renderer != "" {
		return s.renderer
	}
	return strings.ReplaceAll(s.dialect(l).remedy, "%s", s.file)
}

// clip keeps the start of a long tag.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return text
}
