package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	assert.Equal(t, []string{"jobs.csv", "jobs.png", "jobs.svg"}, names(t, filepath.Dir(out)))
}

// A trace can be long: who is tired of waiting is obeyed, and finds nothing half written.
func TestAStoppedImportLeavesNothingBehind(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	out := filepath.Join(t.TempDir(), "jobs.csv")
	for _, args := range [][]string{{"import", jobList}, {"import", jobList, "--summary"}, {"import", jobList, "--out", out}} {
		r := invoke(stopped, args...)
		assert.Equal(t, result{exitFinding, "", "simulate: stopped while the trace was read; nothing is written\n"}, r, "%v", args)
	}
	assert.Empty(t, names(t, filepath.Dir(out)))
	r := invoke(stopped, "advise", "--jobs", jobList, "--manifest", "testdata/worker.yaml", "--select", "render")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stderr, "stopped while the trace was read")

	whileWriting, stop := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	status := run(whileWriting, []string{"import", longTrace(t)}, writerFunc(func(b []byte) (int, error) {
		stop()
		return len(b), nil
	}), &stderr)
	assert.Equal(t, exitFinding, status)
	assert.Equal(t, "simulate: stopped while the trace was written; what stdout has is a part of it\n", stderr.String())
}

// longTrace is more than is written in one piece.
func longTrace(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "long.csv")
	text := "arrival,duration,kind\n" + strings.Repeat("1,2,mail\n", 5000)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestImportDrawsTheTraceBesideItsFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "jobs.csv")
	draw := func() (svg, png string) {
		invoke(t.Context(), "import", jobList, "--out", out, "--quiet")
		s, err := os.ReadFile(filepath.Join(dir, "jobs.svg"))
		require.NoError(t, err)
		p, err := os.ReadFile(filepath.Join(dir, "jobs.png"))
		require.NoError(t, err)
		return string(s), string(p)
	}
	svg, png := draw()
	for _, want := range []string{
		">What is in jobs.json<", ">How long jobs run<", ">median 45.0s<", ">p99 6m40s<", ">When they arrive<", ">jobs per 1m<",
		"58 jobs of 3 kinds", "2 rows were skipped", "simulate import testdata/jobs.json",
	} {
		assert.Contains(t, svg, want)
	}
	assert.True(t, strings.HasPrefix(png, "\x89PNG"))
	again, pngAgain := draw()
	assert.True(t, svg == again && png == pngAgain, "the same trace, the same bytes")

	r := invoke(t.Context(), "import", "testdata/bad-jobs.json", "--out", filepath.Join(dir, "bad.csv"))
	assert.Equal(t, exitMisuse, r.status)
	invoke(t.Context(), "import", jobList, "--summary")
	assert.Equal(t, []string{"jobs.csv", "jobs.png", "jobs.svg"}, names(t, dir), "no trace, no figure")
}

func TestImportSeesBeforeItReadsWhetherItsFilesCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "jobs.svg"), 0o755))
	for out, want := range map[string]string{
		filepath.Join(dir, "jobs.csv"):  "jobs.svg in it is a folder, where a file is to be written",
		filepath.Join(dir, "day.png"):   "is what the figure beside the trace is called; name a CSV file, for example --out " + filepath.Join(dir, "day.csv"),
		filepath.Join(jobList, "a.csv"): "is not a folder; name a folder to write into",
	} {
		r := invoke(t.Context(), "import", "testdata/bad-jobs.json", "--out", out)
		assert.Equal(t, exitMisuse, r.status, out)
		assert.Contains(t, r.stderr, want)
		assert.NotContains(t, r.stderr, "bad-jobs.json", "the trace is not read")
		assert.Empty(t, r.stdout)
	}
	assert.Equal(t, []string{"jobs.svg"}, names(t, dir))
}

func TestImportDoesNotOverwriteWhatItReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(path, []byte("at,ms\n0,1500\n"), 0o644))
	r := invoke(t.Context(), "import", path, "--map", "arrival=at,duration=ms:ms", "--out", path)
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "--out "+path+" is the trace that is read, and would be overwritten; name another file")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "at,ms\n0,1500\n", string(text))
}

func TestImportWritesNothingThatIsCalledCompressed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.csv")
	require.NoError(t, os.WriteFile(path, []byte("arrival,duration\n0,1\n"), 0o644))
	r := invoke(t.Context(), "import", path, "--out", filepath.Join(dir, "out.csv.gz"))
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "would be called compressed and is not; write --out "+filepath.Join(dir, "out.csv")+", and gzip it afterwards")
	assert.Equal(t, []string{"jobs.csv"}, names(t, dir))
}

func TestLongTracesAreDrawnInDays(t *testing.T) {
	week := trace.Series{Step: 6 * time.Hour, Jobs: make([]int, 28)}
	panel := arrivalPanel(&week)
	assert.Equal(t, "days since the first arrival", panel.X.Label)
	assert.Equal(t, 7.0, panel.Edges[28])
	assert.Equal(t, "jobs per 6h", panel.Y.Label)
	day := trace.Series{Step: 30 * time.Minute, Jobs: make([]int, 48)}
	assert.Equal(t, 86400.0, arrivalPanel(&day).Edges[48])
}

func TestJobsBeyondTheLastEdgeAreDrawnAsLonger(t *testing.T) {
	p := trace.Profile{Durations: []trace.Bar{{From: 30 * 24 * time.Hour, To: 100 * 24 * time.Hour, Jobs: 1}, {From: 100 * 24 * time.Hour, Jobs: 2}}}
	panel := durationPanel(&p)
	assert.Equal(t, []string{"30d", "100d", "longer"}, panel.Labels)
	assert.True(t, math.IsInf(panel.Edges[2], 1))
	assert.Equal(t, []float64{1, 2}, panel.Values)
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
	p, err := trace.Map{}.Profile(t.Context(), jobList)
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
