package manifest

import (
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/model"
)

// describeTask is the command that prints a task definition as it is in force.
const describeTask = "name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"

const containerDefinitions = "container_definitions" // of Terraform

// terraform reads ECS task definitions and services out of a Terraform file, as far as what is
// needed is written plainly in it. There is one workload per service, and one per task
// definition that no service of the file names.
func (s *source) terraform() ([]document, error) {
	root, err := s.hcl()
	if err != nil {
		return nil, err
	}
	tasks := make(map[string]*hclBlock)
	var services, lonely []*hclBlock
	for _, resource := range root.named("resource") {
		switch {
		case len(resource.labels) != 2:
		case resource.labels[0] == "aws_ecs_task_definition":
			tasks[resource.label()] = resource
			lonely = append(lonely, resource)
		case resource.labels[0] == "aws_ecs_service":
			services = append(services, resource)
		}
	}
	var docs []document
	served := make(map[string]bool)
	for _, service := range services {
		task := tasks[taskOf(service)]
		if task != nil {
			served[task.label()] = true
		}
		docs = append(docs, s.terraformWorkload(root, "service", service, task))
	}
	for _, task := range lonely {
		if !served[task.label()] {
			docs = append(docs, s.terraformWorkload(root, "task", task, task))
		}
	}
	if len(docs) == 0 {
		return nil, s.nothing("is a Terraform file without aws_ecs_service and aws_ecs_task_definition, the only resources that are read",
			"name the file that has them, or the manifest that they deploy")
	}
	return docs, nil
}

var taskReference = regexp.MustCompile(`(^|[^.A-Za-z0-9_-])aws_ecs_task_definition\.([A-Za-z0-9_-]+)[.\[]`)

// taskOf is the name of the task definition that a service runs. People write its arn, or put
// family and revision together, the newer one of this resource and of what is deployed.
func taskOf(service *hclBlock) string {
	v, _ := service.attr("task_definition")
	name := ""
	for _, m := range taskReference.FindAllStringSubmatch(v.everything(), -1) {
		if name != "" && name != m[2] {
			return "" // One of several.
		}
		name = m[2]
	}
	return name
}

// terraformWorkload joins a service with its task definition; of a task alone block and task are
// the same.
func (s *source) terraformWorkload(root *hclBlock, kind string, block, task *hclBlock) document {
	doc := document{kind: kind, name: block.label(), line: block.line}
	doc.load = func() (*Workload, error) {
		h := &hclReader{src: s, root: root, tool: describeTask}
		if task == nil {
			v, _ := block.attr("task_definition")
			h.fail(v, "task_definition", "is not in this file, and with it stopTimeout", "name a file that has both resources")
			return nil, h.err
		}
		supervisor := model.ECS
		if h.onFargate(block, task) {
			supervisor = model.Fargate
		}
		w := s.begin(&doc, supervisor, stopTimeout)
		h.w = w
		containers := h.containers(task)
		var rollout *ecsRollout
		if block != task {
			rollout = ecsDefaults(h.text(block, "scheduling_strategy", ""))
			rollout.tasks = h.count(block, "desired_count", rollout.tasks)
			rollout.minimum = h.count(block, "deployment_minimum_healthy_percent", rollout.minimum)
			rollout.maximum = h.count(block, "deployment_maximum_percent", rollout.maximum)
		}
		if h.err != nil {
			return nil, h.err
		}
		w.ecs(containers, rollout)
		return w, nil
	}
	return doc
}

func (h *hclReader) onFargate(service, task *hclBlock) bool {
	if v, _ := service.attr("launch_type"); v.text == "FARGATE" {
		return true
	}
	for _, strategy := range service.named("capacity_provider_strategy") {
		if v, _ := strategy.attr("capacity_provider"); strings.HasPrefix(v.text, "FARGATE") {
			return true
		}
	}
	v, _ := task.attr("requires_compatibilities")
	for _, item := range v.items {
		if item.text == "FARGATE" {
			return true
		}
	}
	return false
}

