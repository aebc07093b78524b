package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roleVar has this binary be bench when a test starts it again.
const roleVar = "BENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Setenv(roleVar, "bench")
	os.Exit(m.Run())
}

// needsRedis skips a test where nothing can be measured.
func needsRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
}

// measured runs a command and reads its report. What is missing is in the test's log.
func measured[T any](t *testing.T, report *T, skipped func(*T) []string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 0, run(append(args, "--json"), &out, &errs), errs.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), report))
	for _, line := range skipped(report) {
		t.Log("skipped:", line)
	}
}

func TestTheRedisQueueIsMeasured(t *testing.T) {
	needsRedis(t)
	var r redisReport
	measured(t, &r, func(r *redisReport) []string { return r.Skipped }, "redis", "--jobs", "300", "--rounds", "1", "--slots", "1,20", "--waits", "10", "--systems", "quiesce,asynq")
	for _, system := range []string{limitName, "quiesce", oneThreadName, recordedName} {
		for _, slots := range []int{1, 20} {
			w, ok := r.work(system, slots)
			require.True(t, ok, "%s, %d slots", system, slots)
			assert.Positive(t, w.PerSecond)
			assert.Positive(t, w.OfLimit)
		}
	}
	assert.Empty(t, r.Failed)
	limit, _ := r.work(limitName, 20)
	assert.Equal(t, 1.0, limit.OfLimit)
	l, ok := r.latency("quiesce", 100)
	assert.True(t, ok)
	assert.Positive(t, l.P50)
	assert.LessOrEqual(t, l.P50, l.P99)
	require.NotEmpty(t, r.Memory)
	assert.Greater(t, r.Memory[0].Bytes, 100.0, "the payload is as long")
	if len(r.Skipped) == 0 {
		w, ok := r.work("asynq", 20)
		assert.True(t, ok)
		assert.Positive(t, w.PerSecond)
	}
}

func TestStopsAreMeasured(t *testing.T) {
	needsRedis(t)
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	var r drainReport
	measured(t, &r, func(r *drainReport) []string { return r.Skipped }, "drain", "--jobs", "4", "--grace", "4s", "--patience", "16s", "--systems", "quiesce")
	require.Len(t, r.Rows, 4)
	for _, row := range r.Rows {
		require.Empty(t, row.Problem, row.System)
		assert.Equal(t, 4, row.InFlight, row.System)
		assert.Zero(t, row.Lost, row.System)
	}
	drained, guarded := r.Rows[0], r.Rows[3]
	assert.False(t, drained.Killed)
	assert.Equal(t, 2, drained.Finished, "half of them fit the grace")
	assert.Zero(t, drained.Unfinished)
	assert.Equal(t, 1.5, drained.Executions)
	assert.Equal(t, "quiesce, guarded", guarded.System)
	assert.Zero(t, guarded.Unfinished, "a crash under a guard costs no lease")
	assert.Equal(t, 2.0, guarded.Executions)
	assert.Equal(t, 4, r.Rows[1].Unfinished, "without one it costs the lease, which is longer than anybody watches")
}

func TestMisuseOfTheQueueCommands(t *testing.T) {
	for args, says := range map[string]string{
		"redis --slots 0":          "write numbers from 1 to 10000",
		"redis --systems bullmq":   "write some of quiesce, asynq, river",
		"redis --jobs 5":           "at least --jobs 100",
		"drain --jobs 1":           "write numbers from 2 to 10000",
		"drain --patience 1s":      "4 times the grace",
		"drain --systems sidekiq":  "write some of quiesce, asynq, river",
		"guard --server x -- /no/": "guard",
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, run(strings.Fields(args), &out, &errs), args)
		assert.Contains(t, errs.String(), says, args)
		assert.Empty(t, out.String())
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	assert.Equal(t, 2, run(strings.Fields("redis --systems quiesce"), &out, &errs))
	assert.Contains(t, errs.String(), "nothing can be measured here: quiesce and asynq are skipped: local: redis-server is not installed: ")
}
