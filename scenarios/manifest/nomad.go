package manifest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/model"
)

const renderNomad = "let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"

// packTag matches the tags of nomad-pack templates, which are no HCL.
var packTag = regexp.MustCompile(`\[\[-?\s*(\.|[a-zA-Z]+\s+["$.(]|(end|else|range|if)\b).*`)

// nomad lists the tasks of a Nomad job file in HCL (Nomad documentation, "Job Specification").
func (s *source) nomad() ([]document, error) {
	if at := packTag.FindIndex(s.data); at != nil {
		line, column := s.position(at[0])
		return nil, s.at(line, column, "", "a nomad-pack template tag stands here, so this is not a job file yet: "+clip(string(s.data[at[0]:at[1]])),
			"render it first: nomad-pack render PACK --to-dir rendered")
	}
	root, err := s.hcl()
	if err != nil {
		return nil, err
	}
	jobs := root.named("job")
	if len(jobs) == 0 {
		return nil, s.refuse("has no job block", `write job "name" { … }`)
	}
	h := &hclReader{src: s, root: root, tool: renderNomad}
	var docs []document
	for _, job := range jobs {
		groups := job.named("group")
		if len(job.named("task")) > 0 { // A task right in the job is a group of its own.
			groups = append(groups, &hclBlock{kind: "group", labels: job.labels, blocks: job.blocks, line: job.line, column: job.column})
		}
		for _, group := range groups {
			for _, task := range group.named("task") {
				if len(task.named("lifecycle")) > 0 {
					continue // It runs before, or beside, or after the workers.
				}
				doc := document{kind: "task", name: task.label(), namespace: group.label(), line: task.line}
				doc.load = func() (*Workload, error) { return h.nomadTask(&doc, job, group, task) }
				docs = append(docs, doc)
			}
		}
	}
	if len(docs) == 0 {
		for _, job := range jobs {
			for _, inner := range append([]*hclBlock{job}, job.named("group")...) {
				if made := inner.named("dynamic"); len(made) > 0 {
					return nil, s.at(made[0].line, made[0].column, "dynamic", "makes blocks that only Nomad knows", renderNomad)
				}
			}
		}
		return nil, s.refuse("has no task", "write job, group and task blocks")
	}
	return docs, nil
}

// nomadSettings is what a job file says, in HCL or JSON.
type nomadSettings struct {
	driver    string
	jobType   string
	parallel  int // max_parallel; 0 is all at once
	healthy   time.Duration
	groupWait time.Duration // shutdown_delay of the group, before that of the task
	taskWait  time.Duration
	scaled    int // line of the least of scaling, which is taken for the count; 0 for none
	canaries  int // line of their number; 0 for none
}

func (h *hclReader) nomadTask(doc *document, job, group, task *hclBlock) (*Workload, error) {
	w := h.src.begin(doc, model.Nomad, "kill_timeout")
	w.Namespace = doc.namespace
	h = &hclReader{src: h.src, root: h.root, tool: h.tool, w: w}
	n := nomadSettings{jobType: h.text(job, "type", "service"), driver: h.text(task, "driver", ""), parallel: 1}
	h.misplaced(job, "in the task", "kill_timeout", "kill_signal")
	h.misplaced(group, "in the task", "kill_timeout", "kill_signal")
	if d, ok := h.duration(task, "kill_timeout"); ok {
		w.setGrace(d, w.Lines["kill_timeout"])
	}
	if text := h.text(task, "kill_signal", ""); text != "" {
		name, ok := signalOf(text)
		if v, _ := task.attr("kill_signal"); !ok {
			h.fail(v, "kill_signal", fmt.Sprintf("%q is not a signal", text), `write a name such as "SIGTERM"`)
		}
		w.StopSignal = name
	}
	w.Processes = []Process{h.nomadProcess(task)}
	n.groupWait, _ = h.duration(group, "shutdown_delay")
	n.taskWait, _ = h.duration(task, "shutdown_delay")
	w.Replicas = 1
	for _, scaling := range group.named("scaling") {
		w.Replicas = h.count(scaling, "min", w.Replicas)
		n.scaled = w.Lines["min"]
	}
	w.Replicas = h.count(group, "count", w.Replicas)
	// What the group says of the update goes before what the job says.
	for _, outer := range []*hclBlock{job, group} {
		for _, update := range outer.named("update") {
			n.parallel = h.count(update, "max_parallel", n.parallel)
			if d, ok := h.duration(update, "min_healthy_time"); ok {
				n.healthy = d
			}
			if v, ok := update.attr("canary"); ok {
				n.canaries = v.line
				if known, _ := h.known(v, "canary", 0); known.text == "0" {
					n.canaries = 0
				}
			}
		}
	}
	if h.err != nil {
		return nil, h.err
	}
	w.nomad(n)
	return w, nil
}

