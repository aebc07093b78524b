package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
)

func TestTableOfComparison(t *testing.T) {
	golden(t, "compare.txt", succeed(t, "compare", tiny, "--seeds", "3"))
}

func TestTableFitsThePage(t *testing.T) {
	text := succeed(t, "compare", tiny, "--seeds", "2", "--policies", "none,crash-only,deaf,finish-only,drain,drain+sweep,hybrid,release-now,adaptive")
	table, _, _ := strings.Cut(text, "Repeat with")
	for _, line := range strings.Split(table, "\n") {
		assert.LessOrEqual(t, width(line), pageWidth, line)
	}
	for _, policy := range []string{"none", "adaptive"} {
		assert.Contains(t, table, policy)
	}
}

// estimate is a metric as a reader of the JSON sees it.
type estimate struct {
	Mean, Lo, Hi *float64
	Unit         *string
	N, Censored  *int64
	TooFew       bool                      `json:"too_few"`
	PerJob       *struct{ Lo, Hi float64 } `json:"per_job"`
	PerBatch     *struct{ Lo, Hi float64 } `json:"per_batch"`
	P            *float64                  // of a difference
	Holm         *float64                  `json:"p_holm"`
	Reduction    *float64                  `json:"variance_reduction"`
	Independent  bool
}

type brokenRow struct {
	Invariant, Text string
	Expected        bool
	Runs, Times     int
	Seed            uint64
	At              float64 `json:"at_seconds"`
}

type document struct {
	Scenario, About string
	Seed            *uint64
	TraceHash       *string `json:"trace_hash"`
	Seeds           int
	FirstSeed       uint64 `json:"first_seed"`
	Policies        map[string]struct {
		Metrics map[string]estimate
		Broken  []brokenRow
	}
	Paired []struct {
		Policy, Baseline string
		Metrics          map[string]estimate
	}
	Notes, Assumed []string
	Verdict        *struct {
		Metric, Text string
		Winner       *string
		Best         []string
	}
	Warmup *struct {
		Rule       string
		Scenario   float64  `json:"scenario_seconds"`
		Suggested  *float64 `json:"suggested_seconds"`
		Transients []struct {
			Policy, Of string
			Seconds    float64
			Steady     bool
			Shift      *float64
			ByChance   bool `json:"by_chance"`
		}
	}
	Stop string
	Meta map[string]any
}

func decode(t *testing.T, text string) document {
	t.Helper()
	var d document
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&d))
	return d
}

// contract is the names that must be there under every policy, whatever happened.
const contract = `jobs_enqueued jobs_completed jobs_dead_lettered jobs_dead_lettered_by_interruptions jobs_stuck
jobs_starving jobs_lost interruptions interruptions_per_job_per_deploy released reclaimed_by_expiry
stall_seconds_mean stall_seconds_p50 stall_seconds_p90 stall_seconds_p99 stall_seconds_max
deploy_stall_seconds_mean deploy_stall_seconds_p99 crash_stall_seconds_mean stall_share delay_seconds_per_job
executions_started redone_executions overlapping_executions overlap_seconds effects_applied_twice
redone_work_seconds attempts_eroded attempts_eroded_per_job finished_in_grace cancelled undone quarantined
refused leaked acked_after_cancel exit_seconds_p50 exit_seconds_p99 killed_at_grace queue_wait_seconds_p50
queue_wait_seconds_p99 rollout_seconds leader_gap_seconds_max events
refusal_stall_seconds_mean unsettled superseded surplus withdrawn jobs_cancelled timeouts`

func TestJSONKeepsTheContract(t *testing.T) {
	d := decode(t, succeed(t, "compare", tiny, "--seeds", "2", "--seed", "7", "--format", "json"))
	assert.Equal(t, "tiny", d.Scenario)
	assert.Equal(t, "a deploy every eight minutes over a two-minute lease", d.About)
	assert.Equal(t, 2, d.Seeds)
	assert.Equal(t, uint64(7), d.FirstSeed)
	assert.Len(t, d.Policies, 3)
	for policy, p := range d.Policies {
		for _, name := range strings.Fields(contract) {
			m, ok := p.Metrics[name]
			assert.True(t, ok && m.Unit != nil, "%s of %s", name, policy)
		}
		assert.Nil(t, p.Metrics["leader_gap_seconds_max"].Mean, "nothing measures it, and that is no zero")
	}
	stall := d.Policies["crash-only"].Metrics["deploy_stall_seconds_mean"]
	require.NotNil(t, stall.Mean)
	assert.Less(t, *stall.Lo, *stall.Mean)
	assert.Less(t, *stall.Mean, *stall.Hi)
	assert.Positive(t, *stall.N)
	require.Len(t, d.Paired, 2)
	for _, p := range d.Paired {
		assert.Equal(t, "crash-only", p.Baseline)
		assert.Negative(t, *p.Metrics["deploy_stall_seconds_mean"].Mean)
	}
	assert.NotNil(t, d.Notes)
	assert.NotNil(t, d.Assumed)
	for _, key := range []string{"wall_seconds", "events_per_second", "version", "asked_seeds"} {
		assert.Contains(t, d.Meta, key)
	}
}

