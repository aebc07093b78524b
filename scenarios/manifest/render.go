package manifest

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// render lists the services of a Render blueprint that run processes of its owner (Render
// documentation, "Blueprint YAML Reference").
func (s *source) render(root *yaml.Node) ([]document, error) {
	r := &reader{src: s}
	var docs []document
	for _, node := range r.items(root, "services") {
		kind := r.text(node, "type")
		name := r.text(node, "name")
		switch kind {
		case "web", "worker", "pserv":
		default:
			continue // Redis, cron jobs and static sites are not stopped by a deploy.
		}
		if name == "" {
			r.fail(node, "name", "of a service is not set", "give it one")
		}
		doc := document{kind: kind, name: name, line: node.Line, node: node}
		doc.load = func() (*Workload, error) { return s.renderService(&doc) }
		docs = append(docs, doc)
	}
	if r.err == nil && len(docs) == 0 {
		return nil, s.nothing("has no service of type worker, web or pserv", "name a blueprint with one")
	}
	return docs, r.err
}

// renderService reads one service. Render starts the new instances, and stops the old ones when
// those are healthy ("Zero-Downtime Deploys").
func (s *source) renderService(doc *document) (*Workload, error) {
	w := s.begin(doc, model.Render, "maxShutdownDelaySeconds")
	r := &reader{src: s, lines: w.Lines}
	if d := r.seconds(doc.node, w.GraceKey, 0); w.Lines[w.GraceKey] > 0 {
		if d < time.Second || d > 300*time.Second {
			r.fail(r.child(doc.node, w.GraceKey), w.GraceKey, "is not between 1 and 300", "write a number such as 60")
		}
		w.setGrace(d, w.Lines[w.GraceKey])
	}
	look := &reader{src: s}
	var p Process
	p.pairs(look, doc.node, "envVars", "key")
	w.Processes = []Process{p}
	w.Replicas = r.count(doc.node, "numInstances", 1)
	scaling := r.mapping(doc.node, "scaling")
	w.Replicas = r.count(scaling, "minInstances", w.Replicas)
	if w.Lines["numInstances"] == 0 && w.Lines["minInstances"] == 0 {
		w.note("numInstances is not set; 1 assumed")
	}
	w.replaceAhead()
	w.close()
	return r.result(w)
}
