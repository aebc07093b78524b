package main

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

// oneLine undoes the breaking of lines.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestTheWinnerIsNamedInEveryFormat(t *testing.T) {
	args := []string{"compare", tiny, "--seeds", "10"}
	assert.Regexp(t, `Least delay per job: hybrid \(5\S+s\), clearly less than drain \(11\S+s\) and crash-only \(18\S+s\)\.`, oneLine(succeed(t, args...)))
	d := decode(t, succeed(t, append(args, "--format", "json")...))
	require.NotNil(t, d.Verdict)
	require.NotNil(t, d.Verdict.Winner)
	assert.Equal(t, "hybrid", *d.Verdict.Winner)
	assert.Equal(t, []string{"hybrid"}, d.Verdict.Best)
	for _, p := range d.Paired {
		e := p.Metrics["delay_seconds_per_job"]
		require.NotNil(t, e.Reduction)
		assert.Greater(t, *e.Reduction, 1.0, "equal jobs and crashes on both sides must be worth something")
		assert.GreaterOrEqual(t, *e.Holm, *e.P)
	}
	require.NotNil(t, d.Warmup)
	assert.Equal(t, 240.0, d.Warmup.Scenario)
	require.NotNil(t, d.Warmup.Suggested)
}

// scenario writes the tiny scenario, changed, to a file.
func scenario(t *testing.T, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(tiny)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "changed.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o644))
	return file
}

// small writes a scenario that is the tiny one made smaller still, for tests that are about
// rows and not about what is in them.
func small(t *testing.T) string {
	t.Helper()
	return scenario(t, "duration: 30m", "duration: 12m", "warmup: 4m", "warmup: 1m", "workers: 20", "workers: 4", "30/m", "6/m", "every: 8m", "every: 3m", "lease: 2m, heartbeat: 40s", "lease: 1m, heartbeat: 20s")
}

func TestWhereNothingHappensNobodyWins(t *testing.T) {
	calm := scenario(t, "deploys: {every: 8m}\n", "", "faults: {crash: {mtbf: 2h}}\n", "")
	text := oneLine(succeed(t, "compare", calm, "--seeds", "10"))
	assert.Contains(t, text, "No winner is named: too little happened. In all runs together a stop, a crash or a pause met 0 jobs under crash-only, 0 under drain and 0 under hybrid")
	assert.NotContains(t, text, "Least delay")
	d := decode(t, succeed(t, "compare", calm, "--seeds", "10", "--format", "json"))
	assert.Nil(t, d.Verdict.Winner)
	assert.Empty(t, d.Verdict.Best)
}

func TestOneReplicationNamesNoWinner(t *testing.T) {
	assert.Contains(t, oneLine(succeed(t, "compare", tiny, "--seeds", "1")), "No winner is named: one replication cannot tell")
	assert.Nil(t, decode(t, succeed(t, "compare", tiny, "--seeds", "2", "--policies", "hybrid", "--format", "json")).Verdict, "there is nothing to judge")
}

func TestPoliciesThatDoTheSameAreNotRanked(t *testing.T) {
	// Without a crash drain and hybrid do the very same.
	same := scenario(t, "faults: {crash: {mtbf: 2h}}\n", "")
	assert.Contains(t, oneLine(succeed(t, "compare", same, "--seeds", "3", "--policies", "drain,hybrid")), "cannot be told apart")
}

func TestRareEventsAreNeverABareZero(t *testing.T) {
	text := succeed(t, "compare", tiny, "--seeds", "3")
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "jobs lost") {
			assert.Equal(t, 3, strings.Count(line, "0 of 2,334 (<0.13%)"), line)
		}
		if strings.Contains(line, "attempts eroded by") {
			assert.Equal(t, 1, strings.Count(line, "0 of 2,334 (<0.13%)"), line)
		}
	}
	assert.Contains(t, oneLine(text), "Not seen under any policy, 0 of 2,334 (<0.13%): executions that overlap another, unfenced effects applied twice")
	lost := decode(t, succeed(t, "compare", tiny, "--seeds", "3", "--format", "json")).Policies["hybrid"].Metrics["jobs_lost"]
	require.NotNil(t, lost.PerJob)
	assert.InDelta(t, 3.0/2334, lost.PerJob.Hi, 1e-9)
	assert.Equal(t, "3 of 2.57M (0.39–3.5ppm)", newRare(3).value)
	assert.Equal(t, "12 of 2.57M (2.6–8.2ppm)", newRare(12).value)
}

func TestPrecisionStopsByResultsAndSaysWhy(t *testing.T) {
	args := []string{"compare", small(t), "--policies", "drain,hybrid"}
	text := succeed(t, append(args, "--precision", "60%")...)
	assert.Contains(t, oneLine(text), "precision 60% was reached after ")
	assert.Contains(t, text, "--precision 60% --max-seeds 200 --seed 1\n")
	d := decode(t, succeed(t, append(args, "--precision", "60%", "--format", "json")...))
	assert.Contains(t, d.Stop, "was reached")
	assert.Greater(t, d.Seeds, 10)
	for policy, p := range d.Policies {
		e := p.Metrics["delay_seconds_per_job"]
		assert.LessOrEqual(t, (*e.Hi-*e.Lo)/2, *e.Mean*0.6/1.6, policy)
	}
	text = succeed(t, append(args, "--precision", "0.1%", "--max-seeds", "12")...)
	assert.Contains(t, oneLine(text), "precision 0.1% was not reached within 12 replications")
	assert.Contains(t, text, "12 runs of 12m")
}

