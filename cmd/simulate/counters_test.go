package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// batchOfTwo is a batch of two jobs, of which the second comes a minute after the first. A message
// takes 100 ms.
const batchOfTwo = `
name: batch-of-two
duration: 10m
warmup: 0s
fleet: {workers: WORKERS, slots: 2, start: 1s}
queue: {lease: 30s, heartbeat: 10s}
jobs: {mail: {arrivals: {every: 1m}, count: 2, duration: 5s, checkpoint: 1s, batch: 2, deaf: DEAF}}
faults: {network: {latency: 100ms}FAULTS}
policies: [{name: late, counted: after_ack}, {name: every-run, counted: by_run}]
`

func batchFile(t *testing.T, workers int, deaf, faults string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "batch.yaml")
	rewrite(t, file, strings.NewReplacer("WORKERS", fmt.Sprint(workers), "DEAF", deaf, "FAULTS", faults).Replace(batchOfTwo))
	return file
}

// counterLines returns the lines of a timeline about the counter, without spaces in front.
func counterLines(t *testing.T, args ...string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(succeed(t, append([]string{"replay"}, args...)...)) {
		if strings.Contains(line, " counter ") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return lines
}

func TestACounterThatWorksIsTold(t *testing.T) {
	file := batchFile(t, 1, "0%", "")
	assert.Equal(t, []string{"1m05.400s counter job 1 is counted down: its batch is at 1"}, counterLines(t, file, "--policy", "late", "--job", "1"))
	assert.Equal(t, []string{
		"1m05.400s counter job 1 is counted down: its batch is at 1",
		"2m05.400s counter job 2 is counted down: its batch is at 0 and goes on",
	}, counterLines(t, file, "--policy", "late", "--worker", "0"))
	assert.NotContains(t, succeed(t, "replay", file, "--policy", "late"), "went wrong")
}

func TestWhoReplaysALostCounterFindsItsJob(t *testing.T) {
	file := batchFile(t, 1, "0%", ", at: [{time: 65250ms, kind: crash}]") // the answer to the ack is on its way
	args := []string{file, "--policy", "late"}
	survey := succeed(t, append([]string{"replay"}, args...)...)
	_, survey, found := strings.Cut(survey, "\nCounters of batches that went wrong\n")
	require.True(t, found, survey)
	lines := strings.Split(survey, "\n")
	assert.Equal(t, "  job 1 is done and was never counted down: its batch waits at 1, at 10m00.000s", lines[0])
	command, ok := strings.CutPrefix(strings.TrimSpace(lines[1]), "simulate replay ")
	require.True(t, ok, lines[1])
	last := "10m00.000s counter job 1 is done and was never counted down: its batch waits at 1"
	assert.Equal(t, []string{last}, counterLines(t, strings.Fields(command)...))
	assert.Empty(t, counterLines(t, append(args, "--job", "1", "--until", "9m")...), "what comes later is not known by then")
	assert.Equal(t, []string{"2m05.400s counter job 2 is counted down: its batch is at 1"}, counterLines(t, append(args, "--worker", "0")...), "the rest is nobody's doing")

	trace := filepath.Join(t.TempDir(), "trace.json")
	succeed(t, append([]string{"replay", "--perfetto", trace}, args...)...)
	marks := 0
	for _, e := range readTrace(t, trace) {
		if strings.Contains(e.Name, "counted down") {
			marks++
			assert.Equal(t, "job 1 is done and was never counted down: its batch waits at 1", e.Name)
			assert.EqualValues(t, 1, e.Args["job"])
		}
	}
	assert.Equal(t, 1, marks, "what goes as it should is no mark")
}

func TestABatchThatGoesOnTooEarlyIsTold(t *testing.T) {
	file := batchFile(t, 2, "100%", ", at: [{time: 62s, kind: pause, length: 40s}, {time: 62s, seat: 1, kind: pause, length: 40s}]")
	args := []string{file, "--policy", "every-run"}
	const text = "job 1 is counted down once more: its batch is at 0 and goes on, although 1 job was not done"
	assert.Contains(t, succeed(t, append([]string{"replay"}, args...)...), "  "+text+", at 1m")
	assert.Len(t, counterLines(t, append(args, "--job", "1")...), 2)
	assert.Contains(t, strings.Join(counterLines(t, append(args, "--job", "1")...), "\n"), text)
	assert.Equal(t, []string{"2m05.100s counter job 2 is counted down: its batch is at -1"}, counterLines(t, append(args, "--job", "2")...))

	trace := filepath.Join(t.TempDir(), "trace.json")
	marked := func(more ...string) int {
		succeed(t, append(append([]string{"replay", "--perfetto", trace}, args...), more...)...)
		return strings.Count(read(t, trace), text)
	}
	assert.Equal(t, 1, marked())
	assert.Equal(t, 1, marked("--worker", "0")+marked("--worker", "1"), "it is the doing of one of them")
}

func TestTheFirstOfManyLostCountersAreNamed(t *testing.T) {
	text := succeed(t, "replay", "batch-counters", "--policy", "after-ack")
	assert.Equal(t, shown, strings.Count(text, "was never counted down"))
	assert.Regexp(t, `\n  and \d+ more\n`, text)
}
