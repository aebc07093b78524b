package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlValue is one key of a TOML file with its value as it is written; table is the dotted name
// of the table it stands in.
type tomlValue struct {
	table, key   string
	raw          string
	line, column int
}

// toml splits a TOML file into its keys (TOML 1.0). Values are not parsed but delimited: lists
// and long strings over several lines are passed over as a whole, so that what is not needed
// does no harm. Tables in [[ ]] have the same name each time.
func (s *source) toml() ([]tomlValue, error) {
	var values []tomlValue
	table := ""
	seen := make(map[string]int)
	for i := 0; i < len(s.lines()); i++ {
		row := s.lines()[i]
		text := strings.TrimSpace(row)
		line, column := i+1, indent(row)
		if text == "" || text[0] == '#' {
			continue
		}
		if text[0] == '[' {
			name, ok := tableName(text)
			if !ok {
				return nil, s.at(line, column, "", "is not a table", "write [name] on a line of its own")
			}
			table = name
			if strings.HasPrefix(text, "[[") {
				clear(seen) // the same keys again, in the next one
			}
			continue
		}
		key, raw, found := strings.Cut(row, "=")
		key = strings.TrimSpace(key)
		inner := table
		if outer, last, dotted := cutLast(key); dotted && !strings.ContainsAny(key, `"'`) {
			inner, key = strings.TrimPrefix(table+"."+outer, "."), last
		}
		key = strings.Trim(key, `"'`)
		if !found || key == "" {
			return nil, s.at(line, column, "", "is neither a table nor key = value", "write key = value")
		}
		if first := seen[inner+"\x00"+key]; first > 0 {
			return nil, s.at(line, column, key, "is written twice, first on line "+strconv.Itoa(first), "keep one of them")
		}
		seen[inner+"\x00"+key] = line
		at := utf8.RuneCountInString(row[:strings.IndexByte(row, '=')]) + 1 + indent(raw)
		raw, more := s.tomlRaw(strings.TrimSpace(raw), i)
		if more < 0 {
			return nil, s.at(line, at, key, "does not end", "close the bracket or the quotes")
		}
		i += more
		values = append(values, tomlValue{inner, key, raw, line, at})
	}
	return values, nil
}

// cutLast cuts a dotted key before its last part.
func cutLast(key string) (before, after string, dotted bool) {
	at := strings.LastIndexByte(key, '.')
	if at < 0 {
		return "", key, false
	}
	return strings.TrimSpace(key[:at]), strings.TrimSpace(key[at+1:]), true
}

// tableName takes [a.b] and [[a.b]] apart.
func tableName(text string) (string, bool) {
	text, _, _ = strings.Cut(text, "#")
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "[[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]]")
	} else {
		inner, ok = strings.CutSuffix(text[1:], "]")
	}
	inner = strings.TrimSpace(inner)
	return inner, ok && inner != "" && !strings.ContainsAny(inner, "[]")
}

// tomlRaw delimits the value that begins with raw on a line, less its comment, and counts the
// further lines it takes; -1 if it has no end.
func (s *source) tomlRaw(raw string, index int) (value string, more int) {
	depth, quote := 0, ""
	for more = 0; ; more++ {
		if more > 0 {
			if index+more >= len(s.lines()) {
				return "", -1
			}
			raw = s.lines()[index+more]
		}
		end := len(raw)
	scan:
		for at := 0; at < len(raw); at++ {
			rest := raw[at:]
			switch {
			case quote != "" && quote[0] == '"' && rest[0] == '\\':
				at++
			case quote != "" && strings.HasPrefix(rest, quote):
				at += len(quote) - 1
				quote = ""
			case quote != "":
			case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
				quote = rest[:3]
				at += 2
			case rest[0] == '"' || rest[0] == '\'':
				quote = rest[:1]
			case rest[0] == '[' || rest[0] == '{':
				depth++
			case rest[0] == ']' || rest[0] == '}':
				depth--
			case rest[0] == '#':
				end = at
				break scan
			}
		}
		value += strings.TrimSpace(raw[:end])
		switch {
		case depth < 0 || len(quote) == 1:
			return "", -1
		case depth == 0 && quote == "":
			return value, more
		}
		value += "\n"
	}
}

// text is a string value.
func (v tomlValue) text() (string, bool) {
	if len(v.raw) >= 2 && v.raw[0] == '\'' && v.raw[len(v.raw)-1] == '\'' {
		return v.raw[1 : len(v.raw)-1], true
	}
	if len(v.raw) >= 2 && v.raw[0] == '"' && !strings.HasPrefix(v.raw, `"""`) {
		text, err := strconv.Unquote(v.raw)
		return text, err == nil
	}
	return "", false
}
