package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func fingerprint(t *testing.T, sc *model.Scenario, policy string) string {
	f, err := Fingerprint(sc, policy)
	require.NoError(t, err)
	return f
}

func TestFingerprintsDifferWithWhateverARunDependsOn(t *testing.T) {
	original := fingerprint(t, deployment(), "hybrid")
	assert.Equal(t, original, fingerprint(t, deployment(), "hybrid"), "made anew it is the same scenario")
	seen := map[string]string{original: "the original", fingerprint(t, deployment(), "drain"): "another policy"}
	for name, change := range map[string]func(*model.Scenario){
		"lease":               func(sc *model.Scenario) { sc.Queue.Lease++ },
		"a flag":              func(sc *model.Scenario) { sc.Queue.CountAtClaim = true },
		"a field of a job":    func(sc *model.Scenario) { sc.Jobs[0].Deaf = 1 },
		"another job":         func(sc *model.Scenario) { sc.Jobs = append(sc.Jobs, sc.Jobs[0]) },
		"one deploy":          func(sc *model.Scenario) { sc.Deploys.At = append(sc.Deploys.At, 5) },
		"a distribution":      func(sc *model.Scenario) { sc.Jobs[0].Work = must(dist.Exponential(int64(20*protocol.Second) + 1)) },
		"no latency":          func(sc *model.Scenario) { sc.Faults.Network.Latency = nil },
		"jobs of a trace":     func(sc *model.Scenario) { sc.Trace = jobList{{1, 2}, {3, 4}} },
		"other jobs of it":    func(sc *model.Scenario) { sc.Trace = jobList{{1, 2}, {3, 5}} },
		"a job less in trace": func(sc *model.Scenario) { sc.Trace = jobList{{1, 2}} },
	} {
		sc := deployment()
		change(sc)
		f := fingerprint(t, sc, "hybrid")
		assert.NotContains(t, seen, f, name)
		seen[f] = name
	}
	// What other policies its file names does not matter to the runs under this one.
	sc := deployment()
	sc.Policies = []string{"none"}
	assert.Equal(t, original, fingerprint(t, sc, "hybrid"))
}

// jobList is a trace of arrivals and work.
type jobList [][2]int64

func (l jobList) Open() (model.JobStream, error) { return &listed{l}, nil }

type listed struct{ rest jobList }

func (l *listed) Next() (protocol.Instant, protocol.Duration, protocol.Kind, bool, error) {
	if len(l.rest) == 0 {
		return 0, 0, 0, false, nil
	}
	j := l.rest[0]
	l.rest = l.rest[1:]
	return protocol.Instant(j[0]), protocol.Duration(j[1]), 0, true, nil
}

func (l *listed) Close() error { return nil }

func TestAtLoad(t *testing.T) {
	sc := deployment()
	for _, load := range []float64{0.1, 0.6, 0.95, 1.5} {
		at, err := AtLoad(sc, load)
		require.NoError(t, err)
		assert.InDelta(t, load, Load(at), 1e-5)
		assert.Equal(t, sc.Jobs[0].Work, at.Jobs[0].Work, "jobs stay what they are")
	}
	assert.InDelta(t, 0.5, Load(sc), 1e-3, "the original is not touched")

	sc.Trace = jobList{{1, 2}}
	_, err := AtLoad(sc, 0.5)
	assert.ErrorIs(t, err, ErrNoLoad)
	idle := deployment()
	idle.Jobs[0].Arrivals = nil
	_, err = AtLoad(idle, 0.5)
	assert.ErrorIs(t, err, ErrNoLoad)
	_, err = AtLoad(deployment(), 1e-9)
	assert.ErrorIs(t, err, ErrNoLoad)
}
