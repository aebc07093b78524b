package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/plots"
)

func TestTableOfCurves(t *testing.T) {
	lines := strings.Split(succeed(t, "curves", tiny, "--lease", "1m,2m", "--seeds", "3"), "\n")
	text := strings.Join(lines, "\n")
	assert.Equal(t, "3 runs of 30m at every point; seeds 1–3; policies crash-only, drain, hybrid", lines[1])
	for _, title := range []string{
		"Stall of jobs that a deploy interrupts, mean", "Delay per job, over all jobs", "Work that is done again, per run", "Attempts eroded, per job",
	} {
		i := slices.Index(lines, title)
		require.GreaterOrEqual(t, i, 0, title)
		fields := strings.Fields(lines[i+1])
		assert.Equal(t, []string{"lease", "crash-only", "drain", "hybrid"}, fields[:4])
		assert.Equal(t, i == 3, len(fields) == 5 && fields[4] == "theory", "theory is about the first")
		assert.True(t, strings.HasPrefix(lines[i+2], "  1m ") && strings.HasPrefix(lines[i+3], "  2m "), title)
	}
	assert.Contains(t, text, "the heartbeat keeps its share of the lease, 40s of 2m")
	assert.Contains(t, text, "  simulate curves testdata/tiny.yaml --lease 1m,2m --policies crash-only,drain,hybrid --seeds 3 --seed 1 --out figures\n")
	for _, line := range lines[:len(lines)-2] {
		assert.LessOrEqual(t, width(line), pageWidth, line)
	}
}

func TestCurvesWithoutARangeVaryTheLease(t *testing.T) {
	text := succeed(t, "curves", tiny, "--seeds", "1", "--metrics", "crashes")
	assert.Contains(t, text, "--lease "+defaultLeases)
	assert.Contains(t, text, "one replication has no interval")
	assert.NotContains(t, text, "Theory", "which says nothing about crashes")
}

func TestCurvesOverTheDurationNameNoneForAll(t *testing.T) {
	text := succeed(t, "curves", tiny, "--vary", "duration=20m,30m", "--seeds", "2", "--policies", "hybrid", "--metrics", "crashes")
	assert.Contains(t, text, "\n2 runs at every point; seeds 1–2; policies hybrid\n")
}

func readCSV(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return rows
}

func TestCSVOfCurves(t *testing.T) {
	rows := readCSV(t, succeed(t, "curves", tiny, "--lease", "1m,2m", "--seeds", "2", "--format", "csv"))
	assert.Equal(t, []string{"scenario", "policy", "metric", "unit", "x_name", "x", "x_unit", "y_name", "y", "y_unit", "mean", "lo", "hi", "n", "censored", "too_few"}, rows[0])
	assert.Len(t, rows, 1+2*3*len(defaultMetrics())+2, "the last two are of theory")
	for _, row := range rows[1:] {
		assert.Equal(t, "queue.lease", row[4])
		assert.Contains(t, []string{"60", "120"}, row[5])
		assert.Equal(t, []string{"s", "", "", ""}, row[6:10])
		assert.True(t, !strings.HasSuffix(row[2], "_p99") || row[15] == "true", "of some eighty stalls one lies beyond it")
		assert.True(t, strings.Contains(row[2], "_p") || row[15] == "false", "%s is no quantile", row[2])
	}
	assert.True(t, slices.ContainsFunc(rows, func(row []string) bool { return row[1] == "theory:crash-only" }))
}

func TestJSONOfCurves(t *testing.T) {
	var d struct {
		Scenario, About string
		Seeds           int
		FirstSeed       uint64 `json:"first_seed"`
		Axes            []struct {
			Path, Unit string
			Values     []float64
			Written    []string
		}
		Points []struct {
			At       map[string]float64
			Policies map[string]struct{ Metrics map[string]estimate }
			Theory   map[string]map[string]float64
		}
		Notes []string
		Meta  map[string]any
	}
	text := succeed(t, "curves", tiny, "--lease", "1m,2m", "--vary", "supervisor.grace=10s,20s", "--seeds", "2", "--seed", "5", "--format", "json")
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&d))
	assert.Equal(t, "tiny", d.Scenario)
	assert.Equal(t, uint64(5), d.FirstSeed)
	require.Len(t, d.Axes, 2)
	assert.Equal(t, []float64{10, 20}, d.Axes[1].Values)
	require.Len(t, d.Points, 4)
	assert.Equal(t, map[string]float64{"queue.lease": 120, "supervisor.grace": 10}, d.Points[1].At)
	for _, p := range d.Points {
		stall := p.Policies["crash-only"].Metrics["deploy_stall_seconds_mean"]
		require.NotNil(t, stall.Mean)
		assert.InEpsilon(t, p.Theory["crash-only"]["deploy_stall_seconds_mean"], *stall.Mean, 0.15)
	}
}

