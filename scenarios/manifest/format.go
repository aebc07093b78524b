package manifest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/model"
)

// textFormat is a format that is not YAML, recognised by the name of the file or by a line that
// no Kubernetes manifest has at its left margin.
type textFormat struct {
	file *regexp.Regexp
	line *regexp.Regexp
	read func(*source) ([]document, error)
}

var textFormats = []textFormat{
	{regexp.MustCompile(`\.service$`), regexp.MustCompile(`(?m)^\[(Unit|Service|Install)\]\s*$`), (*source).systemd},
	{regexp.MustCompile(`^supervisord?\.conf$`), regexp.MustCompile(`(?m)^\[(supervisord|(fcgi-)?program:[^\]]+)\]\s*$`), (*source).supervisord},
	{regexp.MustCompile(`^fly([.-].*)?\.toml$`), regexp.MustCompile(`(?m)^(kill_signal|kill_timeout|primary_region)\s*=`), (*source).fly},
	{regexp.MustCompile(`\.nomad(\.hcl)?$`), regexp.MustCompile(`(?m)^job\s+("[^"]*"|\[\[.*\]\])\s*\{`), (*source).nomad},
	{regexp.MustCompile(`\.tf$`), regexp.MustCompile(`(?m)^((resource|data|module|variable|provider)\s+"[^"]+"|locals|terraform)[^:]*\{`), (*source).terraform},
	{regexp.MustCompile(`^Procfile(\..*)?$`), regexp.MustCompile(`(?m)^(web|worker): [^\s{[&*!|>]\S* \S`), (*source).procfile},
}

var manifestLine = regexp.MustCompile(`(?m)^(apiVersion|kind):`)

// textFormat returns the format of a file that is not YAML, or nil. The name of the file counts
// for more than its content: a template may hold anything.
func (s *source) textFormat() *textFormat {
	base := filepath.Base(s.file)
	for i := range textFormats {
		if textFormats[i].file.MatchString(base) {
			return &textFormats[i]
		}
	}
	if manifestLine.Match(s.data) {
		return nil
	}
	for i := range textFormats {
		if textFormats[i].line.Match(s.data) {
			return &textFormats[i]
		}
	}
	return nil
}

// yamlFormat returns the workloads of a YAML or JSON file that is no Kubernetes manifest but
// another format that is known by its top-level keys; ok is false for none of them.
func (s *source) yamlFormat(roots []*yaml.Node) (docs []document, ok bool, err error) {
	for i, root := range roots {
		root = resolve(root)
		r := &reader{src: &source{file: s.file}}
		if r.child(root, "apiVersion") != nil && r.child(root, "kind") != nil {
			continue // whatever keys a Kubernetes object has besides
		}
		if docs, ok, err := s.cloudFormation(root); ok {
			if err == nil {
				err = s.alone(roots, i)
			}
			return docs, true, err
		}
		root = s.uncapitalized(root)
		if root.Kind == yaml.SequenceNode && len(root.Content) > 0 && r.child(resolve(root.Content[0]), "image") != nil {
			docs, err = s.ecsContainers(root)
			return docs, true, err
		}
		if root.Kind != yaml.MappingNode {
			continue
		}
		services := r.child(root, "services")
		switch {
		case services != nil && services.Kind == yaml.MappingNode:
			docs, err = s.compose(root)
		case services != nil && len(services.Content) > 0 && r.isECSService(resolve(services.Content[0])):
			docs, err = s.ecsServices(services)
		case services != nil && services.Kind == yaml.SequenceNode:
			docs, err = s.render(root)
		case r.child(root, "containerDefinitions") != nil:
			docs, err = s.ecsTask(root)
		case r.child(root, "taskDefinition") != nil && r.child(r.child(root, "taskDefinition"), "containerDefinitions") != nil:
			docs, err = s.ecsTask(r.child(root, "taskDefinition"))
		case r.isECSService(root):
			docs, err = s.ecsServices(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{root}})
		case strings.HasPrefix(strings.TrimSpace(string(s.data)), "{") && (r.child(root, "Job") != nil || r.child(root, "job") != nil || r.child(root, "TaskGroups") != nil):
			docs, err = s.nomadJSON(root)
		default:
			continue
		}
		if err == nil {
			err = s.alone(roots, i)
		}
		return docs, true, err
	}
	return nil, false, nil
}

