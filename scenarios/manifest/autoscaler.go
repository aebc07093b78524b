package manifest

// autoscaler is what decides on the number of pods of a workload that leaves it open.
type autoscaler struct {
	kind, name string
	target     document // kind and name of what it scales
	least      int
	line       int
}

// autoscalers are those of the file: a HorizontalPodAutoscaler keeps at least one pod unless it
// says otherwise (Kubernetes, "HorizontalPodAutoscalerSpec v2 autoscaling"), a ScaledObject of
// KEDA none.
func (s *source) autoscalers(docs []document) []autoscaler {
	var found []autoscaler
	for _, doc := range docs {
		r := &reader{src: s, lines: make(map[string]int)}
		a := autoscaler{kind: doc.kind, line: doc.line}
		spec := r.child(doc.node, "spec")
		switch doc.kind {
		case "HorizontalPodAutoscaler":
			a.least = r.count(spec, "minReplicas", 1)
		case "ScaledObject":
			a.least = r.count(spec, "minReplicaCount", 0)
		default:
			continue
		}
		target := r.child(spec, "scaleTargetRef")
		a.name = r.plainText(r.child(doc.node, "metadata"), "name")
		a.target = document{kind: r.plainText(target, "kind"), name: r.plainText(target, "name")}
		if a.target.kind == "" {
			a.target.kind = "Deployment" // KEDA's default; a HorizontalPodAutoscaler must say it.
		}
		if r.err == nil { // What is wrong in it is not the workload's.
			found = append(found, a)
		}
	}
	return found
}

// scaled takes the number of pods from the autoscaler of the workload, if the file has one.
func (w *Workload) scaled(by []autoscaler) bool {
	for _, a := range by {
		if a.target.kind != w.Kind || a.target.name != w.Name {
			continue
		}
		w.Replicas = max(a.least, 1)
		w.note("replicas is not set; the %s %s on line %d keeps at least %d; %d assumed", a.kind, a.name, a.line, a.least, w.Replicas)
		return true
	}
	return false
}
