package trace

import (
	"bytes"
	"fmt"
	"io"
)

// jsonRows reads objects: the elements of an array, one after the other (JSON lines), or the
// array "jobs" of an object, as GitHub's API answers; several of these may follow each other.
type jsonRows struct {
	scan     jsonScanner
	eval     evaluator
	mapped   bool
	array    bool // inside an array of rows
	first    bool // no element of it was read yet
	envelope bool // the array is one of an object
	began    int  // line of the object
	start    spot // of the object
	key      []byte
	names    []string // keys of the first object, for its errors
	cells    [roles][]byte
	spots    [roles]spot
	kinds    [roles]jsonKind
	values   [roles][]byte // room for the cells
}

func newJSON(l *lines, m Map, k *kinds) *jsonRows {
	j := &jsonRows{scan: jsonScanner{lines: l, line: 1, column: 1}, mapped: !m.IsZero(), eval: evaluator{kinds: k}}
	if j.mapped {
		j.eval.form = m.form()
	}
	return j
}

func (j *jsonRows) anyOrder() bool { return true }

func (j *jsonRows) next() (row, string, error) {
	found, err := j.object()
	if err != nil {
		return row{}, "", err
	}
	if !found {
		return row{}, "", io.EOF
	}
	for r := range roles {
		if j.eval.has(r) && j.cells[r] != nil && j.kinds[r] != jsonText && j.kinds[r] != jsonNumber {
			return row{}, "", j.fail(r, fmt.Sprintf("%s is neither text nor a number", roleNames[r]), "name a key with plain values")
		}
	}
	r, skip, bad := j.eval.job(&j.cells, j.began)
	if bad != nil {
		return row{}, "", j.fail(bad.role, bad.problem, bad.remedy)
	}
	return r, skip, nil
}

func (j *jsonRows) fail(r role, problem, remedy string) *Error {
	text := j.cells[r]
	if j.kinds[r] == jsonText {
		text = append(append([]byte{'"'}, text...), '"')
	}
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return j.scan.fail(&j.spots[r], text, roleNames[r], problem, remedy)
}

func (j *jsonRows) unsorted(delivered row, window int) *Error {
	at := roleArrival
	if !j.eval.has(at) {
		at = roleEnd
	}
	problem, _ := explainUnsorted(roleNames[at], j.cells[at], delivered, window)
	return j.fail(at, problem, "sort the file by arrival, or cut it in pieces")
}

// object reads the next object that is a row into cells; it reports false at the end.
func (j *jsonRows) object() (bool, error) {
	for {
		if j.array {
			done, err := j.scan.more(']', j.first)
			if err != nil {
				return false, err
			}
			j.first = false
			if !done {
				if b, err := j.scan.blanks(); err == nil && b != '{' {
					return false, j.scan.broken("element of the list is not an object", "write one object per job")
				}
				return true, j.members(false)
			}
			j.array = false
			if j.envelope {
				j.envelope = false
				if err := j.restOfEnvelope(); err != nil {
					return false, err
				}
			}
			continue
		}
		b, err := j.scan.blanks()
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case b == '[':
			j.scan.take(b)
			j.array, j.first = true, true
		case b == '{':
			if err := j.members(true); err != nil {
				return false, err
			}
			if !j.array {
				return true, nil
			}
		default:
			return false, j.scan.broken("is neither an object nor a list of objects", "write one object per job")
		}
	}
}

// members reads one object. At the top level it may turn out to be an envelope: then its
// array is entered and j.array set.
func (j *jsonRows) members(top bool) error {
	j.cells, j.kinds = [roles][]byte{}, [roles]jsonKind{}
	candidates := jsonForms
	if j.eval.form != nil {
		candidates = []*form{j.eval.form}
	}
	if _, err := j.scan.blanks(); err != nil && err != io.EOF {
		return err
	}
	j.scan.here(&j.start)
	j.began = j.scan.line
	if err := j.scan.want('{'); err != nil {
		return err
	}
	var all []member
	for first := true; ; first = false {
		done, err := j.scan.more('}', first)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if j.key, err = j.scan.text(j.key[:0]); err != nil {
			return err
		}
		if err := j.scan.want(':'); err != nil {
			return err
		}
		if b, err := j.scan.blanks(); top && err == nil && b == '[' && string(j.key) == "jobs" {
			j.scan.take(b)
			j.array, j.first, j.envelope = true, true, true
			return nil
		}
		if j.names == nil {
			m, err := j.member()
			if err != nil {
				return err
			}
			all = append(all, m)
			continue
		}
		if err := j.value(); err != nil {
			return err
		}
	}
	if j.names == nil {
		return j.choose(candidates, all)
	}
	return nil
}

// restOfEnvelope passes over what follows the array of rows in its object.
func (j *jsonRows) restOfEnvelope() error {
	for {
		done, err := j.scan.more('}', false)
		if done || err != nil {
			return err
		}
		if j.key, err = j.scan.text(j.key[:0]); err != nil {
			return err
		}
		if err := j.scan.want(':'); err != nil {
			return err
		}
		if j.key, _, err = j.scan.value(j.key[:0]); err != nil {
			return err
		}
	}
}

// value reads the value of j.key into its cell, or passes over it.
func (j *jsonRows) value() error {
	for r := range roles {
		if !j.eval.has(r) || string(j.key) != j.eval.columns[r].Name {
			continue
		}
		j.scan.here(&j.spots[r])
		again := j.cells[r] != nil
		var err error
		if j.values[r], j.kinds[r], err = j.scan.value(j.values[r][:0]); err != nil {
			return err
		}
		j.set(r, j.values[r], j.kinds[r])
		if again {
			return j.fail(r, fmt.Sprintf("object has the key %s twice", quote(j.key)), "keep one of them")
		}
		return nil
	}
	var err error
	j.key, _, err = j.scan.value(j.key[:0])
	return err
}

func (j *jsonRows) set(r role, text []byte, kind jsonKind) {
	if kind == jsonNull {
		text, kind = text[:0], jsonText
	}
	j.cells[r], j.kinds[r] = bytes.TrimSpace(text), kind
	if j.cells[r] == nil {
		j.cells[r] = []byte{} // There, and empty.
	}
}
