package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// cloudFormation reads services and task definitions of ECS out of a template, as far as what is
// needed is written plainly in it or is the default of a parameter; the CDK writes such templates
// (AWS CloudFormation, "AWS::ECS::TaskDefinition", "AWS::ECS::Service"). ok is false when it has
// none of them.
func (s *source) cloudFormation(root *yaml.Node) (docs []document, ok bool, err error) {
	look := &reader{src: &source{file: s.file}}
	resources := look.child(root, "Resources")
	if resources == nil || resources.Kind != yaml.MappingNode {
		return nil, false, nil
	}
	s.capital, s.renderer, s.parameters, s.defaults = true, describeTask, look.child(root, "Parameters"), make(map[*yaml.Node]string)
	tasks, served := make(map[string]document), make(map[string]bool)
	var services, lonely []document
	for i := 0; i+1 < len(resources.Content); i += 2 {
		key, resource := resources.Content[i], resolve(resources.Content[i+1])
		doc := document{name: key.Value, line: key.Line}
		kind := look.plainText(resource, "Type")
		if kind != "AWS::ECS::Service" && kind != "AWS::ECS::TaskDefinition" {
			continue
		}
		properties := look.child(resource, "Properties")
		if properties == nil || properties.Kind != yaml.MappingNode {
			return nil, true, s.at(key.Line, key.Column, key.Value, "has no Properties", "name a template that says what runs")
		}
		doc.node = s.lowered(properties)
		if kind == "AWS::ECS::Service" {
			doc.kind = "service"
			services = append(services, doc)
		} else {
			doc.kind = "task"
			tasks[doc.name] = doc
			lonely = append(lonely, doc)
		}
	}
	for _, doc := range services {
		var task *yaml.Node
		where := "is not in this file"
		switch names := tasksNamed(look.child(doc.node, "taskDefinition"), tasks); len(names) {
		case 0:
		case 1:
			task, served[names[0]] = tasks[names[0]].node, true
		default:
			where = "CloudFormation chooses out of " + strings.Join(names, ", ")
		}
		if task == nil {
			doc.kind = "ecs-service" // As of a file that has the service alone.
		}
		doc.load = func() (*Workload, error) { return s.cloudFormationWorkload(&doc, doc.node, task, where) }
		docs = append(docs, doc)
	}
	for _, doc := range lonely {
		if !served[doc.name] {
			doc.load = func() (*Workload, error) { return s.cloudFormationWorkload(&doc, nil, doc.node, "") }
			docs = append(docs, doc)
		}
	}
	return docs, len(docs) > 0, nil
}

// tasksNamed are the task definitions of the template that a value, which may be nil, refers to.
func tasksNamed(at *yaml.Node, tasks map[string]document) []string {
	var names []string
	if at == nil {
		return nil
	}
	for _, name := range mentioned(at) {
		if tasks[name].node != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// cloudFormationWorkload joins a service and its task definition, one of which may be nil; where
// says where the task definition is that is nil.
func (s *source) cloudFormationWorkload(doc *document, service, task *yaml.Node, where string) (*Workload, error) {
	w := s.begin(doc, model.ECS, s.asWritten(stopTimeout))
	s.used = nil
	r := &reader{src: s, lines: w.Lines, quoted: true} // A template may write numbers in quotes.
	var (
		containers []ecsContainer
		rollout    *ecsRollout
		onService  bool
	)
	if service != nil {
		rollout, onService = r.ecsRollout(service)
	}
	if task == nil {
		w.note("%s stands in the task definition, which %s", w.GraceKey, where)
	} else {
		containers = r.ecsTaskContainers(r.child(task, "containerDefinitions"), task)
	}
	if onService || r.requiresFargate(task) {
		w.Supervisor = model.Fargate
	}
	if r.err != nil {
		return nil, r.err
	}
	for _, name := range s.used {
		w.note("the default of the parameter %s is used", name)
	}
	w.ecs(containers, rollout)
	return w, nil
}

// isWorkedOut refuses a value that only CloudFormation knows.
func (r *reader) isWorkedOut(node *yaml.Node, field string) bool {
	if !r.src.capital || !isIntrinsic(node) {
		return false
	}
	text := strings.TrimSpace(node.Tag + " " + node.Value)
	if node.Kind == yaml.MappingNode {
		text = node.Content[0].Value + " " + node.Content[1].Value
	}
	r.fail(node, field, "is worked out by CloudFormation, "+clip(strings.TrimSpace(text)), describeTask)
	return true
}
