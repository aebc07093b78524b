package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func TestLibraryHasTheDefaultFirst(t *testing.T) {
	assert.Equal(t, []string{
		"five-minute-lease",
		"attempt-erosion", "batch-counters", "broker-failover", "cancel-taken-for-final", "cancellation-contract",
		"claim-after-stop", "clocks-of-workers", "crash-storm", "deaf-handlers", "deploys-eat-attempts", "drill", "escalation-waits",
		"grace-shorter-than-job", "heartbeat-keeps-the-dead", "heartbeat-resurrects-lease", "heartbeat-stopped-at-stop", "herd-at-restart", "lease-beyond-grace", "leases-forgotten", "limit-leaks",
		"lost-claim-answer", "mixed-kinds", "parent-leaves-first", "pause-past-lease", "poison-by-deploy", "prefetch-ages-the-lease", "queues-stop-in-turn",
		"reaper-drops-the-rest", "reaper-stops-at-the-living", "reaper-takes-newcomers", "redone-effects", "release-after-takeover", "release-in-two-steps", "rolling-wave", "rollout-bounce",
		"scale-in-busy-victim", "second-signal", "settle-under-cancelled-context", "small-fleet", "spot-preemption",
		"supervisor-shortens-grace", "three-minute-render", "two-loads", "unknown-kind-dropped",
	}, Names())
}

// A library scenario is named after its file, teaches in comments, says what it shows, runs in
// seconds and is neither idle nor overloaded.
func TestLibraryScenariosAreFitToRun(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			s, err := Load(name)
			require.NoError(t, err)
			assert.Equal(t, name, s.Name)
			about, err := About(name)
			require.NoError(t, err)
			assert.Equal(t, s.About, about)
			assert.Greater(t, len(about), 40)
			text, err := Source(name)
			require.NoError(t, err)
			assert.Greater(t, strings.Count(string(text), "\n#"), 3, "lines of comment")
			assert.Less(t, len(s.Policies), 5)
			assert.Empty(t, Notes(s))

			var jobs, busy float64
			for _, j := range s.Jobs {
				gap := j.Arrivals.Moments().Mean
				jobs += float64(s.Duration) / gap
				busy += j.Work.Moments().Mean / gap
			}
			assert.Less(t, jobs, 400_000.0)
			load := busy / float64(s.Fleet.Workers*s.Fleet.Slots)
			assert.Greater(t, load, 0.5)
			assert.Less(t, load, 0.8)
		})
	}
}

// The default scenario is a part of the contract of the command.
func TestFiveMinuteLease(t *testing.T) {
	is := table(t)
	s, err := Load(DefaultName)
	require.NoError(t, err)
	assert.Equal(t, &model.Scenario{
		Name: "five-minute-lease", About: "a deploy every twenty minutes over a five-minute lease",
		Duration: 6 * protocol.Hour, Warmup: 30 * protocol.Minute,
		Fleet: model.Fleet{Workers: 1000, Slots: 1, Start: is(dist.Constant(int64(5 * protocol.Second)))},
		Queue: model.Queue{
			Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, Margin: protocol.Second, Park: 20 * protocol.Second,
			MaxFailures: 5, Poison: 3, Starving: 10, Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute},
			SweepPeriod: protocol.Hour, MaxMessageAge: 10 * protocol.Second,
		},
		Jobs: []model.Job{{
			Name: "render", Arrivals: is(dist.Exponential(76_923_077)), Work: is(dist.Lognormal(int64(45*protocol.Second), int64(4*protocol.Minute))),
			Checkpoint: 500 * protocol.Millisecond, Declared: 500 * protocol.Millisecond, Undo: protocol.Second,
			Effects: 1, Version: 1, NewVersion: 1,
		}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}}},
		Deploys:    model.Deploys{Every: 20 * protocol.Minute},
		Faults: model.Faults{
			Crash: 48 * protocol.Hour,
			Pause: model.Spell{Length: never}, Partition: model.Spell{Length: never}, Slow: model.Spell{Length: never},
			Network: model.Network{Latency: is(dist.Lognormal(int64(protocol.Millisecond), int64(20*protocol.Millisecond))), Loss: 100_000},
		},
		Policies: []string{"crash-only", "drain", "hybrid"},
	}, s)
}

func TestCancellationContractDeclaresOnlyWhatFits(t *testing.T) {
	s, err := Load("cancellation-contract")
	require.NoError(t, err)
	var real, declared []protocol.Duration
	for _, j := range s.Jobs {
		real, declared = append(real, j.Checkpoint), append(declared, j.Declared)
	}
	const ms = protocol.Millisecond
	assert.Equal(t, []protocol.Duration{50 * ms, 500 * ms, 5000 * ms, 30_000 * ms, 240_000 * ms}, real)
	assert.Equal(t, []protocol.Duration{50 * ms, 500 * ms, 5000 * ms, 0, 0}, declared)
}
