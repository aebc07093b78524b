package manifest

import (
	"strings"
	"unicode/utf8"
)

// setting is one key of an INI file, with the place of its value.
type setting struct {
	section      string // without brackets
	key, value   string
	line, column int
}

// iniDialect is where INI files differ.
type iniDialect struct {
	comments     string // characters that begin a comment line
	inline       bool   // they also begin one behind a value, after a blank
	separators   string // any of them stands between key and value
	folded       bool   // keys are the same in any case
	backslash    bool   // a backslash at the end of a line goes on in the next one
	indented     bool   // an indented line goes on with the value before it
	needsSection bool   // a key before the first section is wrong
}

var (
	// systemd.syntax: comments by # and ;, "lines ending in a backslash are concatenated with
	// the following non-comment line".
	systemdINI = iniDialect{comments: "#;", separators: "=", backslash: true, needsSection: true}
	// Supervisor reads its files with Python's RawConfigParser and has comments behind values too.
	supervisorINI = iniDialect{comments: "#;", inline: true, separators: "=:", folded: true, indented: true, needsSection: true}
)

// ini splits an INI file into its settings, in the order of the file, and its sections with the
// line each begins on.
func (s *source) ini(d iniDialect) (settings []setting, sections []setting, err error) {
	section, open := "", false // open: the setting before goes on
	for i, row := range s.lines() {
		text := strings.TrimSpace(row)
		line, column := i+1, indent(row)
		switch {
		case text == "":
			open = open && d.indented // A blank line ends a backslash's line, and is part of nothing else.
		case strings.ContainsRune(d.comments, rune(text[0])):
		case open:
			last := &settings[len(settings)-1]
			text, open = d.goesOn(text)
			last.value = strings.TrimSpace(last.value + " " + text)
			open = open || d.indented && i+1 < len(s.lines()) && startsWithBlank(s.row(i+2))
		case text[0] == '[':
			name, rest, closed := strings.Cut(text[1:], "]")
			if !closed || strings.TrimSpace(rest) != "" && !strings.ContainsRune(d.comments, rune(strings.TrimSpace(rest)[0])) {
				return nil, nil, s.at(line, column, "", "is not a section", "write [Name] on a line of its own")
			}
			section = name
			sections = append(sections, setting{section: name, line: line, column: column})
		default:
			cut := strings.IndexAny(row, d.separators)
			if cut < 0 {
				return nil, nil, s.at(line, column, "", "is neither a section nor key=value", "write key=value")
			}
			key, value := row[:cut], row[cut+1:]
			if d.folded {
				key = strings.ToLower(key)
			}
			if d.needsSection && section == "" {
				return nil, nil, s.at(line, column, strings.TrimSpace(key), "stands before the first section", "move it below one")
			}
			at := utf8.RuneCountInString(key) + 1 + indent(value)
			if d.inline {
				value = d.uncommented(value)
			}
			value, open = d.goesOn(strings.TrimSpace(value))
			open = open || d.indented && startsWithBlank(s.row(line+1))
			settings = append(settings, setting{section, strings.TrimSpace(key), strings.TrimSpace(value), line, at})
		}
	}
	return settings, sections, nil
}

// uncommented is a value without the comment behind it.
func (d iniDialect) uncommented(value string) string {
	for i := range value {
		if strings.ContainsRune(d.comments, rune(value[i])) && i > 0 && (value[i-1] == ' ' || value[i-1] == '\t') {
			return value[:i]
		}
	}
	return value
}

// goesOn cuts the backslash off that continues a line.
func (d iniDialect) goesOn(text string) (string, bool) {
	if d.backslash && strings.HasSuffix(text, `\`) {
		return strings.TrimSuffix(text, `\`), true
	}
	return text, false
}

func startsWithBlank(row string) bool {
	return strings.TrimSpace(row) != "" && (row[0] == ' ' || row[0] == '\t')
}
