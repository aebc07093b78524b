package manifest

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stranger explains a file that is YAML and has no kind anywhere.
func (s *source) stranger(roots []*yaml.Node) error {
	for _, root := range roots {
		if root = resolve(root); root.Kind == yaml.MappingNode {
			return s.keyless(root)
		}
	}
	return s.nothing("holds nothing that is read here", nameAnother)
}

// keyless is for mappings without a kind: parts of charts and kustomizations, or a manifest that
// lost its kind.
func (s *source) keyless(root *yaml.Node) error {
	r := &reader{src: s}
	switch {
	case r.child(root, "apiVersion") != nil && r.child(root, "spec") != nil:
		return s.at(root.Line, root.Column, "kind", "is not set", "write kind: Deployment or what it is")
	case r.child(root, "apiVersion") != nil:
		return s.nothing("has no kind; it looks like the Chart.yaml of a Helm chart",
			"render the chart and name the result: helm template . > rendered.yaml")
	case r.child(root, "resources") != nil && strings.HasPrefix(filepath.Base(s.file), "kustomization"):
		return s.nothing("is a kustomization", "build it first: kubectl kustomize . > rendered.yaml")
	case r.child(root, "AWSTemplateFormatVersion") != nil || r.child(root, "Resources") != nil:
		return s.nothing("looks like a CloudFormation template, which is not read",
			describeTask)
	case r.child(root, "include") != nil:
		return s.nothing("is a Compose file whose services stand in others", renderCompose)
	case r.child(r.child(root, "template"), "containers") != nil:
		return s.nothing("looks like what version 2 of the Cloud Run API writes, and version 1 is read",
			"export it: gcloud run services describe NAME --format export > service.yaml")
	}
	return s.nothing("has no kind and no apiVersion, so it is not a manifest; it looks like a values file of a Helm chart",
		"render the chart and name the result: helm template . -f "+s.file+" > rendered.yaml")
}
