package trace

import (
	"fmt"
	"slices"
	"strings"
)

// member is a key of the first object with its value, kept until the form is known.
type member struct {
	name string
	text []byte
	kind jsonKind
	at   spot
}

func (j *jsonRows) member() (m member, err error) {
	m.name = string(j.key)
	j.scan.here(&m.at)
	m.text, m.kind, err = j.scan.value(nil)
	return m, err
}

// choose takes the form whose times the first object has, and its cells.
func (j *jsonRows) choose(candidates []*form, all []member) error {
	j.names = []string{}
	for _, m := range all {
		j.names = append(j.names, m.name)
	}
	for _, f := range candidates {
		missing := j.missing(f, all)
		if j.mapped && missing != "" {
			return j.noKey(missing, all)
		}
		if missing == "" {
			j.eval.form = f
		}
		if j.eval.form != nil {
			break
		}
	}
	if j.eval.form == nil && slices.Contains(j.names, "metadata") && slices.Contains(j.names, "data") {
		return j.scan.fail(&j.start, []byte("{"), "", "object "+isFaults, faultsRemedy)
	}
	if j.eval.form == nil {
		if len(all) == 0 {
			return j.scan.fail(&j.start, []byte("{"), "", "object has no keys", "write one object per job, with arrival and duration")
		}
		return j.scan.fail(&j.start, []byte("{"), "", "object is not of a form that is known; it has "+listNames(j.names),
			"name its keys with --map arrival=KEY,duration=KEY"+unfold(all))
	}
	for _, m := range all {
		for r := range roles {
			if !j.eval.has(r) || m.name != j.eval.columns[r].Name {
				continue
			}
			again := j.cells[r] != nil
			j.spots[r] = m.at
			j.set(r, m.text, m.kind)
			if again {
				return j.fail(r, fmt.Sprintf("object has the key %s twice", quote([]byte(m.name))), "keep one of them")
			}
		}
	}
	return nil
}

// missing returns the first key of a form that the object does not have. What a form of
// others has beside the times may be left out.
func (j *jsonRows) missing(f *form, all []member) string {
	for r := range roles {
		if !f.has(r) || !j.mapped && r > roleEnd {
			continue
		}
		there := false
		for _, m := range all {
			there = there || m.name == f.columns[r].Name
		}
		if !there {
			return f.columns[r].Name
		}
	}
	return ""
}

// unfold says how to reach keys inside of others, if there may be some.
func unfold(all []member) string {
	for _, m := range all {
		if m.kind == jsonNested {
			return fmt.Sprintf("; keys inside of others, such as in %s, are not seen: unfold them first, for example with jq", strings.Map(visible, m.name))
		}
	}
	return ""
}

func (j *jsonRows) noKey(name string, all []member) *Error {
	remedy := "it has " + listNames(j.names) + unfold(all)
	if i := nearestName(j.names, name); i >= 0 {
		remedy = fmt.Sprintf("did you mean %s? %s", strings.Map(visible, j.names[i]), remedy)
	}
	return j.scan.fail(&j.start, []byte("{"), "", fmt.Sprintf("the first object has no key %s", quote([]byte(name))), remedy)
}
