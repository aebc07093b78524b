package manifest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(data), "")
	}
	f.Add(deployment("      &p\n      <<: [*p]\n"+oneContainer), "deployment/d")
	f.Add("kind: List\nitems: &a [*a]\n", "x")
	f.Add("kind: {{ .x }}\n<% y %>\n\t${Z}", "a/b/c")
	f.Add(rollout("DaemonSet", "apps/v1", "  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0%}}\n"), "")
	f.Add(deployment("      containers:\n      - name: c\n        lifecycle: {preStop: {exec: {command: [sh, -c, '(sleep 1m) && a `b` $(c']}}}\n"), "")
	f.Fuzz(func(t *testing.T, text, selector string) {
		w, err := Parse("f.yaml", []byte(text), selector)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.NotEmpty(t, e.Problem)
			assert.Equal(t, e.Line > 0, e.Column > 0, "line and column go together")
			assert.LessOrEqual(t, e.Line, len(lineBreak.Split(text, -1)))
			assert.LessOrEqual(t, strings.Count(e.Error(), "\n"), 2)
			return
		}
		if w.Supervisor == model.Kubernetes { // A fuzzer may write a Compose file, too.
			assert.NotEmpty(t, w.Name)
			assert.NotEmpty(t, w.APIVersion)
			assert.Contains(t, kinds, w.Kind)
			assert.NotEmpty(t, w.Containers)
		}
		assert.NotEmpty(t, w.Strategy.Type)
		assert.Positive(t, w.Line)
		assert.GreaterOrEqual(t, w.Grace, w.Grace*0)
		assert.GreaterOrEqual(t, w.PreStopDuration, w.Grace*0)
		assert.GreaterOrEqual(t, w.Surge(), 0)
		assert.LessOrEqual(t, w.Unavailable(), w.Replicas)
		assert.True(t, w.Replicas == 0 || w.Strategy.Type == OnDelete || w.Surge()+w.Unavailable() > 0, "the rollout stands still")
	})
}

// FuzzFormats tries what is no Kubernetes manifest, by the name that makes a reader of it.
func FuzzFormats(f *testing.F) {
	texts := map[string]string{
		"compose.yaml":     "x: &a {stop_grace_period: 1m}\nservices:\n  w: {<<: *a, image: x, deploy: {replicas: 2, update_config: {order: start-first}}}\n",
		"w.service":        "[Service]\nExecStart=/w \\\n# c\n x\nTimeoutStopSec=1min 2s\nExecStop=/bin/sleep 3\n",
		"t.json":           `{"family": "w", "containerDefinitions": [{"name": "w", "stopTimeout": 4}]}`,
		"fly.toml":         "app = \"w\"\nkill_timeout = \"5s\" # c\na = [1,\n2]\nb = \"\"\"\nx\n\"\"\"\n[processes]\nw = 'y'\n",
		"Procfile":         "web: x\nrelease: y\n",
		"w.nomad":          "job \"j\" {\n  group \"g\" {\n    count = 2\n    task \"w\" {\n      env { A = \"${b(\"c\")}\" }\n      kill_timeout = \"3s\"\n      data = <<-E\n  x\n  E\n    }\n  }\n}\n",
		"w.tf":             "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", x = a ? 1 : (2), stopTimeout = 3 }])\n}\n",
		"h.tf":             "locals {\n  n = 2\n}\nresource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = <<E\n[{\"name\": \"w\", \"cpu\": ${var.c}, \"stopTimeout\": 3}]\nE\n}\n",
		"q.tf":             "resource \"aws_ecs_task_definition\" \"t\" {\n  family = \"$${a}${b(\"\\\"\", \"%{ if c }${d}%{ endif }\")\n}\"\n  container_definitions = <<E\n[{\"name\": \"${f(\"\\\"\")}\", \"stopTimeout\": 3}]\nE\n}\n",
		"c.yaml":           "Parameters: {N: {Default: 2}}\nResources:\n  T: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: w, StopTimeout: 3}]}}\n  S: {Type: AWS::ECS::Service, Properties: {TaskDefinition: !Ref T, DesiredCount: !Ref N}}\n",
		"supervisord.conf": "[program:w]\ncommand=x\n  y ; z\nnumprocs=2\nstopwaitsecs=3\n",
		"render.yaml":      "services:\n- {type: worker, name: w, maxShutdownDelaySeconds: 60}\n",
		"s.yaml":           "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w}\nspec: {template: {spec: {containers: [{image: x}]}}}\n",
	}
	names := slices.Sorted(maps.Keys(texts))
	for name, text := range texts {
		f.Add(uint8(slices.Index(names, name)), text)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		all, err := List(names[int(which)%len(names)], []byte(text))
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.NotEmpty(t, e.Problem)
			assert.Equal(t, e.Line > 0, e.Column > 0, "line and column go together")
			assert.LessOrEqual(t, e.Line, len(lineBreak.Split(text, -1)))
			assert.LessOrEqual(t, strings.Count(e.Error(), "\n"), 2)
			return
		}
		for _, w := range all {
			assert.NotEmpty(t, w.Strategy.Type)
			assert.Positive(t, w.Line)
			assert.GreaterOrEqual(t, w.Grace, w.Grace*0)
			assert.GreaterOrEqual(t, w.PreStopDuration, w.Grace*0)
			assert.GreaterOrEqual(t, w.Surge(), 0)
			assert.LessOrEqual(t, w.Unavailable(), w.Replicas)
			assert.True(t, w.Replicas == 0 || w.Strategy.Type == OnDelete || w.Surge()+w.Unavailable() > 0, "the rollout stands still")
		}
	})
}
