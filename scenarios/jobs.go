package scenarios

import (
	"fmt"
	"slices"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// maxKinds bounds the kinds of one scenario: every worker keeps estimates per kind.
const maxKinds = 64

// jobsKeys is a mapping from the name of a kind to the kind, in the order of the file, or a
// trace.
type jobsKeys struct {
	place
	kinds []kindKeys
	trace *traceKeys // instead of kinds
}

func (j *jobsKeys) read(r *reader, k key, p place) {
	const write = "write kinds by name, for example render: {arrivals: {poisson: 13/s}, duration: 45s}"
	if p.node.Kind != yaml.MappingNode {
		r.fail(p, "is not a mapping", write)
		return
	}
	entries := r.pairs(p, nil)
	if slices.ContainsFunc(entries, func(e entry) bool { return e.name == "trace" }) {
		j.trace = new(traceKeys)
		r.mapping(j.trace, p)
		return
	}
	if len(p.node.Content) == 0 {
		r.fail(p, "is empty, so there is nothing to do", write)
	}
	for i, e := range entries {
		if i == maxKinds {
			r.fail(e.place, fmt.Sprintf("is one more than %d kinds", maxKinds), "merge kinds that behave alike")
			return
		}
		if e.name == "map" && r.namesColumns(e.node) {
			r.fail(e.place, "names the columns of a trace, and there is none", "write trace: FILE beside it, or drop it")
			return
		}
		if !isName(e.name) {
			r.fail(place{node: e.node, field: p.field}, quote(e.name)+" is not a name for a kind", "use up to 256 printable characters")
		}
		kind := kindKeys{name: e.name}
		r.mapping(&kind, e.place)
		j.kinds = append(j.kinds, kind)
	}
}

// namesColumns reports whether a kind called map is none, but what belongs to a trace: a kind has
// arrivals and a duration.
func (r *reader) namesColumns(node *yaml.Node) bool {
	if node.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(node.Content); i += 2 {
		if slices.Contains([]string{"arrival", "end", "kind"}, node.Content[i].Value) {
			return true
		}
	}
	return false
}

func isName(name string) bool {
	if name == "" || len(name) > 256 {
		return false
	}
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}
