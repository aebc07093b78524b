package manifest

import "math"

// autoscaler is what decides on the number of pods of a workload.
type autoscaler struct {
	kind, name  string
	target      document // kind, name and namespace of what it scales
	least, most int
	line        int
}

// autoscalers are those of the file: a HorizontalPodAutoscaler keeps at least one pod unless it
// says otherwise (Kubernetes, "HorizontalPodAutoscalerSpec v2 autoscaling"), a ScaledObject of
// KEDA none, and at most 100.
func (s *source) autoscalers(docs []document) []autoscaler {
	var found []autoscaler
	for _, doc := range docs {
		r := &reader{src: s, lines: make(map[string]int)}
		a := autoscaler{kind: doc.kind, line: doc.line}
		spec := r.child(doc.node, "spec")
		switch doc.kind {
		case "HorizontalPodAutoscaler":
			a.least, a.most = r.count(spec, "minReplicas", 1), r.count(spec, "maxReplicas", math.MaxInt32)
		case "ScaledObject":
			a.least, a.most = r.count(spec, "minReplicaCount", 0), r.count(spec, "maxReplicaCount", 100)
		default:
			continue
		}
		target, meta := r.child(spec, "scaleTargetRef"), r.child(doc.node, "metadata")
		a.name = r.plainText(meta, "name")
		a.target = document{kind: r.plainText(target, "kind"), name: r.plainText(target, "name"), namespace: r.plainText(meta, "namespace")}
		if a.target.kind == "" {
			a.target.kind = "Deployment" // KEDA's default; a HorizontalPodAutoscaler must say it.
		}
		wrong := r.err != nil || a.most < a.least // What is wrong in it is not the workload's.
		if !wrong && isWorkload(a.target.kind, r.plainText(target, "apiVersion")) {
			found = append(found, a)
		}
	}
	return found
}

// scales reports whether the workload is the autoscaler's target, which can only be one of its own
// namespace.
func (a *autoscaler) scales(w *Workload) bool {
	return a.target.kind == w.Kind && a.target.name == w.Name && namespaceOf(a.target.namespace) == namespaceOf(w.Namespace) &&
		kinds[w.Kind].replicas == "replicas" // No other kind can be scaled.
}

// namespaceOf is where an object is that may leave it out.
func namespaceOf(written string) string {
	if written == "" {
		return "default"
	}
	return written
}

// scaled takes the number of pods from the autoscaler of the workload, if the file has one; set is
// whether the manifest has a number, which the autoscaler then corrects.
func (w *Workload) scaled(by []autoscaler, set bool) bool {
	for _, a := range by {
		if !a.scales(w) {
			continue
		}
		if set {
			w.corrected(a)
		} else {
			w.Replicas = max(a.least, 1)
			w.note("replicas is not set; the %s %s on line %d keeps at least %d; %d assumed", a.kind, a.name, a.line, a.least, w.Replicas)
		}
		return true
	}
	return false
}

// corrected brings a number that is written between the autoscaler's bounds. A
// HorizontalPodAutoscaler leaves 0 alone (Kubernetes, "Horizontal Pod Autoscaling", Implicit
// maintenance-mode deactivation); KEDA starts its minimum from there, too.
func (w *Workload) corrected(a autoscaler) {
	const format = "replicas is %d; the %s %s on line %d keeps at %s %d, which is simulated"
	switch {
	case w.Replicas == 0 && a.least > 0 && a.kind == "HorizontalPodAutoscaler":
		w.note("replicas is 0, and the %s %s on line %d rests", a.kind, a.name, a.line)
	case w.Replicas < a.least:
		w.note(format, w.Replicas, a.kind, a.name, a.line, "least", a.least)
		w.Replicas = a.least
	case w.Replicas > a.most:
		w.note(format, w.Replicas, a.kind, a.name, a.line, "most", a.most)
		w.Replicas = a.most
	}
}