func TestLoads(t *testing.T) {
	file := small(t)
	args := []string{"compare", file, "--seeds", "4", "--policies", "crash-only,hybrid"}
	text := succeed(t, append(args, "--load", "0.4,0.9")...)
	for _, says := range []string{
		"tiny at load 0.4: a deploy", "they keep 40% of the slots busy", "tiny at load 0.9: a deploy", "they keep 90% of the slots busy",
		"simulate compare " + file + " --load 0.4 --policies crash-only,hybrid --seeds 4 --seed 1\n",
		"From load to load\n", "the ranking by delay per job is the same at every load",
	} {
		assert.Contains(t, text, says)
	}
	var doc struct {
		Loads   []document
		Ranking []string
		Meta    map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, append(args, "--load", "0.4,0.9", "--format", "json")...)), &doc))
	require.Len(t, doc.Loads, 2)
	assert.Equal(t, "tiny at load 0.9", doc.Loads[1].Scenario)
	assert.Len(t, doc.Ranking, 1)
	assert.EqualValues(t, 8, doc.Meta["asked_seeds"])

	alone := succeed(t, append(args, "--load", "0.4")...)
	assert.True(t, strings.HasPrefix(text, alone), "each is what it is alone")
	assert.NotContains(t, alone, "From load to load")

	r := invoke(t.Context(), "compare", "--jobs", writeTrace(t), "--load", "0.5")
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "--load 0.5: the load cannot be set: its jobs arrive when the trace says; leave --load out")
}

func writeTrace(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(file, []byte("arrival,duration\n0,10\n5,20\n"), 0o644))
	return file
}

func TestTheWarmUpIsAdvisedOnWhereItMatters(t *testing.T) {
	minutes := func(m int64) int64 { return m * 60e9 }
	for _, c := range []struct {
		all   []lab.Transient
		notes []string
		alone bool
		given float64 // seconds; 0 is ten minutes
	}{
		{notes: []string{"warm-up: too little happens in a run for MSER-5 to judge it"}},
		{
			all:   []lab.Transient{{Policy: "a", Of: "delay", Nanos: minutes(3), ByChance: true}},
			notes: []string{"warm-up: MSER-5 would leave out 3m, and 10m is left out"},
		},
		{
			all: []lab.Transient{{Policy: "a", Of: "delay", Nanos: minutes(20), Shift: 0.13}, {Policy: "b", Of: "stall", Nanos: minutes(40), Shift: -0.001, ByChance: true}},
			notes: []string{
				"warm-up: MSER-5 would leave out the first 20m (delay under a, +13%), and only 10m is left out; set warmup: 20m",
				"warm-up: MSER-5 would leave out more than the first 10m for stall under b, and the runs show no difference that it makes",
			},
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "stall", Nanos: minutes(50), Unsettled: true, Shift: 0.4}},
			notes: []string{"warm-up: MSER-5 sees no steady state within the first half of the run for stall under a, +40%; these means depend on how long the run is"},
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "stall", Nanos: minutes(50), Unsettled: true, Shift: math.NaN()}},
			notes: []string{"warm-up: MSER-5 sees no steady state within the first half of the run for stall under a; these means depend on how long the run is"},
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "delay", Nanos: 17.5e9, Shift: 0.04}},
			notes: []string{"warm-up: MSER-5 would leave out the first 17.5s (delay under a, +4%), and only 10s is left out; set warmup: 18s"},
			given: 10,
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "delay", Nanos: minutes(50), Unsettled: true, Shift: -0.9996}, {Policy: "b", Of: "delay", Nanos: minutes(50), Unsettled: true, Shift: 1.804}},
			notes: []string{"warm-up: MSER-5 sees no steady state within the first half of the run for delay under a, −100% and delay under b, +180%; these means depend on how long the run is"},
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "stall", Nanos: minutes(50), Unsettled: true, Shift: 1100}},
			notes: []string{"warm-up: MSER-5 sees no steady state within the first half of the run for stall under a, to >1,000×; these means depend on how long the run is"},
		},
		{
			all:   []lab.Transient{{Policy: "a", Of: "delay", Nanos: minutes(20), Shift: 0.13}},
			notes: []string{"warm-up: MSER-5 would leave out more than the first 10m for delay under a, and one run does not tell whether that is more than chance"},
			alone: true,
		},
	} {
		w := warmup{given: cmp.Or(c.given, 600), length: 7200, alone: c.alone, all: c.all}
		assert.Equal(t, c.notes, w.notes())
	}
}

func TestThePriceOfAWinnerIsInWords(t *testing.T) {
	dead := func(n int64) []*meter.Row {
		row := new(meter.Row)
		row.Counts[meter.JobsDeadLettered], row.Counts[meter.JobsLost] = n, 2*n
		return []*meter.Row{row}
	}
	results := &lab.Results{Policies: []string{"a", "b"}, Rows: [][]*meter.Row{dead(1), dead(0)}}
	assert.Equal(t, " In all runs it cost 1 job dead-lettered and 2 jobs lost.", price(results, "a"))
	assert.Empty(t, price(results, "b"))
}
