package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one object of a file: enough of it to be chosen.
type document struct {
	node       *yaml.Node
	kind       string
	apiVersion string
	name       string
	namespace  string
	line       int
	load       func() (*Workload, error) // reads what is no Kubernetes object; nil for those that are
}

func (d document) String() string { return strings.ToLower(d.kind) + "/" + d.name }

// documents returns the workloads of the file. Objects of other kinds are passed over, unless
// there is nothing else: then the error tells what was found instead.
func (s *source) documents() ([]document, error) {
	if f := s.textFormat(); f != nil {
		return f.read(s)
	}
	roots, err := s.roots()
	if err != nil {
		return nil, err
	}
	if docs, ok, err := s.yamlFormat(roots); ok {
		return docs, err
	}
	var workloads, others []document
	for _, root := range roots {
		doc, err := s.head(root)
		switch {
		case err != nil:
			return nil, err
		case doc.kind == "":
			continue
		case isCloudRun(doc.kind, doc.apiVersion):
			doc.load = func() (*Workload, error) { return s.cloudRun(doc) }
			workloads = append(workloads, doc)
		case isWorkload(doc.kind, doc.apiVersion):
			workloads = append(workloads, doc)
		default:
			others = append(others, doc)
		}
	}
	switch {
	case len(workloads) > 0:
		s.scalers = s.autoscalers(others)
		return workloads, nil
	case len(others) > 0:
		return nil, s.noWorkload(others)
	}
	return nil, s.stranger(roots)
}

// lists are the objects that hold others: what kubectl prints of several, the API of all of a
// kind, whose items leave kind and apiVersion out, and the functions of kustomize.
var lists = regexp.MustCompile(`^(Resource|(` + strings.Join(slices.Sorted(maps.Keys(kinds)), "|") + `))?List$`)

// roots splits the stream, and unpacks the items of lists. A list inside a list is left as it
// is: kubectl writes none, and an alias could make one that contains itself.
func (s *source) roots() ([]*yaml.Node, error) {
	var roots []*yaml.Node
	data := s.data
	if text := bytes.TrimSpace(data); bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
		// JSON may be indented with tabs, which YAML refuses; inside of its strings there are none.
		data = bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '})
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, s.syntaxError(err)
		}
		if len(doc.Content) == 0 {
			continue
		}
		r := &reader{src: s}
		root := doc.Content[0]
		if m := lists.FindStringSubmatch(r.plainText(root, "kind")); m != nil {
			roots = append(roots, r.listed(root, m[2])...)
		} else if !isNull(root) {
			roots = append(roots, root)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return roots, nil
}

// listed is the items of a list; those of one kind are given it where they leave it out.
func (r *reader) listed(root *yaml.Node, kind string) []*yaml.Node {
	items := r.items(root, "items")
	_, version := r.find(root, "apiVersion")
	for i, item := range items {
		if kind == "" || version == nil || item.Kind != yaml.MappingNode || r.child(item, "kind") != nil {
			continue
		}
		whole := *item
		whole.Content = append([]*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "apiVersion", Line: item.Line, Column: item.Column}, version,
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "kind", Line: item.Line, Column: item.Column},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: kind, Line: item.Line, Column: item.Column},
		}, item.Content...)
		items[i] = &whole
	}
	return items
}

// head reads what a workload is chosen by. What is no Kubernetes object at all has no kind.
func (s *source) head(node *yaml.Node) (document, error) {
	node = resolve(node)
	if node.Kind != yaml.MappingNode {
		return document{}, nil
	}
	r := &reader{src: s}
	doc := document{node: node, line: node.Line, kind: r.text(node, "kind")}
	if proper, wrong := properKind(doc.kind); wrong {
		r.fail(r.child(node, "kind"), "kind", fmt.Sprintf("%q is not a kind", doc.kind), "write "+proper)
	}
	if _, ok := kinds[doc.kind]; ok {
		doc.apiVersion = r.text(node, "apiVersion")
	}
	if doc.kind == "Service" || doc.kind == "WorkerPool" {
		doc.apiVersion = r.plainText(node, "apiVersion")
	}
	if isWorkload(doc.kind, doc.apiVersion) || isCloudRun(doc.kind, doc.apiVersion) {
		meta := r.mapping(node, "metadata")
		doc.namespace = r.name(meta, "namespace")
		if doc.name = r.name(meta, "name"); doc.name == "" {
			doc.name = r.name(meta, "generateName")
		}
		if doc.name == "" {
			r.fail(node, "metadata.name", "is not set", "give the "+doc.kind+" a name")
		}
	}
	return doc, r.err
}

// noWorkload lists the kinds that were found, each once with all its lines.
func (s *source) noWorkload(docs []document) error {
	lines := make(map[string][]string)
	var order []string
	for _, doc := range docs {
		name := doc.kind
		if _, namesake := kinds[name]; namesake && doc.apiVersion != "" {
			name = doc.apiVersion + " " + name
		}
		if lines[name] == nil {
			order = append(order, name)
		}
		lines[name] = append(lines[name], fmt.Sprint(doc.line))
	}
	var found []string
	for _, name := range order {
		word := "line"
		if len(lines[name]) > 1 {
			word = "lines"
		}
		found = append(found, fmt.Sprintf("%s (%s %s)", name, word, strings.Join(lines[name], ", ")))
	}
	remedy := "name a file with a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob or Pod"
	if lines["run.googleapis.com/v1 Job"] != nil {
		remedy = "name a service or a worker pool: a job of Cloud Run runs to its end, and no deploy stops it"
	}
	if lines["Kustomization"] != nil {
		remedy = "build it first: kubectl kustomize . > rendered.yaml"
	}
	return s.nothing("holds no workload; found "+strings.Join(found, ", "), remedy)
}
