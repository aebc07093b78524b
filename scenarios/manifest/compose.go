package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// renderCompose fills in variables and follows extends and include.
const renderCompose = "let Compose fill it in first: docker compose config > rendered.yaml"

// compose lists the services of a Docker Compose file, after the Compose specification.
func (s *source) compose(root *yaml.Node) ([]document, error) {
	s.renderer = renderCompose
	r := &reader{src: s}
	services := r.mapping(root, "services")
	if services != nil {
		r.refuseTwins(services)
	}
	var docs []document
	for i := 0; services != nil && i+1 < len(services.Content); i += 2 {
		k, service := services.Content[i], resolve(services.Content[i+1])
		if k.ShortTag() == "!!merge" {
			r.fail(k, "services", "is merged from elsewhere", renderCompose)
			continue
		}
		doc := document{kind: "service", name: k.Value, line: k.Line, node: service}
		doc.load = func() (*Workload, error) { return s.composeService(&doc, root) }
		docs = append(docs, doc)
	}
	if r.err == nil && len(docs) == 0 {
		r.fail(services, "services", "is empty", "write at least one service below it")
	}
	return docs, r.err
}

func (s *source) composeService(doc *document, root *yaml.Node) (*Workload, error) {
	r := &reader{src: s, quoted: true} // variables are filled into text, so its schema takes both
	w := s.begin(doc, model.Docker, "stop_grace_period")
	r.lines = w.Lines
	if doc.node.Kind != yaml.MappingNode {
		r.fail(doc.node, doc.name, "is not a mapping", "write image: and more below it")
		return nil, r.err
	}
	if extends := r.child(doc.node, "extends"); extends != nil {
		r.fail(extends, "extends", "takes settings from another service or file", renderCompose)
	}
	if include := r.child(root, "include"); include != nil {
		w.note("include on line %d is not followed", include.Line)
	}
	if d, ok := r.durationBy(parseComposeDuration, doc.node, w.GraceKey); ok {
		w.setGrace(d, r.lines[w.GraceKey])
	}
	w.StopSignal = r.signal(doc.node, "stop_signal")
	if hooks := r.child(doc.node, "pre_stop"); hooks != nil {
		w.note("pre_stop hooks run before the stop signal, for an unknown time; 0s assumed")
	}
	w.Processes = []Process{composeProcess(s, doc.node)}
	r.composeRestart(w, doc.node)
	r.composeDeploy(w, doc.node)
	w.close()
	return r.result(w)
}

// composeProcess reads what runs in a service. A command without an entrypoint is taken for the
// whole command line: the entrypoint of an image usually passes it on.
func composeProcess(s *source, service *yaml.Node) Process {
	r := &reader{src: s}
	var p Process
	if p.start("entrypoint", r, service, "entrypoint", "command"); p.Command == nil {
		p.start("command", r, service, "command", "")
	}
	p.variable(r, service, "environment")
	return p
}

// composeRestart reads what restarts a container that ended; deploy counts for more.
func (r *reader) composeRestart(w *Workload, service *yaml.Node) {
	look := &reader{src: r.src}
	for _, at := range []struct {
		parent *yaml.Node
		key    string
	}{{service, "restart"}, {look.child(look.child(service, "deploy"), "restart_policy"), "condition"}} {
		if node := look.child(at.parent, at.key); node != nil {
			w.RestartPolicy, w.Lines["restart"] = node.Value, node.Line
		}
	}
}

// composeDeploy reads how many containers there are and how they are replaced. Without
// update_config it is `docker compose up`, which stops the old containers before it starts new
// ones; update_config is what `docker stack deploy` does.
func (r *reader) composeDeploy(w *Workload, service *yaml.Node) {
	deploy := r.mapping(service, "deploy")
	if deploy != nil {
		r.misplaced(deploy, w.GraceKey, "beside image")
	}
	scale := r.count(service, "scale", 1)
	w.Replicas = r.count(deploy, "replicas", scale)
	if r.lines["scale"] > 0 && w.Replicas != scale {
		r.fail(r.child(service, "scale"), "scale", fmt.Sprintf("is %d, and deploy.replicas is %d", scale, w.Replicas), "keep one of them")
	}
	if r.lines["scale"] == 0 && r.lines["replicas"] == 0 {
		w.note("deploy.replicas is not set; 1 assumed")
	}
	if r.choice(deploy, "mode", "replicated", "replicated", "global", "replicated-job", "global-job") == "global" {
		w.note("a global service runs once per node; %d assumed", w.Replicas)
	}
	update := r.mapping(deploy, "update_config")
	if update == nil {
		w.Strategy.Type = Recreate
		w.note("without update_config all containers stop before new ones start, as docker compose up does")
		return
	}
	w.Strategy.Type = RollingUpdate
	n := IntOrPercent{Value: r.count(update, "parallelism", 1)}
	if n.Value == 0 {
		n = IntOrPercent{Value: 100, Percent: true} // all at once
	}
	if r.choice(update, "order", "stop-first", "stop-first", "start-first") == "start-first" {
		w.Strategy.MaxSurge = n
	} else {
		w.Strategy.MaxUnavailable = n
	}
	if r.child(update, "delay") != nil {
		w.note("the delay of update_config is not simulated")
	}
}

// signal reads the name or number of a signal.
func (r *reader) signal(parent *yaml.Node, key string) string {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return ""
	}
	r.mark(parent, key)
	name, ok := signalOf(node.Value)
	if node.Kind != yaml.ScalarNode || !ok {
		r.fail(node, key, quote(node)+" is not a signal", "write a name such as SIGTERM")
	}
	return name
}

var bareNumber = regexp.MustCompile(`^[0-9]+$`)

// goDuration reads a duration as Go writes it: 1m30s.
func (r *reader) goDuration(parent *yaml.Node, key string) (time.Duration, bool) {
	return r.durationBy(parseGoDuration, parent, key)
}

func (r *reader) durationBy(parse func(string) (time.Duration, string, string), parent *yaml.Node, key string) (time.Duration, bool) {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return 0, false
	}
	r.mark(parent, key)
	d, problem, remedy := parse(node.Value)
	switch {
	case node.Kind != yaml.ScalarNode:
		r.fail(node, key, quote(node)+" is not a duration", "write one such as 30s or 1m30s")
	case problem != "":
		r.fail(node, key, problem, remedy)
	}
	return d, r.err == nil
}

// daysAndWeeks are the units that Compose has beside those of Go.
var daysAndWeeks = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)([dw])`)

// parseComposeDuration reads 1w2d3h too, of which Go knows the hours alone.
func parseComposeDuration(text string) (d time.Duration, problem, remedy string) {
	return parseGoDuration(daysAndWeeks.ReplaceAllStringFunc(text, func(part string) string {
		hours, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if err != nil {
			return part
		}
		if hours *= 24; part[len(part)-1] == 'w' {
			hours *= 7
		}
		return strconv.FormatFloat(hours, 'f', -1, 64) + "h"
	}))
}

// parseGoDuration refuses a bare number, whose unit nobody can know.
func parseGoDuration(text string) (d time.Duration, problem, remedy string) {
	const example = "write one such as 30s or 1m30s"
	if bareNumber.MatchString(text) {
		return 0, text + " has no unit", fmt.Sprintf("write %ss", text)
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, strconv.Quote(text) + " is not a duration", example
	case d < 0:
		return 0, text + " is negative", "write 0s or more"
	}
	return d, "", ""
}
