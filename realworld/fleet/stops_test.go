package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/scenarios"
)

// stopped is four workers with a job each that outlasts the run, unless the case says otherwise.
// Nothing happens but what the case adds.
const stopped = `
name: stopped
about: one way in which workers are stopped, or hit
duration: 30s
warmup: 0s
fleet: {workers: 4, start: 3s}
queue: {lease: %s}
jobs:
  long: {arrivals: {every: 200ms}, count: %d, duration: %s, checkpoint: 100ms, fails: %s}
supervisor: {rollout: {max_surge: 100%%, max_unavailable: 0}, %s}
faults: {%s}
%s
`

// seen is what happened to the processes and jobs of a run.
type seen struct {
	Stops, Killed      int64 // processes
	ByDeploy           int64 // interruptions; all others are by something else
	Released, Expired  int64 // claims
	Started            int64 // executions
	Overlapping, Taken int64 // executions beside another one; claims that were lost
}

func seenIn(row *meter.Row) seen {
	c := &row.Counts
	return seen{
		c[meter.Stops], c[meter.KilledAtGrace], c[meter.DeployInterruptions], c[meter.Released], c[meter.ReclaimedByExpiry],
		c[meter.ExecutionsStarted], c[meter.OverlappingExecutions], c[meter.LeasesLost],
	}
}

// exit is how long processes took from what they were told first to their end, in seconds.
func exit(row *meter.Row) float64 {
	if row.ExitTime.N == 0 {
		return 0
	}
	return float64(row.ExitTime.Sum) / float64(row.ExitTime.N) / 1e6
}

