package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// one is the first process of the only workload in a text.
func one(t *testing.T, file, text string) Process {
	t.Helper()
	all, err := List(file, []byte(text))
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NotEmpty(t, all[0].Processes)
	return all[0].Processes[0]
}

func inPod(lines string) string {
	return deployment("      containers:\n      - name: c\n" + lines)
}

func TestEveryFormatSaysWhatAWorkerIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		told       string
		line       int
	}{
		"Kubernetes":                    {"f.yaml", inPod("        env:\n        - {name: A, value: b}\n        - {name: QUIESCE_GRACE, value: 25s}\n"), "25s", 11},
		"Kubernetes, a number":          {"f.yaml", inPod("        env: [{name: QUIESCE_GRACE, value: \"25\"}]\n"), "25", 9},
		"Kubernetes, from a config map": {"f.yaml", inPod("        env:\n        - name: QUIESCE_GRACE\n          valueFrom: {configMapKeyRef: {name: a, key: b}}\n"), "", 10},
		"Kubernetes, a template tag":    {"f.yaml", inPod("        env: [{name: QUIESCE_GRACE, value: \"{{ .Values.grace }}\"}]\n"), "", 9},
		"Kubernetes, nothing":           {"f.yaml", inPod("        env: [{name: A, value: b}]\n"), "", 0},
		"Compose, a mapping":            {"compose.yaml", "services:\n  w:\n    environment:\n      QUIESCE_GRACE: 25s\n", "25s", 4},
		"Compose, a list":               {"compose.yaml", "services:\n  w:\n    environment:\n    - A=b\n    - QUIESCE_GRACE=25s\n", "25s", 5},
		"Compose, a variable":           {"compose.yaml", "services:\n  w:\n    environment: {QUIESCE_GRACE: \"${GRACE:-25s}\"}\n", "", 3},
		"Compose, another variable":     {"compose.yaml", "services:\n  w:\n    environment: {QUIESCE_GRACE: $GRACE}\n", "", 3},
		"Compose, merged":               {"compose.yaml", "x-e: &e {QUIESCE_GRACE: 25s}\nservices:\n  w:\n    environment: {<<: *e, A: b}\n", "25s", 1},
		"systemd":                       {"w.service", "[Service]\nEnvironment=A=b \"QUIESCE_GRACE=25s\"\n", "25s", 2},
		"systemd, the last one counts":  {"w.service", "[Service]\nEnvironment=QUIESCE_GRACE=20s\nEnvironment=QUIESCE_GRACE=25s\n", "25s", 3},
		"systemd, taken back":           {"w.service", "[Service]\nEnvironment=QUIESCE_GRACE=20s\nEnvironment=\n", "", 0},
		"Nomad, a block":                {"w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   env {\n    QUIESCE_GRACE = \"25s\"\n   }\n  }\n }\n}\n", "25s", 5},
		"Nomad, an attribute":           {"w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   env = {\n    QUIESCE_GRACE = \"25s\"\n   }\n  }\n }\n}\n", "25s", 5},
		"Nomad, an expression":          {"w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   env {\n    QUIESCE_GRACE = var.grace\n   }\n  }\n }\n}\n", "", 5},
		"Nomad, JSON":                   {"job.json", "{\"Job\": {\"TaskGroups\": [{\"Name\": \"g\", \"Tasks\": [{\"Name\": \"w\",\n \"Env\": {\"QUIESCE_GRACE\": \"25s\"}}]}]}}", "25s", 2},
		"ECS":                           {"task.json", "{\"family\": \"w\", \"containerDefinitions\": [{\"name\": \"w\",\n \"environment\": [{\"name\": \"QUIESCE_GRACE\", \"value\": \"25s\"}]}]}", "25s", 2},
		"Terraform":                     {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n container_definitions = jsonencode([{\n  name = \"w\"\n  environment = [{ name = \"QUIESCE_GRACE\", value = \"25s\" }]\n }])\n}\n", "25s", 4},
		"Fly":                           {"fly.toml", "app = \"w\"\n[env]\nQUIESCE_GRACE = \"25s\"\n", "25s", 3},
		"Fly, a number":                 {"fly.toml", "app = \"w\"\n[env]\nQUIESCE_GRACE = 25\n", "25", 3},
		"Cloud Run":                     {"f.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w}\nspec:\n  template:\n    spec:\n      containers:\n      - env: [{name: QUIESCE_GRACE, value: 8s}]\n", "8s", 8},
		"Procfile":                      {"Procfile", "worker: QUIESCE_GRACE=25s ./render\n", "25s", 1},
		"Procfile, by env":              {"Procfile", "worker: env QUIESCE_GRACE=25s ./render\n", "25s", 1},
		"supervisord":                   {"supervisord.conf", "[program:w]\ncommand=/render\nenvironment=A=\"b,c\",QUIESCE_GRACE=\"25s\"\n", "25s", 3},
		"Render":                        {"render.yaml", "services:\n- type: worker\n  name: w\n  envVars:\n  - {key: QUIESCE_GRACE, value: 25s}\n", "25s", 5},
	} {
		p := one(t, c.file, c.text)
		assert.Equal(t, c.told, p.Told, name)
		assert.Equal(t, c.line, p.ToldLine, name)
	}
}

func TestEveryFormatSaysWhatIsStarted(t *testing.T) {
	shell := []string{"sh", "-c", "a; b"}
	for name, c := range map[string]struct {
		file, text string
		want       []string
		line       int
	}{
		"Kubernetes":                           {"f.yaml", inPod("        command:\n        - sh\n        - -c\n        args: [\"a; b\"]\n"), shell, 9},
		"Kubernetes, arguments of the image's": {"f.yaml", inPod("        args: [sh, -c, a]\n"), nil, 0},
		"Compose, a list":                      {"compose.yaml", "services:\n  w:\n    command: [sh, -c, a; b]\n", shell, 3},
		"Compose, a text":                      {"compose.yaml", "services:\n  w:\n    command: sh -c 'a; b'\n", shell, 3},
		"Compose, an entrypoint":               {"compose.yaml", "services:\n  w:\n    command: a; b\n    entrypoint: [sh, -c]\n", []string{"sh", "-c", "a", ";", "b"}, 4},
		"systemd":                              {"w.service", "[Service]\nExecStart=-@sh -c 'a; b'\n", shell, 2},
		"Nomad":                                {"w.nomad", "job \"j\" {\n group \"g\" {\n  task \"w\" {\n   config {\n    command = \"sh\"\n    args = [\"-c\", \"a; b\"]\n   }\n  }\n }\n}\n", shell, 5},
		"Nomad, JSON":                          {"job.json", "{\"Job\": {\"TaskGroups\": [{\"Name\": \"g\", \"Tasks\": [{\"Name\": \"w\",\n \"Config\": {\"command\": \"sh\", \"args\": [\"-c\", \"a; b\"]}}]}]}}", shell, 2},
		"ECS":                                  {"task.json", "{\"family\": \"w\", \"containerDefinitions\": [{\"name\": \"w\",\n \"entryPoint\": [\"sh\", \"-c\"],\n \"command\": [\"a; b\"]}]}", shell, 2},
		"Terraform":                            {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n container_definitions = jsonencode([{\n  name = \"w\"\n  command = [\"sh\", \"-c\", \"a; b\"]\n }])\n}\n", shell, 4},
		"Fly":                                  {"fly.toml", "[processes]\nw = \"sh -c 'a; b'\"\n", shell, 2},
		"Procfile":                             {"Procfile", "worker: sh -c 'a; b'\n", shell, 1},
		"supervisord":                          {"supervisord.conf", "[program:w]\ncommand=sh -c 'a; b'\n", shell, 2},
	} {
		p := one(t, c.file, c.text)
		assert.Equal(t, c.want, p.Command, name)
		assert.Equal(t, c.line, p.CommandLine, name)
	}
}

func TestProbesAreRead(t *testing.T) {
	p := one(t, "f.yaml", inPod("        livenessProbe:\n          httpGet: {path: /healthz, port: 9090}\n          terminationGracePeriodSeconds: 5\n"+
		"        readinessProbe: {exec: {command: [cat, /ready]}}\n        startupProbe: {tcpSocket: {port: http}}\n"))
	assert.Equal(t, []Probe{
		{Kind: "livenessProbe", Target: "httpGet :9090/healthz", Line: 9, Grace: 5 * time.Second, GraceLine: 11},
		{Kind: "readinessProbe", Target: "exec cat /ready", Line: 12},
		{Kind: "startupProbe", Target: "tcpSocket :http", Line: 13},
	}, p.Probes)
}

// What only a lint looks at is never a reason to refuse a manifest, however it is written.
func TestNothingAboutAProcessIsARefusal(t *testing.T) {
	for _, lines := range []string{
		"        env: {{ .Values.env }}\n", "        env: x\n", "        env: [x, [y]]\n", "        command: {a: b}\n",
		"        livenessProbe: yes\n", "        livenessProbe: {terminationGracePeriodSeconds: soon}\n",
	} {
		p := one(t, "f.yaml", inPod(lines))
		assert.Empty(t, p.Told, lines)
		assert.Empty(t, p.Command, lines)
	}
}

func TestHandover(t *testing.T) {
	for script, want := range map[string][3]Handover{ // bash, dash, sh
		"worker":                             {NoShell, Stays, UpToShell},
		"A=b worker --slots 4":               {NoShell, Stays, UpToShell},
		"exec worker":                        {NoShell, NoShell, NoShell},
		"migrate && exec worker":             {NoShell, NoShell, NoShell},
		"if ready; then exec worker; fi":     {NoShell, NoShell, NoShell},
		"trap 'kill $p' TERM; worker & wait": {NoShell, NoShell, NoShell},
		"migrate && worker":                  {UpToShell, Stays, UpToShell},
		"migrate; worker":                    {UpToShell, Stays, UpToShell},
		"if ready; then worker; fi":          {UpToShell, Stays, UpToShell},
		"worker | tee log":                   {Stays, Stays, Stays},
		"exec worker | tee log":              {Stays, Stays, Stays},
		"worker 2>&1":                        {NoShell, Stays, UpToShell},
		"while true; do worker; done":        {Stays, Stays, Stays},
		"worker & wait":                      {Stays, Stays, Stays},
		"worker; echo done":                  {Stays, Stays, Stays},
		"worker --name 'a | b'":              {NoShell, Stays, UpToShell},
		"find / | head -1; worker":           {UpToShell, Stays, UpToShell},
		"":                                   {NoShell, NoShell, NoShell},
	} {
		for i, shell := range []string{"bash", "/bin/dash", "sh"} {
			p := Process{Command: []string{shell, "-ec", script}}
			assert.Equal(t, want[i], p.Handover(), "%s: %s", shell, script)
		}
	}
	for _, words := range [][]string{nil, {"worker"}, {"sh", "/entrypoint.sh"}, {"tini", "--", "sh", "-c", "worker | tee"}} {
		p := Process{Command: words}
		assert.Equal(t, NoShell, p.Handover(), "%q", words)
	}
}
