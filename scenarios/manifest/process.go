package manifest

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/internal/grace"
)

// Process is one container of a workload, or its only process: what is written of it that bears
// on its end and is not part of the workload's stop. What is not written, or not plainly, is
// empty; nothing of it is a reason to refuse a manifest.
type Process struct {
	Name string // of the container; empty where the workload is one process

	Command     []string // the words it is started with; nil leaves it to the image
	CommandKey  string   // what the manifest calls it
	CommandLine int

	Told     string // the value of QUIESCE_GRACE; empty also when it stands elsewhere, in a secret for example
	ToldLine int    // 0 when QUIESCE_GRACE is not set

	Probes []Probe // of Kubernetes
}

// Probe is a probe of a container.
type Probe struct {
	Kind   string // livenessProbe, readinessProbe or startupProbe
	Target string // what it asks, such as "httpGet :9090/healthz"
	Line   int

	Grace     time.Duration // what its failure allows in place of the workload's grace
	GraceLine int           // 0 when it is not written
}

// Setting is a key that is written where nobody reads it.
type Setting struct {
	Key, Value string
	Line       int
	Place      string // where it would be read, such as "in [Service]"; empty for nowhere
}

// podProcess reads a container of Kubernetes or Cloud Run.
func podProcess(src *source, node *yaml.Node) Process {
	r := &reader{src: src}
	p := Process{Name: r.plainText(node, "name")}
	p.start("command", r, node, "command", "args")
	for _, item := range r.sequence(node, "env") {
		if r.plainText(item, "name") == grace.Variable {
			p.told(r.plainText(item, "value"), item.Line)
		}
	}
	for _, kind := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if probe := r.child(node, kind); probe != nil && probe.Kind == yaml.MappingNode {
			p.Probes = append(p.Probes, r.probe(probe, kind, r.keyLine(node, kind)))
		}
	}
	return p
}

func (r *reader) probe(node *yaml.Node, kind string, line int) Probe {
	p := Probe{Kind: kind, Line: line}
	for _, action := range []string{"httpGet", "tcpSocket", "grpc", "exec"} {
		at := r.child(node, action)
		switch {
		case at == nil:
		case action == "exec":
			p.Target = action + " " + strings.Join(r.words(at, "command"), " ")
		default:
			p.Target = action + " " + r.address(at)
		}
	}
	if at := r.child(node, "terminationGracePeriodSeconds"); at != nil {
		var seconds int64
		if at.Decode(&seconds) == nil && seconds >= 0 && seconds <= maxSeconds {
			p.Grace, p.GraceLine = time.Duration(seconds)*time.Second, at.Line
		}
	}
	return p
}

// told keeps what QUIESCE_GRACE is set to; a reference to something else is not known.
func (p *Process) told(value string, line int) {
	p.ToldLine = line
	if _, _, isTag := findTag(value); !isTag && !strings.HasPrefix(value, "$") {
		p.Told = strings.TrimSpace(value)
	}
}

// start takes the words of the first key, followed by those of the second, which alone are
// arguments of a program that only the image knows.
func (p *Process) start(called string, r *reader, node *yaml.Node, program, arguments string) {
	words := r.words(node, program)
	if len(words) == 0 {
		return
	}
	p.CommandKey, p.CommandLine = called, r.keyLine(node, program)
	p.Command = append(words, r.words(node, arguments)...)
}

// words is a list of texts, or a text that its tool splits as a shell would, though no shell
// runs it.
func (r *reader) words(parent *yaml.Node, key string) []string {
	node := r.child(parent, key)
	if node == nil {
		return nil
	}
	if node.Kind == yaml.ScalarNode {
		return splitWords(node.Value)
	}
	var words []string
	for _, item := range r.sequence(parent, key) {
		words = append(words, item.Value)
	}
	return words
}

func splitWords(text string) []string {
	var words []string
	for _, t := range tokenize(text) {
		words = append(words, t.text)
	}
	return words
}

// keyLine is where a key stands; its value may begin further down.
func (r *reader) keyLine(parent *yaml.Node, key string) int {
	if k, _ := r.find(parent, key); k != nil {
		return k.Line
	}
	return 0
}

// sequence is the items of a list; anything else has none.
func (r *reader) sequence(parent *yaml.Node, key string) []*yaml.Node {
	node := r.child(parent, key)
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		items[i] = resolve(item)
	}
	return items
}

// variable finds a variable in an environment that is a mapping, or a list of NAME=VALUE.
func (p *Process) variable(r *reader, parent *yaml.Node, key string) {
	node := r.child(parent, key)
	if value := r.child(node, grace.Variable); value != nil {
		p.told(value.Value, value.Line)
	}
	for _, item := range r.sequence(parent, key) {
		if value, ok := strings.CutPrefix(item.Value, grace.Variable+"="); ok {
			p.told(value, item.Line)
		}
	}
}

// pairs finds a variable in a list of mappings with a name and a value.
func (p *Process) pairs(r *reader, parent *yaml.Node, key, name string) {
	for _, item := range r.sequence(parent, key) {
		if r.plainText(item, name) == grace.Variable {
			p.told(r.written(item, "value"), item.Line)
		}
	}
}

// assignments finds a variable among words such as NAME=VALUE.
func (p *Process) assignments(words []string, line int) {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, grace.Variable+"="); ok {
			p.told(value, line)
		}
	}
}

// Script is what a shell is told to run, and which shell that is; ok is false when the process
// is no shell, or one that runs a file.
func (p *Process) Script() (shell, script string, ok bool) { return shellScript(p.Command) }

// Program is the name of the process's program, without the folder it is in.
func (p *Process) Program() string {
	if len(p.Command) == 0 {
		return ""
	}
	return p.Command[0][strings.LastIndexByte(p.Command[0], '/')+1:]
}
