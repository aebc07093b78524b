package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

func TestFromInputOfRealTracesAndManifests(t *testing.T) {
	data := realdata.Folder(t, "")
	traces, err := filepath.Glob(filepath.Join(data, "traces", "*", "*.swf.gz"))
	require.NoError(t, err)
	require.Len(t, traces, 2)
	files, err := filepath.Glob(filepath.Join(data, "manifests", "*", "*.y*ml"))
	require.NoError(t, err)
	workloads := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list, err := manifest.List(file, text)
		if err != nil { // A template, or no Kubernetes at all.
			continue
		}
		seen := map[string]int{}
		for _, w := range list {
			seen[w.Kind+"/"+w.Name]++
		}
		for _, w := range list {
			selector := w.Kind + "/" + w.Name
			if w.Kind != "Deployment" && w.Kind != "StatefulSet" || seen[selector] > 1 {
				continue // A name that stands twice in a file cannot be selected.
			}
			workloads++
			for _, trace := range traces {
				t.Run(fmt.Sprintf("%s with %s of %s", filepath.Base(trace), selector, filepath.Base(file)), func(t *testing.T) {
					t.Parallel()
					s, notes, err := FromInput(trace, file, selector)
					require.NoError(t, err)
					assert.Equal(t, 7*day+10*protocol.Minute, s.Duration)
					assert.Equal(t, max(w.Replicas, 1), s.Fleet.Workers)
					assert.Equal(t, protocol.Duration(w.Grace), s.Supervisor.Grace)
					assert.Len(t, s.Deploys.At, 20)
					assert.NotEmpty(t, notes)
					grace := s.Supervisor.WorkerGrace()
					for _, j := range s.Jobs {
						assert.True(t, grace == 0 || j.Declared+j.Undo+reserveOf(grace) <= grace, "%v", j)
					}
				})
			}
		}
	}
	assert.Greater(t, workloads, 15)
}

func TestFromInputOfRealTraceHasTheLoadItSays(t *testing.T) {
	trace := filepath.Join(realdata.Folder(t, "traces"), "metacentrum-2013", "wagap-2013.swf.gz")
	s, _, err := FromInput(trace, "", "")
	require.NoError(t, err)
	stream, err := s.Trace.Open()
	require.NoError(t, err)
	defer stream.Close()
	week := 7 * day
	var busy float64
	for {
		arrival, work, kind, ok, err := stream.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		assert.Less(t, int(kind), len(s.Jobs))
		if left := week - protocol.Duration(arrival); left > 0 {
			busy += float64(min(work, left)) / float64(week)
		}
	}
	slots := float64(s.Fleet.Workers * s.Fleet.Slots)
	assert.LessOrEqual(t, busy, 0.7*slots)
	assert.Greater(t, busy, 0.7*(slots-float64(s.Fleet.Workers)), "one slot less would be too few")
}

func TestEveryWorkloadOfARealManifestMakesAScenario(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realdata.Folder(t, "manifests"), "*", "*"))
	require.NoError(t, err)
	kinds := map[model.SupervisorKind]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list, err := manifest.List(file, text)
		if err != nil {
			continue // Refused, with a reason that the golden file of the manifests has.
		}
		seen := map[string]int{}
		for _, w := range list {
			seen[w.Kind+"/"+w.Name]++
		}
		for _, w := range list {
			if seen[w.Kind+"/"+w.Name] > 1 {
				continue
			}
			s, _, err := FromInput("", file, w.Kind+"/"+w.Name)
			if w.Unfit != nil {
				require.ErrorContains(t, err, w.Unfit.Problem, "%s %s", file, w.Name)
				continue
			}
			require.NoError(t, err, "%s %s", file, w.Name)
			assert.Equal(t, w.Supervisor, s.Supervisor.Kind)
			assert.Equal(t, protocol.Duration(w.Grace), s.Supervisor.Grace)
			kinds[w.Supervisor]++
		}
	}
	assert.Len(t, kinds, 9, "Kubernetes, Compose, systemd, Nomad, ECS, Fly, Heroku, supervisord and Render: %v", kinds)
}
