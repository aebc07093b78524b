package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestOverrides(t *testing.T) {
	lease := Override{Path: "queue.lease", Value: "30s", From: "--lease 30s"}
	t.Run("a heartbeat that is written keeps its share of the lease", func(t *testing.T) {
		s, err := LoadWith(DefaultName, lease)
		require.NoError(t, err)
		assert.Equal(t, 30*protocol.Second, s.Queue.Lease)
		assert.Equal(t, 10*protocol.Second, s.Queue.Heartbeat)
		assert.Equal(t, 600*protocol.Millisecond, s.Queue.Margin, "which is not written and follows by default")
	})
	t.Run("so it does when the lease is not written", func(t *testing.T) {
		s, err := LoadWith(write(t, "duration: 1h\nfleet: {workers: 1}\nqueue: {heartbeat: 1m}\njobs: {a: {arrivals: {every: 1m}, duration: 1s}}"), lease)
		require.NoError(t, err)
		assert.Equal(t, 6*protocol.Second, s.Queue.Heartbeat, "a fifth of five minutes")
	})
	t.Run("unless it is overridden itself", func(t *testing.T) {
		s, err := LoadWith(DefaultName, lease, Override{Path: "queue.heartbeat", Value: "4s"})
		require.NoError(t, err)
		assert.Equal(t, 4*protocol.Second, s.Queue.Heartbeat)
	})
	t.Run("a law need not be named on the way", func(t *testing.T) {
		s, err := LoadWith(DefaultName, Override{Path: "jobs.render.duration.p50", Value: "10s"})
		require.NoError(t, err)
		assert.EqualValues(t, 10*protocol.Second, s.Jobs[0].Work.Quantile(1, 2))
		assert.EqualValues(t, 4*protocol.Minute, s.Jobs[0].Work.Quantile(99, 100))
	})
	t.Run("mappings that are not there are made", func(t *testing.T) {
		s, err := LoadWith("three-minute-render", Override{Path: "faults.crash.mtbf", Value: "1h"})
		require.NoError(t, err)
		assert.Equal(t, protocol.Hour, s.Faults.Crash)
	})
	t.Run("what an alias stands for elsewhere stays", func(t *testing.T) {
		s, err := LoadWith(write(t, `
duration: 1h
fleet: {workers: 1}
jobs:
  a: {arrivals: &often {poisson: 1/s}, duration: 1s}
  b: {arrivals: *often, duration: 1s}
`), Override{Path: "jobs.b.arrivals.poisson", Value: "2/s"})
		require.NoError(t, err)
		assert.InEpsilon(t, 1e9, s.Jobs[0].Arrivals.Moments().Mean, 0.01)
		assert.InEpsilon(t, 0.5e9, s.Jobs[1].Arrivals.Moments().Mean, 0.01)
	})
}

func TestErrorsOfOverridesNameTheFlag(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"queue.leese", "30s", "F: queue.leese is not a key; did you mean lease?"},
		{"queue.lease", "0s", "F: queue.lease 0s is not positive; write a duration above zero, for example 30s"},
		{"queue.lease", "30", "F: queue.lease 30 has no unit; write 30s for seconds"},
		{"fleet.workers", "0", "F: fleet.workers 0 is less than 1"},
		{"queue", "30s", "F: queue is not a mapping"},
		{"deploys.every.at", "30s", "F: deploys.every.at does not lead to a value: deploys.every is not a mapping here; vary deploys.every itself"},
		{"jobs.rendr.checkpoint", "1s", "F: jobs.rendr.checkpoint does not lead to a value: there is no kind rendr; did you mean render?"},
		{"faults.slow.by", "1s", "F: faults.slow.every is missing"},
		{"queue..lease", "1s", "F: queue..lease is not the path of a value"},
		{"queue.heartbeat", "6m", "F: queue.heartbeat 6m0s must be shorter than lease 5m0s"},
		{"warmup", "7h", "F: warmup 7h0m0s must be shorter than duration 6h0m0s"},
		{"duration", "10m", "five-minute-lease.yaml:12:9: warmup 30m0s must be shorter than duration 10m0s, with duration 10m (F); shorten warmup"},
	} {
		_, err := LoadWith(DefaultName, Override{Path: c.path, Value: c.value, From: "F"})
		if assert.Error(t, err, c.path) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
}
