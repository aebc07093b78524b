package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func columnsOf(t *testing.T, args ...string) []string {
	var names []string
	for _, line := range strings.Split(succeed(t, append(args, "--format", "csv", "--seeds", "1")...), "\n")[1:] {
		if f := strings.Split(line, ","); len(f) > 2 && f[2] == "events" {
			names = append(names, f[1])
		}
	}
	return names
}

func TestRealQueuesAreComparedAsTheyAreTodayBesideHybrid(t *testing.T) {
	assert.Equal(t, []string{"asynq", "hybrid"}, columnsOf(t, "compare", tiny, "--queue", "asynq"))
	assert.Equal(t, []string{"asynq", "bullmq", "river", "hybrid"}, columnsOf(t, "compare", tiny, "--queue", "asynq,bullmq,river"))
	assert.Equal(t, []string{"river", "crash-only", "hybrid"}, columnsOf(t, "compare", tiny, "--queue", "river", "--policies", "crash-only,hybrid"))
}

func TestRealQueuesAreComparedOnRealInput(t *testing.T) {
	dir := t.TempDir()
	jobs := filepath.Join(dir, "jobs.csv")
	require.NoError(t, os.WriteFile(jobs, []byte("arrival,duration,kind\n0,30,a\n40,50,b\n100,20,a\n"), 0o644))
	assert.Equal(t, []string{"sidekiq", "hybrid"}, columnsOf(t, "compare", "--jobs", jobs, "--queue", "sidekiq"))
}

func TestTheTableSaysWhatARealQueueIs(t *testing.T) {
	text := succeed(t, "compare", tiny, "--queue", "asynq,sidekiq", "--seeds", "1")
	flat := strings.Join(strings.Fields(text), " ")
	assert.Contains(t, flat, "today asynq: waits 8 s and requeues before it cancels")
	assert.Contains(t, flat, "lease 30s, heartbeat 5s")
	assert.Contains(t, flat, "SIGKILL loses it; no lease")
	assert.Contains(t, text, "--policies asynq,sidekiq,hybrid", "the command to repeat it")
}

func TestOneRunUnderARealQueue(t *testing.T) {
	text := succeed(t, "run", tiny, "--policy", "bullmq")
	assert.Contains(t, text, "policy bullmq")
}

func TestTheTableSaysWhichFaultsAreBuiltIn(t *testing.T) {
	text := succeed(t, "compare", "heartbeat-stopped-at-stop", "--seeds", "1")
	assert.Contains(t, strings.Join(strings.Fields(text), " "),
		"unsafe today: stops claiming and waits for its handlers until SIGKILL; built in: heartbeat-stops-at-stop, never-distrusts")
	assert.Contains(t, text, "--policies today,hybrid", "the command to repeat it")
	succeed(t, "compare", "heartbeat-stopped-at-stop", "--seeds", "1", "--policies", "today,hybrid")
	assert.Contains(t, succeed(t, "run", "heartbeat-stopped-at-stop", "--policy", "today"), "policy today")
}
