package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.NotEmpty(t, w.Name)
		assert.NotEmpty(t, w.APIVersion)
		assert.Contains(t, kinds, w.Kind)
		assert.NotEmpty(t, w.Containers)
		assert.NotEmpty(t, w.Strategy.Type)
		assert.Positive(t, w.Line)
		assert.GreaterOrEqual(t, w.Grace, w.Grace*0)
		assert.GreaterOrEqual(t, w.PreStopDuration, w.Grace*0)
		assert.GreaterOrEqual(t, w.Surge(), 0)
		assert.LessOrEqual(t, w.Unavailable(), w.Replicas)
		assert.True(t, w.Replicas == 0 || w.Strategy.Type == OnDelete || w.Surge()+w.Unavailable() > 0, "the rollout stands still")
	})
}
