package scenarios

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Override is one value of a scenario that is written elsewhere than in its file.
type Override struct {
	Path  string // the key with its parents: queue.lease, jobs.render.duration.p50
	Value string // as it would be written in the file
	From  string // who says so, for errors: --lease 30s
}

// LoadWith is [Load] with values in place of those in the file, as if somebody had edited it:
// whatever follows from them by default follows, and they are judged like everything else. Two
// things are made easier than in an editor. The name of a law may be left out on the way
// (jobs.render.duration.p50), and a heartbeat or margin that the file writes beside its lease
// keeps its share of an overridden lease, unless it is overridden itself.
//
// Every error is an [*Error]; one about an override has From in place of a file.
func LoadWith(nameOrPath string, overrides ...Override) (*model.Scenario, error) {
	file, data, err := find(nameOrPath)
	if err != nil {
		return nil, err
	}
	return parse(file, data, overrides)
}

// override writes overrides into the tree of the file.
func (r *reader) override(root *yaml.Node, overrides []Override) {
	r.ours = map[*yaml.Node]*Override{}
	shares := leaseShares(root, overrides)
	for i := range overrides {
		r.put(root, &overrides[i])
	}
	for i := range shares {
		r.put(root, &shares[i])
	}
}

// put writes one value into the tree. Mappings on the way that are not there are made.
func (r *reader) put(root *yaml.Node, o *Override) {
	at := root
	segments := strings.Split(o.Path, ".")
	for i, name := range segments {
		parent := strings.Join(segments[:i], ".")
		if name == "" {
			r.fault(o, "is not the path of a value", "write keys with dots between them, for example queue.lease")
			return
		}
		if at.Kind != yaml.MappingNode {
			r.fault(o, "does not lead to a value: "+parent+" is not a mapping here", "vary "+parent+" itself")
			return
		}
		next := lookup(at, name)
		if next == nil && parent == "jobs" {
			r.fault(o, "does not lead to a value: there is no kind "+name, unknown(name, keysWritten(at)))
			return
		}
		last := i == len(segments)-1
		switch {
		case next != nil && last:
			r.replace(next, o)
		case next != nil && next.Kind == yaml.AliasNode:
			*next = *copied(next.Alias) // What else refers to it keeps its value.
		case next == nil:
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
			next = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			r.ours[key], r.ours[next] = o, o
			if last {
				r.replace(next, o)
			}
			at.Content = append(at.Content, key, next)
		}
		at = next
	}
}

func keysWritten(mapping *yaml.Node) []string {
	var list []string
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		list = append(list, mapping.Content[i].Value)
	}
	return list
}

// replace makes a node the value of an override.
func (r *reader) replace(n *yaml.Node, o *Override) {
	*n = yaml.Node{Kind: yaml.ScalarNode, Value: o.Value}
	r.ours[n] = o
}

// fault reports a path that leads nowhere.
func (r *reader) fault(o *Override, problem, remedy string) {
	r.elsewhere(place{node: &yaml.Node{}}, &Error{File: o.From, Field: o.Path, Problem: problem, Remedy: remedy})
}

// lookup returns the value of a key. In {lognormal: {p50: 45s}} it finds p50 as well, since
// people think of the median of a duration, and a law is the only key of its mapping.
func lookup(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	if len(mapping.Content) == 2 && isLaw(mapping.Content[0].Value) {
		if inner := resolve(mapping.Content[1]); inner.Kind == yaml.MappingNode {
			return lookup(inner, name)
		}
	}
	return nil
}

func isLaw(name string) bool { return slices.Contains(names(keysOf(reflect.TypeFor[laws]())), name) }

func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor = ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = copied(n.Content[i])
	}
	return &c
}

// leaseShares are the overrides that follow from that of a lease.
func leaseShares(root *yaml.Node, overrides []Override) []Override {
	find := func(path string) *Override {
		i := slices.IndexFunc(overrides, func(o Override) bool { return o.Path == path })
		if i < 0 {
			return nil
		}
		return &overrides[i]
	}
	lease, queue := find("queue.lease"), lookup(root, "queue")
	if lease == nil || queue == nil || resolve(queue).Kind != yaml.MappingNode {
		return nil
	}
	was, now := writtenDuration(resolve(queue), "lease"), durationOf(lease.Value)
	if was == 0 {
		was = durationOf(defaultLease)
	}
	if now == 0 {
		return nil // The loader says what is wrong with it.
	}
	var shares []Override
	for _, name := range []string{"heartbeat", "margin"} {
		part := writtenDuration(resolve(queue), name)
		if part == 0 || find("queue."+name) != nil {
			continue
		}
		scaled, ok := roundRat(new(big.Rat).Mul(big.NewRat(int64(part), 1), big.NewRat(int64(now), int64(was))))
		if ok {
			shares = append(shares, Override{Path: "queue." + name, Value: protocol.Duration(scaled).String(), From: lease.From})
		}
	}
	return shares
}

// defaultLease is what the table of keys says.
var defaultLease = func() string {
	keys := keysOf(reflect.TypeFor[queueKeys]())
	return keys[slices.IndexFunc(keys, func(k key) bool { return k.name == "lease" })].def
}()

// writtenDuration returns 0 when the key is not written, or not well.
func writtenDuration(mapping *yaml.Node, name string) protocol.Duration {
	n := lookup(mapping, name)
	if n == nil || resolve(n).Kind != yaml.ScalarNode {
		return 0
	}
	return durationOf(resolve(n).Value)
}

func durationOf(text string) protocol.Duration {
	d, _, _ := parseDuration(text)
	return d
}

// blame makes an error about the file name the overrides it comes with: without them the file
// may be sound.
func blame(err *Error, overrides []Override) *Error {
	if len(overrides) == 0 || err.cause != nil {
		return err
	}
	var with []string
	for _, o := range overrides {
		if o.From == err.File {
			return err
		}
		with = append(with, fmt.Sprintf("%s %s (%s)", o.Path, o.Value, o.From))
	}
	blamed := *err
	blamed.Problem += ", with " + strings.Join(with, " and ")
	return &blamed
}
