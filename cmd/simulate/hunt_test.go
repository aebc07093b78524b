package main

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// found hunts a mutant and returns the finding's file and what was printed.
func found(t *testing.T, mutant string) (file, text string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "found")
	r := invoke(t.Context(), "hunt", "--mutant", mutant, "--seeds", "3000", "--findings", dir)
	require.Equal(t, exitFinding, r.status, r.stderr)
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0], r.stdout
}

func TestAHuntThatFindsNothingSaysHowMuchItTried(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	text := succeed(t, "hunt", "--seeds", "200", "--findings", dir)
	assert.Contains(t, text, "200 seeds: every promise was kept (36 invariants; ")
	assert.NoDirExists(t, dir, "there is nothing to keep")
	var d struct {
		Seeds int
		Past  int `json:"past_findings"`
		Found any
		Meta  map[string]float64
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "hunt", "--seeds", "20", "--findings", dir, "--format", "json")), &d))
	assert.Equal(t, 20, d.Seeds)
	assert.Nil(t, d.Found)
	assert.Positive(t, d.Meta["seeds_per_second"])
}

func TestAFindingIsAStoryAScenarioATestAndACommand(t *testing.T) {
	file, text := found(t, "release-before-undo")
	assert.Contains(t, text, "undo-before-release is broken")
	assert.Contains(t, text, "simulate replay "+file)
	assert.Contains(t, text, testFile(file))
	assert.Less(t, strings.Count(text, "\n"), 25, "it fits on a screen")

	test := read(t, testFile(file))
	_, err := parser.ParseFile(token.NewFileSet(), "", test, parser.AllErrors)
	require.NoError(t, err)
	assert.Contains(t, test, "func TestReleaseBeforeUndo")
	assert.Contains(t, test, read(t, file), "it stands by itself")

	r := invoke(t.Context(), "replay", file)
	assert.Equal(t, exitFinding, r.status, r.stderr)
	assert.Contains(t, r.stdout, "undo-before-release is broken")
	assert.Contains(t, r.stderr, "undo-before-release is broken")

	// The other views of the same run.
	assert.Contains(t, succeed(t, "replay", file, "--worker", "0"), "start")
	again := succeed(t, "run", file)
	assert.Contains(t, again, "Promises that are broken on purpose")
	assert.Equal(t, again, succeed(t, "run", file), "the same run")
}

func TestEarlierFindingsAreTriedFirst(t *testing.T) {
	file, _ := found(t, "late-claim-dropped")
	dir := filepath.Dir(file)
	assert.Contains(t, succeed(t, "hunt", "--seeds", "10", "--findings", dir), "1 finding of earlier hunts: as they should be")

	// A fault that nothing notices any more is a hole in the checking.
	rewrite(t, file, strings.Replace(read(t, file), "unsafe: [late-claim-dropped]", "unsafe: [bounces-jobs]", 1))
	r := invoke(t.Context(), "hunt", "--seeds", "10", "--findings", dir)
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stderr, "nothing notices it any more")

	// And a promise that is broken without a fault is one that came back.
	rewrite(t, file, strings.Replace(read(t, file), "seed:", "sed:", 1))
	r = invoke(t.Context(), "hunt", "--seeds", "10", "--findings", dir)
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "did you mean seed?")
}

