package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExploreSaysWhatItSaw(t *testing.T) {
	out := succeed(t, "explore", "fair")
	assert.Contains(t, out, "holds")
	assert.Regexp(t, `world +states +transitions +depth +seconds +per CPU s +B/state`, out)
	var doc struct {
		Worlds []struct {
			Name     string
			States   int
			Complete bool
		}
		Meta struct {
			WallSeconds float64 `json:"wall_seconds"`
			Worlds      map[string]struct {
				PerSecond    int `json:"transitions_per_second"`
				PerCPUSecond int `json:"transitions_per_cpu_second"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "explore", "--world", "signals", "--format", "json", "--workers", "3")), &doc))
	require.Len(t, doc.Worlds, 1)
	assert.True(t, doc.Worlds[0].Complete)
	assert.Positive(t, doc.Worlds[0].States)
	assert.Positive(t, doc.Meta.WallSeconds)
	assert.Positive(t, doc.Meta.Worlds["signals"].PerSecond)
	if _, measured := cpuTime(); measured {
		assert.Positive(t, doc.Meta.Worlds["signals"].PerCPUSecond)
	}
	assert.Contains(t, succeed(t, "explore", "fair", "--format", "csv"), "fair,")
}

func TestExploreTellsACounterExample(t *testing.T) {
	r := invoke(t.Context(), "explore", "zombie", "--deviation", "lease-from-reply")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stdout, "told-before-lease-ends: worker 0 works on job 1, which was given to somebody else (rule 10)")
	assert.Contains(t, r.stdout, "0s    delivered: worker 0 → broker: Claim request 1")
	assert.Contains(t, r.stderr, "1 of 1 worlds do not hold")
	r = invoke(t.Context(), "explore", "progress", "--deviation", "settles-once", "--format", "json")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stdout, `"cycle"`)
}

// Without a world a deviation is looked for where it is known to be caught, as it is caught there.
func TestExploreKnowsWhereADeviationIsCaught(t *testing.T) {
	r := invoke(t.Context(), "explore", "--deviation", "lease-from-reply")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stdout, "told-before-lease-ends: worker 0 works on job 1")
	assert.NotContains(t, r.stdout, "two-slots")
	r = invoke(t.Context(), "explore", "--deviation", "distrusts-early")
	assert.Equal(t, exitFinding, r.status)
	assert.Contains(t, r.stdout, "can follow each other for ever, fairly")
	assert.Contains(t, r.stdout, "and from there on, again and again")
	assert.Contains(t, succeed(t, "explore", "tight", "--deviation", "distrusts-early"), "holds")
}

func TestExploreStopsAtABound(t *testing.T) {
	out := succeed(t, "explore", "stop-and-loss", "--max-states", "3000")
	assert.Contains(t, out, "open: the limit of states")
}

func TestExploreListsItsWorlds(t *testing.T) {
	out := succeed(t, "explore", "--list")
	assert.Contains(t, out, "three-by-three")
	assert.Contains(t, out, "(takes minutes)")
}

func TestExploreRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"zombi is not a world; did you mean zombie?", []string{"explore", "zombi"}},
		{"explore takes one world, and there are 2", []string{"explore", "fair", "zombie"}},
		{"explore takes one world, and there are two", []string{"explore", "fair", "--world", "zombie"}},
		{"--deviation settle-once: is not a deviation; did you mean settles-once?", []string{"explore", "--deviation", "settle-once"}},
		{"--max-states 0: is not a number of states", []string{"explore", "--max-states", "0"}},
		{"--workers 0: is not a number of parts", []string{"explore", "--workers", "0"}},
		{"--workers 100000000: are more parts that are searched at once than there can be; write at most 256", []string{"explore", "--workers", "100000000"}},
		{"--workers 99999999999999999999: are more parts", []string{"explore", "--workers", "99999999999999999999"}},
		{"--workers many: is not a number of parts", []string{"explore", "--workers", "many"}},
	} {
		r := invoke(t.Context(), c.args...)
		assert.Equal(t, exitMisuse, r.status, c.args)
		assert.Contains(t, r.stderr, c.says)
		assert.Empty(t, r.stdout)
	}
}