func TestCurvesMeetTheSameSeedsAsCompare(t *testing.T) {
	compared := decode(t, succeed(t, "compare", tiny, "--seeds", "2", "--format", "json"))
	rows := readCSV(t, succeed(t, "curves", tiny, "--lease", "2m", "--seeds", "2", "--format", "csv", "--metrics", "stall_seconds_p90"))
	require.Len(t, rows, 4)
	for _, row := range rows[1:] {
		assert.Equal(t, plain(*compared.Policies[row[1]].Metrics["stall_seconds_p90"].Mean), row[10], "the lease of the scenario is two minutes")
	}
}

func TestFiguresOfCurves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "figures")
	args := []string{"curves", tiny, "--lease", "1m,2m", "--seeds", "2", "--out", dir}
	succeed(t, args...)
	var want []string
	for _, figure := range []string{"attempts-eroded-per-job", "delay-per-job", "deploy-stall", "redone-work"} {
		want = append(want, figure+".pdf", figure+".png", figure+".svg")
	}
	want = append(want, "curves.csv", "curves.json", "curves.txt")
	slices.Sort(want)
	assert.Equal(t, want, names(t, dir))
	svg, err := os.ReadFile(filepath.Join(dir, "deploy-stall.svg"))
	require.NoError(t, err)
	for _, text := range []string{"99th percentile", "theory: lease less", "seeds 1–2", "tiny: a deploy every eight minutes", "--seeds 2 --seed 1"} {
		assert.Contains(t, string(svg), text)
	}
	succeed(t, args...)
	again, err := os.ReadFile(filepath.Join(dir, "deploy-stall.svg"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(svg, again), "same seeds, same bytes")
}

func TestCurvesSayWhyNothingWasMeasured(t *testing.T) {
	text := strings.Join(strings.Fields(succeed(t, "curves", tiny, "--lease", "1m,14m", "--seeds", "1")), " ")
	assert.Contains(t, text, "no stall after a deploy was measured at 14m: nobody was interrupted, or only in the last two leases")
	assert.Contains(t, text, "–: nothing there to measure")
}

func TestAPolicyThatIsTheSameAtEveryPointIsNamed(t *testing.T) {
	text := func(args ...string) string {
		return strings.Join(strings.Fields(succeed(t, append([]string{"curves", tiny, "--seeds", "1", "--metrics", "released"}, args...)...)), " ")
	}
	const note = "what is varied changes nothing under asynq and bullmq; a real queue, for one, has its own settings"
	assert.Contains(t, text("--lease", "1m,2m", "--policies", "asynq,hybrid,bullmq"), note)
	assert.NotContains(t, text("--vary", "supervisor.grace=10s,20s", "--policies", "asynq,hybrid"), "changes nothing")
	assert.NotContains(t, text("--lease", "1m,2m", "--policies", "hybrid"), "changes nothing")
}

func TestNoTwoPoliciesOfAFigureLookAlike(t *testing.T) {
	c := sweep{policies: append(append(model.PresetNames(), model.QueuePresetNames()...), "today", "lean")}
	seen := map[int]string{}
	for _, p := range c.policies {
		look := c.lookOf(p)
		assert.Empty(t, seen[look], "%s looks like another", p)
		seen[look] = p
		assert.Less(t, look, plots.Looks*plots.Looks)
	}
	assert.Less(t, c.lookOf("graphile"), c.lookOf("today"), "the scenario's own come behind those that everybody knows")
	assert.Equal(t, c.lookOf("asynq"), (&sweep{policies: []string{"lean", "asynq"}}).lookOf("asynq"))
	assert.Equal(t, c.lookOf("hybrid"), (&sweep{policies: []string{"lean", "hybrid"}}).lookOf("hybrid"))
}

// Under a figure stands what its reader must know, and not a page of it.
func TestCaptionsKeepToTheirFigure(t *testing.T) {
	dir := t.TempDir()
	caption := func(file string) string { // its lines put together again
		var words []string
		for _, text := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(read(t, filepath.Join(dir, file+".svg")), -1) {
			words = append(words, text[1])
		}
		return strings.Join(words, " ")
	}
	succeed(t, "curves", tiny, "--lease", "1m..14m:lin:9", "--seeds", "1", "--metrics", "deploy_stall_seconds_mean,attempts_eroded", "--out", dir)
	assert.Contains(t, caption("deploy-stall"), "No stall after a deploy was measured at")
	assert.NotContains(t, caption("attempts-eroded"), "stall after a deploy")
	assert.Contains(t, caption("attempts-eroded"), "The heartbeat keeps its share")
	assert.Contains(t, read(t, filepath.Join(dir, "curves.txt")), "no stall after a deploy")

	labels := strings.Split("abcdefg", "")
	assert.Equal(t, "a; b; c; d; e and 2 other points", places(labels, 9, "any point"))
	assert.Equal(t, "a; b; c; d; e; f", places(labels[:6], 9, "any point"))
	assert.Equal(t, "any point", places(labels, 7, "any point"))
	assert.Equal(t, "a", places(labels[:1], 1, "any point"))
}