func TestExplainSaysWhatMayVaryAndFromWhenOn(t *testing.T) {
	file, _ := found(t, "second-signal-kills")
	text := succeed(t, "explain", file)
	assert.Contains(t, text, "from here on it was inevitable")
	assert.Contains(t, text, "What it hangs on")
	assert.Contains(t, text, "What may vary freely")
	var d struct {
		Invariant      string
		InevitableFrom int `json:"inevitable_from"`
		Story          []struct{ Text string }
		Facts          []struct {
			What    string
			Free    bool
			Tried   int
			SavedBy []string `json:"saved_by"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "explain", file, "--format", "json")), &d))
	assert.Equal(t, "escalates-by-repeat", d.Invariant)
	assert.Less(t, d.InevitableFrom, len(d.Story))
	assert.NotEmpty(t, d.Facts)
}

// That every mutant is caught, and in a short story, is tested where they are hunted; make hunt runs
// the whole command.
func TestSelftestTellsHowMutantsWereCaught(t *testing.T) {
	names := []string{"heartbeat-stops-at-stop", "late-claim-dropped", "release-before-undo", "settle-unfenced", "token-forgotten"}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	require.NoError(t, a.selftest(t.Context(), &selftest{names: names, seeds: 20_000, format: asJSON}))
	var d struct {
		Mutants []struct {
			Name, By    string
			Caught      bool
			Seeds       int
			StoryEvents int `json:"story_events"`
		}
		Canary struct{ Caught bool }
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &d))
	require.Len(t, d.Mutants, len(names))
	assert.True(t, d.Canary.Caught)
	for i, m := range d.Mutants {
		assert.Equal(t, names[i], m.Name)
		assert.True(t, m.Caught, m.Name)
		assert.NotEmpty(t, m.By, m.Name)
		assert.Positive(t, m.Seeds, m.Name)
		assert.Positive(t, m.StoryEvents, m.Name)
		assert.LessOrEqual(t, m.StoryEvents, 24, "%s: it fits on a screen", m.Name)
	}
}

func TestASelftestWithoutPricesSpeaksOfNone(t *testing.T) {
	all := []mutant{{name: "settle-unfenced", seeds: 3}}
	var b bytes.Buffer
	writeSelftest(&b, all, false, true, time.Second)
	assert.NotContains(t, b.String(), "cost")
	assert.NotContains(t, b.String(), "price")
	assert.NotContains(t, b.String(), "–")
	assert.NotContains(t, b.String(), " \n")
	b.Reset()
	writeSelftest(&b, all, true, true, time.Second)
	assert.Contains(t, b.String(), "what it costs beside the sound protocol\n")
	assert.Contains(t, b.String(), "The price is what two runs of two hours say")
}

func TestAMutantThatSurvivesFailsTheSelftest(t *testing.T) {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	err := a.selftest(t.Context(), &selftest{names: []string{"settle-unfenced", "sweep-drops-rest"}, seeds: 1, format: asTable})
	assert.EqualError(t, err, "1 mutant survived: nothing notices sweep-drops-rest")
	assert.Equal(t, exitFinding, a.status(err))
	assert.Contains(t, stdout.String(), "nobody")
	assert.Contains(t, stdout.String(), "1 of 2 mutants caught")
}

// A folder that takes no file is refused before a long hunt; one that is spoilt meanwhile costs
// the files, not the finding.
func TestAFindingThatCannotBeKeptIsToldAllTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	rewrite(t, file, "")
	r := invoke(t.Context(), "hunt", "--seeds", "1", "--findings", file)
	assert.Equal(t, exitMisuse, r.status)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "--findings "+file+": "+file+" is not a folder; name a folder to write into")

	kept, story := found(t, "settle-unfenced")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, filepath.Base(testFile(kept))), 0o755))
	r = invoke(t.Context(), "hunt", "--mutant", "settle-unfenced", "--seeds", "3000", "--findings", dir)
	assert.Equal(t, exitFinding, r.status)
	_, told, _ := strings.Cut(r.stdout, "\n") // the first line has the rate
	assert.NotEmpty(t, told)
	assert.Contains(t, story, told)
	assert.NotContains(t, told, "simulate replay")
	assert.Contains(t, r.stderr, "no-stale-effect is broken, and the finding is not kept: --findings "+dir+" cannot be written to")
	assert.Regexp(t, `simulate hunt --seed \d+ --seeds 1 --mutant settle-unfenced finds it again`, r.stderr)
}

func TestHuntsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.yaml")
	rewrite(t, plain, "duration: 1m\nfleet: {workers: 1}\njobs: {mail: {arrivals: {every: 1s}, duration: 1s}}\n")
	unknown := filepath.Join(dir, "sub", "unknown.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(unknown), 0o755))
	rewrite(t, unknown, read(t, plain)+"policies: [hybrid]\nfinding: {policy: hybrid, seed: 1, invariant: no-job-lots}\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"hunt", "--for", "1m", "--seeds", "3"}, "give one of them"},
		{[]string{"hunt", "--for", "soon"}, "--for soon: is not a length of time; write it like 10m or 90s"},
		{[]string{"hunt", "--for", "-5m"}, "--for -5m: is not above zero; write it like 10m or 90s"},
		{[]string{"hunt", "--findings", ""}, "--findings '': is empty; name a folder, or leave it out"},
		{[]string{"replay", plain, "--html", ""}, "--html '': is empty; name a file, or leave it out"},
		{[]string{"hunt", "--seeds", "0"}, "is not a number of seeds"},
		{[]string{"hunt", "--mutant", "settles-onec"}, "did you mean settles-once?"},
		{[]string{"hunt", "--findings", dir}, "it has no finding"},
		{[]string{"explain"}, "explain takes one finding"},
		{[]string{"explain", plain}, "it has no finding"},
		{[]string{"explain", unknown}, "did you mean no-job-lost?"},
		{[]string{"replay", unknown}, "did you mean no-job-lost?"},
	} {
		r := invoke(t.Context(), c.args...)
		assert.Equal(t, exitMisuse, r.status, "%v", c.args)
		assert.Contains(t, r.stderr, c.says, "%v", c.args)
		assert.Empty(t, r.stdout, "%v", c.args)
	}
}
