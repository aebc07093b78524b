package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func manifestFile(t *testing.T, replicas int, grace string) string {
	path := filepath.Join(t.TempDir(), "w.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  replicas: %d
  selector: {matchLabels: {a: b}}
  strategy: {rollingUpdate: {maxSurge: 50%%, maxUnavailable: 0}}
  template: {metadata: {labels: {a: b}}, spec: {terminationGracePeriodSeconds: %s, containers: [{name: c, image: i}]}}
`, replicas, grace), 0o644))
	return path
}

// 41 jobs, one every 100 s, each of 350 s: 3.5 at work, less at the end where the span cuts
// jobs off.
func steadyTrace(t *testing.T) string {
	rows := ""
	for i := range 41 {
		rows += fmt.Sprintf("%d,350,mail\n", i*100)
	}
	return traceFile(t, rows)
}

func TestFromInputOfTraceAndManifest(t *testing.T) {
	is := table(t)
	s, notes, err := FromInput(steadyTrace(t), manifestFile(t, 2, "60"), "w")
	require.NoError(t, err)

	assert.Equal(t, "jobs+w", s.Name)
	assert.Equal(t, 4600*protocol.Second, s.Duration, "4000 s of arrivals and two leases")
	assert.Equal(t, 400*protocol.Second, s.Warmup)
	assert.Equal(t, model.Fleet{Workers: 2, Slots: 3, Start: is(dist.Constant(int64(5 * protocol.Second)))}, s.Fleet,
		"3.39 jobs at work are more than 70% of 2*2 slots")
	assert.Equal(t, model.Supervisor{Grace: 60 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 1}}}, s.Supervisor)
	assert.Equal(t, 5*protocol.Minute, s.Queue.Lease)
	assert.Equal(t, 100*protocol.Second, s.Queue.Heartbeat)
	assert.Equal(t, [2]int{5, 3}, [2]int{s.Queue.MaxFailures, s.Queue.Poison})
	assert.Equal(t, []model.Job{{Name: "mail", Checkpoint: protocol.Second, Declared: protocol.Second, Undo: protocol.Second, Effects: 1, Version: 1, NewVersion: 1}}, s.Jobs)
	assert.Len(t, rowsOf(t, s.Trace), 41)
	assert.Equal(t, is(dist.Lognormal(int64(protocol.Millisecond), int64(20*protocol.Millisecond))), s.Faults.Network.Latency)
	assert.Zero(t, s.Faults.Network.Loss)

	require.Len(t, s.Deploys.At, 20)
	assert.Equal(t, protocol.Instant(490*protocol.Second), s.Deploys.At[0])
	assert.Equal(t, protocol.Instant(3910*protocol.Second), s.Deploys.At[19])
	assert.Equal(t, []string{
		"assumed 3 slots on each of 2 workers: the trace has 3.4 jobs at work on average, which is 56% of the slots",
		"assumed a warm-up of 6m40s, in which nothing is measured; a scenario can set another",
		"assumed 20 deploys, one in every 3m0s from 8m10s on",
		"assumed lease 5m0s, heartbeat 1m40s; a job is dead-lettered after 3 expired leases in a row or 5 failures",
		"assumed that handlers look for cancellation every 1s and undo in 1s",
		"assumed that a process asks for jobs 5s after its start",
		"assumed network latency lognormal(p50=1ms, p99=20ms), and that no message is lost and no worker crashes",
	}, notes)
}

func TestFromInputWithoutManifestAssumesKubernetesDefaults(t *testing.T) {
	s, notes, err := FromInput(steadyTrace(t), "", "")
	require.NoError(t, err)
	assert.Equal(t, 10, s.Fleet.Workers)
	quarter := model.IntOrPercent{Value: 25, Percent: true}
	assert.Equal(t, model.Supervisor{Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: quarter, MaxUnavailable: quarter}}, s.Supervisor)
	assert.Contains(t, notes, "no manifest: assumed 10 workers under Kubernetes, grace 30s, max_surge 25%, max_unavailable 25%")
}

func TestFromInputWithoutTraceKeepsThreeQuartersBusy(t *testing.T) {
	for _, replicas := range []int{1, 3, 1000} {
		s, notes, err := FromInput("", manifestFile(t, replicas, "30"), "")
		require.NoError(t, err)
		require.Len(t, s.Jobs, 1)
		busy := s.Jobs[0].Work.Moments().Mean / s.Jobs[0].Arrivals.Moments().Mean
		assert.InEpsilon(t, 0.75, busy/float64(replicas), 1e-3)
		assert.Nil(t, s.Trace)
		assert.Equal(t, 6*protocol.Hour+10*protocol.Minute, s.Duration)
		assert.Contains(t, notes, fmt.Sprintf("no trace: assumed the jobs of five-minute-lease, lognormal(p50=45s, p99=4m0s), so many that 75%% of %d workers are busy", replicas))
	}
}

func TestFromInputNeedsSomething(t *testing.T) {
	_, _, err := FromInput("", "", "")
	assert.EqualError(t, err, "input: is neither a trace nor a manifest; give --jobs TRACE, --manifest FILE or both")
	for _, paths := range [][2]string{{"none.csv", ""}, {"", "none.yaml"}} {
		var typed *Error
		_, _, err := FromInput(paths[0], paths[1], "")
		assert.ErrorAs(t, err, &typed)
	}
}

func TestFromInputFitsTheHandlerIntoAShortGrace(t *testing.T) {
	for _, c := range []struct {
		grace          string
		declared, undo protocol.Duration
	}{
		{"3", protocol.Second, protocol.Second},
		{"2", 0, protocol.Second},
		{"1", 0, protocol.Second / 2},
		{"0", 0, 0},
	} {
		s, _, err := FromInput("", manifestFile(t, 2, c.grace), "")
		require.NoError(t, err)
		assert.Equal(t, [2]protocol.Duration{c.declared, c.undo}, [2]protocol.Duration{s.Jobs[0].Declared, s.Jobs[0].Undo}, "grace %s", c.grace)
	}
}

func TestFromInputOfNoReplicasAssumesOne(t *testing.T) {
	s, notes, err := FromInput("", manifestFile(t, 0, "30"), "")
	require.NoError(t, err)
	assert.Equal(t, 1, s.Fleet.Workers)
	assert.Contains(t, notes, "manifest: 0 replicas do no work; 1 assumed")
}

func TestFromInputRefusesAFleetBeyondSimulation(t *testing.T) {
	_, _, err := FromInput("", manifestFile(t, 1_000_001, "30"), "")
	assert.ErrorContains(t, err, "replicas 1000001 is more than 1000000; simulate a part of the fleet")
}

func TestFromInputTakesProbeAndOrderFromTheManifest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: w}
spec:
  replicas: 4
  podManagementPolicy: Parallel
  serviceName: w
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: i, readinessProbe: {initialDelaySeconds: 40, tcpSocket: {port: 80}}}]
`), 0o644))
	s, notes, err := FromInput("", path, "")
	require.NoError(t, err)
	assert.Equal(t, int64(40*protocol.Second), s.Fleet.Start.Min())
	assert.Equal(t, model.Rollout{Strategy: model.OneByOne}, s.Supervisor.Rollout)
	assert.Contains(t, notes, "manifest: the pods are replaced one by one here, although the manifest allows more at once")
	assert.Contains(t, notes, "manifest: a pod is ready 40s after its start at the soonest, so its worker asks for jobs then")
}

