package manifest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
)

var rewrite = flag.Bool("rewrite", false, "write what is read now to testdata/real-manifests.txt")

func summary(w Workload) string {
	var b strings.Builder
	grace := w.Grace.String()
	if w.Grace == Forever {
		grace = "without end"
	}
	fmt.Fprintf(&b, "%s: %s/%s x%d %s +%d -%d, grace %s (line %d)", w.Supervisor, w.Kind, w.Name, w.Replicas,
		w.Strategy.Type, w.Surge(), w.Unavailable(), grace, w.GraceLine)
	if w.StopSignal != "" {
		b.WriteString(", " + w.StopSignal)
	}
	if w.ReadinessDelay > 0 {
		fmt.Fprintf(&b, ", ready after %s", w.ReadinessDelay)
	}
	for _, hook := range w.PreStop {
		length := "?"
		if hook.Known {
			length = hook.Duration.String()
		}
		fmt.Fprintf(&b, ", preStop %s %s %s", hook.Container, hook.Kind, length)
	}
	if w.Unfit != nil {
		fmt.Fprintf(&b, ", unfit: %s %s", w.Unfit.Field, w.Unfit.Problem)
	}
	return b.String()
}

// The golden file has for every file either the workloads in it, or the first line of the
// refusal. Rewrite it with -rewrite, and read the difference.
func TestManifestsOfRealProjectsAreReadOrRefusedWithAReason(t *testing.T) {
	folder := realdata.Folder(t, "manifests")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	require.NoError(t, err)
	var got strings.Builder
	read := 0
	for _, path := range files {
		name := filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		fmt.Fprintf(&got, "# %s\n", name)
		all, err := List(filepath.Base(path), data)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e, name)
			assert.NotEmpty(t, e.Problem, name)
			line, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(&got, "refused: %s\n", line)
			continue
		}
		read++
		for _, w := range all {
			got.WriteString(summary(w) + "\n")
		}
	}
	const golden = "testdata/real-manifests.txt"
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
	assert.Equal(t, 57, len(files))
	assert.Greater(t, read, 35)
}

func TestNamesakesInARealManifestNeedTheirNamespace(t *testing.T) {
	path := filepath.Join(realdata.Folder(t, "manifests"), "contour", "contour.yaml")
	_, err := Load(path, "deployment/contour")
	require.ErrorContains(t, err, "--select contour-external/deployment/contour")
	w, err := Load(path, "contour-internal/deployment/contour")
	require.NoError(t, err)
	assert.Equal(t, 334, w.Line)
}
