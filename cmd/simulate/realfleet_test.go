//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const briefly = "testdata/brief.yaml"

// documentOf reads what a command prints as JSON.
func documentOf(t *testing.T, text string) (doc struct {
	Scenario  string
	TraceHash string `json:"trace_hash"`
	Policies  map[string]struct {
		Metrics map[string]struct{ Mean *float64 }
	}
	Fleet *struct {
		Speed    float64
		Accounts map[string]struct{ Jobs, Done, Lost int }
	}
	Notes []string
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &doc), text)
	return doc
}

func TestFleetSaysWhatRunSaysOfRealProcesses(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
	simulated := documentOf(t, succeed(t, "run", briefly, "--policy", "release-now", "--format", "json"))
	dir := t.TempDir()
	real := documentOf(t, succeed(t, "fleet", briefly, "--policy", "release-now", "--speed", "10", "--format", "json", "--out", dir))
	assert.Equal(t, simulated.Scenario, real.Scenario)
	assert.Empty(t, real.TraceHash)
	require.NotNil(t, real.Fleet)
	assert.Equal(t, 10.0, real.Fleet.Speed)
	assert.Positive(t, real.Fleet.Accounts["release-now"].Jobs)
	assert.Contains(t, strings.Join(real.Notes, "\n"), "0 lost, 0 acked twice")
	was, is := simulated.Policies["release-now"].Metrics, real.Policies["release-now"].Metrics
	assert.Len(t, is, len(was))
	for name := range was {
		assert.Contains(t, is, name)
	}
	// What comes from outside is the same to the job; what cannot be known is null.
	assert.Equal(t, *was["jobs_enqueued"].Mean, *is["jobs_enqueued"].Mean)
	assert.Positive(t, *is["stops"].Mean)
	assert.Positive(t, *is["released"].Mean)
	assert.Nil(t, is["events"].Mean)

	table, err := os.ReadFile(dir + "/fleet.txt")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(table)), " "), "measured with real processes on a Redis of its own at 10 times their speed")
	assert.Contains(t, string(table), "simulate fleet testdata/brief.yaml")
	assert.NotContains(t, string(table), "trace hash")
}

func TestFleetComparesWhatRealProcessesCanFollow(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
	doc := documentOf(t, succeed(t, "fleet", briefly, "--speed", "10", "--seeds", "2", "--format", "json"))
	assert.Contains(t, doc.Policies, "crash-only")
	assert.Contains(t, doc.Policies, "hybrid")
	assert.NotContains(t, doc.Policies, "drain", "of the scenario, but nothing on Redis leaves expired jobs alone")
	assert.Contains(t, strings.Join(doc.Notes, "\n"), "left out: brief: policy drain")
}

func TestFleetRefuses(t *testing.T) {
	for name, c := range map[string]struct{ args, says string }{
		"no scenario":                  {"fleet", "simulate fleet small-fleet --speed 10"},
		"a rescue that is not Redis's": {"fleet small-fleet --policy none", "policy none: the broker on Redis frees every job whose lease ran out"},
		"what the protocol forbids":    {"fleet claim-after-stop --policy today", "does what the protocol forbids"},
		"a broker that forgets":        {"fleet broker-failover --policy hybrid", "faults.failover"},
		"a partition":                  {"fleet release-after-takeover --policy hybrid", "faults.partition"},
		"a thousand processes":         {"fleet five-minute-lease --policy hybrid", "lower fleet.workers"},
		"no such policy":               {"fleet small-fleet --policy hybird", "hybrid"},
		"both flags":                   {"fleet small-fleet --policy hybrid --policies crash-only", "give one of them"},
		"no speed":                     {"fleet small-fleet --speed fast", "--speed 10"},
		"no Redis there":               {"fleet small-fleet --policy hybrid --redis redis://127.0.0.1:1", "redis:"},
		"no URL":                       {"fleet small-fleet --policy hybrid --redis localhost", "--redis is not the address of a Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			r := invoke(t.Context(), strings.Fields(c.args)...)
			assert.Equal(t, exitMisuse, r.status, r.stderr)
			assert.Empty(t, r.stdout)
			assert.Contains(t, r.stderr, c.says)
		})
	}
}

func TestFleetSaysHowToInstallRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := invoke(t.Context(), "fleet", "small-fleet", "--policy", "hybrid")
	assert.Equal(t, exitMisuse, r.status)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "redis-server is not installed")
	assert.Contains(t, r.stderr, "--redis redis://HOST:6379")
}
