package manifest

import (
	"maps"
	"regexp"
	"slices"
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
		names := tasksOf(root, service)
		var task *hclBlock
		if len(names) == 1 {
			task, served[names[0]] = tasks[names[0]], true
		}
		docs = append(docs, s.terraformWorkload(root, "service", service, task, names))
	}
	for _, task := range lonely {
		if !served[task.label()] {
			docs = append(docs, s.terraformWorkload(root, "task", task, task, nil))
		}
	}
	if len(docs) == 0 {
		return nil, s.nothing("is a Terraform file without aws_ecs_service and aws_ecs_task_definition, the only resources that are read",
			"name the file that has them, or the manifest that they deploy")
	}
	return docs, nil
}

var (
	taskReference  = regexp.MustCompile(`(?:^|[^.A-Za-z0-9_-])aws_ecs_task_definition\.([A-Za-z0-9_-]+)[.\[]`)
	throughAnother = regexp.MustCompile(`(?:^|[^.A-Za-z0-9_-])(local|data\.aws_ecs_task_definition)\.([A-Za-z0-9_-]+)`)
)

// tasksOf is the names of the task definitions that a service may run; it runs one. People write
// its arn, or put family and revision together, the newer one of this resource and of what is
// deployed, right there or in a local.
func tasksOf(root, service *hclBlock) []string {
	at, _ := service.attr("task_definition")
	var names []string
	seen := make(map[string]bool)
	for texts := []string{at.everything()}; len(texts) > 0; texts = texts[1:] {
		for _, m := range taskReference.FindAllStringSubmatch(texts[0], -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
		for _, m := range throughAnother.FindAllStringSubmatch(texts[0], -1) {
			if through := m[1] + "." + m[2]; !seen[through] {
				seen[through] = true
				texts = append(texts, meantBy(root, m[1], m[2]))
			}
		}
	}
	return names
}

// meantBy is what a local, or the task definition that a data source looks up, says.
func meantBy(root *hclBlock, kind, name string) string {
	text := ""
	for _, locals := range root.named("locals") {
		if v, ok := locals.attr(name); ok && kind == "local" {
			text += v.everything()
		}
	}
	for _, data := range root.named("data") {
		if v, ok := data.attr("task_definition"); ok && kind != "local" && slices.Equal(data.labels, []string{"aws_ecs_task_definition", name}) {
			text += v.everything()
		}
	}
	return text
}

// terraformWorkload joins a service with its task definition, which is nil when names says that
// it is not one of the file; of a task alone block and task are the same.
func (s *source) terraformWorkload(root *hclBlock, kind string, block, task *hclBlock, names []string) document {
	doc := document{kind: kind, name: block.label(), line: block.line}
	doc.load = func() (*Workload, error) {
		h := &hclReader{src: s, root: root, tool: describeTask}
		if task == nil {
			v, _ := block.attr("task_definition")
			if len(names) > 1 {
				h.fail(v, "task_definition", "is one of "+strings.Join(names, ", ")+", which only Terraform knows", describeTask)
			}
			h.fail(v, "task_definition", "is not in this file, and with it stopTimeout", "name a file that has both resources")
			return nil, h.err
		}
		w := s.begin(&doc, model.ECS, stopTimeout)
		h.w = w
		if h.onFargate(block, task) {
			w.Supervisor = model.Fargate
		}
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

// onFargate reports whether service or task definition say that tasks run on Fargate. What only
// Terraform knows is no reason to refuse the file: it matters to a long stopTimeout alone.
func (h *hclReader) onFargate(service, task *hclBlock) bool {
	type place struct {
		key   string
		value hclValue
	}
	launch, _ := service.attr("launch_type")
	places := []place{{"launch_type", launch}}
	for _, strategy := range service.named("capacity_provider_strategy") {
		provider, _ := strategy.attr("capacity_provider")
		places = append(places, place{"capacity_provider", provider})
	}
	const compatibilities = "requires_compatibilities"
	list := h.attr(task.attrs, compatibilities)
	for _, item := range append([]hclValue{list}, list.items...) {
		places = append(places, place{compatibilities, item})
	}
	var unknown []string
	for _, at := range places {
		switch v := h.followed(at.value, at.key); {
		case v.kind == hclText && strings.HasPrefix(v.text, "FARGATE"):
			return true
		case strings.HasPrefix(v.text, "aws_ecs_capacity_provider."): // It has machines of its own.
		case v.kind == hclDynamic || v.kind == hclCall:
			unknown = append(unknown, at.key+" is an expression, "+v.shown())
		}
	}
	for _, text := range unknown {
		h.w.noteOnce("%s; it is taken for another than Fargate", text)
	}
	return false
}

// containers reads container_definitions = jsonencode([…]), or a heredoc of JSON; other forms are
// not plain.
func (h *hclReader) containers(task *hclBlock) []ecsContainer {
	const key = containerDefinitions
	written, ok := task.attr(key)
	if !ok {
		written = hclValue{line: task.line, column: task.column}
		h.fail(written, key, "is not set", "name a file that has the containers")
		return nil
	}
	v := h.target(written, key)
	if strings.HasPrefix(string([]rune(h.src.row(v.line))[v.column-1:]), "<<") {
		return h.jsonContainers(v)
	}
	if v.kind != hclCall || v.text != "jsonencode" || len(v.items) != 1 || h.followed(v.items[0], key).kind != hclList {
		h.fail(written, key, "is not a plain jsonencode([ … ])", describeTask)
		return nil
	}
	var containers []ecsContainer
	for _, item := range h.followed(v.items[0], key).items {
		container := h.followed(item, key)
		if container.kind != hclObject {
			h.fail(item, key, "holds an expression in place of a container", describeTask)
			return nil
		}
		containers = append(containers, h.container(container))
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
		node = resolve(node)
		h.fillIn(node)
		containers = append(containers, r.ecsContainer(node))
	}
	if h.err == nil {
		h.err = r.err
	}
	return containers
}

// fillIn puts what variables and locals stand for in the place of ${…}, where it is needed of a
// container in JSON.
func (h *hclReader) fillIn(container *yaml.Node) {
	r := &reader{src: &source{file: h.src.file}}
	needed := map[string]*yaml.Node{}
	for _, key := range []string{"name", "essential", stopTimeout} {
		needed[key] = r.child(container, key)
	}
	for _, item := range r.sequence(container, "environment") {
		if r.plainText(item, "name") == grace.Variable {
			needed[grace.Variable] = r.child(item, "value")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(needed)) {
		node := needed[key]
		if node == nil || node.Kind != yaml.ScalarNode || !strings.Contains(node.Value, envsubst.open) {
			continue
		}
		v, ok := h.known(hclValue{kind: hclDynamic, text: node.Value, quoted: true}, key, 0)
		if !ok {
			continue
		}
		if node.Value = v.text; v.kind == hclNumber {
			node.Tag = "!!int"
		}
	}
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

// ecsProcess reads what is known of what runs in a container.
func (h *hclReader) ecsProcess(v hclValue) Process {
	p := Process{Name: h.attr(v.fields, "name").text}
	for _, key := range []string{"entryPoint", "command"} {
		written, _ := field(v.fields, key)
		words := h.followed(written, key)
		if words.kind != hclList {
			continue
		}
		if p.Command == nil {
			p.CommandKey, p.CommandLine = key, written.line
		}
		for _, word := range words.items {
			p.Command = append(p.Command, h.followed(word, key).text)
		}
	}
	for _, key := range []string{"secrets", "environment"} { // Secrets have no value here.
		for _, item := range h.attr(v.fields, key).items {
			variable := h.followed(item, key)
			if name := h.attr(variable.fields, "name"); name.text == grace.Variable {
				value, _ := field(variable.fields, "value")
				p.told(h.followed(value, grace.Variable).plain(), item.line)
			}
		}
	}
	return p
}

func (h *hclReader) container(v hclValue) ecsContainer {
	c := ecsContainer{process: h.ecsProcess(v)}
	c.name = c.process.Name
	c.essential = h.attr(v.fields, "essential").text != "false"
	_, c.logs = field(v.fields, firelens)
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