func TestFromInputOfOneInstantHasASpan(t *testing.T) {
	s, _, err := FromInput(traceFile(t, "7,3600,a\n7,3600,a\n"), "", "")
	require.NoError(t, err)
	assert.Equal(t, protocol.Hour+10*protocol.Minute, s.Duration)
	assert.Equal(t, 1, s.Fleet.Slots)
}

func TestFromInputSimulatesTheFirstWeek(t *testing.T) {
	// The jobs after the week would keep a hundred workers busy; they do not count.
	rows := "0,86400,a\n"
	for range 100 {
		rows += "864000,864000,a\n"
	}
	s, notes, err := FromInput(traceFile(t, rows), "", "")
	require.NoError(t, err)
	assert.Equal(t, 7*day+10*protocol.Minute, s.Duration)
	assert.Equal(t, 1, s.Fleet.Slots)
	assert.Contains(t, notes, "trace: the first 168h0m0s of 240h0m0s are simulated")
}

func TestFromInputFollowsTheSupervisorOfTheManifest(t *testing.T) {
	all := model.IntOrPercent{Value: 3}
	for name, c := range map[string]struct {
		file, text string
		want       model.Supervisor
	}{
		"Nomad, with its own limit": {"w.nomad", "job \"j\" {\n group \"g\" {\n count = 3\n task \"w\" {\n kill_timeout = \"2h\"\n kill_signal = \"SIGUSR1\"\n shutdown_delay = \"2s\"\n}\n}\n}\n",
			model.Supervisor{Kind: model.Nomad, Grace: 2 * protocol.Hour, PreStop: 2 * protocol.Second, Signal: 10, Rollout: model.Rollout{MaxUnavailable: model.IntOrPercent{Value: 1}}}},
		"systemd, without an end": {"w.service", "[Service]\nTimeoutStopSec=infinity\n",
			model.Supervisor{Kind: model.Systemd, Grace: protocol.Forever, Rollout: model.Rollout{Strategy: model.Recreate}}},
		"Compose": {"compose.yaml", "services: {w: {image: x, scale: 3, stop_signal: SIGINT, stop_grace_period: 1m}}\n",
			model.Supervisor{Kind: model.Docker, Grace: protocol.Minute, Signal: protocol.SIGINT, Rollout: model.Rollout{Strategy: model.Recreate}}},
		"Kubernetes, with a stop signal of its own": {"w.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: {containers: [{name: c, lifecycle: {stopSignal: SIGUSR2}}]}\n",
			model.Supervisor{Grace: 30 * protocol.Second, Signal: 12, Rollout: model.Rollout{Strategy: model.Recreate}}},
		"Render": {"render.yaml", "services: [{type: worker, name: w, numInstances: 3}]\n",
			model.Supervisor{Kind: model.Render, Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxSurge: all}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o644))
			s, notes, err := FromInput("", path, "")
			require.NoError(t, err)
			assert.Equal(t, c.want, s.Supervisor)
			assert.NotEmpty(t, notes)
			again, err := Parse(filepath.Join(filepath.Dir(path), "s.yaml"), []byte("duration: 1h\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: "+c.file+"}\n"))
			require.NoError(t, err)
			assert.Equal(t, c.want, again.Supervisor, "and so does a scenario that names the manifest")
		})
	}
}

func TestAGraceThatIsTooShortNamesItsOwnKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compose.yaml")
	require.NoError(t, os.WriteFile(path, []byte("services: {w: {image: x, stop_grace_period: 500ms}}\n"), 0o644))
	_, err := Parse(filepath.Join(filepath.Dir(path), "s.yaml"), []byte("duration: 1h\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: compose.yaml}\n"))
	require.ErrorContains(t, err, "supervisor.manifest 500ms must exceed reserve 500ms; raise stop_grace_period")
}

// All of them would be over before the warm-up is, and none would be measured.
func TestAJobTraceOfOneInstantHasNoWarmup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "burst.csv")
	require.NoError(t, os.WriteFile(path, []byte("arrival,duration\n0,1\n0,2\n0,3\n"), 0o644))
	s, notes, err := FromInput(path, "", "")
	require.NoError(t, err)
	assert.Zero(t, s.Warmup)
	assert.Contains(t, notes, "assumed a warm-up of 0s, in which nothing is measured; a scenario can set another")
}
