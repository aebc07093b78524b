package main

import (
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// What a supervisor allows and what the worker believes stand in the same file, and both are
// enough for what the handlers have declared.
func TestEveryManifestTellsTheWorkerItsGrace(t *testing.T) {
	for _, c := range []struct {
		path, selector string
		supervisor     model.SupervisorKind
		replicas       int
	}{
		{path: "deploy/kubernetes.yaml", selector: "deployment/render", supervisor: model.Kubernetes, replicas: 3},
		{path: "deploy/compose.yaml", selector: "render", supervisor: model.Docker, replicas: 1},
		{path: "deploy/render.service", supervisor: model.Systemd, replicas: 1},
	} {
		t.Run(c.path, func(t *testing.T) {
			w, err := manifest.Load(c.path, c.selector)
			require.NoError(t, err)
			assert.Equal(t, c.supervisor, w.Supervisor)
			assert.Equal(t, c.replicas, w.Replicas)
			assert.True(t, w.GraceSet, "the supervisor's default is no decision")
			assert.Zero(t, w.PreStopDuration, "the hook begins the drain and uses nothing of the grace")

			told := graceTold(t, c.path)
			assert.Equal(t, w.Grace, told, "line %d and QUIESCE_GRACE", w.GraceLine)

			broker := memory.New(memory.Config{Lease: time.Minute})
			defer broker.Close()
			_, err = worker.New(broker, handlers(&renderer{}), worker.Options{
				Grace: told, Lease: time.Minute, Logger: slog.New(slog.DiscardHandler),
			})
			assert.NoError(t, err)
		})
	}
}

// A pod is drained by the command that this binary has, and nothing of it waits twice.
func TestThePodHasAHookAndProbes(t *testing.T) {
	w, err := manifest.Load("deploy/kubernetes.yaml", "deployment/render")
	require.NoError(t, err)
	require.Len(t, w.PreStop, 1)
	assert.Equal(t, manifest.ExecHook, w.PreStop[0].Kind)
	assert.Equal(t, "render prestop", w.PreStop[0].Command)
	assert.Equal(t, 1, w.Surge())
	assert.Equal(t, 0, w.Unavailable())
}

var graceVariable = regexp.MustCompile(`QUIESCE_GRACE(?:, value|)[:=] *([0-9a-z]+)`)

// graceTold is the QUIESCE_GRACE that a manifest sets.
func graceTold(t *testing.T, path string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := graceVariable.FindSubmatch(text)
	require.NotNil(t, found, "%s sets no QUIESCE_GRACE", path)
	d, err := time.ParseDuration(string(found[1]))
	require.NoError(t, err)
	return d
}
