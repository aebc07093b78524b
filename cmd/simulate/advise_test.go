package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/trace"
	"github.com/quiesce/quiesce/sim/advice"
	"github.com/quiesce/quiesce/sim/lab"
)

// advisable writes a manifest and a trace of two hours, in which jobs of 10 s to 70 s arrive
// every 4 s: too long for a grace of half a minute.
func advisable(t *testing.T) (args []string) {
	dir := t.TempDir()
	t.Chdir(dir) // the report names the files as they were named
	require.NoError(t, os.WriteFile("deploy.yaml", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: render}\nspec:\n  replicas: 12\n"+
		"  template:\n    spec:\n      terminationGracePeriodSeconds: 30\n      containers: [{name: render}]\n"), 0o644))
	var b strings.Builder
	b.WriteString("arrival,duration,kind\n")
	for i := range 1800 {
		fmt.Fprintf(&b, "%d,%d,film\n", 4*i, 10+(i*i*7)%61)
	}
	require.NoError(t, os.WriteFile("jobs.csv", []byte(b.String()), 0o644))
	return []string{"advise", "--manifest", "deploy.yaml", "--jobs", "jobs.csv", "--seeds", "5"}
}

func TestAdviseSaysWhatToWrite(t *testing.T) {
	home, err := os.Getwd()
	require.NoError(t, err)
	out := succeed(t, advisable(t)...)
	for _, want := range []string{
		"Today (finish-only)", "Grace: 30 * time.Second}\n", "terminationGracePeriodSeconds: 90", "- {name: QUIESCE_GRACE, value: 90s}",
		"assumed that the workers claim no more at the stop signal",
	} {
		assert.Contains(t, out, want)
	}
	again(t, out)
	t.Chdir(home)
	golden(t, "advise.txt", out)
}

// again sees that the command that is printed gives the same.
func again(t *testing.T, out string) {
	t.Helper()
	_, command, found := strings.Cut(out, "Repeat with\n  simulate ")
	require.True(t, found)
	assert.Equal(t, out, succeed(t, strings.Fields(command)...))
}

func TestAdviseTakesWhatItIsTold(t *testing.T) {
	advisable(t)
	text, err := os.ReadFile("jobs.csv")
	require.NoError(t, err)
	mapped := strings.Replace(string(text), "arrival,duration,kind", "at,took,queue", 1)
	require.NoError(t, os.WriteFile("log.csv", []byte(mapped), 0o644))
	manifest, err := os.ReadFile("deploy.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("both.yaml", []byte(string(manifest)+"---\n"+strings.Replace(string(manifest), "render", "other", 1)), 0o644))
	out := succeed(t, "advise", "--manifest", "both.yaml", "--select", "deployment/render", "--jobs", "log.csv", "--map", "arrival=at,duration=took,kind=queue",
		"--today", "crash-only", "--lease", "10m", "--crash", "0s", "--seeds", "2", "--seed", "3")
	for _, want := range []string{"Today (crash-only)", "lease 10m, heartbeat 3m20s", "seeds 3–4", "assumed lease 10m, heartbeat 3m20s (--lease)"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "crashes every")
	again(t, out)
}

func TestAdviseSaysWhenTooFewJobsWereInTheWay(t *testing.T) {
	args := advisable(t)
	require.NoError(t, os.WriteFile("jobs.csv", []byte("arrival,duration,kind\n0,1,film\n7200,1,film\n"), 0o644))
	out := succeed(t, args...)
	assert.Contains(t, out, "Hardly a job was in the way of a deploy")
	assert.NotContains(t, out, "If they stopped differently")
}

// What was counted to the end of the run makes a difference wrong in a direction that depends on whose it is.
func TestSignsOfAnAdviceAreThoseOfAComparison(t *testing.T) {
	const name = "crash_stall_seconds_mean"
	trial := func(censored int64) *advice.Trial {
		return &advice.Trial{Metrics: []lab.Estimate{{Name: name, Mean: 8, Censored: censored}}, Against: []lab.Estimate{{Name: name, Mean: -2, Lo: -3, Hi: -1, Censored: censored}}}
	}
	r := &adviceReport{answer: &advice.Answer{Deploys: 1}}
	for text, censored := range map[string][2]int64{"−2.00s ± 1.0s": {0, 0}, "≥ −2.00s ± 1.0s": {0, 3}, "≤ −2.00s ± 1.0s": {3, 0}, "≈ −2.00s": {3, 3}} {
		assert.Equal(t, text, r.difference(loss{name, "", asSeconds, false}, trial(censored[1]), trial(censored[0])))
		assert.Equal(t, !strings.HasPrefix(text, "−"), signsIn(text) != "", text)
	}
}

func TestALongTraceIsCut(t *testing.T) {
	advisable(t)
	report := func(jobs int) *adviceReport {
		v := advising{input: input{manifest: "deploy.yaml", jobs: "jobs.csv"}, lease: time.Minute, seeds: 5}
		s, err := v.fromFiles()
		require.NoError(t, err)
		r := &adviceReport{scene: s, profile: trace.Profile{Summary: trace.Summary{Jobs: jobs}}}
		v.fit(r)
		return r
	}
	whole, cut := report(mostJobs/5/16), report(4*mostJobs/5/16)
	assert.InDelta(t, secondsOf(whole.scene.Duration)/4, secondsOf(cut.scene.Duration), 1)
	assert.Less(t, len(cut.scene.Deploys.At), len(whole.scene.Deploys.At))
	assert.LessOrEqual(t, cut.scene.Deploys.At[len(cut.scene.Deploys.At)-1], protocol.Instant(cut.scene.Duration))
	assert.Contains(t, cut.scene.assumed[len(cut.scene.assumed)-1], "cut the trace after")
}

func TestAWorkerThatNobodyKillsIsToldToWaitAsLongAsItLikes(t *testing.T) {
	r := &adviceReport{scene: &scene{Scenario: &model.Scenario{Supervisor: model.Supervisor{Kind: model.Systemd, Grace: protocol.Forever}}}}
	assert.Equal(t, []string{"worker.Options{Grace: 5 * time.Minute}   // or how long you want to wait: nobody sends SIGKILL"},
		r.lines(&advice.Change{Key: advice.Policy, Policy: "hybrid"}))
}

func TestALengthIsWrittenAsGoCode(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2 * time.Hour: "2 * time.Hour", 90 * time.Minute: "90 * time.Minute", 90 * time.Second: "90 * time.Second",
		1500 * time.Millisecond: "1500 * time.Millisecond",
	} {
		assert.Equal(t, want, goLength(d))
	}
}