// nomadProcess reads what a task runs: the config of its driver, and its env, which is a block
// or an attribute.
func (h *hclReader) nomadProcess(task *hclBlock) Process {
	p := Process{Name: task.label()}
	for _, config := range task.named("config") {
		for _, key := range []string{"entrypoint", "command", "args"} {
			written, ok := config.attr(key)
			if !ok || key == "args" && p.Command == nil {
				continue
			}
			if p.Command == nil {
				p.CommandKey, p.CommandLine = key, written.line
			}
			v := h.followed(written, key)
			if v.kind == hclText {
				p.Command = append(p.Command, v.text)
			}
			for _, item := range v.items {
				p.Command = append(p.Command, h.followed(item, key).text)
			}
		}
	}
	var variables []hclAttr
	for _, env := range task.named("env") {
		variables = append(variables, env.attrs...)
	}
	for _, a := range append(variables, h.attr(task.attrs, "env").fields...) {
		if a.name == grace.Variable {
			p.told(h.followed(a.value, a.name).plain(), a.line)
		}
	}
	return p
}

// nomad says what the settings mean together. An update stops an allocation before it starts the
// one in its place.
func (w *Workload) nomad(n nomadSettings) {
	switch {
	case w.Lines["count"] > 0:
	case n.scaled > 0:
		w.note("count is not set; scaling on line %d keeps at least %d, which is simulated", n.scaled, w.Replicas)
	default:
		w.note("count is not set; 1 assumed")
	}
	if n.canaries > 0 {
		w.note("the canaries of line %d are not simulated", n.canaries)
	}
	w.PreStopDuration = n.groupWait + n.taskWait
	if n.driver == "docker" && w.StopSignal == "" {
		w.StopSignal = "SIGTERM"
		w.note("kill_signal is not set; SIGTERM assumed, unless the image says otherwise")
	}
	switch n.jobType {
	case "system", "sysbatch":
		w.note("a %s job runs once per node; %d assumed", n.jobType, w.Replicas)
	case "batch":
		w.note("a batch job is not updated in place of its running tasks by Nomad; one at a time is assumed")
	}
	at := IntOrPercent{Value: n.parallel}
	if at.Value == 0 {
		at = IntOrPercent{Value: 100, Percent: true}
	}
	w.Strategy = Strategy{Type: RollingUpdate, MaxUnavailable: at}
	w.MinReadySeconds = int(n.healthy / time.Second)
	w.close()
}

// hclReader takes values out of blocks. It keeps the first problem, as reader does.
type hclReader struct {
	src  *source
	root *hclBlock
	tool string // how expressions are worked out
	w    *Workload
	err  error

	steps int // references that were followed
}

func (h *hclReader) fail(v hclValue, field, problem, remedy string) {
	if h.err == nil {
		h.err = h.src.at(v.line, v.column, field, problem, remedy)
	}
}

// reference is a variable or a local, alone or in a text.
var reference = regexp.MustCompile(`\$\{\s*(var|local)\.([A-Za-z0-9_-]+)\s*\}|^(var|local)\.([A-Za-z0-9_-]+)$`)

// literal returns a value that is needed. A variable has its default, a local its value; any other
// expression is for the tool that the file is written for.
func (h *hclReader) literal(b *hclBlock, name string) (hclValue, bool) {
	v, ok := b.attr(name)
	if !ok {
		h.slipIn(b.attrs, name)
	}
	if !ok || h.err != nil {
		return hclValue{}, false
	}
	h.mark(name, v.line)
	return h.worked(v, name)
}

// worked is the value itself, or what it refers to.
func (h *hclReader) worked(v hclValue, name string) (hclValue, bool) {
	if known, ok := h.known(v, name, 0); ok {
		known.line, known.column = v.line, v.column
		return known, true
	}
	h.fail(v, name, "is an expression, "+v.shown(), h.tool)
	return hclValue{}, false
}

// shown is an expression as it begins.
func (v hclValue) shown() string {
	if v.kind == hclCall {
		return clip(v.text + "(…)")
	}
	return clip(v.text)
}

// target is what a value refers to, in one step or several, a call of a function or a text with
// interpolations too; a value that refers to nothing that is known is itself.
func (h *hclReader) target(v hclValue, name string) hclValue {
	end, throughVariable := v, ""
	for range deepest {
		m := reference.FindStringSubmatch(end.text)
		if end.kind != hclDynamic || m == nil || m[0] != end.text {
			if throughVariable != "" {
				h.noteDefault(name, throughVariable)
			}
			return end
		}
		next, ok := h.defined(m[1]+m[3], m[2]+m[4])
		if !ok {
			return v
		}
		if end = next; m[1]+m[3] == "var" {
			throughVariable = m[2] + m[4]
		}
	}
	return v // A circle.
}