// containers reads container_definitions = jsonencode([…]), or a heredoc of JSON; other forms are
// not plain.
func (h *hclReader) containers(task *hclBlock) []ecsContainer {
	const key = containerDefinitions
	v, ok := task.attr(key)
	if !ok {
		v = hclValue{line: task.line, column: task.column}
		h.fail(v, key, "is not set", "name a file that has the containers")
		return nil
	}
	if strings.HasPrefix(string([]rune(h.src.row(v.line))[v.column-1:]), "<<") {
		return h.jsonContainers(v)
	}
	if v.kind != hclCall || v.text != "jsonencode" || len(v.items) != 1 || v.items[0].kind != hclList {
		h.fail(v, key, "is not a plain jsonencode([ … ])", describeTask)
		return nil
	}
	var containers []ecsContainer
	for _, item := range v.items[0].items {
		if item.kind != hclObject {
			h.fail(item, key, "holds an expression in place of a container", describeTask)
			return nil
		}
		containers = append(containers, h.container(item))
	}
	return containers
}

// jsonContainers reads containers out of a heredoc, whose text begins on the line below it.
func (h *hclReader) jsonContainers(v hclValue) []ecsContainer {
	inner := &source{file: h.src.file, data: []byte(strings.Repeat("\n", v.line) + quoteTags(v.text)), rows: h.src.lines(), renderer: h.tool}
	roots, err := inner.roots()
	if err != nil || len(roots) != 1 || roots[0].Kind != yaml.SequenceNode {
		h.fail(v, containerDefinitions, "is not a JSON list of containers as it stands", h.tool)
		return nil
	}
	r := &reader{src: inner, lines: h.w.Lines}
	var containers []ecsContainer
	for _, node := range roots[0].Content {
		containers = append(containers, r.ecsContainer(resolve(node)))
	}
	if h.err == nil {
		h.err = r.err
	}
	return containers
}

// quoteTags puts ${…} in quotes where it stands for a number, so that the rest is JSON, and takes
// the edge off the quotes that stand in it.
func quoteTags(text string) string {
	var b strings.Builder
	quoted, broken := false, false
	for at := 0; at < len(text); {
		size := 1
		switch rest := text[at:]; {
		case quoted && rest[0] == '\\' && len(rest) > 1:
			size = 2
		case strings.HasPrefix(rest, "$${"):
			size = len("$${")
		case rest[0] == '"':
			quoted = !quoted
		case strings.HasPrefix(rest, "${"):
			l := hclLexer{src: rest}
			if broken = broken || l.skipTemplate() != ""; broken { // Looking for each end anew could take for ever.
				l.at = len(envsubst.cut(rest))
			}
			tag := jsonEscapes.Replace(rest[:l.at])
			if !quoted {
				tag = `"` + tag + `"`
			}
			b.WriteString(tag)
			at += l.at
			continue
		}
		b.WriteString(text[at : at+size])
		at += size
	}
	return b.String()
}

var jsonEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// ecsProcess reads what is written plainly of what runs in a container.
func ecsProcess(v hclValue) Process {
	var p Process
	for _, key := range []string{"entryPoint", "command"} {
		words, ok := field(v.fields, key)
		if !ok || words.kind != hclList {
			continue
		}
		if p.Command == nil {
			p.CommandKey, p.CommandLine = key, words.line
		}
		for _, word := range words.items {
			p.Command = append(p.Command, word.text)
		}
	}
	environment, _ := field(v.fields, "environment")
	for _, item := range environment.items {
		name, _ := field(item.fields, "name")
		if value, _ := field(item.fields, "value"); name.text == grace.Variable {
			p.told(value.plain(), item.line)
		}
	}
	return p
}

func (h *hclReader) container(v hclValue) ecsContainer {
	c := ecsContainer{essential: true}
	name, _ := field(v.fields, "name")
	c.name = name.text
	c.process = ecsProcess(v)
	c.process.Name = c.name
	if essential, ok := field(v.fields, "essential"); ok {
		c.essential = essential.text != "false"
	}
	grace, ok := field(v.fields, stopTimeout)
	if !ok {
		h.slipIn(v.fields, stopTimeout)
		return c
	}
	if grace, ok = h.worked(grace, stopTimeout); !ok {
		return c
	}
	seconds, whole := grace.whole()
	if grace.kind != hclNumber || !whole || seconds > maxSeconds {
		h.fail(grace, stopTimeout, grace.text+" is not a whole number of seconds", "write a number such as 30")
	}
	c.grace, c.line = time.Duration(seconds)*time.Second, grace.line
	h.w.Lines["containers/"+c.name+"/"+stopTimeout] = grace.line
	return c
}