func TestAdviseForMachines(t *testing.T) {
	args := append(advisable(t), "--today", "crash-only")
	out := succeed(t, append(args, "--format", "json")...)
	var doc struct {
		Workload           string
		Today              struct{ Policy string }
		Policies, Settings struct {
			Trials []struct {
				Change, Effect string
				Difference     map[string]struct {
					Mean, Lo, Hi *float64
					Clear        bool
				}
			}
		}
		Steps []struct {
			Change string
			Write  []string
		}
		Together map[string]any
		Seeds    int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, "deployment/render", doc.Workload)
	assert.Equal(t, "crash-only", doc.Today.Policy)
	assert.Equal(t, 5, doc.Seeds)
	require.NotEmpty(t, doc.Policies.Trials)
	assert.Equal(t, "helps", doc.Policies.Trials[0].Effect)
	unclear := 0
	for _, trial := range slices.Concat(doc.Policies.Trials, doc.Settings.Trials) {
		if trial.Effect == "unclear" {
			unclear++
			for _, name := range advice.Lost {
				assert.False(t, trial.Difference[name].Clear, name)
			}
		}
	}
	assert.Positive(t, unclear)
	stall := doc.Policies.Trials[0].Difference["deploy_stall_seconds_mean"]
	assert.True(t, stall.Clear)
	assert.Less(t, *stall.Hi, 0.0)
	require.NotEmpty(t, doc.Steps)
	assert.Equal(t, "policy", doc.Steps[0].Change)
	assert.NotEmpty(t, doc.Steps[0].Write)
	assert.NotEmpty(t, doc.Together)

	rows, err := csv.NewReader(strings.NewReader(succeed(t, append(args, "--format", "csv")...))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"stage", "change", "effect", "metric", "unit", "mean", "lo", "hi", "difference", "difference_lo", "difference_hi", "clear"}, rows[0])
	assert.Equal(t, "today", rows[1][0])
	for _, row := range rows[1:] {
		if row[9] != "" {
			assert.LessOrEqual(t, decimal(t, row[9]), decimal(t, row[8]), row)
			assert.LessOrEqual(t, decimal(t, row[8]), decimal(t, row[10]), row)
		}
	}
	assert.Equal(t, "together", rows[len(rows)-1][0])
}

func decimal(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

func TestAWorkerThatIsToldItsGraceDrainsToday(t *testing.T) {
	args := advisable(t)
	text, err := os.ReadFile("deploy.yaml")
	require.NoError(t, err)
	told := strings.Replace(string(text), "{name: render}]", `{name: render, env: [{name: QUIESCE_GRACE, value: 30s}]}]`, 1)
	require.NoError(t, os.WriteFile("deploy.yaml", []byte(told), 0o644))
	out := succeed(t, args...)
	assert.Contains(t, out, "Today (hybrid)")
	assert.Contains(t, out, "since the manifest sets QUIESCE_GRACE on line 9")
}

func TestAdviseRefuses(t *testing.T) {
	advisable(t)
	require.NoError(t, os.WriteFile("two.yaml", []byte("services: {a: {image: a}, b: {image: b}}\n"), 0o644))
	for args, want := range map[string]string{
		"advise":                        "write simulate advise --manifest FILE --jobs TRACE",
		"advise --manifest deploy.yaml": "write simulate advise --manifest FILE --jobs TRACE",
		"advise deploy.yaml":            "takes no argument",
		"advise --manifest deploy.yaml --jobs none.csv":                "none.csv: does not exist",
		"advise --manifest none.yaml --jobs jobs.csv":                  "none.yaml",
		"advise --manifest two.yaml --jobs jobs.csv":                   "choose one: --select service/a",
		"advise --manifest deploy.yaml --jobs jobs.csv --today hybird": "did you mean hybrid?",
		"advise --manifest deploy.yaml --jobs jobs.csv --seeds 1":      "write at least --seeds 2",
		"advise --manifest deploy.yaml --jobs jobs.csv --lease 10ms":   "write at least --lease 1s",
		"advise --manifest deploy.yaml --jobs jobs.csv --crash often":  "write it like 90s",
	} {
		r := invoke(t.Context(), strings.Fields(args)...)
		assert.Equal(t, exitMisuse, r.status, args)
		assert.Empty(t, r.stdout, args)
		assert.Contains(t, r.stderr, want, args)
	}
}
