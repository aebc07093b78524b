package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

func TestPromisesBrokenOnPurposeArePartOfThePrice(t *testing.T) {
	args := []string{"compare", "heartbeat-stopped-at-stop", "--seeds", "2"}
	flat := strings.Join(strings.Fields(succeed(t, args...)), " ")
	assert.Contains(t, flat, "Promises that are broken on purpose, or by the queue as it is - under today lease-kept-while-handled, in 2 runs of 2: the lease of job")
	assert.NotContains(t, flat, "Broken promises")

	d := decode(t, succeed(t, append(args, "--format", "json")...))
	assert.Empty(t, d.Policies["hybrid"].Broken)
	require.NotEmpty(t, d.Policies["today"].Broken)
	b := d.Policies["today"].Broken[0]
	assert.Equal(t, "lease-kept-while-handled", b.Invariant)
	assert.True(t, b.Expected)
	assert.Equal(t, 2, b.Runs)
	assert.GreaterOrEqual(t, b.Times, 2)
	assert.Equal(t, uint64(1), b.Seed)
	assert.Positive(t, b.At)
}

func TestARealQueuesBrokenPromisesAreListed(t *testing.T) {
	assert.Contains(t, strings.Join(strings.Fields(succeed(t, "run", "rolling-wave", "--policy", "asynq")), " "), "under asynq settled-after-return, in 1 run of 1")
}

// A promise that a sound policy breaks is a finding: it is named, and the exit status says so.
func TestAPromiseThatNobodyBreaksOnPurposeIsAFinding(t *testing.T) {
	row := &meter.Row{Broken: []meter.Breach{{Invariant: "no-job-lost", At: 3e9, Text: "job 7 is gone", Times: 2}}}
	results := &lab.Results{Policies: []string{"hybrid"}, Seeds: []uint64{4, 5}, Rows: [][]*meter.Row{{{}, row}}}
	r := &report{seeds: 2, broken: brokenIn(results)}
	err := r.finding()
	require.EqualError(t, err, "no-job-lost is broken under hybrid: seed 5, at 3s: job 7 is gone")
	var stderr bytes.Buffer
	assert.Equal(t, exitFinding, (&app{stderr: &stderr}).status(err))
	assert.Contains(t, stderr.String(), "no-job-lost")
	var table bytes.Buffer
	r.writeBroken(&table)
	assert.Contains(t, table.String(), "Broken promises\n  - under hybrid no-job-lost, in 1 run of 2: job 7 is gone (seed 5, at 3s)")
}
