package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/manifest/lint"
)

// a Deployment with a line for its spec, one for its pod and one for its only container.
func deployment(spec, pod, container string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  " + spec +
		"\n  template:\n    spec:\n      " + pod + "\n      containers:\n      - name: w\n        " + container + "\n"
}

func told(value string) string { return `env: [{name: QUIESCE_GRACE, value: "` + value + `"}]` }

func slept(seconds string) string {
	return "lifecycle: {preStop: {exec: {command: [sleep, '" + seconds + "']}}}"
}

const sixty = "terminationGracePeriodSeconds: 60"

func unit(lines string) string { return "[Service]\nExecStart=/w\nTimeoutStopSec=60\n" + lines + "\n" }

func service(lines ...string) string {
	return "services:\n  w:\n    image: w\n    " + strings.Join(lines, "\n    ") + "\n"
}

// Each lint finds what is bad, says where, with which numbers, and what to write, and lets pass
// what is good.
var cases = []struct {
	lint      string
	file      string
	bad, good string
	severity  lint.Severity
	line      int
	field     string
	problem   string
	remedy    string
}{
	{"grace-zero", "k.yaml", deployment("replicas: 1", "terminationGracePeriodSeconds: 0", ""), deployment("replicas: 1", sixty, ""),
		lint.Error, 8, "terminationGracePeriodSeconds", "is 0: the process is killed at once", "write terminationGracePeriodSeconds: 30; 2s is the least that works"},
	{"grace-zero", "k.yaml", deployment("replicas: 1", sixty, "lifecycle: {stopSignal: SIGKILL}"), deployment("replicas: 1", sixty, "lifecycle: {stopSignal: SIGTERM}"),
		lint.Error, 11, "stopSignal", "is SIGKILL: the process is killed at once", "drop it, so that it is SIGTERM"},
	{"grace-zero", "compose.yaml", service("stop_signal: SIGKILL"), service("stop_signal: SIGTERM"),
		lint.Error, 4, "stop_signal", "is SIGKILL: the process is killed at once", "drop it, so that it is SIGTERM"},
	{"grace-too-short", "k.yaml", deployment("replicas: 1", "terminationGracePeriodSeconds: 1", ""), deployment("replicas: 1", "terminationGracePeriodSeconds: 2", ""),
		lint.Error, 8, "terminationGracePeriodSeconds", "is 1s, which does not hold undo 1s + reserve 500ms = 1.5s", "write terminationGracePeriodSeconds: 30; 2s is the least that works"},
	{"grace-too-short", "w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   kill_timeout = \"1s\"\n  }\n }\n}\n", "job \"j\" {\n group \"g\" {\n  task \"w\" {}\n }\n}\n",
		lint.Error, 4, "kill_timeout", "is 1s", `write kill_timeout = "5s"; 2s is the least that works`},
	{"grace-too-short", "k.yaml", deployment("replicas: 1", sixty, told("1s")), deployment("replicas: 1", sixty, told("60s")),
		lint.Error, 11, "QUIESCE_GRACE", "is 1s, which does not hold undo 1s + reserve 500ms = 1.5s", "write - {name: QUIESCE_GRACE, value: 60s}"},
	{"prestop-eats-grace", "k.yaml", deployment("replicas: 1", sixty, slept("59")), deployment("replicas: 1", sixty, slept("50")),
		lint.Error, 11, "preStop", "of container w sleeps 59s, and the grace on line 8 is 1m: 1s are left, which do not hold undo 1s + reserve 500ms = 1.5s", "write terminationGracePeriodSeconds: 61 or more, or sleep at most 58s"},
	{"prestop-eats-grace", "k.yaml", deployment("replicas: 1", "", slept("60")), deployment("replicas: 1", "", slept("5")),
		lint.Error, 11, "preStop", "and the grace, which is not set, is 30s: the hook is cut off then, and SIGKILL comes 2s after the stop signal", "write terminationGracePeriodSeconds: 62 or more, or sleep at most 28s"},
	{"prestop-eats-grace", "k.yaml", deployment("replicas: 1", sixty, "lifecycle: {preStop: {sleep: {seconds: 61}}}"), deployment("replicas: 1", sixty, "lifecycle: {preStop: {sleep: {seconds: 10}}}"),
		lint.Error, 11, "preStop", "of container w sleeps 1m1s", "write terminationGracePeriodSeconds: 63 or more"},
	{"grace-above-cap", "fly.toml", "app = \"w\"\nkill_timeout = 600\n", "app = \"w\"\nkill_timeout = 300\n",
		lint.Error, 2, "kill_timeout", "is 10m, and Fly allows 5m0s: SIGKILL comes 5m before a worker expects it", "write kill_timeout = 300"},
	{"grace-above-cap", "t.json", `{"family": "w", "requiresCompatibilities": ["FARGATE"], "containerDefinitions": [{"name": "w", "stopTimeout": 300}]}`, `{"family": "w", "requiresCompatibilities": ["FARGATE"], "containerDefinitions": [{"name": "w", "stopTimeout": 120}]}`,
		lint.Error, 1, "stopTimeout", "is 5m, and Fargate allows 2m0s", `write "stopTimeout": 120`},
	{"grace-above-cap", "t.json", `{"RequiresCompatibilities": ["FARGATE"], "ContainerDefinitions": [{"Name": "w", "StopTimeout": 300}]}`, `{"RequiresCompatibilities": ["FARGATE"], "ContainerDefinitions": [{"Name": "w", "StopTimeout": 120}]}`,
		lint.Error, 1, "StopTimeout", "is 5m, and Fargate allows 2m0s", `write "StopTimeout": 120`},
	{"grace-above-cap", "t.json", `{"family": "w", "containerDefinitions": [{"name": "w", "stopTimeout": 300}]}`, `{"family": "w", "containerDefinitions": [{"name": "w", "stopTimeout": 120}]}`,
		lint.Note, 1, "stopTimeout", "is 5m, and Fargate would allow 2m0s", `on Fargate write "stopTimeout": 120`},
	{"grace-above-cap", "w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   kill_timeout = \"2h\"\n  }\n }\n}\n", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   kill_timeout = \"30s\"\n  }\n }\n}\n",
		lint.Warning, 4, "kill_timeout", "is 2h, and a client of Nomad allows 30s unless its max_kill_timeout says more", `or write kill_timeout = "30s"`},
	{"grace-ignored", "k.yaml", deployment(sixty, "", ""), deployment("replicas: 1", sixty, ""),
		lint.Error, 5, "terminationGracePeriodSeconds", "is 60, and nobody reads it here: the grace in force is 30s", "in the pod's spec"},
	{"grace-ignored", "k.yaml", deployment("replicas: 1", sixty, sixty), deployment("replicas: 1", sixty, ""),
		lint.Warning, 11, "terminationGracePeriodSeconds", "the grace in force is 1m", "in the pod's spec"},
	{"grace-ignored", "run.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w}\nspec:\n  template:\n    spec:\n      " + sixty + "\n      containers: [{image: w}]\n",
		"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w}\nspec:\n  template:\n    spec:\n      containers: [{image: w}]\n",
		lint.Error, 7, "terminationGracePeriodSeconds", "is 60, and nobody reads it here: the grace in force is 10s", "drop it, and plan with 10s"},
	{"grace-ignored", "fly.toml", "app = \"w\"\n[deploy]\nkill_timeout = 60\n", "app = \"w\"\nkill_timeout = 60\n[deploy]\n",
		lint.Error, 3, "kill_timeout", "is 60, and nobody reads it here: the grace in force is 5s", "write it above the first table"},
	{"grace-ignored", "w.service", "[Unit]\nTimeoutStopSec=60\n[Service]\nExecStart=/w\nRestart=always\n", "[Unit]\n[Service]\nTimeoutStopSec=60\nExecStart=/w\nRestart=always\n",
		lint.Warning, 2, "TimeoutStopSec", "is 60, and nobody reads it here: the grace in force is 1m30s", "write it in [Service]"},
	{"grace-not-set", "compose.yaml", service("restart: always"), service("stop_grace_period: 10s"),
		lint.Note, 2, "stop_grace_period", "is not set, and the default of Docker is 10s", "write stop_grace_period: 10s, or what your jobs need"},
	{"told-unreadable", "k.yaml", deployment("replicas: 1", sixty, told("soon")), deployment("replicas: 1", sixty, told("60")),
		lint.Error, 11, "QUIESCE_GRACE", `"soon" is not a duration`, "write - {name: QUIESCE_GRACE, value: 60s}"},
	{"told-too-much", "k.yaml", deployment("replicas: 1", sixty, told("90s")), deployment("replicas: 1", sixty, told("60s")),
		lint.Error, 11, "QUIESCE_GRACE", "is 1m30s, and terminationGracePeriodSeconds is 1m: SIGKILL comes 30s before the worker expects it", "write - {name: QUIESCE_GRACE, value: 60s}, or terminationGracePeriodSeconds: 90"},
	{"told-too-much", "k.yaml", deployment("replicas: 1", sixty, slept("15")+"\n        "+told("60s")), deployment("replicas: 1", sixty, slept("15")+"\n        "+told("45s")),
		lint.Error, 12, "QUIESCE_GRACE", "is 1m, and the worker has 45s: terminationGracePeriodSeconds 1m less the 15s that its preStop hook sleeps", "write - {name: QUIESCE_GRACE, value: 45s}"},
	{"told-too-much", "Procfile", "worker: QUIESCE_GRACE=60s ./w\n", "worker: QUIESCE_GRACE=30s ./w\n",
		lint.Error, 1, "QUIESCE_GRACE", "is 1m, and Heroku allows 30s: SIGKILL comes 30s before", "write heroku config:set QUIESCE_GRACE=30s"},
	{"told-too-little", "compose.yaml", service("stop_grace_period: 60s", "environment: {QUIESCE_GRACE: 20s}"), service("stop_grace_period: 60s", "environment: {QUIESCE_GRACE: 60s}"),
		lint.Warning, 5, "QUIESCE_GRACE", "is 20s, and the worker has 1m: it hands back jobs that had 40s more", "write QUIESCE_GRACE: 60s"},
	{"job-outlasts-grace", "k.yaml", deployment("replicas: 1", sixty, ""), deployment("replicas: 1", "terminationGracePeriodSeconds: 246", ""),
		lint.Warning, 8, "terminationGracePeriodSeconds", "is 1m: of 1m a job has 54s after the stop signal, and the longest takes 4m", "write terminationGracePeriodSeconds: 246, or save progress"},
	{"shell-keeps-signal", "k.yaml", deployment("replicas: 1", sixty, "command: [sh, -c, w | tee log]\n        "+told("60s")), deployment("replicas: 1", sixty, "command: [sh, -c, exec w]\n        "+told("60s")),
		lint.Error, 11, "command", "starts the worker by sh, which waits for it", "start the worker without a shell"},
	{"shell-keeps-signal", "compose.yaml", service("command: [/bin/dash, -c, w]"), service("command: [/bin/bash, -c, w]"),
		lint.Warning, 4, "command", "starts the worker by dash, which waits for it", "start the worker without a shell"},
	{"shell-keeps-signal", "w.service", unit("ExecStart=sh -c 'w | tee log'\nKillMode=mixed"), unit("ExecStart=sh -c 'w | tee log'"),
		lint.Warning, 4, "ExecStart", "starts the worker by sh, which waits for it", "start the worker without a shell"},
	{"shell-keeps-signal", "supervisord.conf", "[program:w]\ncommand=sh -c 'w | tee log'\n", "[program:w]\ncommand=sh -c 'w | tee log'\nstopasgroup=true\n",
		lint.Warning, 2, "command", "starts the worker by sh, which waits for it", "start the worker without a shell"},
	{"shell-without-exec", "k.yaml", deployment("replicas: 1", sixty, "command: [sh, -c, w]"), deployment("replicas: 1", sixty, "command: [w]"),
		lint.Warning, 11, "command", "where that is dash (Debian, Ubuntu) the stop signal ends at the shell", "write exec before the command"},
	{"signal-not-a-stop", "k.yaml", deployment("replicas: 1", sixty, "lifecycle: {stopSignal: SIGQUIT}\n        "+told("60s")), deployment("replicas: 1", sixty, "lifecycle: {stopSignal: SIGINT}"),
		lint.Error, 11, "stopSignal", "is SIGQUIT, at which a worker of quiesce shows its goroutines and ends at once, with status 2", "write SIGTERM, or drop it"},
	{"signal-not-a-stop", "w.service", unit("KillSignal=USR1"), unit("KillSignal=TERM"),
		lint.Warning, 4, "KillSignal", "is SIGUSR1, at which a worker of quiesce claims no more and lives on", "write SIGTERM"},
	{"signal-not-a-stop", "compose.yaml", service("stop_signal: SIGHUP"), service("stop_signal: SIGINT"),
		lint.Warning, 4, "stop_signal", "ends at once, without a drain", "write SIGTERM"},
	{"kill-mode-none", "w.service", unit("KillMode=none"), unit("KillMode=mixed"),
		lint.Error, 4, "KillMode", "is none: no process is asked to stop", "write KillMode=mixed"},
	{"kill-mode-process", "w.service", unit("KillMode=process"), unit("KillMode=control-group"),
		lint.Warning, 4, "KillMode", "is process", "write KillMode=mixed"},
	{"children-are-signalled", "w.service", unit("Environment=QUIESCE_GRACE=60s"), unit("Environment=QUIESCE_GRACE=60s\nKillMode=mixed"),
		lint.Warning, 1, "KillMode", "is control-group", "write KillMode=mixed"},
	{"never-killed", "w.service", unit("TimeoutStopSec=infinity"), unit("TimeoutStopSec=infinity\nEnvironment=QUIESCE_GRACE=60s"),
		lint.Note, 4, "TimeoutStopSec", "switches SIGKILL off", "write TimeoutStopSec="},
	{"never-killed", "w.service", unit("SendSIGKILL=no"), unit("SendSIGKILL=yes"),
		lint.Warning, 4, "SendSIGKILL", "is no: a worker that does not end in time is left running", "drop it"},
	{"probe-grace-too-short", "k.yaml", deployment("replicas: 1", sixty, "livenessProbe:\n          tcpSocket: {port: 1}\n          terminationGracePeriodSeconds: 1"), deployment("replicas: 1", sixty, "livenessProbe:\n          tcpSocket: {port: 1}\n          terminationGracePeriodSeconds: 10"),
		lint.Warning, 13, "terminationGracePeriodSeconds", "of the livenessProbe is 1s, which does not hold undo 1s + reserve 500ms = 1.5s", "drop it"},
	{"probe-grace-too-short", "k.yaml", deployment("replicas: 1", sixty, told("60s")+"\n        livenessProbe: {terminationGracePeriodSeconds: 10}"), deployment("replicas: 1", sixty, told("60s")+"\n        livenessProbe: {terminationGracePeriodSeconds: 60}"),
		lint.Warning, 12, "terminationGracePeriodSeconds", "of the livenessProbe is 10s, and QUIESCE_GRACE on line 11 says 1m", "drop it"},
	{"liveness-asks-readiness", "k.yaml", deployment("replicas: 1", sixty, "livenessProbe: {httpGet: {path: /readyz, port: 9090}}"), deployment("replicas: 1", sixty, "livenessProbe: {httpGet: {path: /healthz, port: 9090}}"),
		lint.Warning, 11, "livenessProbe", "asks :9090/readyz, which a worker that is quiet or drains denies", "/healthz"},
	{"stops-all-at-once", "k.yaml", deployment("replicas: 4\n  strategy: {type: Recreate}", sixty, ""), deployment("replicas: 1\n  strategy: {type: Recreate}", sixty, ""),
		lint.Warning, 6, "type", "is Recreate: a deploy stops all 4 workers together", "write type: RollingUpdate"},
	{"stops-all-at-once", "k.yaml", deployment("replicas: 4\n  strategy: {rollingUpdate: {maxUnavailable: 100%}}", sixty, ""), deployment("replicas: 4\n  strategy: {rollingUpdate: {maxUnavailable: 50%}}", sixty, ""),
		lint.Warning, 6, "maxUnavailable", "lets a deploy stop all 4 workers together", "write maxUnavailable: 25%"},
	{"stops-all-at-once", "compose.yaml", service("deploy: {replicas: 8, update_config: {parallelism: 0}}"), service("deploy: {replicas: 8, update_config: {parallelism: 2}}"),
		lint.Warning, 4, "parallelism", "lets a deploy stop all 8 workers together", "write parallelism: 2"},
	{"not-restarted", "compose.yaml", service("environment: {QUIESCE_GRACE: 10s}"), service("environment: {QUIESCE_GRACE: 10s}", "restart: on-failure"),
		lint.Warning, 2, "restart", "is not set, which is no", "write restart: unless-stopped"},
	{"not-restarted", "supervisord.conf", "[program:w]\ncommand=w\nautorestart=false\n", "[program:w]\ncommand=w\n",
		lint.Note, 3, "autorestart", "is false", "write autorestart=true"},
	{"not-restarted", "w.service", unit("Restart=no\nEnvironment=QUIESCE_GRACE=60s"), unit("Restart=always\nEnvironment=QUIESCE_GRACE=60s"),
		lint.Warning, 4, "Restart", "is no", "write Restart=always"},
}

