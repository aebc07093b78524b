package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
)

func TestRunShowsEveryMetric(t *testing.T) {
	text := succeed(t, "run", tiny, "--policy", "drain", "--seed", "2")
	for _, m := range (&meter.Row{}).Metrics() {
		assert.Regexp(t, `(?m)\s`+m.Name+`(\s|$)`, text)
	}
	assert.Contains(t, text, "one run of 30m, measured after a warm-up of 4m; policy drain, seed 2")
	assert.Contains(t, text, "simulate run testdata/tiny.yaml --policy drain --seed 2")
}

func TestRunAsJSON(t *testing.T) {
	text := succeed(t, "run", tiny, "--policy", "drain", "--seed", "2", "--format", "json")
	d := decode(t, text)
	require.NotNil(t, d.Seed)
	require.NotNil(t, d.TraceHash)
	assert.Equal(t, uint64(2), *d.Seed)
	assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{16}$`), *d.TraceHash)
	assert.Equal(t, 1, d.Seeds)
	m := d.Policies["drain"].Metrics["jobs_enqueued"]
	assert.Positive(t, *m.Mean)
	assert.Nil(t, m.Lo)
	assert.Nil(t, m.Hi)
	assert.Empty(t, d.Paired)

	again := decode(t, succeed(t, "run", tiny, "--policy", "drain", "--seed", "2", "--format", "json"))
	assert.Equal(t, *d.TraceHash, *again.TraceHash)
	other := decode(t, succeed(t, "run", tiny, "--policy", "drain", "--seed", "3", "--format", "json"))
	assert.NotEqual(t, *d.TraceHash, *other.TraceHash)
}

func TestVersion(t *testing.T) {
	assert.Contains(t, succeed(t, "version"), "rules    ")
	assert.Contains(t, succeed(t, "version", "--format", "json"), `"rules_version": `)
}

func TestScenarios(t *testing.T) {
	list := succeed(t, "scenarios")
	assert.True(t, strings.HasPrefix(list, "five-minute-lease"))
	assert.Equal(t, list, succeed(t, "scenarios", "list"))
	assert.Contains(t, succeed(t, "scenarios", "--format", "json"), `"name": "rolling-wave"`)
	assert.Contains(t, succeed(t, "scenarios", "show", "rolling-wave"), "name: rolling-wave")
	assert.Contains(t, succeed(t, "scenarios", "schema"), `"$schema"`)
}

func TestHelp(t *testing.T) {
	assert.Contains(t, succeed(t), "compare")
	assert.Contains(t, succeed(t, "compare", "--help"), "--manifest")
}
