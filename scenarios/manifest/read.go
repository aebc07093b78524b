package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const defaultGrace = 30 * time.Second

// read turns one document into a workload.
func read(src *source, doc document) (*Workload, error) {
	load := doc.load
	if load == nil {
		load = func() (*Workload, error) { return pods(src, doc) }
	}
	w, err := load()
	if err == nil {
		w.unlike()
	}
	return w, err
}

// pods reads a workload of Kubernetes.
func pods(src *source, doc document) (*Workload, error) {
	r := &reader{src: src, lines: make(map[string]int)}
	w := &Workload{File: src.file, Line: doc.line, Kind: doc.kind, Name: doc.name,
		Namespace: doc.namespace, APIVersion: doc.apiVersion, Lines: r.lines}
	if doc.apiVersion == "" {
		r.fail(doc.node, "apiVersion", "is not set", "write it as `kubectl explain "+strings.ToLower(doc.kind)+"` gives it")
	}
	r.noteOldGroup(w)
	pod := r.podSpec(doc)
	r.grace(w, doc, pod)
	r.replicas(w, doc)
	r.restartPolicy(w, pod)
	r.rollout(w, r.mapping(doc.node, "spec"))
	r.containers(w, pod, r.chosenContainer(doc))
	r.noteGrace(w)
	if r.err != nil {
		return nil, r.err
	}
	return w, nil
}

func (w *Workload) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}

// noteOnce is note for what may come up several times.
func (w *Workload) noteOnce(format string, args ...any) {
	if !slices.Contains(w.Notes, fmt.Sprintf(format, args...)) {
		w.note(format, args...)
	}
}

// ignore notes a grace that stands where nobody reads it.
func (w *Workload) ignore(key string, at *yaml.Node, where string) {
	w.Ignored = append(w.Ignored, Setting{key, at.Value, at.Line, "beside containers, in the pod's spec"})
	w.note("%s on line %d stands %s and is ignored", key, at.Line, where)
}

func (r *reader) noteOldGroup(w *Workload) {
	if strings.HasPrefix(w.APIVersion, "extensions/") || strings.HasPrefix(w.APIVersion, "apps/v1beta") {
		w.note("apiVersion %s is no longer served since Kubernetes 1.16; its own defaults are used", w.APIVersion)
	}
}

// podSpec walks down to the pod spec, every step of which must be there.
func (r *reader) podSpec(doc document) *yaml.Node {
	node := doc.node
	for i, key := range kinds[doc.kind].podSpec {
		next := r.mapping(node, key)
		if next == nil && r.err == nil {
			path := strings.Join(kinds[doc.kind].podSpec[:i+1], ".")
			r.fail(node, path, "is not set", "a "+doc.kind+" needs it")
		}
		node = next
	}
	return node
}

// chosenContainer is what the pod's annotations call its container, if they do.
func (r *reader) chosenContainer(doc document) string {
	node, path := doc.node, kinds[doc.kind].podSpec
	for _, key := range path[:len(path)-1] {
		node = r.child(node, key)
	}
	return r.plainText(r.child(r.child(node, "metadata"), "annotations"), defaultContainer)
}

func (r *reader) grace(w *Workload, doc document, pod *yaml.Node) {
	const key = "terminationGracePeriodSeconds"
	if stray := r.child(r.mapping(doc.node, "spec"), key); stray != nil && doc.kind != "Pod" {
		w.ignore(key, stray, "outside the pod spec")
	}
	w.Grace = r.seconds(pod, key, defaultGrace)
	w.GraceLine = r.lines[key]
	w.GraceSet = w.GraceLine > 0
	if !w.GraceSet {
		w.note("%s is not set; %s assumed", key, defaultGrace)
	}
}

func (r *reader) replicas(w *Workload, doc document) {
	spec := r.mapping(doc.node, "spec")
	if doc.kind == "CronJob" {
		spec = r.mapping(r.mapping(spec, "jobTemplate"), "spec")
	}
	key := kinds[doc.kind].replicas
	switch {
	case doc.kind == "DaemonSet":
		w.Replicas = 1
		w.note("a DaemonSet runs one pod per node; 1 assumed")
	case key == "":
		w.Replicas = 1
	default:
		w.Replicas = r.count(spec, key, 1)
		if set := r.lines[key] > 0; !w.scaled(r.src.scalers, set) && !set {
			w.note("%s is not set; 1 assumed", key)
		}
	}
	// A Job starts no more pods than it still needs completions (Kubernetes, "Jobs",
	// Controlling parallelism).
	if key == "parallelism" && r.child(spec, "completions") != nil {
		w.Replicas = min(w.Replicas, r.count(spec, "completions", 1))
	}
}

func (r *reader) restartPolicy(w *Workload, pod *yaml.Node) {
	allowed := kinds[w.Kind].restarts
	w.RestartPolicy = r.choice(pod, "restartPolicy", "Always", allowed...)
	if r.err == nil && !slices.Contains(allowed, w.RestartPolicy) {
		r.fail(pod, "restartPolicy", "is not set", "a "+w.Kind+" needs "+strings.Join(allowed, " or "))
	}
}

// noteGrace compares the grace with what is spent of it before the workers hear of the stop.
func (r *reader) noteGrace(w *Workload) {
	switch {
	case w.killedAtOnce():
	case w.GraceSet && w.Grace == 0:
		w.note("terminationGracePeriodSeconds is 0: pods are killed at once, with no time to shut down")
	case w.PreStopDuration >= w.Grace:
		w.note("preStop sleeps %s, the grace is %s: no time is left after it; raise terminationGracePeriodSeconds above %d",
			w.PreStopDuration, w.Grace, int64(w.PreStopDuration/time.Second))
	}
}
