package scenarios

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/internal/spelling"
)

// reader decodes the YAML tree by the table of keys. It goes on after a problem, so that the
// one to report is the first of the file, not the first of the table.
type reader struct {
	src      *source
	problems []problem
	remarks  []string                 // of what the scenario names
	ours     map[*yaml.Node]*Override // nodes that are not in the file
}

// problem is an error and the place in the scenario that led to it, be it in another file.
type problem struct {
	line, column int
	err          *Error
}

// place is where a value is written. Its node is nil when the key is not written and the
// value is the default.
type place struct {
	node  *yaml.Node
	field string
}

func (p *place) setPlace(to place) { *p = to }
func (p place) written() bool      { return p.node != nil }

// position of a value; what is not written is missed at the top of the file.
func (p place) position() (line, column int) {
	if p.node == nil {
		return 1, 1
	}
	return p.node.Line, p.node.Column
}

func (r *reader) fail(p place, problem, remedy string) {
	if o := r.ours[p.node]; o != nil {
		r.elsewhere(p, &Error{File: o.From, Field: p.field, Problem: problem, Remedy: remedy})
		return
	}
	line, column := p.position()
	r.elsewhere(p, r.src.at(line, column, p.field, problem, remedy))
}

// elsewhere reports an error in a file that the value at p names.
func (r *reader) elsewhere(p place, err *Error) {
	line, column := p.position()
	r.problems = append(r.problems, problem{line, column, err})
}

// first returns the problem that is written first.
func (r *reader) first() *Error {
	if len(r.problems) == 0 {
		return nil
	}
	return slices.MinFunc(r.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	}).err
}

// mapping fills the struct that into points to. Without a node it fills in defaults only.
func (r *reader) mapping(into any, p place) {
	target := reflect.ValueOf(into).Elem()
	keys := keysOf(target.Type())
	into.(interface{ setPlace(place) }).setPlace(p)
	written := map[string]place{}
	before := len(r.problems)
	if p.node != nil {
		if p.node.Kind != yaml.MappingNode {
			r.fail(p, "is not a mapping", "write it as "+example(p.field, keys))
			return
		}
		for _, e := range r.pairs(p, names(keys)) {
			written[e.name] = e.place
		}
	}
	misspelt := len(r.problems) > before // What is missing may stand there under another name.
	for _, k := range keys {
		at, ok := written[k.name]
		if !ok {
			at = place{field: join(p.field, k.name)}
		}
		if !ok && k.required && p.node != nil && !misspelt {
			r.fail(place{node: p.node, field: at.field}, "is missing", "write "+k.name+": "+k.about)
		}
		r.one(target.FieldByIndex(k.field).Addr().Interface(), k, at)
	}
}

// one decodes the value of one key.
func (r *reader) one(into any, k key, at place) {
	leaf, ok := into.(value)
	switch {
	case !ok:
		r.mapping(into, at)
	case at.node != nil:
		into.(interface{ setPlace(place) }).setPlace(at)
		leaf.read(r, k, at)
	default:
		into.(interface{ setPlace(place) }).setPlace(at)
		if k.def != "" {
			leaf.read(r, k, place{node: parseDefault(k.def), field: at.field})
		}
	}
}

// parseDefault turns the text of a default into what the parser would have made of it.
func parseDefault(text string) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		panic(fmt.Sprintf("scenarios: the table has the default %q, which is not YAML: %v", text, err))
	}
	return doc.Content[0]
}

// entry is a key and the place of its value.
type entry struct {
	name string
	place
}

// pairs returns the entries of a mapping in the order of the file. Without a list of valid
// keys any name is one.
func (r *reader) pairs(p place, valid []string) []entry {
	var found []entry
	lines := make(map[string]int, len(p.node.Content)/2)
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		k, v := p.node.Content[i], resolve(p.node.Content[i+1])
		at := place{node: k, field: join(p.field, k.Value)}
		switch {
		case k.Kind != yaml.ScalarNode:
			r.fail(place{node: k, field: p.field}, "has a key that is not text", "write plain keys")
			continue
		case valid != nil && !slices.Contains(valid, k.Value):
			r.fail(at, "is not a key", unknown(k.Value, valid))
		case lines[k.Value] > 0:
			r.fail(at, fmt.Sprintf("is written twice, first on line %d", lines[k.Value]), "keep one of them")
		case isNull(v):
			r.fail(at, "has no value", "write one, or drop the key")
		default:
			found = append(found, entry{k.Value, place{node: v, field: at.field}})
		}
		lines[k.Value] = k.Line
	}
	return found
}

func unknown(word string, valid []string) string {
	list := "valid are " + strings.Join(valid, ", ")
	if near := spelling.Nearest(word, valid); near != "" {
		return "did you mean " + near + "? " + list
	}
	return list
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// example shows the shape of a mapping by its first key.
func example(field string, keys []key) string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	if len(keys) == 0 {
		return name + ": {…}"
	}
	return fmt.Sprintf("%s: {%s: …}", name, keys[0].name)
}

// resolve follows an alias. YAML has no alias of an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
