package scenarios

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/protocol"
)

// items returns the places of the values of a list.
func (r *reader) items(p place, remedy string) []place {
	if p.node.Kind != yaml.SequenceNode {
		r.fail(p, "is not a list", remedy)
		return nil
	}
	if len(p.node.Content) == 0 {
		r.fail(p, "is empty", remedy)
	}
	list := make([]place, len(p.node.Content))
	for i, n := range p.node.Content {
		list[i] = place{node: resolve(n), field: fmt.Sprintf("%s[%d]", p.field, i)}
	}
	return list
}

// instantList is points in simulated time, in any order.
type instantList struct {
	place
	value  []protocol.Instant // rising
	places []place            // as written
	each   []protocol.Duration
}

func (l *instantList) read(r *reader, k key, p place) {
	for _, item := range r.items(p, "write a list such as [10m, 40m]") {
		var d duration
		before := len(r.problems)
		d.read(r, key{}, item)
		if len(r.problems) > before {
			continue
		}
		if slices.Contains(l.each, d.value) {
			r.fail(item, d.value.String()+" stands here for the second time", "name each instant once")
		}
		l.places, l.each = append(l.places, item), append(l.each, d.value)
		l.value = append(l.value, protocol.Instant(d.value))
	}
	slices.Sort(l.value)
}

func (*instantList) schema(key) object {
	return object{"type": "array", "minItems": 1, "uniqueItems": true, "items": object{"$ref": "#/$defs/duration"}}
}
