package manifest

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/model"
)

// GraceSetting is the line that sets a grace in this manifest, in whole seconds, rounded up; empty
// where nothing sets it.
func (w *Workload) GraceSetting(d time.Duration) string {
	if w.Supervisor.Habits().Fixed() {
		return ""
	}
	n := int64(math.Ceil(d.Seconds()))
	switch {
	case w.GraceKey == "KillTimeout":
		return fmt.Sprintf("%q: %d", w.GraceKey, time.Duration(n)*time.Second)
	case w.stopTimeouts() && w.terraform():
		return fmt.Sprintf("%s = %d", w.GraceKey, n)
	case w.stopTimeouts():
		return fmt.Sprintf("%q: %d", w.GraceKey, n)
	case w.Supervisor == model.Docker:
		return fmt.Sprintf("%s: %ds", w.GraceKey, n)
	case w.Supervisor == model.Systemd:
		return fmt.Sprintf("%s=%ds", w.GraceKey, n)
	case w.Supervisor == model.Nomad:
		return fmt.Sprintf("%s = \"%ds\"", w.GraceKey, n)
	case w.Supervisor == model.Fly:
		return fmt.Sprintf("%s = %d", w.GraceKey, n)
	case w.Supervisor == model.Supervisord:
		return fmt.Sprintf("%s=%d", w.GraceKey, n)
	}
	return fmt.Sprintf("%s: %d", w.GraceName(), n)
}

// ToldSetting is the line that tells the worker how long it has, QUIESCE_GRACE, where this
// manifest sets variables.
func (w *Workload) ToldSetting(d time.Duration) string {
	value := d.String()
	if d%time.Second == 0 {
		value = fmt.Sprintf("%ds", int64(d/time.Second))
	}
	name := grace.Variable
	switch {
	case w.stopTimeouts() && w.terraform():
		return fmt.Sprintf("{ name = %q, value = %q }", name, value)
	case w.stopTimeouts():
		if w.GraceKey != stopTimeout {
			return fmt.Sprintf(`{"Name": %q, "Value": %q}`, name, value)
		}
		return fmt.Sprintf(`{"name": %q, "value": %q}`, name, value)
	case w.GraceKey == "KillTimeout":
		return fmt.Sprintf("%q: %q", name, value)
	}
	switch w.Supervisor {
	case model.Docker:
		return name + ": " + value
	case model.Systemd:
		return "Environment=" + name + "=" + value
	case model.Nomad, model.Fly:
		return fmt.Sprintf("%s = %q", name, value)
	case model.Supervisord:
		return fmt.Sprintf("environment=%s=%q", name, value)
	case model.Heroku:
		return "heroku config:set " + name + "=" + value
	case model.Render:
		return fmt.Sprintf("- {key: %s, value: %s}", name, value)
	}
	return fmt.Sprintf("- {name: %s, value: %s}", name, value)
}

// stopTimeouts reports whether the grace is that of ECS, with a capital or without.
func (w *Workload) stopTimeouts() bool { return strings.EqualFold(w.GraceKey, stopTimeout) }

func (w *Workload) terraform() bool { return filepath.Ext(w.File) == ".tf" }

// RolloutSettings are the lines by which a deploy adds that many workers before it takes away
// those, where this manifest can say so; nil where it cannot.
func (w *Workload) RolloutSettings(r model.Rollout) []string {
	surge, down := r.MaxSurge, r.MaxUnavailable
	switch {
	case w.Kind == "Deployment":
		return []string{"strategy:", "  type: RollingUpdate", "  rollingUpdate: {maxSurge: " + written(surge) + ", maxUnavailable: " + written(down) + "}"}
	case !w.stopTimeouts() || w.Kind == "task" || !surge.Percent && surge.Value > 0:
		return nil
	case w.terraform():
		return []string{fmt.Sprintf("deployment_minimum_healthy_percent = %d", 100-down.Value), fmt.Sprintf("deployment_maximum_percent = %d", 100+surge.Value)}
	}
	if w.GraceKey != stopTimeout {
		return []string{fmt.Sprintf(`"DeploymentConfiguration": {"MinimumHealthyPercent": %d, "MaximumPercent": %d}`, 100-down.Value, 100+surge.Value)}
	}
	return []string{fmt.Sprintf(`"deploymentConfiguration": {"minimumHealthyPercent": %d, "maximumPercent": %d}`, 100-down.Value, 100+surge.Value)}
}

func written(v model.IntOrPercent) string {
	if v.Percent {
		return fmt.Sprintf("%d%%", v.Value)
	}
	return fmt.Sprint(v.Value)
}