func TestTwoRangesMakeHeatMaps(t *testing.T) {
	dir := t.TempDir()
	succeed(t, "curves", tiny, "--lease", "1m,2m", "--vary", "fleet.workers=20..40:lin:2", "--seeds", "1", "--metrics", "stall_share", "--out", dir)
	assert.Equal(t, []string{"curves.csv", "curves.json", "curves.txt", "heat-stall-share.pdf", "heat-stall-share.png", "heat-stall-share.svg"}, names(t, dir))
	assert.Len(t, readCSV(t, string(must(os.ReadFile(filepath.Join(dir, "curves.csv"))))), 1+4*3)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestCurvesRefuse(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "deploy-stall.png"), 0o755))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--lease", "soon"}, `simulate: --lease soon: has the value "soon", which is neither a duration nor a number`},
		{[]string{"--lease", "0s,1m"}, "--lease 0s,1m: queue.lease 0s is not positive; write a duration above zero"},
		{[]string{"--vary", "queue.lease"}, "--vary queue.lease: is not a path with a range"},
		{[]string{"--vary", "queue.leese=1m,2m"}, "--vary queue.leese=1m,2m: queue.leese is not a key; did you mean lease?"},
		{[]string{"--lease", "1m", "--vary", "queue.lease=2m"}, "varies queue.lease a second time"},
		{[]string{"--lease", "1m", "--vary", "fleet.workers=2", "--vary", "fleet.slots=2"}, "vary at most two numbers at once"},
		{[]string{"--metrics", "stall_shares"}, `there is no metric "stall_shares"; did you mean stall_share?`},
		{[]string{"--metrics", "queue_wait"}, `there is no metric "queue_wait"; there are queue_wait_seconds_p50, queue_wait_seconds_p99; simulate run`},
		{[]string{"--metrics", "events,events"}, "names events twice"},
		{[]string{"--vary", "jobs.render.duration.p50=1h"}, "--vary jobs.render.duration.p50=1h"},
		{[]string{"--vary", "duration=3m,30m"}, "warmup 4m0s must be shorter than duration 3m0s, with duration 3m (--vary duration=3m,30m)"},
		{[]string{"--out", folder, "--seeds", "10000"}, "deploy-stall.png in it is a folder"},
		{[]string{"extra"}, "takes one scenario, and there are 2"},
	} {
		r := invoke(t.Context(), append([]string{"curves", tiny}, c.args...)...)
		assert.Equal(t, exitMisuse, r.status, c.args)
		assert.Empty(t, r.stdout, c.args)
		assert.Contains(t, r.stderr, c.want)
	}
	assert.Equal(t, []string{"deploy-stall.png"}, names(t, folder))
}

func TestStoppedCurvesKeepWholePoints(t *testing.T) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r := invoke(ctx, "curves", tiny, "--lease", "30s..10m:log:100", "--seeds", "5", "--format", "csv")
		cancel()
		require.Equal(t, exitFinding, r.status, "a hundred points take longer")
		assert.Contains(t, r.stderr, "stopped")
		if r.stdout == "" {
			continue
		}
		assert.Contains(t, r.stderr, "of 100 points were finished; the others are left out")
		assert.Zero(t, (len(readCSV(t, r.stdout))-1)%(3*len(defaultMetrics())+1), "whole points")
		return
	}
}

func TestStoppedCurvesGoOnWhereTheyWere(t *testing.T) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.jsonl")
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r := invoke(ctx, "curves", tiny, "--lease", "30s..10m:log:100", "--seeds", "5", "--quiet", "--out", dir)
		cancel()
		require.Equal(t, exitFinding, r.status, "a hundred points take longer")
		if text, err := os.ReadFile(rows); err == nil && strings.Count(string(text), "\n") > 20 { // more than one point has
			assert.Contains(t, r.stderr, rows+", the same command goes on from there")
			break
		}
	}
	// Of what is asked for now only the first point is known: its rows are taken, were they wrong.
	args := []string{"curves", tiny, "--lease", "30s,45s", "--seeds", "2", "--metrics", "executions_started", "--format", "csv"}
	whole := succeed(t, args...)
	rewrite(t, rows, forge(t, read(t, rows), `"executions_started":`, `"executions_started":9`))
	r := invoke(t.Context(), append(args, "--out", dir)...)
	require.Equal(t, exitFine, r.status, r.stderr)
	assert.Contains(t, r.stderr, "going on from")
	assert.NotEqual(t, whole, r.stdout)
	was, is := readCSV(t, whole), readCSV(t, r.stdout)
	require.Len(t, is, 1+2*3)
	assert.NotEqual(t, was[1:4], is[1:4])
	assert.Equal(t, was[4:], is[4:])
	assert.Contains(t, r.stderr, "that were not asked for stay in "+rows)
	require.NoError(t, os.Remove(rows))
	succeed(t, append(args, "--out", dir)...)
	assert.NoFileExists(t, rows, "it is gone once the results are there")
}
