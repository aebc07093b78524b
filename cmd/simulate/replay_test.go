package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimelines(t *testing.T) {
	for _, c := range []struct{ file, args string }{
		{"overview.txt", ""},
		{"job.txt", "--job 454"},
		{"worker.txt", "--worker 35 --from 15m --until 17m"},
		{"deploy.txt", "--deploy 2"},
	} {
		t.Run(c.file, func(t *testing.T) {
			args := append([]string{"replay", tiny, "--seed", "1", "--policy", "hybrid"}, strings.Fields(c.args)...)
			golden(t, c.file, succeed(t, args...))
		})
	}
}

// A timeline for machines has one object per line.
func TestTimelineAsJSONAndCSV(t *testing.T) {
	args := []string{"replay", tiny, "--deploy", "1", "--format"}
	lines := strings.Split(strings.TrimSpace(succeed(t, append(args, "json")...)), "\n")
	last := 0.0
	for _, line := range lines {
		var o struct {
			At   float64 `json:"at_seconds"`
			Who  string
			What string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		assert.GreaterOrEqual(t, o.At, last, "lines come in order of time")
		assert.NotEmpty(t, o.Who)
		assert.NotEmpty(t, o.What)
		last = o.At
	}
	rows := strings.Split(strings.TrimSpace(succeed(t, append(args, "csv")...)), "\n")
	assert.Len(t, rows, len(lines)+1)
	assert.Equal(t, "at_seconds,who,job,what", rows[0])
}

// Looking on must not change the run.
func TestReplayIsTheSameRun(t *testing.T) {
	table := succeed(t, "replay", tiny, "--job", "453")
	assert.Equal(t, table, succeed(t, "replay", tiny, "--job", "453"))
	cut := succeed(t, "replay", tiny, "--job", "453", "--until", "16m5s")
	assert.True(t, strings.HasPrefix(table, cut))
	assert.Less(t, len(cut), len(table))
}

func TestOverviewNamesCommandsThatWork(t *testing.T) {
	seen := 0
	for _, line := range strings.Split(succeed(t, "replay", tiny, "--policy", "drain"), "\n") {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "simulate "); ok {
			seen++
			assert.NotEmpty(t, succeed(t, strings.Fields(args)...))
		}
	}
	assert.Equal(t, 7, seen)
}