func check(t *testing.T, file, text string) []lint.Finding {
	t.Helper()
	all, err := manifest.List(file, []byte(text))
	require.NoError(t, err, text)
	return lint.Check(all, lint.Options{LongestJob: longest(text)})
}

// longest switches the lint on that needs to be told something, for its own case.
func longest(text string) time.Duration {
	if text == deployment("replicas: 1", sixty, "") || strings.Contains(text, "246") {
		return 4 * time.Minute
	}
	return 0
}

func of(all []lint.Finding, name string) (some []lint.Finding) {
	for _, f := range all {
		if f.Lint == name {
			some = append(some, f)
		}
	}
	return some
}

func TestEachLintFindsWhatIsBadAndLetsPassWhatIsGood(t *testing.T) {
	for _, c := range cases {
		found := of(check(t, c.file, c.bad), c.lint)
		if assert.Len(t, found, 1, "%s\n%s", c.lint, c.bad) {
			f := found[0]
			assert.Equal(t, c.severity, f.Severity, "%s\n%s", c.lint, c.bad)
			assert.Equal(t, c.file, f.File)
			assert.Equal(t, c.line, f.Line, "%s\n%s", c.lint, c.bad)
			assert.Equal(t, c.field, f.Field, c.lint)
			assert.Contains(t, f.Problem, c.problem, c.lint)
			assert.Contains(t, f.Remedy, c.remedy, c.lint)
		}
		assert.Empty(t, of(check(t, c.file, c.good), c.lint), "%s\n%s", c.lint, c.good)
	}
}

