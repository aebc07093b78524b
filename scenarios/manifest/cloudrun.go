package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// isCloudRun recognises the services and worker pools of Cloud Run ("Cloud Run YAML reference").
func isCloudRun(kind, apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return kind == "Service" && group == "serving.knative.dev" || kind == "WorkerPool" && group == "run.googleapis.com"
}

// cloudRun reads a service or a worker pool. Whatever it says, the grace is ten seconds.
func (s *source) cloudRun(doc document) (*Workload, error) {
	w := s.begin(&doc, model.CloudRun, "the grace")
	w.APIVersion, w.Namespace = doc.apiVersion, doc.namespace
	r := &reader{src: s, lines: w.Lines}
	spec := r.mapping(doc.node, "spec")
	template := r.mapping(spec, "template")
	onRevision := r.mapping(r.mapping(template, "metadata"), "annotations")
	onService := r.mapping(r.mapping(doc.node, "metadata"), "annotations")
	w.Replicas = 0
	for _, at := range []struct {
		parent *yaml.Node
		key    string
	}{
		{onRevision, "autoscaling.knative.dev/minScale"}, {onService, "run.googleapis.com/minScale"}, {onService, "run.googleapis.com/manualInstanceCount"},
	} {
		if n, ok := r.annotatedCount(at.parent, at.key); ok {
			w.Replicas = n
		}
	}
	if w.Replicas == 0 {
		w.Replicas = 1
		w.note("no least or fixed number of instances is set; 1 assumed")
	}
	if pod := r.mapping(template, "spec"); pod != nil {
		for _, c := range r.items(pod, "containers") {
			w.Containers = append(w.Containers, r.plainText(c, "name"))
			w.Processes = append(w.Processes, podProcess(s, c))
		}
		for _, key := range []string{"terminationGracePeriodSeconds", "timeoutSeconds"} {
			if node := r.child(pod, key); node != nil {
				if key == "terminationGracePeriodSeconds" {
					w.Ignored = append(w.Ignored, Setting{key, node.Value, node.Line, ""})
				}
				w.note("%s on line %d does not change how long Cloud Run waits after SIGTERM", key, node.Line)
			}
		}
	}
	if doc.kind == "Service" {
		w.note("Cloud Run is assumed; Knative on a cluster of one's own stops pods as Kubernetes does")
	}
	w.replaceAhead()
	w.close()
	return r.result(w)
}

// annotatedCount is a number in an annotation, which is text.
func (r *reader) annotatedCount(parent *yaml.Node, key string) (int, bool) {
	node := r.child(parent, key)
	if node == nil || !r.rendered(node, key) {
		return 0, false
	}
	r.mark(parent, key)
	if node.Kind != yaml.ScalarNode || !bareNumber.MatchString(node.Value) || len(node.Value) > 6 {
		r.fail(node, key, quote(node)+" is not a whole number", `write a number in quotes, such as "3"`)
		return 0, false
	}
	n := 0
	for _, digit := range node.Value {
		n = 10*n + int(digit-'0')
	}
	return n, true
}
