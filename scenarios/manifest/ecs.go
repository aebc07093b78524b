package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/model"
)

// ECS has what stops a worker in one file and how a fleet is replaced in another: a task
// definition (containers and their stopTimeout) and a service (number of tasks and
// deploymentConfiguration). Either is read, and the rest is assumed. The sources are "Amazon
// ECS task definition parameters" and "Amazon ECS service definition parameters".

const (
	renderECS = "fill it in first, for example: envsubst < task.json.tpl > task.json"

	stopTimeout             = "stopTimeout"             // of a container
	deploymentConfiguration = "deploymentConfiguration" // of a service
)

// ecsContainer is what a container definition says about its end.
type ecsContainer struct {
	name      string
	essential bool
	logs      bool // it routes those of the others, by firelensConfiguration
	grace     time.Duration
	line      int // of stopTimeout; 0 when not written
	process   Process
}

// ecsRollout is how a service replaces its tasks.
type ecsRollout struct {
	tasks            int
	minimum, maximum int // healthy percent
	daemon           bool
}

// ecsDefaults is how ECS replaces tasks unless told otherwise. A daemon runs once per container
// instance and is stopped before its successor starts.
func ecsDefaults(scheduling string) *ecsRollout {
	if scheduling == "DAEMON" {
		return &ecsRollout{daemon: true, tasks: 1, minimum: 0, maximum: 100}
	}
	return &ecsRollout{tasks: 1, minimum: 100, maximum: 200}
}

// ecsTask reads a task definition, as the API and `aws ecs register-task-definition` take it.
func (s *source) ecsTask(root *yaml.Node) ([]document, error) {
	s.renderer = renderECS
	r := &reader{src: s}
	name := r.text(root, "family")
	r.misplaced(root, stopTimeout, "in a container definition")
	if name == "" {
		name = "task"
	}
	doc := document{kind: "task", name: name, line: root.Line, node: root}
	fargate := r.requiresFargate(root)
	doc.load = func() (*Workload, error) {
		return s.ecsWorkload(&doc, fargate, r.child(root, "containerDefinitions"))
	}
	return []document{doc}, r.err
}

// ecsContainers reads a bare list of container definitions, as Terraform takes it from a file.
func (s *source) ecsContainers(root *yaml.Node) ([]document, error) {
	s.renderer = renderECS
	doc := document{kind: "task", name: "task", line: root.Line, node: root}
	if len(root.Content) > 0 {
		if name := (&reader{src: s}).plainText(resolve(root.Content[0]), "name"); name != "" {
			doc.name = name
		}
	}
	doc.load = func() (*Workload, error) { return s.ecsWorkload(&doc, false, root) }
	return []document{doc}, nil
}

func (s *source) ecsWorkload(doc *document, fargate bool, list *yaml.Node) (*Workload, error) {
	kind := model.ECS
	if fargate {
		kind = model.Fargate
	}
	w := s.begin(doc, kind, s.asWritten(stopTimeout))
	r := &reader{src: s, lines: w.Lines}
	containers := r.ecsTaskContainers(list, list)
	if r.err != nil {
		return nil, r.err
	}
	w.ecs(containers, nil)
	return w, nil
}

// requiresFargate reports whether a task definition, which may be nil, says where it runs.
func (r *reader) requiresFargate(task *yaml.Node) bool {
	fargate := false
	for _, item := range r.items(task, "requiresCompatibilities") {
		fargate = fargate || item.Value == "FARGATE"
	}
	return fargate
}

// ecsTaskContainers reads the containers of a task definition, which stands at a node.
func (r *reader) ecsTaskContainers(list, at *yaml.Node) []ecsContainer {
	const field = "containerDefinitions"
	switch {
	case list == nil:
		r.fail(at, field, "is not set", "write at least one container")
	case !r.rendered(list, field):
	case list.Kind != yaml.SequenceNode:
		r.fail(list, field, "is not a list", "write the containers in [ ]")
	case len(list.Content) == 0:
		r.fail(list, field, "is empty", "write at least one container")
	}
	var containers []ecsContainer
	for i := 0; r.err == nil && i < len(list.Content); i++ {
		containers = append(containers, r.ecsContainer(resolve(list.Content[i])))
	}
	return containers
}

func (r *reader) ecsContainer(node *yaml.Node) ecsContainer {
	c := ecsContainer{essential: true}
	c.name = r.plainText(node, "name")
	if essential := r.child(node, "essential"); essential != nil {
		c.essential = essential.Value != "false"
	}
	c.logs = r.child(node, firelens) != nil
	r.prefix = "containers/" + c.name + "/"
	c.grace = r.seconds(node, stopTimeout, 0)
	c.line = r.lines[r.prefix+stopTimeout]
	r.prefix = ""
	look := &reader{src: r.src}
	c.process.Name = c.name
	if c.process.start("entryPoint", look, node, "entryPoint", "command"); c.process.Command == nil {
		c.process.start("command", look, node, "command", "")
	}
	c.process.pairs(look, node, "secrets", "name") // They have no value here.
	c.process.pairs(look, node, "environment", "name")
	return c
}

// firelens is the key of a container that routes the logs of the others.
const firelens = "firelensConfiguration"

