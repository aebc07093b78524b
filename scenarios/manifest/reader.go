package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader takes values out of YAML mappings. It keeps the first problem and from then on hands
// out defaults, so that callers read on and look at err once, at the end.
//
// A node is nil when its key is not written or its value is null, which is the same to the API
// server; every method takes a nil parent and finds nothing in it.
type reader struct {
	src     *source
	err     error
	prefix  string              // put before the keys of lines
	lines   map[string]int      // where each value that was taken is written; see mark
	checked map[*yaml.Node]bool // mappings known to have no key twice
	quoted  bool                // numbers may be written in quotes
}

func (r *reader) fail(node *yaml.Node, field, problem, remedy string) {
	if r.err == nil {
		r.err = r.src.at(node.Line, node.Column, field, problem, remedy)
	}
}

// child is the value of a key: the mapping's own one, else one merged into it. A decisive key that
// is misspelt is refused.
func (r *reader) child(parent *yaml.Node, key string) *yaml.Node {
	if parent == nil || r.err != nil {
		return nil
	}
	_, value := r.find(parent, key)
	if value == nil {
		r.refuseSlip(parent, key)
		return nil
	}
	if isNull(value) {
		return nil
	}
	return value
}

// mark remembers the line of a key. The value may begin on a later line, and an alias far away.
func (r *reader) mark(parent *yaml.Node, key string) int {
	if parent == nil || r.err != nil {
		return 0
	}
	k, value := r.find(parent, key)
	if k == nil || isNull(value) {
		return 0
	}
	r.lines[r.prefix+key] = k.Line
	return k.Line
}

// find returns a key, and its value: the mapping's own, else one merged into it.
func (r *reader) find(parent *yaml.Node, key string) (k, value *yaml.Node) {
	return r.findAny(parent, func(written string) bool { return written == key }, make(map[*yaml.Node]bool))
}

// findAny is find for the first of the keys that are meant. It visits each mapping once: merges may
// share, nest and even contain themselves, so that following every path could take for ever.
func (r *reader) findAny(parent *yaml.Node, meant func(string) bool, seen map[*yaml.Node]bool) (k, value *yaml.Node) {
	if parent.Kind != yaml.MappingNode || seen[parent] {
		return nil, nil
	}
	seen[parent] = true
	r.refuseTwins(parent)
	var merged []*yaml.Node
	for i := 0; i+1 < len(parent.Content); i += 2 {
		k, value := resolve(parent.Content[i]), resolve(parent.Content[i+1])
		switch {
		case k.Kind != yaml.ScalarNode:
		case k.ShortTag() == "!!merge" && value.Kind == yaml.SequenceNode:
			for _, item := range value.Content {
				merged = append(merged, resolve(item))
			}
		case k.ShortTag() == "!!merge":
			merged = append(merged, value)
		case meant(k.Value):
			return k, value
		}
	}
	for _, m := range merged {
		if k, value := r.findAny(m, meant, seen); k != nil {
			return k, value
		}
	}
	return nil, nil
}

// refuseTwins looks for a key that is written twice. Which one wins depends on the tool that
// applies the manifest, so neither can be trusted.
func (r *reader) refuseTwins(parent *yaml.Node) {
	if r.checked[parent] {
		return
	}
	if r.checked == nil {
		r.checked = make(map[*yaml.Node]bool)
	}
	r.checked[parent] = true
	first := make(map[string]int, len(parent.Content)/2)
	for i := 0; i < len(parent.Content); i += 2 {
		k := parent.Content[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
			continue
		}
		if line := first[k.Value]; line > 0 {
			r.fail(k, k.Value, fmt.Sprintf("is written twice, first on line %d", line), "keep one of them")
			return
		}
		first[k.Value] = k.Line
	}
}

func (r *reader) mapping(parent *yaml.Node, key string) *yaml.Node {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		r.fail(node, key, "is not a mapping", "write keys and values, indented below it")
		return nil
	}
	return node
}

func (r *reader) items(parent *yaml.Node, key string) []*yaml.Node {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.fail(node, key, "is not a list", "begin each item with a dash")
		return nil
	}
	items := make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		items[i] = resolve(item)
	}
	return items
}

// text is a string that must be known: names and choices, not commands.
func (r *reader) text(parent *yaml.Node, key string) string {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return ""
	}
	return r.str(node, key)
}

// objectName is the pattern of RFC 1123 that names of objects must match; a dash may end what is
// only the beginning of a name.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[-a-z0-9])?$`)

func (r *reader) name(parent *yaml.Node, key string) string {
	value := r.text(parent, key)
	if value != "" && !objectName.MatchString(value) {
		r.fail(r.child(parent, key), key, fmt.Sprintf("%q is not a name", value), "use small letters, digits, - and .")
	}
	return value
}

// choice is a string out of a few; fallback when it is not written.
func (r *reader) choice(parent *yaml.Node, key, fallback string, allowed ...string) string {
	value := r.text(parent, key)
	if value == "" {
		return fallback
	}
	r.mark(parent, key)
	if !slices.Contains(allowed, value) {
		r.fail(r.child(parent, key), key, fmt.Sprintf("%q is not known", value), "write "+strings.Join(allowed, " or "))
	}
	return value
}

// plainText is a string that may be missing or of another type; neither is an error.
func (r *reader) plainText(parent *yaml.Node, key string) string {
	if node := r.child(parent, key); node != nil && node.Kind == yaml.ScalarNode {
		return node.Value
	}
	return ""
}

// written is plainText, but for what CloudFormation works out: the name of a parameter is not its
// value.
func (r *reader) written(parent *yaml.Node, key string) string {
	if node := r.child(parent, key); node != nil && r.src.capital && isIntrinsic(node) {
		return ""
	}
	return r.plainText(parent, key)
}

// str insists on a string, as the API server does: a number needs quotes.
func (r *reader) str(node *yaml.Node, field string) string {
	switch {
	case node.Kind != yaml.ScalarNode:
		r.fail(node, field, "is not text", "write one line of text")
	case node.ShortTag() != "!!str" && node.ShortTag() != "!!timestamp":
		r.fail(node, field, node.Value+" is not text", fmt.Sprintf("put it in quotes: %q", node.Value))
	}
	return node.Value
}

// resolve follows an alias. YAML has no alias of an alias.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// result is what came of reading a workload: itself, or the first problem.
func (r *reader) result(w *Workload) (*Workload, error) {
	if r.err != nil {
		return nil, r.err
	}
	return w, nil
}