// alone refuses a second document beside the one that is read: Compose merges them, and what the
// others do with it nobody has written down.
func (s *source) alone(roots []*yaml.Node, read int) error {
	if len(roots) == 1 {
		return nil
	}
	other := roots[1]
	if read > 0 {
		other = roots[0]
	}
	remedy := s.renderer
	if remedy == "" {
		remedy = "put each document into a file of its own"
	}
	return s.at(other.Line, other.Column, "", fmt.Sprintf("is one of %d documents in this file, and only one can be read", len(roots)), remedy)
}

// begin makes a workload with what its supervisor does unless the manifest says otherwise.
// graceKey is what people call the grace there.
func (s *source) begin(doc *document, kind model.SupervisorKind, graceKey string) *Workload {
	return &Workload{
		File: s.file, Line: doc.line, Kind: doc.kind, Name: doc.name, Supervisor: kind, GraceKey: graceKey,
		Replicas: 1, Grace: time.Duration(kind.Habits().Grace), Lines: make(map[string]int),
	}
}

// close adds what every format has to say about the grace that was read.
func (w *Workload) close() {
	if w.killedAtOnce() {
		return
	}
	h := w.Supervisor.Habits()
	least, most := time.Duration(h.Least), time.Duration(h.Most)
	switch {
	case !w.GraceSet && h.Fixed():
		w.note("%s always allows %s", h.Title, w.Grace)
	case !w.GraceSet:
		w.note("%s is not set; %s assumed, the default of %s", w.GraceKey, w.Grace, h.Title)
	case w.Grace == Forever:
		w.note("%s sends no SIGKILL: a stop lasts as long as the worker takes", h.Title)
	case w.Grace > most:
		w.note("%s %s is above the limit of %s, %s, which is simulated", w.GraceKey, w.Grace, h.Title, most)
	case w.Grace < least:
		w.note("%s %s is below the limit of %s, %s, which is simulated", w.GraceKey, w.Grace, h.Title, least)
	case w.Grace == 0:
		w.note("%s is 0: the process is killed at once, with no time to shut down", w.GraceKey)
	}
}

// killedAtOnce reports whether the stop signal is SIGKILL, which leaves no grace.
func (w *Workload) killedAtOnce() bool {
	if w.StopSignal != "SIGKILL" {
		return false
	}
	w.StopSignal, w.Grace = "", 0
	w.note("the stop signal is SIGKILL: the process is killed at once, with no time to shut down")
	return true
}

// unlike notes what is written and not simulated as it is.
func (w *Workload) unlike() {
	switch w.StopSignal {
	case "", "SIGTERM", "SIGINT":
	default:
		w.note("the stop signal is %s: simulated are workers that begin their drain at it, as those of quiesce do at SIGTERM and SIGINT alone", w.StopSignal)
	}
	if w.MinReadySeconds > 0 {
		key := "minReadySeconds"
		if w.Supervisor == model.Nomad {
			key = "min_healthy_time"
		}
		w.note("%s is not simulated: the rollout goes on as soon as a new worker is ready, %v earlier", key, time.Duration(w.MinReadySeconds)*time.Second)
	}
}

// setGrace remembers a grace that was written.
func (w *Workload) setGrace(d time.Duration, line int) {
	w.Grace, w.GraceSet, w.GraceLine = d, true, line
	w.Lines[w.GraceKey] = line
}

// replaceAtOnce is the rollout that stops everything and starts everything at the same time.
func (w *Workload) replaceAtOnce() {
	all := IntOrPercent{Value: 100, Percent: true}
	w.Strategy = Strategy{Type: RollingUpdate, MaxSurge: all, MaxUnavailable: all}
}

// replaceAhead is the rollout that starts everything anew and only then stops the old ones.
func (w *Workload) replaceAhead() {
	w.Strategy = Strategy{Type: RollingUpdate, MaxSurge: IntOrPercent{Value: 100, Percent: true}}
}

// signalNumbers are the signals that stop processes, as Linux numbers them.
var signalNumbers = map[string]string{
	"1": "SIGHUP", "2": "SIGINT", "3": "SIGQUIT", "6": "SIGABRT", "9": "SIGKILL", "10": "SIGUSR1", "12": "SIGUSR2", "15": "SIGTERM", "28": "SIGWINCH",
}

// signalOf reads a signal as people write it: SIGTERM, TERM, term or 15.
func signalOf(text string) (name string, ok bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	if name, ok := signalNumbers[text]; ok {
		return name, true
	}
	if !strings.HasPrefix(text, "SIG") {
		text = "SIG" + text
	}
	return text, signalName.MatchString(text)
}