func TestPoliciesKeepTheirOrder(t *testing.T) {
	text := succeed(t, "compare", tiny, "--seeds", "1", "--policies", "hybrid,crash-only", "--format", "json")
	assert.Less(t, strings.Index(text, `"hybrid"`), strings.Index(text, `"crash-only"`))
}

func TestEverythingButMetaFollowsFromTheInput(t *testing.T) {
	withoutMeta := func(procs int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		text := succeed(t, "compare", tiny, "--seeds", "3", "--format", "json")
		before, _, ok := strings.Cut(text, `"meta": {`)
		require.True(t, ok)
		return before
	}
	assert.Equal(t, withoutMeta(1), withoutMeta(2))
}

func TestCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(succeed(t, "compare", tiny, "--seeds", "2", "--format", "csv"))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"scenario", "policy", "metric", "unit", "mean", "lo", "hi", "n", "censored", "too_few"}, rows[0])
	assert.Len(t, rows, 1+3*len((&meter.Row{}).Metrics()))
	for _, row := range rows {
		if row[2] == "leader_gap_seconds_max" {
			assert.Equal(t, []string{"s", "", "", "", "0", "0", "false"}, row[3:])
		}
		if row[2] == "deploy_stall_seconds_p99" {
			assert.Equal(t, "true", row[9], "of some eighty stalls one lies beyond it")
		}
	}
}

func TestStopBeforeAnythingIsFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"compare", tiny}, {"run", "five-minute-lease"}, {"replay", "five-minute-lease"}} {
		r := invoke(ctx, args...)
		assert.Equal(t, exitFinding, r.status)
		assert.Empty(t, r.stdout)
		assert.Contains(t, r.stderr, "stopped")
	}
}

func TestStopPrintsWhatWasFinished(t *testing.T) {
	// How fast this machine is is not known, so wait longer until something was finished.
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r := invoke(ctx, "compare", tiny, "--seeds", "10000", "--format", "json")
		cancel()
		require.Equal(t, exitFinding, r.status)
		if r.stdout == "" {
			continue
		}
		d := decode(t, r.stdout)
		assert.Positive(t, d.Seeds)
		assert.Less(t, d.Seeds, 10000)
		assert.EqualValues(t, 10000, d.Meta["asked_seeds"])
		assert.Contains(t, strings.Join(d.Notes, "\n"), "stopped early")
		assert.Contains(t, r.stderr, "stopped early")
		return
	}
}

// What should never happen to a batch is counted out of the batches, and never a bare zero.
func TestRareEventsOfBatchesAreOutOfBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "batches.yaml")
	require.NoError(t, os.WriteFile(path, []byte("about: eighteen batches\nduration: 10m\nwarmup: 1m\nfleet: {workers: 2, slots: 2, start: 1s}\n"+
		"queue: {lease: 10s}\njobs: {import: {arrivals: {every: 1s}, duration: 1s, batch: 30}}\npolicies: [hybrid]\n"), 0o644))
	batches := *decode(t, succeed(t, "compare", path, "--seeds", "2", "--format", "json")).Policies["hybrid"].Metrics["batches"].Mean * 2
	require.Less(t, batches, 40.0)
	never := fmt.Sprintf("0 of %.0f (<", batches)

	text := succeed(t, "compare", path, "--seeds", "2")
	assert.Regexp(t, `batches never completed +`+regexp.QuoteMeta(never), text)
	assert.Regexp(t, `batches completed too early +`+regexp.QuoteMeta(never), text)
	text = succeed(t, "curves", path, "--seeds", "2", "--lease", "10s", "--metrics", "batches_never_completed,jobs_lost")
	assert.Regexp(t, `10s +`+regexp.QuoteMeta(never), text)

	m := decode(t, succeed(t, "compare", path, "--seeds", "2", "--format", "json")).Policies["hybrid"].Metrics
	require.NotNil(t, m["batches_never_completed"].PerBatch)
	assert.InDelta(t, 3/batches, m["batches_never_completed"].PerBatch.Hi, 0.01)
	assert.Nil(t, m["batches_never_completed"].PerJob)
	assert.NotNil(t, m["jobs_lost"].PerJob)

	text = succeed(t, "compare", tiny, "--seeds", "1")
	assert.NotContains(t, text, "batch", "where there are none")
}

func TestAScenarioThatSaysNothingOfItselfIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quiet.yaml")
	require.NoError(t, os.WriteFile(path, []byte("duration: 1m\nfleet: {workers: 1}\njobs: {a: {arrivals: {every: 10s}, duration: 1s}}\n"), 0o644))
	for _, command := range []string{"compare", "curves", "run"} {
		args := []string{command, path}
		if command == "curves" {
			args = append(args, "--seeds", "1", "--lease", "10s")
		}
		first, _, _ := strings.Cut(succeed(t, args...), "\n")
		assert.Equal(t, "quiet", first, command)
	}
}
