package manifest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// nomadJSON lists the tasks of a job in the JSON of Nomad's API, which is what `nomad job run
// -output` and `nomad job inspect` print (Nomad documentation, "JSON Job Specification").
func (s *source) nomadJSON(root *yaml.Node) ([]document, error) {
	r := &reader{src: s}
	job := root
	if r.child(root, "TaskGroups") == nil {
		job = r.mapping(root, "Job")
	}
	if job == nil && r.err == nil {
		at := r.child(root, "job")
		if at == nil {
			at = root
		}
		r.fail(at, "job", "is not the JSON that Nomad's API takes, which begins with Job", "nomad job run -output job.nomad > job.json")
	}
	var docs []document
	for _, group := range r.items(job, "TaskGroups") {
		for _, task := range r.items(group, "Tasks") {
			if r.mapping(task, "Lifecycle") != nil {
				continue // It runs before, or beside, or after the workers.
			}
			doc := document{kind: "task", name: r.text(task, "Name"), namespace: r.text(group, "Name"), line: task.Line, node: task}
			doc.load = func() (*Workload, error) { return s.nomadJSONTask(&doc, job, group) }
			docs = append(docs, doc)
		}
	}
	if r.err == nil && len(docs) == 0 {
		return nil, s.refuse("has no task", "give the job TaskGroups with Tasks")
	}
	return docs, r.err
}

func (s *source) nomadJSONTask(doc *document, job, group *yaml.Node) (*Workload, error) {
	w := s.begin(doc, model.Nomad, "KillTimeout")
	w.Namespace = doc.namespace
	r := &reader{src: s, lines: w.Lines}
	n := nomadSettings{jobType: r.text(job, "Type"), driver: strings.ToLower(r.text(doc.node, "Driver")), parallel: 1}
	if d, ok := r.nanoseconds(doc.node, "KillTimeout"); ok {
		w.setGrace(d, w.Lines["KillTimeout"])
	}
	if r.plainText(doc.node, "KillSignal") != "" {
		w.StopSignal = r.signal(doc.node, "KillSignal")
	}
	w.Processes = []Process{nomadJSONProcess(s, doc.node)}
	n.groupWait, _ = r.nanoseconds(group, "ShutdownDelay")
	n.taskWait, _ = r.nanoseconds(doc.node, "ShutdownDelay")
	w.Replicas = r.count(group, "Count", r.count(r.mapping(group, "Scaling"), "Min", 1))
	n.scaled = w.Lines["Min"]
	if line := w.Lines["Count"]; line > 0 {
		w.Lines["count"] = line
	}
	for _, outer := range []*yaml.Node{job, group} {
		update := r.mapping(outer, "Update")
		n.parallel = r.count(update, "MaxParallel", n.parallel)
		if d, ok := r.nanoseconds(update, "MinHealthyTime"); ok {
			n.healthy = d
		}
		if canaries := r.child(update, "Canary"); canaries != nil {
			n.canaries = 0
			if canaries.Value != "0" {
				n.canaries = r.keyLine(update, "Canary")
			}
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	w.nomad(n)
	return w, nil
}

func nomadJSONProcess(s *source, task *yaml.Node) Process {
	r := &reader{src: s}
	p := Process{Name: r.plainText(task, "Name")}
	config := r.child(task, "Config")
	if p.start("entrypoint", r, config, "entrypoint", "args"); p.Command == nil {
		p.start("command", r, config, "command", "args")
	}
	p.variable(r, task, "Env")
	return p
}

// nanoseconds reads a duration as the API prints it; some write text such as "25s", which it
// takes too.
func (r *reader) nanoseconds(parent *yaml.Node, key string) (time.Duration, bool) {
	node := r.child(parent, key)
	if node == nil {
		return 0, false
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
		return r.goDuration(parent, key)
	}
	d := r.whole(parent, key, 0, math.MaxInt64, " of nanoseconds")
	if d > 0 && time.Duration(d) < time.Millisecond {
		r.fail(node, key, fmt.Sprintf("%d is in nanoseconds, which nothing can keep to", d), fmt.Sprintf("write %d000000000 for %d seconds", d, d))
	}
	return time.Duration(d), r.err == nil
}