// Every supervisor and every fault does to real processes what it does in the laboratory, and
// in both what its documentation says. A deploy at 6 s stops everybody at 9 s, when the new
// ones are up.
func TestRealProcessesDoWhatTheScenarioSays(t *testing.T) {
	t.Parallel()
	url, checks := onRedis(t), map[string]func(*testing.T){}
	const oneDeploy = "deploys: {at: [6s]}"
	const pauseAll = "at: [{time: 5s, seat: 0, kind: pause, length: 9s}, {time: 5s, seat: 1, kind: pause, length: 9s}, {time: 5s, seat: 2, kind: pause, length: 9s}, {time: 5s, seat: 3, kind: pause, length: 9s}]"
	for name, c := range map[string]struct {
		policy             string
		jobs               int    // 4
		work, lease, fails string // 60s, 15s, 0%
		supervisor, faults string
		deploys            string // none
		seed               uint64 // 1
		want               seen
		exit               float64
	}{
		"two stand still for longer than their lease, and lose it to the others": {
			policy: "hybrid", work: "8s", lease: "7s",
			faults: "at: [{time: 5s, seat: 0, kind: pause, length: 12s}, {time: 5s, seat: 1, kind: pause, length: 12s}]",
			want:   seen{Expired: 2, Started: 6, Overlapping: 2, Taken: 2},
		},
		"a preStop hook uses up grace": {
			policy: "hybrid", supervisor: "grace: 15s, prestop: 4s", deploys: oneDeploy,
			want: seen{Stops: 4, ByDeploy: 4, Released: 4, Started: 8}, exit: 9.1,
		},
		"a preStop hook tells the worker": {
			policy: "hybrid", supervisor: "grace: 15s, prestop: 4s, prestop_tells: true", deploys: oneDeploy,
			want: seen{Stops: 4, ByDeploy: 4, Released: 4, Started: 8}, exit: 12.5,
		},
		"a preemption comes with notice": {
			policy: "hybrid", supervisor: "grace: 12s", faults: "at: [{time: 5s, seat: 0, kind: preempt, length: 12s}]",
			want: seen{Stops: 1, Released: 1, Started: 5}, exit: 9.9,
		},
		"the notice is up before the job": {
			policy: "finish-only", faults: "at: [{time: 5s, seat: 0, kind: preempt, length: 5s}]", lease: "30s",
			want: seen{Stops: 1, Killed: 1, Started: 4}, exit: 5,
		},
		"a preemption hits a node with two processes, and none of those that replace them": {
			policy: "hybrid", supervisor: "grace: 12s", faults: "at: [{time: 8s, seat: 0, kind: preempt, length: 12s}]", deploys: oneDeploy,
			want: seen{Stops: 5, ByDeploy: 3, Released: 4, Started: 8}, exit: 9.9,
		},
		"an eviction leaves less grace than the worker was told": {
			policy: "hybrid", faults: "eviction: {every: 60s, grace: 3s}", lease: "30s", seed: 1008, // two that work and one that does not
			want: seen{Stops: 3, Killed: 2, Started: 4}, exit: 2,
		},
		"two of four are scaled in": {
			policy: "hybrid", supervisor: "grace: 12s", faults: "scale_in: {every: 16s, workers: 2, back: 3s, victims: random}",
			want: seen{Stops: 2, Released: 2, Started: 6}, exit: 9.9,
		},
		"who works on nothing is scaled in, again and again": {
			policy: "hybrid", supervisor: "grace: 6s", jobs: 3, faults: "scale_in: {every: 6s, workers: 1, back: 1s, victims: idle}",
			want: seen{Stops: 4, Started: 3},
		},
		"a drill kills in the middle of a drain": {
			policy: "finish-only", supervisor: "grace: 9s", faults: "drill: 100%", deploys: oneDeploy, lease: "30s",
			want: seen{Stops: 4, Killed: 4, ByDeploy: 4, Started: 4}, exit: 3.3,
		},
		"a liveness probe kills what drains": {
			policy: "finish-only", supervisor: "grace: 9s", faults: "liveness: 3s", deploys: oneDeploy, lease: "30s",
			want: seen{Stops: 4, Killed: 4, ByDeploy: 4, Started: 4}, exit: 3,
		},
		"systemd's SIGCONT ends no pause, and the worker learns too late that its grace runs": {
			policy: "hybrid", supervisor: "kind: systemd, grace: 7s", faults: pauseAll, deploys: oneDeploy, lease: "30s",
			want: seen{Stops: 4, Killed: 4, ByDeploy: 4, Started: 4}, exit: 2,
		},
		"Nomad's delay uses up no grace": {
			policy: "hybrid", supervisor: "kind: nomad, grace: 12s, shutdown_delay: 3s", deploys: oneDeploy,
			want: seen{Stops: 4, ByDeploy: 4, Released: 4, Started: 8}, exit: 10,
		},
		"Nomad sends SIGINT, and each of those counts": {
			policy: "hybrid", supervisor: "kind: nomad, grace: 6s, repeat: 500ms", deploys: oneDeploy,
			want: seen{Stops: 4, ByDeploy: 4, Released: 4, Started: 8}, exit: 0.5,
		},
		"a job that fails waits in the scenario's time": {
			policy: "hybrid", work: "2s", fails: "100%", lease: "15s, backoff: {min: 5s, max: 5s}",
			want: seen{Started: 16},
		},
		"SIGTERM once more hurries": {
			policy: "hybrid", supervisor: "kind: heroku, repeat: 3s", deploys: oneDeploy,
			want: seen{Stops: 4, ByDeploy: 4, Released: 4, Started: 8}, exit: 3,
		},
	} {
		text := fmt.Sprintf(stopped, or(c.lease, "15s"), or(c.jobs, 4), or(c.work, "60s"), or(c.fails, "0%"), or(c.supervisor, "kind: kubernetes"), c.faults, c.deploys)
		sc, err := scenarios.Parse("stopped.yaml", []byte(text))
		require.NoError(t, err, name)
		seed := or(c.seed, 1)
		lab := simulated(t, sc, c.policy, seed)
		plan := planOf(t, sc, c.policy, seed)
		plan.URL, plan.command = url, quick(t)
		outcome := begin(t.Context(), plan)
		checks[name] = func(t *testing.T) {
			require.Equal(t, c.want, seenIn(lab), "in the laboratory")
			require.InDelta(t, c.exit, exit(lab), 0.1, "in the laboratory")
			unlessBusy(t, 3, func(check assert.TestingT) (late time.Duration) {
				row, account, err := outcome()
				require.NoError(t, err)
				outcome = func() (*meter.Row, *Account, error) { return play(t.Context(), plan) } // if once more
				assert.Equal(check, c.want, seenIn(row), "real processes")
				assert.InDelta(check, c.exit, exit(row), exitWithin, "real processes")
				return account.Late
			})
		}
	}
	for name, check := range checks { // all of them play by now
		t.Run(name, check)
	}
}

// or is a value that was given, or else another.
func or[T comparable](v, otherwise T) T {
	var none T
	if v == none {
		return otherwise
	}
	return v
}

// exitWithin is a tenth of a second on the wall.
const exitWithin = 1.0