// followed is the target of a value, its interpolations filled in where all of them are known.
func (h *hclReader) followed(v hclValue, name string) hclValue {
	v = h.target(v, name)
	if known, ok := h.known(v, name, 0); ok {
		return known
	}
	return v
}

// attr is the followed value of an attribute; the zero value when it is not written.
func (h *hclReader) attr(attrs []hclAttr, name string) hclValue {
	v, _ := field(attrs, name)
	return h.followed(v, name)
}

// deepest is how many references lead to a value; a circle, which the tool refuses, ends there.
const deepest = 10

// known works out a value that is written, or refers to such in one step or several.
func (h *hclReader) known(v hclValue, name string, depth int) (hclValue, bool) {
	const most = 1000 // Text that grows without end ends here.
	if v.kind != hclDynamic {
		return v, v.kind != hclCall
	}
	if h.steps++; depth == deepest || h.steps > most {
		return v, false
	}
	if m := reference.FindStringSubmatch(v.text); m != nil && m[0] == v.text {
		return h.referred(m[1]+m[3], m[2]+m[4], name, depth)
	}
	if !v.quoted || literalTemplate.Replace(v.text) != v.text { // An escape would pass for an interpolation.
		return v, false
	}
	whole := true
	text := reference.ReplaceAllStringFunc(v.text, func(part string) string {
		m := reference.FindStringSubmatch(part)
		inner, ok := h.referred(m[1]+m[3], m[2]+m[4], name, depth)
		whole = whole && ok && (inner.kind == hclText || inner.kind == hclNumber || inner.kind == hclBool)
		return inner.text
	})
	if !whole || strings.Contains(text, "${") || strings.Contains(text, "%{") {
		return v, false
	}
	return hclValue{kind: hclText, text: text, line: v.line, column: v.column}, true
}

// referred is the default of a variable or the value of a local. A default is an assumption.
func (h *hclReader) referred(kind, called, name string, depth int) (hclValue, bool) {
	v, ok := h.defined(kind, called)
	if !ok {
		return hclValue{}, false
	}
	if v, ok = h.known(v, name, depth+1); ok && kind == "var" {
		h.noteDefault(name, called)
	}
	return v, ok
}

func (h *hclReader) noteDefault(name, variable string) {
	h.w.noteOnce("%s is var.%s, whose default is used", name, variable)
}

// defined is what the file says of a variable or local.
func (h *hclReader) defined(kind, called string) (hclValue, bool) {
	for _, block := range h.root.named(map[string]string{"var": "variable", "local": "locals"}[kind]) {
		key := called
		if kind == "var" {
			key = "default"
		}
		if v, ok := block.attr(key); ok && (kind == "local" || block.label() == called) {
			return v, true
		}
	}
	return hclValue{}, false
}

func (h *hclReader) mark(name string, line int) {
	if h.w != nil {
		h.w.Lines[name] = line
	}
}

func (h *hclReader) text(b *hclBlock, name, fallback string) string {
	v, ok := h.literal(b, name)
	if !ok {
		return fallback
	}
	if v.kind != hclText {
		h.fail(v, name, "is not text", `put it in quotes`)
	}
	return v.text
}

func (h *hclReader) count(b *hclBlock, name string, fallback int) int {
	v, ok := h.literal(b, name)
	if !ok {
		return fallback
	}
	n, whole := v.whole()
	if !whole || n > 1<<30 {
		h.fail(v, name, "is not a whole number", "write a number such as 1")
	}
	return int(n)
}

// whole is a number that is not negative, as HCL writes it: 3, 3.0 and 30e-1 are the same. Text
// is turned into a number.
func (v hclValue) whole() (int64, bool) {
	if v.kind != hclNumber && v.kind != hclText {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if f, notFloat := strconv.ParseFloat(v.text, 64); err != nil && notFloat == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n, err = int64(f), nil
	}
	return n, err == nil && n >= 0
}

// duration reads text such as "25s"; a bare number is nanoseconds to Nomad, which nobody means.
func (h *hclReader) duration(b *hclBlock, name string) (time.Duration, bool) {
	v, ok := h.literal(b, name)
	if !ok {
		return 0, false
	}
	d, problem, remedy := parseGoDuration(v.text)
	if problem == "" && v.kind != hclText {
		problem, remedy = "is not a duration", `write one in quotes, such as "30s"`
	}
	if problem != "" {
		h.fail(v, name, problem, remedy)
		return 0, false
	}
	return d, true
}
