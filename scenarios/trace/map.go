package trace

import (
	"fmt"
	"strings"
	"time"
)

// Map says which columns of a CSV or JSON file hold what. The zero Map leaves that to the
// format. A job needs two of arrival, duration and end; the third follows from them.
type Map struct {
	Arrival  Column
	Duration Column // execution time
	End      Column // when the execution ended
	Kind     Column // optional
}

// Column is a column of a CSV file, or a key of the objects of a JSON file.
type Column struct {
	Name string
	Unit time.Duration // of its plain numbers; 0 reads seconds, Go durations and dates
}

// units of a column, as they are written after a colon.
var units = []struct {
	name string
	size time.Duration
}{{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

const mapExample = "write it like arrival=created_at,duration=exec_ms:ms,kind=queue"

// ParseMap reads "arrival=COL,duration=COL:ms,kind=COL", where a name with a comma stands in double
// quotes. The error is one sentence with its remedy.
func ParseMap(text string) (Map, error) {
	var m Map
	for _, part := range splitMap(text) {
		role, name, ok := strings.Cut(part, "=")
		if !ok {
			return Map{}, fmt.Errorf("%q names no column; %s", part, mapExample)
		}
		if err := m.Set(strings.TrimSpace(role), strings.TrimSpace(name)); err != nil {
			return Map{}, err
		}
	}
	return m, m.Check()
}

// splitMap splits at commas, but for those of a name in quotes.
func splitMap(text string) (parts []string) {
	from, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '"' && (quoted || strings.HasSuffix(text[:i], "=")):
			quoted = !quoted
		case text[i] == ',' && !quoted:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// Set gives one role its column, written as NAME or NAME:UNIT; quotes around the name are not part of it.
func (m *Map) Set(role, text string) error {
	column := m.column(role)
	switch {
	case column == nil:
		return fmt.Errorf("%q is nothing a job has; it has arrival, duration, end and kind", role)
	case *column != Column{}:
		return fmt.Errorf("%s is given twice; name one column for it", role)
	}
	c, err := parseColumn(role, text)
	*column = c
	return err
}

func (m *Map) column(role string) *Column {
	switch role {
	case "arrival":
		return &m.Arrival
	case "duration":
		return &m.Duration
	case "end":
		return &m.End
	case "kind":
		return &m.Kind
	}
	return nil
}

// parseColumn takes what follows the last colon for the unit. A kind is no number and has none.
func parseColumn(role, text string) (Column, error) {
	if text == "" {
		return Column{}, fmt.Errorf("%s has no column; %s", role, mapExample)
	}
	colon := strings.LastIndexByte(text, ':')
	if name, ok := unquote(text); ok {
		return Column{Name: name}, nil
	}
	if strings.Count(text, `"`) == 1 && text[0] == '"' {
		return Column{}, fmt.Errorf("%s=%s: the quotes do not end; %s", role, text, mapExample)
	}
	if colon < 0 || role == "kind" {
		return Column{Name: text}, nil
	}
	for _, u := range units {
		if text[colon+1:] == u.name && colon > 0 {
			name := text[:colon]
			if inner, ok := unquote(name); ok {
				name = inner
			}
			return Column{name, u.size}, nil
		}
	}
	return Column{}, fmt.Errorf("%s=%s: %q is not a unit; write ns, us, ms, s, m, h or d after the last colon, after the whole name if that has a colon itself",
		role, text, text[colon+1:])
}

// Check reports a map that does not say when jobs come and how long they run.
func (m Map) Check() error {
	given := 0
	for _, c := range []Column{m.Arrival, m.Duration, m.End} {
		if c != (Column{}) {
			given++
		}
	}
	switch {
	case given == 2 && sameColumn(m.Arrival, m.Duration), given == 2 && sameColumn(m.Arrival, m.End), given == 2 && sameColumn(m.Duration, m.End):
		return fmt.Errorf("names one column for two of arrival, duration and end; name two")
	case given == 3:
		return fmt.Errorf("has one too many of arrival, duration and end, for the third follows from two; leave one out")
	case given < 2 && m.Arrival == (Column{}):
		return fmt.Errorf("does not say when jobs arrive; add arrival=COLUMN")
	case given < 2:
		return fmt.Errorf("does not say how long jobs run; add duration=COLUMN or end=COLUMN")
	}
	return nil
}

func sameColumn(a, b Column) bool { return a.Name != "" && a.Name == b.Name }

// IsZero reports whether the format decides what the columns are.
func (m Map) IsZero() bool { return m == Map{} }

// String writes the map as [ParseMap] reads it.
func (m Map) String() string {
	var parts []string
	for _, role := range []string{"arrival", "duration", "end", "kind"} {
		c := *m.column(role)
		if c == (Column{}) {
			continue
		}
		if strings.Contains(c.Name, ",") {
			c.Name = `"` + c.Name + `"`
		}
		text := role + "=" + c.Name
		for _, u := range units {
			if u.size == c.Unit {
				text += ":" + u.name
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// unquote returns what stands between double quotes, if text is nothing else.
func unquote(text string) (name string, ok bool) {
	if len(text) < 3 || text[0] != '"' || strings.IndexByte(text[1:], '"') != len(text)-2 {
		return "", false
	}
	return text[1 : len(text)-1], true
}
