package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// stopsAllAtOnce looks at what is a setting: a Job, a unit, a dyno know no other way.
func stopsAllAtOnce(v *view) {
	if v.Replicas < 2 || v.runsToItsEnd() || v.Kind == "Pod" || v.Kind == "Job" {
		return
	}
	s := v.Strategy
	switch {
	case s.Type == manifest.Recreate && v.Supervisor == model.Kubernetes:
		v.report(Warning, v.Lines["type"], "type", "write type: RollingUpdate, unless two versions must not run side by side",
			"is Recreate: a deploy stops all %d workers together, and nothing is claimed until new ones have started", v.Replicas)
	case s.Type == manifest.RollingUpdate && v.Unavailable() >= v.Replicas && v.Supervisor != model.Heroku:
		line, key := v.firstLine("maxUnavailable", "max_unavailable", "parallelism", "minimumHealthyPercent", "deployment_minimum_healthy_percent", "max_parallel", "MaxParallel", "strategy")
		v.report(Warning, line, key, v.fewer(key), "lets a deploy stop all %d workers together: every job in flight is interrupted at once", v.Replicas)
	}
}

// firstLine finds the first of several keys that is written.
func (v *view) firstLine(keys ...string) (line int, key string) {
	for _, key := range keys {
		if at := v.Lines[key]; at > 0 {
			return at, key
		}
	}
	return 0, ""
}

// fewer is the line that stops a quarter at a time.
func (v *view) fewer(key string) string {
	quarter := max(v.Replicas/4, 1)
	switch key {
	case "maxUnavailable":
		return "write maxUnavailable: 25%"
	case "parallelism":
		return fmt.Sprintf("write parallelism: %d", quarter)
	case "max_parallel":
		return fmt.Sprintf("write max_parallel = %d", quarter)
	case "MaxParallel":
		return fmt.Sprintf("write \"MaxParallel\": %d", quarter)
	case "minimumHealthyPercent":
		return "write \"minimumHealthyPercent\": 75"
	case "deployment_minimum_healthy_percent":
		return "write deployment_minimum_healthy_percent = 75"
	case "strategy":
		return "write strategy = \"rolling\""
	}
	return "let a quarter stop at a time"
}

var neverRestarts = []string{"no", "none", "false", "never"}

// notRestarted knows where "not written" means no: Compose and systemd.
func notRestarted(v *view) {
	if v.runsToItsEnd() && v.Kind != "service" {
		return
	}
	line, key := v.firstLine("restart", "Restart", "autorestart", "restartPolicy")
	switch {
	case line > 0 && slices.Contains(neverRestarts, strings.ToLower(v.RestartPolicy)):
		v.report(v.forWorker(Warning, Note), line, key, restartSetting(v.Supervisor), "is %s: a worker that crashes, or that ends a drain asked for by hand, stays away", v.RestartPolicy)
	case line == 0 && v.known() && v.Supervisor == model.Systemd:
		v.report(Warning, 0, "Restart", restartSetting(v.Supervisor), "is not set, which is no: a worker that crashes, or that ends a drain asked for by hand, stays away")
	case line == 0 && v.known() && v.Supervisor == model.Docker:
		v.report(Warning, 0, "restart", restartSetting(v.Supervisor), "is not set, which is no: a worker that crashes, or that ends a drain asked for by hand, stays away")
	}
}

func restartSetting(kind model.SupervisorKind) string {
	switch kind {
	case model.Systemd:
		return "write Restart=always, or on-failure for crashes alone"
	case model.Supervisord:
		return "write autorestart=true"
	case model.Kubernetes:
		return "write restartPolicy: Always, or deploy it by a Deployment"
	}
	return "write restart: unless-stopped, or on-failure for crashes alone"
}
