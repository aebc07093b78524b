package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/internal/spelling"
)

// decisive are the keys that say how a worker is stopped and replaced. Other unknown keys do no
// harm here; one of these, misspelt, leaves the supervisor's default in force, which is what its
// writer wanted least. Most tools refuse such a key, and some ignore it.
var decisive = map[string]bool{
	// Kubernetes
	"terminationGracePeriodSeconds": true, "lifecycle": true, "preStop": true, "stopSignal": true, "replicas": true,
	"minReadySeconds": true, "rollingUpdate": true, "maxSurge": true, "maxUnavailable": true,
	// Compose
	"stop_grace_period": true, "stop_signal": true, "pre_stop": true, "deploy": true, "update_config": true, "parallelism": true,
	// ECS, and Terraform for it
	stopTimeout: true, "desiredCount": true, "minimumHealthyPercent": true, "maximumPercent": true,
	"desired_count": true, "deployment_minimum_healthy_percent": true, "deployment_maximum_percent": true,
	// Nomad and Fly
	"kill_timeout": true, "kill_signal": true, "shutdown_delay": true, "max_parallel": true, "min_healthy_time": true,
	"KillTimeout": true, "KillSignal": true, "ShutdownDelay": true, "MaxParallel": true, "MinHealthyTime": true,
	// Render
	"maxShutdownDelaySeconds": true, "numInstances": true,
}

// notKnown is said of a key in place of which another was meant.
func notKnown(meant string) (problem, remedy string) { return "is not known", "write " + meant }

// refuseSlip looks for a decisive key, which is not written, under another spelling.
func (r *reader) refuseSlip(parent *yaml.Node, key string) {
	if !decisive[key] {
		return
	}
	k, _ := r.findAny(parent, func(written string) bool {
		return !strings.HasPrefix(written, "x-") && spelling.Slip(written, []string{key}) != "" // Compose leaves x- to everybody.
	}, make(map[*yaml.Node]bool))
	if k != nil {
		problem, remedy := notKnown(r.src.asWritten(key))
		r.fail(k, k.Value, problem, remedy)
	}
}

// misplaced refuses a decisive key that stands where its tool refuses it.
func (r *reader) misplaced(parent *yaml.Node, key, place string) {
	if k, _ := (&reader{src: r.src}).find(parent, key); k != nil {
		r.fail(k, key, "stands in the wrong place", "write it "+place)
	}
}

// misplaced is the same for HCL.
func (h *hclReader) misplaced(b *hclBlock, place string, names ...string) {
	for _, a := range b.attrs {
		if slices.Contains(names, a.name) {
			h.fail(hclValue{line: a.line, column: a.column}, a.name, "stands in the wrong place", "write it "+place)
		}
	}
}

// slipIn is refuseSlip for HCL.
func (h *hclReader) slipIn(attrs []hclAttr, name string) {
	if !decisive[name] {
		return
	}
	for _, a := range attrs {
		if spelling.Slip(a.name, []string{name}) != "" {
			problem, remedy := notKnown(name)
			h.fail(hclValue{line: a.line, column: a.column}, a.name, problem, remedy)
		}
	}
}

// refuseSetting is refuseSlip for files of lines; known are the keys that are read of the section
// or table.
func (s *source) refuseSetting(key string, line int, known []string) error {
	meant := spelling.Slip(key, known)
	if meant == "" {
		return nil
	}
	problem, remedy := notKnown(meant)
	return s.at(line, indent(s.row(line)), key, problem, remedy)
}
