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

// strangerFile is a file that says how something is deployed and that is not read: how it is known,
// what it is, and what to do instead.
type strangerFile struct {
	is      func(r *reader, root *yaml.Node) bool
	problem string
	remedy  string // %s is the file
}

func has(keys ...string) func(*reader, *yaml.Node) bool {
	return func(r *reader, root *yaml.Node) bool {
		for _, key := range keys {
			if r.child(root, key) == nil {
				return false
			}
		}
		return true
	}
}

// strangers are asked in this order; the last is whatever remains.
var strangers = []strangerFile{
	{has("AWSTemplateFormatVersion"), noECS, describeTask},
	{has("Resources"), noECS, describeTask},
	{has("include"), "is a Compose file whose services stand in others", renderCompose},
	{func(r *reader, root *yaml.Node) bool { return r.child(r.child(root, "template"), "containers") != nil },
		"looks like what version 2 of the Cloud Run API writes, and version 1 is read",
		"export it: gcloud run services describe NAME --format export > service.yaml"},
	{isOldCompose, "looks like version 1 of Compose, which has no services", "indent everything by two blanks, below a first line services:"},
	{func(r *reader, root *yaml.Node) bool {
		return r.child(r.child(root, "build"), "docker") != nil || has("run", "build")(r, root)
	},
		"looks like a heroku.yml, which says what runs and nothing about how it stops", "write supervisor: {kind: heroku} in a scenario, or name a Procfile with the same commands"},
	{has("formation"), isAppJSON, appJSONRemedy},
	{has("buildpacks"), isAppJSON, appJSONRemedy},
	{has("terraform_version"), "is what Terraform prints of a state or a plan", describeTask},
	{has("service", "servers"),
		"looks like a deploy.yml of Kamal, which stops containers as docker stop does", "write supervisor: {kind: docker, grace: 30s} in a scenario, with its drain_timeout for the grace"},
	{func(r *reader, root *yaml.Node) bool {
		return strings.Contains(r.plainText(root, "$schema"), "railway")
	},
		"looks like a configuration of Railway", "write supervisor: {kind: plain, grace: 30s} in a scenario, with its drainingSeconds for the grace"},
	{func(r *reader, root *yaml.Node) bool {
		return strings.HasSuffix(r.plainText(root, "type"), " Service") && r.child(root, "name") != nil
	}, "looks like a manifest of AWS Copilot", describeTask},
	{func(r *reader, root *yaml.Node) bool {
		return r.child(root, "kill_timeout") != nil || r.child(root, "primary_region") != nil
	},
		"looks like a configuration of Fly that is not TOML", "save it as TOML: fly config save --app NAME"},
	{func(*reader, *yaml.Node) bool { return true },
		"has no kind and no apiVersion, so it is not a manifest; it looks like a values file of a Helm chart",
		"render the chart and name the result: helm template . -f %s > rendered.yaml"},
}

const (
	noECS         = "looks like a CloudFormation template without AWS::ECS::Service and AWS::ECS::TaskDefinition, the only resources that are read"
	isAppJSON     = "looks like an app.json of Heroku, which says nothing about how a dyno stops"
	appJSONRemedy = "name the Procfile beside it"
)

// isOldCompose recognises services at the margin: each has an image or is built.
func isOldCompose(r *reader, root *yaml.Node) bool {
	for i := 1; i < len(root.Content); i += 2 {
		service := resolve(root.Content[i])
		if r.plainText(service, "image") == "" && r.child(service, "build") == nil { // Values of charts have a mapping there.
			return false
		}
	}
	return len(root.Content) > 0
}

// keyless is for mappings without a kind: parts of charts and kustomizations, manifests of other
// tools, or one that lost its kind.
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
	}
	for _, f := range strangers {
		if f.is(r, root) && r.err == nil {
			return s.nothing(f.problem, strings.ReplaceAll(f.remedy, "%s", s.file))
		}
	}
	return r.err
}
