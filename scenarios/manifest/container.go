package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// containers reads what each container adds to stop and start of the pod.
func (r *reader) containers(w *Workload, pod *yaml.Node) {
	nodes := r.items(pod, "containers")
	if len(nodes) == 0 && pod != nil {
		r.fail(pod, "containers", "is empty", "a "+w.Kind+" needs at least one container")
	}
	for _, node := range nodes {
		r.prefix = ""
		if node.Kind != yaml.MappingNode {
			r.fail(node, "containers", "has an item that is not a mapping", "write `- name: ...`")
			return
		}
		name := r.name(node, "name")
		if name == "" {
			r.fail(node, "name", "of a container is not set", "give the container a name")
		}
		w.Containers = append(w.Containers, name)
		r.prefix = "containers/" + name + "/"
		r.container(w, node, name)
	}
	r.prefix = ""
	r.noteInitContainers(w, pod)
}

func (r *reader) container(w *Workload, node *yaml.Node, name string) {
	if stray := r.child(node, "terminationGracePeriodSeconds"); stray != nil {
		w.ignore("terminationGracePeriodSeconds", stray, "in container "+name)
	}
	w.Processes = append(w.Processes, podProcess(r.src, node))
	lifecycle := r.mapping(node, "lifecycle")
	r.stopSignal(w, lifecycle, name)
	if preStop := r.mapping(lifecycle, "preStop"); preStop != nil {
		hook := r.hook(w, preStop, name)
		hook.Line = r.mark(lifecycle, "preStop")
		w.PreStop = append(w.PreStop, hook)
		w.PreStopDuration = max(w.PreStopDuration, hook.Duration)
	}
	// Both delays count from the start of the container, so the longer one holds.
	for _, key := range []string{"startupProbe", "readinessProbe"} {
		r.prefix = "containers/" + name + "/" + key + "/"
		delay := r.seconds(r.mapping(node, key), "initialDelaySeconds", 0)
		w.ReadinessDelay = max(w.ReadinessDelay, delay)
	}
}

// signalName matches the signals of Linux, signal(7).
var signalName = regexp.MustCompile(`^SIG(HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|STKFLT|CHLD|CLD|CONT|STOP|TSTP|TTIN|TTOU|` +
	`URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|RTMIN(\+[0-9]+)?|RTMAX(-[0-9]+)?)$`)

func (r *reader) stopSignal(w *Workload, lifecycle *yaml.Node, name string) {
	signal := r.text(lifecycle, "stopSignal")
	r.mark(lifecycle, "stopSignal")
	switch {
	case signal == "":
	case !signalName.MatchString(signal):
		r.fail(r.child(lifecycle, "stopSignal"), "stopSignal", fmt.Sprintf("%q is not a signal", signal), "write a name such as SIGTERM")
	case w.StopSignal == "":
		w.StopSignal = signal
	case w.StopSignal != signal:
		w.note("container %s stops on %s, others on %s; %s is used", name, signal, w.StopSignal, w.StopSignal)
	}
}

// hook reads one preStop action; the API server takes exactly one.
func (r *reader) hook(w *Workload, preStop *yaml.Node, container string) Hook {
	hook := Hook{Container: container}
	for _, kind := range []HookKind{ExecHook, HTTPGetHook, SleepHook, TCPSocketHook} {
		action := r.mapping(preStop, string(kind))
		if action == nil {
			continue
		}
		if hook.Kind != "" {
			r.fail(action, "preStop", fmt.Sprintf("has both %s and %s", hook.Kind, kind), "keep one of them")
		}
		hook.Kind = kind
		switch kind {
		case ExecHook:
			r.execHook(w, action, &hook)
		case SleepHook:
			r.sleepHook(w, action, &hook)
		default:
			hook.Command = r.address(action)
			w.note("preStop of container %s is a request (%s) of unknown length; 0s assumed", container, kind)
		}
	}
	if hook.Kind == "" {
		r.fail(preStop, "preStop", "has no action", "write exec, httpGet or sleep below it")
	}
	return hook
}

func (r *reader) execHook(w *Workload, action *yaml.Node, hook *Hook) {
	var words []string
	for _, item := range r.items(action, "command") {
		words = append(words, r.str(item, "command"))
	}
	hook.Command = strings.Join(words, " ")
	hook.Duration, hook.Known, hook.AtLeast = commandSleep(words)
	switch {
	case !hook.Known:
		w.note("preStop of container %s runs a command of unknown length; 0s assumed", hook.Container)
	case hook.AtLeast:
		w.note("preStop of container %s sleeps %s and does more; %s assumed, at least", hook.Container, hook.Duration, hook.Duration)
	}
}

// sleepHook has a rule of its own: a sleep action longer than the grace is refused.
func (r *reader) sleepHook(w *Workload, action *yaml.Node, hook *Hook) {
	prefix := r.prefix
	r.prefix += "preStop/sleep/"
	hook.Duration, hook.Known = r.seconds(action, "seconds", 0), true
	r.prefix = prefix
	if node := r.child(action, "seconds"); node != nil && hook.Duration > w.Grace {
		w.Unfit = r.src.at(node.Line, node.Column, "sleep.seconds", fmt.Sprintf("%d is longer than terminationGracePeriodSeconds %d, which Kubernetes refuses",
			int64(hook.Duration/time.Second), int64(w.Grace/time.Second)), "raise the grace or sleep less")
	}
}

// address is for showing only, so whatever is written will do.
func (r *reader) address(action *yaml.Node) string {
	return r.plainText(action, "host") + ":" + r.plainText(action, "port") + r.plainText(action, "path")
}

// noteInitContainers tells of what start and stop may wait for besides the containers.
func (r *reader) noteInitContainers(w *Workload, pod *yaml.Node) {
	if len(r.items(pod, "initContainers")) > 0 {
		w.note("init containers run before the workers start, or beside them; their hooks and their time are not read")
	}
}
