package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const deployed = "testdata/worker.yaml"

func TestCheckSaysWhatIsWrongAndWhatToWrite(t *testing.T) {
	r := invoke(t.Context(), "check", deployed, "--longest-job", "4m")
	assert.Equal(t, exitFinding, r.status)
	assert.Equal(t, "simulate: 2 errors; see above\n", r.stderr)
	golden(t, "check.txt", r.stdout)
	assert.Equal(t, r.stdout, invoke(t.Context(), "check", deployed, "--longest-job", "4m").stdout)
}

func TestCheckIsQuietAboutWhatWorks(t *testing.T) {
	const example = "../../examples/render/deploy"
	out := succeed(t, "check", example)
	assert.Contains(t, out, "4 workloads in 3 files: nothing found")
	assert.Empty(t, succeed(t, "check", example, "--quiet"))
	loud := invoke(t.Context(), "check", deployed)
	quiet := invoke(t.Context(), "check", deployed, "--quiet")
	assert.Equal(t, exitFinding, quiet.status)
	assert.Contains(t, loud.stdout, "note:")
	assert.NotContains(t, quiet.stdout, "note:")
	assert.Contains(t, quiet.stdout, "error:")
}

func TestCheckForMachines(t *testing.T) {
	r := invoke(t.Context(), "check", deployed, "--format", "json")
	assert.Equal(t, exitFinding, r.status)
	var doc struct {
		Files, Workloads, Errors, Warnings, Notes int
		Findings                                  []struct {
			Lint, Severity, File, Workload, Field, Problem, Remedy string
			Line                                                   int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &doc))
	assert.Equal(t, []int{1, 3, 2, 1, 3}, []int{doc.Files, doc.Workloads, doc.Errors, doc.Warnings, doc.Notes})
	require.Len(t, doc.Findings, 6)
	for _, f := range doc.Findings {
		assert.Equal(t, deployed, f.File)
		assert.Positive(t, f.Line)
		for _, text := range []string{f.Lint, f.Severity, f.Workload, f.Field, f.Problem, f.Remedy} {
			assert.NotEmpty(t, text, "%+v", f)
		}
	}

	rows, err := csv.NewReader(strings.NewReader(invoke(t.Context(), "check", deployed, "--format", "csv").stdout)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"file", "line", "severity", "lint", "workload", "field", "problem", "remedy"}, rows[0])
	require.Len(t, rows, 7)
	assert.Equal(t, doc.Findings[0].Problem, rows[1][6])

	var none struct{ Findings []any }
	out := succeed(t, "check", deployed, "--select", "deployment/mail", "--quiet", "--format", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &none))
	assert.Contains(t, out, `"findings": []`, "a list, and not null")
}

func TestCheckTakesOneWorkload(t *testing.T) {
	out := succeed(t, "check", deployed, "--select", "mail")
	assert.Contains(t, out, "1 workload in 1 file: 1 note")
	assert.NotContains(t, out, "render")
}

func TestWhatADrainNeedsIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compose.yaml")
	require.NoError(t, os.WriteFile(path, []byte("services: {w: {image: w, stop_grace_period: 10s}}\n"), 0o644))
	succeed(t, "check", path, "--undo", "6s")
	r := invoke(t.Context(), "check", path, "--undo", "6s", "--gap", "3s")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stdout, "gap 3s + undo 6s + reserve 1.667s = 10.667s")
}

func TestCheckRefusesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("services:\n  w: {stop_grace_period: 30}\n  v: {stop_grace_period: long}\n"), 0o644))
	for args, want := range map[string]string{
		"check":                                  "write simulate check FILE",
		"check no-such-file.yaml":                "no-such-file.yaml: does not exist",
		"check " + bad:                           bad + ":2:26: stop_grace_period 30 has no unit; write 30s",
		"check " + deployed + " " + bad:          "stop_grace_period \"long\" is not a duration",
		"check " + tiny:                          "is not a manifest",
		"check testdata/recording":               "does not exist",
		"check " + deployed + " --select rendr":  "did you mean render?",
		"check " + deployed + " --undo -1s":      "write it like 90s",
		"check " + deployed + " --longest-job 4": "write it like 90s",
		"check " + deployed + " --format yaml":   "is not a format",
	} {
		r := invoke(t.Context(), strings.Fields(args)...)
		assert.Equal(t, exitMisuse, r.status, args)
		assert.Empty(t, r.stdout, args)
		assert.Contains(t, r.stderr, want, args)
	}
}