// ecsWorker is the container that works on jobs, with the reason: one that is told its grace, else
// the first essential one, since when it ends the task does, but for one that routes logs; else the
// first.
func ecsWorker(containers []ecsContainer) (worker ecsContainer, reason string) {
	told := func(c ecsContainer) bool { return c.process.ToldLine > 0 }
	if at := slices.IndexFunc(containers, told); at >= 0 {
		return containers[at], "the first of %d that sets " + grace.Variable
	}
	essential := func(c ecsContainer) bool { return c.essential && !c.logs }
	return containers[max(slices.IndexFunc(containers, essential), 0)], "the first essential one of %d"
}

// ecs puts containers and rollout together; either may be nil.
func (w *Workload) ecs(containers []ecsContainer, rollout *ecsRollout) {
	for _, c := range containers {
		w.Containers = append(w.Containers, c.name)
		w.Processes = append(w.Processes, c.process)
	}
	if len(containers) > 0 {
		worker, reason := ecsWorker(containers)
		if worker.line > 0 {
			w.setGrace(worker.grace, worker.line)
		}
		if len(containers) > 1 {
			w.note("container %s is taken for the worker, "+reason, worker.name, len(containers))
		}
	}
	if w.Supervisor == model.ECS && w.Grace > 2*time.Minute {
		w.note("stopTimeout %s is taken as it is; on Fargate the most would be 2m0s (requiresCompatibilities does not say FARGATE)", w.Grace)
	}
	w.ecsReplace(rollout)
	w.close()
}

// ecsReplace turns the percentages of healthy tasks into those of a rollout. ECS rounds the
// maximum down and the minimum up, and so both of these down.
func (w *Workload) ecsReplace(r *ecsRollout) {
	if r == nil {
		r = ecsDefaults("")
		w.note("the service is not in this file; one task assumed, minimumHealthyPercent 100, maximumPercent 200")
	}
	if r.daemon {
		w.note("a daemon runs once per container instance; %d assumed", r.tasks)
	}
	w.Replicas = r.tasks
	w.Strategy = Strategy{Type: RollingUpdate,
		MaxSurge:       IntOrPercent{Value: max(r.maximum-100, 0), Percent: true},
		MaxUnavailable: IntOrPercent{Value: max(100-r.minimum, 0), Percent: true}}
	if w.Surge() == 0 && w.Strategy.MaxUnavailable.RoundDown(r.tasks) == 0 && r.tasks > 0 {
		w.note("minimumHealthyPercent %d and maximumPercent %d let no task be replaced; one at a time assumed", r.minimum, r.maximum)
	}
}

// isECSService recognises a service, which may leave how its tasks are replaced to ECS.
func (r *reader) isECSService(node *yaml.Node) bool {
	return r.child(node, deploymentConfiguration) != nil || r.child(node, "serviceName") != nil
}

// ecsServices reads service definitions, which say nothing about the grace: one, or those that
// `aws ecs describe-services` prints.
func (s *source) ecsServices(list *yaml.Node) ([]document, error) {
	s.renderer = renderECS
	r := &reader{src: s}
	var docs []document
	for _, node := range list.Content {
		node = resolve(node)
		doc := document{kind: "ecs-service", name: r.text(node, "serviceName"), line: node.Line, node: node}
		if doc.name == "" {
			doc.name = "service"
		}
		doc.load = func() (*Workload, error) { return s.ecsServiceWorkload(&doc) }
		docs = append(docs, doc)
	}
	return docs, r.err
}

func (s *source) ecsServiceWorkload(doc *document) (*Workload, error) {
	w := s.begin(doc, model.ECS, s.asWritten(stopTimeout))
	r := &reader{src: s, lines: w.Lines}
	rollout, fargate := r.ecsRollout(doc.node)
	if fargate {
		w.Supervisor = model.Fargate
	}
	if r.err != nil {
		return nil, r.err
	}
	w.note("%s stands in the task definition, which is another file", w.GraceKey)
	w.ecs(nil, rollout)
	return w, nil
}

// ecsRollout reads how a service replaces its tasks, and whether it says that they run on Fargate.
func (r *reader) ecsRollout(service *yaml.Node) (rollout *ecsRollout, fargate bool) {
	fargate = r.choice(service, "launchType", "EC2", "EC2", "FARGATE", "EXTERNAL") == "FARGATE"
	for _, item := range r.items(service, "capacityProviderStrategy") {
		// FARGATE or FARGATE_SPOT; the names of others are their owner's.
		fargate = fargate || strings.HasPrefix(r.plainText(item, "capacityProvider"), "FARGATE")
	}
	config := r.mapping(service, deploymentConfiguration)
	rollout = ecsDefaults(r.choice(service, "schedulingStrategy", "REPLICA", "REPLICA", "DAEMON"))
	rollout.tasks = r.count(service, "desiredCount", rollout.tasks)
	rollout.minimum = r.count(config, "minimumHealthyPercent", rollout.minimum)
	rollout.maximum = r.count(config, "maximumPercent", rollout.maximum)
	if r.err == nil && rollout.tasks > 0 && rollout.maximum > 1000 {
		r.fail(r.child(config, "maximumPercent"), "maximumPercent", fmt.Sprintf("%d is more than 1000", rollout.maximum), "write a percentage such as 200")
	}
	return rollout, fargate
}
