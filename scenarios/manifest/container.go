package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// containers reads what each container adds to stop and start of the pod; chosen is the one that
// the pod's annotation names.
func (r *reader) containers(w *Workload, pod *yaml.Node, chosen string) {
	nodes := r.items(pod, "containers")
	var signals []string
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
		signals = append(signals, r.container(w, node, name))
	}
	r.prefix = ""
	if r.err == nil {
		w.follow(w.worker(chosen), signals)
	}
	if strings.Join(signals, "") != "" && r.plainText(r.child(pod, "os"), "name") == "" {
		w.note("Kubernetes refuses a stopSignal unless the pod says os: {name: linux}")
	}
	r.noteInitContainers(w, pod)
}

// defaultContainer is the annotation by which a pod says which container it is about (Kubernetes,
// "Well-Known Labels, Annotations and Taints").
const defaultContainer = "kubectl.kubernetes.io/default-container"

// worker is the container that works on jobs: one that is told its grace, else the one that the
// pod names, else the first.
func (w *Workload) worker(chosen string) int {
	if at := slices.IndexFunc(w.Processes, func(p Process) bool { return p.ToldLine > 0 }); at >= 0 {
		return at
	}
	return max(slices.Index(w.Containers, chosen), 0)
}

// follow takes hook and stop signal of one container. Each container is sent its signal when its
// own hook has ended, whatever the others do meanwhile.
func (w *Workload) follow(worker int, signals []string) {
	name, others := w.Containers[worker], false
	w.StopSignal = signals[worker]
	for _, hook := range w.PreStop {
		if hook.Container == name {
			w.PreStopDuration = hook.Duration
		} else {
			others = true
		}
	}
	for _, signal := range signals {
		others = others || signal != w.StopSignal
	}
	if others {
		w.note("container %s is taken for the worker, one of %d; preStop and stop signal of the others are not its own", name, len(w.Containers))
	}
}

// container reads one container and returns its stop signal, if it is written.
func (r *reader) container(w *Workload, node *yaml.Node, name string) string {
	if stray := r.child(node, "terminationGracePeriodSeconds"); stray != nil {
		w.ignore("terminationGracePeriodSeconds", stray, "in container "+name)
	}
	w.Processes = append(w.Processes, podProcess(r.src, node))
	lifecycle := r.mapping(node, "lifecycle")
	signal := r.stopSignal(lifecycle)
	if preStop := r.mapping(lifecycle, "preStop"); preStop != nil {
		hook := r.hook(w, preStop, name)
		hook.Line = r.mark(lifecycle, "preStop")
		w.PreStop = append(w.PreStop, hook)
	}
	// Both delays count from the start of the container, so the longer one holds.
	for _, key := range []string{"startupProbe", "readinessProbe"} {
		r.prefix = "containers/" + name + "/" + key + "/"
		delay := r.seconds(r.mapping(node, key), "initialDelaySeconds", 0)
		w.ReadinessDelay = max(w.ReadinessDelay, delay)
	}
	return signal
}

// signalName matches the signals of Linux, signal(7).
var signalName = regexp.MustCompile(`^SIG(HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|STKFLT|CHLD|CLD|CONT|STOP|TSTP|TTIN|TTOU|` +
	`URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|RTMIN(\+[0-9]+)?|RTMAX(-[0-9]+)?)$`)

func (r *reader) stopSignal(lifecycle *yaml.Node) string {
	signal := r.text(lifecycle, "stopSignal")
	r.mark(lifecycle, "stopSignal")
	if signal != "" && !signalName.MatchString(signal) {
		r.fail(r.child(lifecycle, "stopSignal"), "stopSignal", fmt.Sprintf("%q is not a signal", signal), "write a name such as SIGTERM")
	}
	return signal
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