// Heroku signals every process of a dyno, so that no shell stands in the way.
func TestAShellDoesNoHarmWhereEveryProcessIsSignalled(t *testing.T) {
	assert.Empty(t, check(t, "Procfile", "worker: sh -c 'w | tee log'\n"))
}

func TestEachLintHasACaseAndKeepsToItsSeverity(t *testing.T) {
	worst := make(map[string]lint.Severity)
	for _, c := range cases {
		worst[c.lint] = max(worst[c.lint], c.severity)
	}
	seen := make(map[string]bool)
	for _, l := range lint.All() {
		assert.Equal(t, l.Worst, worst[l.Name], "%s: the worst that a case shows", l.Name)
		assert.False(t, seen[l.Name], l.Name)
		seen[l.Name] = true
	}
	assert.Len(t, worst, len(seen), "a case of no lint")
}

// The table of the documentation is the lints, cell by cell.
func TestDocumentationListsTheLints(t *testing.T) {
	var want strings.Builder
	for _, l := range lint.All() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", l.Name, l.Worst, l.About, l.Source)
	}
	text, err := os.ReadFile("../../../docs/supervisors.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| lint | at worst | what it finds | what that rests on |\n|---|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	assert.Equal(t, want.String(), table+"\n")
}

// What one manifest does right is found by nothing.
func TestTheExampleIsFine(t *testing.T) {
	all, files, err := lint.Read([]string{"../../../examples/render/deploy"})
	require.NoError(t, err)
	assert.Equal(t, 3, files, "the Dockerfile is none")
	assert.Empty(t, lint.Check(all, lint.Options{}))
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	write("a/deploy.yaml", deployment("replicas: 1", sixty, ""))
	write("a/b/w.service", unit(""))
	write("a/Procfile", "worker: w\n")
	write("a/package.json", `{"name": "w", "services": 3}`)
	write("a/config.yml", "a: !!bad [\n")
	write("a/Chart.yaml", "apiVersion: v2\nname: w\n")
	write("a/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: w}\n")
	write("a/README.md", "kind: Deployment\n")
	write("a/.git/deploy.yaml", "kind: [\n")
	all, files, err := lint.Read([]string{filepath.Join(dir, "a")})
	require.NoError(t, err, "what is no manifest is passed over in a folder")
	assert.Equal(t, 3, files)
	assert.Len(t, all, 3)

	_, _, err = lint.Read([]string{filepath.Join(dir, "a", "service.yaml")})
	assert.ErrorContains(t, err, "holds no workload; found Service (line 1)", "and refused when it is named")

	write("a/x/bad.yaml", deployment("replicas: none", sixty, "")+"---\n"+deployment("replicas: 1", "terminationGracePeriodSeconds: soon", ""))
	write("a/y/template.yaml", "{{ if .x }}\nkind: Deployment\n{{ end }}\n")
	all, _, err = lint.Read([]string{filepath.Join(dir, "a"), filepath.Join(dir, "none.yaml")})
	assert.Len(t, all, 3)
	for _, want := range []string{"bad.yaml:5:13: replicas", "terminationGracePeriodSeconds \"soon\"", "template.yaml:1:1: a Helm or Go template tag", "none.yaml: does not exist"} {
		assert.ErrorContains(t, err, want, "all that is wrong is said at once")
	}

	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	_, _, err = lint.Read([]string{empty})
	assert.ErrorContains(t, err, "empty: holds no manifest that is read here")
}

var rewrite = flag.Bool("rewrite", false, "write what is found now to testdata/real-manifests.txt")

// The golden file is every finding in the manifests of real projects. Rewrite it with -rewrite,
// and read the difference: each line is told to somebody about a file that runs in production.
func TestFindingsInManifestsOfRealProjects(t *testing.T) {
	folder := realdata.Folder(t, "manifests")
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	require.NoError(t, err)
	var got strings.Builder
	for _, path := range paths {
		all, _, err := lint.Read([]string{path})
		if err != nil {
			continue // scenarios/manifest has a test of what is refused.
		}
		found := lint.Check(all, lint.Options{})
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(&got, "# %s\n", filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator))))
		for _, f := range found {
			fmt.Fprintf(&got, "%d: %s %s %s: %s %s → %s\n", f.Line, f.Severity, f.Lint, f.Workload, f.Field, f.Problem, f.Remedy)
		}
	}
	const golden = "testdata/real-manifests.txt"
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}
