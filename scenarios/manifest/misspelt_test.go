package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestADecisiveKeyThatIsMisspeltOrMisplacedIsRefused: read over, it would leave the default in
// force, and every number after that would be about another fleet.
func TestADecisiveKeyThatIsMisspeltOrMisplacedIsRefused(t *testing.T) {
	pod := func(lines string) string { return deployment(lines + "      containers:\n      - name: c\n") }
	for name, c := range map[string]struct {
		file, text   string
		line, column int
		message      string
	}{
		"Kubernetes: the grace":        {"d.yaml", pod("      terminationGracePeriodSecond: 60\n"), 7, 7, "terminationGracePeriodSecond is not known; write terminationGracePeriodSeconds"},
		"Kubernetes: a hook":           {"d.yaml", pod("") + "        lifecycle: {prestop: {sleep: {seconds: 3}}}\n", 9, 21, "prestop is not known; write preStop"},
		"Kubernetes: a strategy":       {"d.yaml", rollout("Deployment", "apps/v1", "  strategy: {rollingUpdate: {max_surge: 1}}\n"), 5, 30, "max_surge is not known; write maxSurge"},
		"Compose: the grace":           {"compose.yaml", "services:\n  w:\n    image: x\n    stop_grace_perod: 60s\n", 4, 5, "stop_grace_perod is not known; write stop_grace_period"},
		"Compose: what is merged":      {"compose.yaml", "x-w: &w\n  stop-grace-period: 60s\nservices:\n  w:\n    <<: *w\n    image: x\n", 2, 3, "stop-grace-period is not known; write stop_grace_period"},
		"Compose: the grace in deploy": {"compose.yaml", "services:\n  w:\n    image: x\n    deploy: {stop_grace_period: 60s}\n", 4, 14, "stop_grace_period stands in the wrong place; write it beside image"},
		"systemd: the grace":           {"w.service", "[Service]\nTimeoutStopsec=20\n", 2, 1, "TimeoutStopsec is not known; write TimeoutStopSec"},
		"systemd: what is signalled":   {"w.service", "[Service]\nkillmode=none\n", 2, 1, "killmode is not known; write KillMode"},
		"Nomad: the grace":             {"w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   kill_timout = \"9s\"\n}\n}\n}\n", 4, 4, "kill_timout is not known; write kill_timeout"},
		"Nomad: the grace of a group":  {"w.nomad", "job \"j\" {\n group \"g\" {\n  kill_timeout = \"9s\"\n  task \"w\" {\n}\n}\n}\n", 3, 3, "kill_timeout stands in the wrong place; write it in the task"},
		"Nomad: JSON":                  {"j.json", `{"Job": {"TaskGroups": [{"Name": "g", "Tasks": [{"Name": "w", "Killtimeout": 9000000000}]}]}}`, 1, 63, "Killtimeout is not known; write KillTimeout"},
		"ECS: the grace":               {"t.json", `{"containerDefinitions": [{"name": "w", "StopTimeout": 60}]}`, 1, 41, "StopTimeout is not known; write stopTimeout"},
		"ECS: the grace of the task":   {"t.json", `{"stopTimeout": 60, "containerDefinitions": [{"name": "w"}]}`, 1, 2, "stopTimeout stands in the wrong place; write it in a container definition"},
		"Terraform: the grace":         {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stop_timeout = 60 }])\n}\n", 2, 53, "stop_timeout is not known; write stopTimeout"},
		"Fly: the grace":               {"fly.toml", "app = \"w\"\n  kill_timout = 120\n", 2, 3, "kill_timout is not known; write kill_timeout"},
		"Fly: a strategy":              {"fly.toml", "app = \"w\"\n[deploy]\nmax-unavailable = 1\n", 3, 1, "max-unavailable is not known; write max_unavailable"},
		"supervisord: the grace":       {"supervisord.conf", "[program:w]\ncommand=x\nstopwaitsec=60\n", 3, 1, "stopwaitsec is not known; write stopwaitsecs"},
		"Render: the grace":            {"render.yaml", "services:\n- {type: worker, name: w, maxShutDownDelaySecond: 60}\n", 2, 27, "maxShutDownDelaySecond is not known; write maxShutdownDelaySeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			assertRefused(t, c.file, c.text, c.line, c.column, c.message)
		})
	}
}

// TestKeysThatMeanSomethingElseAreNoMisspeltOnes: each is a key of its tool, or anybody's own.
func TestKeysThatMeanSomethingElseAreNoMisspeltOnes(t *testing.T) {
	for name, c := range map[string]struct{ file, text string }{
		"Compose":     {"compose.yaml", "services:\n  w: {image: x, develop: {}, x-stop-grace-period: 1, stdin_open: true}\n"},
		"ECS":         {"t.json", `{"containerDefinitions": [{"name": "w", "startTimeout": 60}]}`},
		"systemd":     {"w.service", "[Service]\nTimeoutStartSec=3\nSendSIGHUP=yes\nExecStopPost=/x\nTimeoutAbortSec=4\nExecStart=/x\n"},
		"supervisord": {"supervisord.conf", "[program:w]\ncommand=x\nstartsecs=3\nnumprocs_start=1\nkillasgroup=true\n"},
		"Fly":         {"fly.toml", "app = \"w\"\n[env]\nkill_timout = \"1\"\n[deploy]\nwait_timeout = \"5m\"\nrelease_command = \"x\"\n"},
		"Render":      {"render.yaml", "services:\n- {type: worker, name: w, scaling: {minInstances: 1, maxInstances: 3}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.file, []byte(c.text), "")
			assert.NoError(t, err)
		})
	}
}
