package lint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// write begins a remedy with the line that sets a grace.
func (v *view) write(d time.Duration) string { return "write " + v.GraceSetting(d) }

// raise is the remedy for a grace that leaves too little after a hook.
func (v *view) raise(hook time.Duration, enough func(left time.Duration) bool) string {
	h := v.Supervisor.Habits()
	d, ok := v.least(hook, enough)
	switch {
	case h.Fixed():
		return fmt.Sprintf("%s allows %v and nothing changes it: undo faster", h.Title, h.Grace)
	case !ok:
		return fmt.Sprintf("%s allows at most %v: undo faster", h.Title, h.Most)
	}
	usual := max(d, min(time.Duration(h.Grace), time.Duration(h.Most)))
	if hook > 0 || usual == d {
		return v.write(d) + " or more"
	}
	return fmt.Sprintf("%s; %s is the least that works", v.write(usual), short(d))
}

// inForce says what the supervisor allows, and whether somebody has decided that.
func (v *view) inForce() string {
	h := v.Supervisor.Habits()
	switch {
	case h.Fixed():
		return fmt.Sprintf("%s allows %v", h.Title, h.Grace)
	case !v.GraceSet:
		return fmt.Sprintf("is not set, and the default of %s is %v", h.Title, h.Grace)
	}
	return "is " + short(v.Grace)
}

// graceStands is inForce with its subject.
func (v *view) graceStands() string {
	if v.Supervisor.Habits().Fixed() {
		return v.inForce()
	}
	return v.GraceName() + " " + v.inForce()
}

// killed reports whether the process is killed without having been asked to stop.
func (v *view) killed() bool { return v.left(0) == 0 }

func graceZero(v *view) {
	if v.Unfit != nil || !v.killed() {
		return
	}
	if line, key := v.signalLine(); line > 0 && v.StopSignal == "" {
		v.report(Error, line, key, "drop it, so that it is SIGTERM", "is SIGKILL: the process is killed at once, with no time to shut down")
		return
	}
	remedy := v.raise(0, v.fits)
	v.report(Error, v.GraceLine, v.GraceName(), remedy, "is 0: the process is killed at once, with no time to shut down")
}

func graceTooShort(v *view) {
	left := v.left(0)
	if v.Unfit != nil || v.killed() {
		return
	}
	if !v.fits(left) {
		v.report(Error, v.GraceLine, v.GraceName(), v.raise(0, v.fits), "%s, which does not hold %s", v.inForce(), v.need(left))
		return
	}
	for _, p := range v.processes() {
		if told, ok := told(&p); ok && !v.fits(told) {
			v.report(Error, p.ToldLine, variable, "write "+v.ToldSetting(left), "is %s, which does not hold %s", short(told), v.need(told))
		}
	}
}

func preStopEatsGrace(v *view) {
	if v.Supervisor != model.Kubernetes || v.killed() || !v.fits(v.left(0)) {
		return
	}
	for i := range v.PreStop {
		hook := &v.PreStop[i]
		left := v.left(hook.Duration)
		// A hook that overruns the grace is cut short at its end, and what is granted then is no grace.
		if !hook.Known || v.fits(left) && hook.Duration < v.Grace {
			continue
		}
		remedy := v.raise(hook.Duration, v.fits)
		if most := v.longestHook(); most > 0 {
			remedy += fmt.Sprintf(", or sleep at most %s", short(most))
		}
		v.report(Error, hook.Line, "preStop", remedy, "of container %s sleeps %s, and the grace%s: %s", hook.Container, short(hook.Duration), v.graceInWords(), v.afterHook(hook, left))
	}
}

func (v *view) graceInWords() string {
	if v.GraceSet {
		return fmt.Sprintf(" on line %d is %s", v.GraceLine, short(v.Grace))
	}
	return fmt.Sprintf(", which is not set, is %s", short(v.Grace))
}

func (v *view) afterHook(hook *manifest.Hook, left time.Duration) string {
	if hook.Duration >= v.Grace {
		return fmt.Sprintf("the hook is cut off then, and SIGKILL comes %s after the stop signal", short(left))
	}
	return fmt.Sprintf("%s are left, which do not hold %s", short(left), v.need(left))
}

// longestHook is how long a hook may sleep under this grace, in whole seconds.
func (v *view) longestHook() time.Duration {
	d := v.Grace.Truncate(time.Second) - time.Second
	for d > 0 && !v.fits(v.left(d)) {
		d -= time.Second
	}
	return max(d, 0)
}

func graceAboveCap(v *view) {
	h := v.Supervisor.Habits()
	most := time.Duration(h.Most)
	switch {
	case !v.GraceSet || v.Grace == manifest.Forever || v.Unfit != nil:
	case v.Grace > most && v.Supervisor == model.Nomad:
		v.report(Warning, v.GraceLine, v.GraceName(), "set max_kill_timeout of the client's configuration to at least as much, or "+v.write(most),
			"is %s, and a client of Nomad allows %v unless its max_kill_timeout says more", short(v.Grace), h.Most)
	case v.Grace > most:
		v.report(Error, v.GraceLine, v.GraceName(), v.write(most), "is %s, and %s allows %v: SIGKILL comes %s before a worker expects it", short(v.Grace), h.Title, h.Most, short(v.Grace-most))
	case v.Supervisor == model.ECS && v.Kind == "task" && v.Grace > time.Duration(model.Fargate.Habits().Most):
		v.report(Note, v.GraceLine, v.GraceName(), "on Fargate "+v.write(time.Duration(model.Fargate.Habits().Most)),
			"is %s, and Fargate would allow %v; nothing here says where the task runs", short(v.Grace), model.Fargate.Habits().Most)
	}
}

func graceIgnored(v *view) {
	for _, s := range v.Ignored {
		seconds, err := strconv.ParseUint(s.Value, 10, 32)
		written, severity := time.Duration(seconds)*time.Second, Error
		allowed := time.Duration(v.supervision(0).Allowed())
		if err == nil && written <= allowed {
			severity = Warning
		}
		remedy := "write it " + s.Place
		if s.Place == "" {
			remedy = "drop it, and plan with " + short(allowed)
		}
		v.report(severity, s.Line, s.Key, remedy, "is %s, and nobody reads it here: the grace in force is %s", strings.TrimSpace(s.Value), short(allowed))
	}
}

func graceNotSet(v *view) {
	h := v.Supervisor.Habits()
	if v.GraceSet || h.Fixed() || v.Unfit != nil || v.killed() || !v.fits(v.left(0)) || v.Kind == "ecs-service" {
		return
	}
	v.report(Note, 0, v.GraceName(), v.write(time.Duration(h.Grace))+", or what your jobs need", "is not set, and the default of %s is %v", h.Title, h.Grace)
}

func jobOutlastsGrace(v *view) {
	job := v.options.LongestJob
	if job == 0 || v.Unfit != nil || v.killed() {
		return
	}
	hook := v.PreStopDuration
	left := v.left(hook)
	if !v.fits(left) || v.room(left) >= job {
		return
	}
	remedy := "save progress (job.Save), so that the next execution goes on where this one was"
	if d, ok := v.least(hook, func(left time.Duration) bool { return v.fits(left) && v.room(left) >= job }); ok && !v.Supervisor.Habits().Fixed() {
		remedy = v.write(d) + ", or " + remedy
	}
	v.report(Warning, v.GraceLine, v.GraceName(), remedy, "%s: of %s a job has %s after the stop signal, and the longest takes %s; beside it stand %s",
		v.inForce(), short(left), short(v.room(left)), short(job), v.need(left))
}
