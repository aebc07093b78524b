package manifest

import (
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// foreignFormats are recognised by a line that no manifest has at its left margin.
var foreignFormats = []struct {
	name string
	line *regexp.Regexp
}{
	{"a systemd unit", regexp.MustCompile(`(?m)^\[(Unit|Service|Install)\]\s*$`)},
	{"a supervisord configuration", regexp.MustCompile(`(?m)^\[(supervisord|program:[^\]]+)\]\s*$`)},
	{"a fly.toml", regexp.MustCompile(`(?m)^(kill_signal|kill_timeout|primary_region)\s*=`)},
	{"a Nomad job", regexp.MustCompile(`(?m)^job\s+("[^"]*"|\[\[.*\]\])\s*\{`)},
	{"a Terraform (HCL) file", regexp.MustCompile(`(?m)^((resource|data|module|variable|provider)\s+"[^"]+"|locals|terraform)[^:]*\{`)},
	{"a Procfile", regexp.MustCompile(`(?m)^(web|worker): \S+ \S`)},
}

var manifestLine = regexp.MustCompile(`(?m)^(apiVersion|kind):`)

// foreignText names the format of a text that is not YAML, if it is a known one.
func (s *source) foreignText() string {
	if manifestLine.Match(s.data) {
		return ""
	}
	for _, format := range foreignFormats {
		if format.line.Match(s.data) {
			return format.name
		}
	}
	return ""
}

// stranger explains a file that is YAML and has no kind anywhere.
func (s *source) stranger(roots []*yaml.Node) error {
	if format := s.foreignText(); format != "" {
		return s.looksLike(format)
	}
	for _, root := range roots {
		if format := foreignYAML(s.file, resolve(root)); format != "" {
			return s.looksLike(format)
		}
	}
	for _, root := range roots {
		if root = resolve(root); root.Kind == yaml.MappingNode {
			return s.keyless(root)
		}
	}
	return s.refuse("holds no Kubernetes object", "name a file with a Deployment or StatefulSet")
}

// keyless is for mappings without a kind: parts of charts and kustomizations, or a manifest that
// lost its kind.
func (s *source) keyless(root *yaml.Node) error {
	r := &reader{src: s}
	switch {
	case r.child(root, "apiVersion") != nil && r.child(root, "spec") != nil:
		return s.at(root.Line, root.Column, "kind", "is not set", "write kind: Deployment or what it is")
	case r.child(root, "apiVersion") != nil:
		return s.refuse("has no kind; it looks like the Chart.yaml of a Helm chart",
			"render the chart and name the result: helm template . > rendered.yaml")
	case r.child(root, "resources") != nil && strings.HasPrefix(filepath.Base(s.file), "kustomization"):
		return s.refuse("is a kustomization", "build it first: kubectl kustomize . > rendered.yaml")
	}
	return s.refuse("has no kind and no apiVersion, so it is not a manifest; it looks like a values file of a Helm chart",
		"render the chart and name the result: helm template . -f "+s.file+" > rendered.yaml")
}

// foreignYAML names the format of a YAML or JSON file by its top-level keys.
func foreignYAML(file string, root *yaml.Node) string {
	r := &reader{src: &source{file: file}}
	if root.Kind == yaml.SequenceNode && len(root.Content) > 0 {
		if r.child(resolve(root.Content[0]), "image") != nil {
			return "a list of ECS container definitions"
		}
	}
	if root.Kind != yaml.MappingNode {
		return ""
	}
	services := r.child(root, "services")
	switch {
	case services != nil && services.Kind == yaml.MappingNode:
		return "a Docker Compose file"
	case services != nil && services.Kind == yaml.SequenceNode:
		return "a Render blueprint"
	case r.child(root, "containerDefinitions") != nil:
		return "an ECS task definition"
	case r.child(root, "deploymentConfiguration") != nil:
		return "an ECS service definition"
	}
	return ""
}

func (s *source) looksLike(format string) error {
	return s.refuse("looks like "+format+"; only Kubernetes manifests are read so far", "")
}
