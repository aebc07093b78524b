package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// view is a workload as one lint looks at it.
type view struct {
	*manifest.Workload
	options Options
	kind    protocol.KindConfig // what the slowest handler needs
	found   []Finding
}

func (v *view) report(s Severity, line int, field, remedy, problem string, args ...any) {
	if line == 0 {
		line = v.Line
	}
	v.found = append(v.found, Finding{Severity: s, Line: line, Field: field, Problem: fmt.Sprintf(problem, args...), Remedy: remedy})
}

// known reports whether the workload is known to be a worker of this project.
func (v *view) known() bool {
	return slices.ContainsFunc(v.Processes, func(p manifest.Process) bool { return p.ToldLine > 0 })
}

// forWorker is the first severity for a worker of this project, and the second for anything else.
func (v *view) forWorker(worker, other Severity) Severity {
	if v.known() {
		return worker
	}
	return other
}

// processes are the workload's, or one of which nothing is known.
func (v *view) processes() []manifest.Process {
	if len(v.Processes) == 0 {
		return []manifest.Process{{}}
	}
	return v.Processes
}

// hook is the preStop hook of a process, nil when it has none.
func (v *view) hook(p *manifest.Process) *manifest.Hook {
	for i := range v.PreStop {
		if v.PreStop[i].Container == p.Name {
			return &v.PreStop[i]
		}
	}
	return nil
}

// supervision is how the processes are stopped after a hook that takes so long. Outside of
// Kubernetes a wait before the signal uses nothing of the grace.
func (v *view) supervision(hook time.Duration) model.Supervisor {
	s := v.Supervision()
	if s.Kind == model.Kubernetes {
		s.PreStop = protocol.Duration(hook)
	}
	return s
}

// left is what a worker has between its first notice and SIGKILL, after a hook that takes so long.
func (v *view) left(hook time.Duration) time.Duration {
	return time.Duration(v.supervision(hook).WorkerGrace())
}

// config is what a worker with such a grace would be built with.
func (v *view) config(grace time.Duration) protocol.Config {
	return protocol.Config{Grace: protocol.Duration(grace), Kinds: []protocol.KindConfig{v.kind}}.WithDefaults()
}

// fits asks the protocol whether a worker starts with such a grace.
func (v *view) fits(grace time.Duration) bool { return v.config(grace).Validate() == nil }

// need says what does not fit.
func (v *view) need(grace time.Duration) string {
	c := v.config(grace)
	parts := []string{fmt.Sprintf("undo %s", short(v.options.Undo)), fmt.Sprintf("reserve %s", short(time.Duration(c.Reserve)))}
	if v.options.Gap > 0 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("gap %s", short(v.options.Gap)))
	}
	return fmt.Sprintf("%s = %s", strings.Join(parts, " + "), short(time.Duration(c.Closing(v.kind))))
}

// room is how long a job may go on after the stop.
func (v *view) room(grace time.Duration) time.Duration {
	c := v.config(grace)
	return max(grace-time.Duration(c.Closing(v.kind)), 0)
}

// least is the shortest grace in whole seconds that leaves enough after a hook that takes so long;
// ok is false when the supervisor allows none that does.
func (v *view) least(hook time.Duration, enough func(left time.Duration) bool) (d time.Duration, ok bool) {
	grace, ok := v.supervision(hook).ShortestGrace(func(left protocol.Duration) bool { return enough(time.Duration(left)) })
	return time.Duration(grace), ok
}

// short writes a duration without zero parts.
func short(d time.Duration) string {
	s := protocol.Duration(d.Round(time.Millisecond)).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
