package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/scenarios/trace"
)

const jobList = "testdata/jobs.json"

func TestImportWritesTheTraceAndSaysWhatIsInIt(t *testing.T) {
	r := invoke(t.Context(), "import", jobList)
	require.Equal(t, exitFine, r.status, r.stderr)
	golden(t, "import.csv", r.stdout)
	golden(t, "import.txt", r.stderr)
	assert.Equal(t, r.stderr, succeed(t, "import", jobList, "--summary"), "--summary prints the same to stdout, and no trace")
	quiet := succeed(t, "import", jobList, "--quiet")
	assert.Equal(t, r.stdout, quiet)
}

func TestImportIntoAFileIsAllOrNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "jobs.csv")
	r := invoke(t.Context(), "import", jobList, "--out", out)
	require.Equal(t, exitFine, r.status, r.stderr)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "58 jobs of 3 kinds")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	golden(t, "import.csv", string(text))

	again := succeed(t, "import", out, "--summary")
	assert.Contains(t, again, "58 jobs of 3 kinds", "what was written is read like any trace")
	r = invoke(t.Context(), "import", "testdata/bad-jobs.json", "--out", out)
	assert.Equal(t, exitMisuse, r.status)
	after, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(after), "a bad row in the middle leaves the file alone")
	assert.Equal(t, []string{"jobs.csv"}, names(t, filepath.Dir(out)))
}

func TestImportSummaryAsJSON(t *testing.T) {
	var doc struct {
		Jobs     int
		Skipped  map[string]int
		Kinds    map[string]int
		PerHour  float64            `json:"arrivals_per_hour"`
		Duration map[string]float64 `json:"duration_seconds"`
		Busiest  struct{ Jobs int } `json:"busiest_minute"`
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "import", jobList, "--summary", "--format", "json")), &doc))
	assert.Equal(t, 58, doc.Jobs)
	assert.Equal(t, map[string]int{"conclusion skipped": 1, "no end": 1}, doc.Skipped)
	assert.Equal(t, 58, doc.Kinds["lint"]+doc.Kinds["test"]+doc.Kinds["build, push"])
	p, err := trace.Map{}.Profile(jobList)
	require.NoError(t, err)
	assert.Equal(t, p.P90.Seconds(), doc.Duration["p90"])
	assert.Equal(t, p.PerHour, doc.PerHour)
	assert.Equal(t, p.Busiest.Jobs, doc.Busiest.Jobs)
}

// A trace with foreign columns runs like the same trace under our own names.
func TestRunsOfAMappedTraceAreThoseOfTheImportedOne(t *testing.T) {
	dir := t.TempDir()
	mapped, imported := filepath.Join(dir, "log.csv"), filepath.Join(dir, "jobs.csv")
	text := strings.ReplaceAll("queue;began;took\nmail;2024-11-15 16:57:50;1500\nzip;2024-11-15 16:57:40;900000\nmail;2024-11-15 17:20:00;250\n", ";", "\t")
	require.NoError(t, os.WriteFile(mapped, []byte(text), 0o644))
	columns := "arrival=began,duration=took:ms,kind=queue"
	r := invoke(t.Context(), "import", mapped, "--map", columns, "--out", imported, "--quiet")
	require.Equal(t, exitFine, r.status, r.stderr)
	assert.Empty(t, r.stderr)

	hash := func(args ...string) string {
		var doc struct {
			Hash string `json:"trace_hash"`
		}
		require.NoError(t, json.Unmarshal([]byte(succeed(t, append([]string{"run", "--format", "json"}, args...)...)), &doc))
		return doc.Hash
	}
	assert.Equal(t, hash("--jobs", imported), hash("--jobs", mapped, "--map", columns))
	out := succeed(t, "run", "--jobs", mapped, "--map", columns)
	assert.Contains(t, out, "--map "+columns, "the command that repeats the run names the map")
}

func TestAScenarioOfRecordedInputRuns(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.yaml": "duration: 1h\nfleet: {workers: 4}\njobs: {trace: log.csv, map: {arrival: at, end: done}}\n" +
			"deploys: {trace: deploys.csv, app: web}\nfaults: {trace: faults.csv}\n",
		"log.csv":     "at,done\n0,3000\n5,2000\n9,3500\n12,3000\n",
		"deploys.csv": "time_utc,app\n2024-11-15T10:00:00Z,mail\n2024-11-15T10:10:00Z,web\n2024-11-15T10:40:00Z,web\n",
		"faults.csv":  "time,seat,kind,length\n50m,5,crash,\n20m,2,preempt,\n10m,0,pause,30s\n12m,3,partition,10s\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	path := filepath.Join(dir, "s.yaml")
	out := succeed(t, "replay", path, "--policy", "hybrid", "--worker", "2")
	assert.Contains(t, out, "loses its node, after a notice")
	out = succeed(t, "compare", path, "--seeds", "2", "--policies", "crash-only,hybrid", "--format", "json")
	d := decode(t, out)
	assert.Contains(t, succeed(t, "run", path), "4 recorded (1 crash, 1 pause, 1 partition, 1 preempt)")
	assert.Positive(t, *d.Policies["crash-only"].Metrics["interruptions"].Mean)
}
