package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

func parsed(t *testing.T, fragment string) *model.Scenario {
	t.Helper()
	s, err := Parse("dir/plain.yaml", []byte(complete(fragment)))
	require.NoError(t, err)
	return s
}

func table(t *testing.T) func(*dist.Table, error) *dist.Table {
	return func(made *dist.Table, err error) *dist.Table {
		require.NoError(t, err)
		return made
	}
}

func TestDefaultsFillWhatIsNotWritten(t *testing.T) {
	is := table(t)
	assert.Equal(t, &model.Scenario{
		Name: "plain", Duration: 6 * protocol.Hour, Warmup: 30 * protocol.Minute,
		Fleet: model.Fleet{Workers: 3, Slots: 1, Start: is(dist.Constant(int64(5 * protocol.Second)))},
		Queue: model.Queue{
			Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second, Margin: protocol.Second, Park: 20 * protocol.Second,
			MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff:     protocol.Backoff{Min: protocol.Second, Max: protocol.Minute},
			SweepPeriod: protocol.Hour, MaxMessageAge: 10 * protocol.Second,
		},
		Jobs: []model.Job{{
			Name: "mail", Arrivals: is(dist.Exponential(333_333_333)), Work: is(dist.Constant(int64(2 * protocol.Second))),
			Checkpoint: 500 * protocol.Millisecond, Declared: 500 * protocol.Millisecond, Effects: 1, Version: 1, NewVersion: 1,
		}},
		Supervisor: model.Supervisor{
			Kind: model.Kubernetes, Grace: 30 * protocol.Second,
			Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 25, Percent: true}, MaxUnavailable: model.IntOrPercent{Value: 25, Percent: true}},
		},
		Faults: model.Faults{
			Pause: model.Spell{Length: never}, Partition: model.Spell{Length: never}, Slow: model.Spell{Length: never},
			Network: model.Network{Latency: is(dist.Lognormal(int64(protocol.Millisecond), int64(20*protocol.Millisecond)))},
		},
		Policies: []string{"crash-only", "drain", "hybrid"},
	}, parsed(t, ""))
}

func TestWhatIsWrittenReplacesEveryDefault(t *testing.T) {
	is := table(t)
	s, err := Parse("all.yaml", []byte(everyKey))
	require.NoError(t, err)
	assert.Equal(t, &model.Scenario{
		Name: "all", About: "every key", Duration: 2 * day, Warmup: 90 * protocol.Second,
		Fleet: model.Fleet{Workers: 7, Slots: 4, Prefetch: 2, Start: is(dist.Uniform(0, int64(protocol.Second)))},
		Queue: model.Queue{
			Lease: protocol.Minute, Heartbeat: 15 * protocol.Second, Margin: 2 * protocol.Second, DriftPPM: 50, Park: 5 * protocol.Second,
			Poll: 3 * protocol.Second, Service: 2 * protocol.Millisecond,
			MaxFailures: 9, Poison: 0, Starving: 4, Backoff: protocol.Backoff{Min: 2 * protocol.Second, Max: 3 * protocol.Second},
			CountAtClaim: true, MaxAttempts: 8, SweepPeriod: protocol.Minute, SweepSlack: protocol.Second,
			OnExpiry: model.QuarantineExpired, Habits: model.Habits{MaxClaims: 6}, MaxMessageAge: 30 * protocol.Second,
		},
		Jobs: []model.Job{
			{
				Name: "z first in the file", Arrivals: is(dist.Constant(int64(2 * protocol.Second))), Work: is(dist.Pareto(int64(protocol.Second), 1_500_000)),
				Checkpoint: protocol.Second, Declared: 2 * protocol.Second, Undo: 3 * protocol.Second,
				UndoFails: 10_000_000, Deaf: 50_000_000, CPUBound: 1, Fails: model.Certain, OOM: 100_000,
				Save: 10 * protocol.Second, Flush: true, Batch: 20, Effects: 3, Timeout: protocol.Hour, Version: 2, NewVersion: 3,
			},
			{
				Name: "a second", Arrivals: is(dist.Lognormal(int64(protocol.Second), int64(9*protocol.Second))), Work: is(dist.Exponential(int64(58 * protocol.Second))),
				Checkpoint: 25 * protocol.Second, Effects: 1, Version: 6, NewVersion: 6,
			},
		},
		Supervisor: model.Supervisor{
			Kind: model.Kubernetes, Grace: 20 * protocol.Second, PreStop: protocol.Second,
			Rollout: model.Rollout{Strategy: model.OneByOne, Partition: 2},
		},
		Deploys: model.Deploys{Every: protocol.Hour, At: []protocol.Instant{protocol.Instant(5 * protocol.Minute), protocol.Instant(40 * protocol.Minute)}, Count: 3},
		Faults: model.Faults{
			Crash:     48 * protocol.Hour,
			Pause:     model.Spell{Every: protocol.Hour, Length: is(dist.Constant(int64(30 * protocol.Second)))},
			Partition: model.Spell{Every: 2 * protocol.Hour, Length: is(dist.Constant(int64(40 * protocol.Second)))},
			Slow:      model.Spell{Every: 3 * protocol.Hour, Length: is(dist.Constant(int64(50 * protocol.Second)))}, SlowBy: 2 * protocol.Second,
			Forget: 24 * protocol.Hour, ForgetFor: protocol.Second / 2, DriftPPM: 100,
			Network: model.Network{Latency: is(dist.Constant(int64(protocol.Millisecond))), Loss: 100_000, Duplicate: 10_000_000},
			Drill:   50_000_000, Liveness: 15 * protocol.Second,
			Evict:   model.Eviction{Every: 24 * protocol.Hour, Grace: 5 * protocol.Second},
			Preempt: model.Preemption{Every: 24 * protocol.Hour, Notice: 2 * protocol.Minute},
			ScaleIn: model.ScaleIn{Every: protocol.Hour, Workers: 1, Back: 10 * protocol.Minute, IdleFirst: true},
		},
		Policies: []string{"hybrid", "drain+sweep"},
	}, s)
}

func TestDeclaredGapIsTheCheckpointWhereItFits(t *testing.T) {
	for _, c := range []struct {
		name, job, grace string
		want             protocol.Duration
	}{
		{"fits to the nanosecond", "checkpoint: 24s, undo: 1s", "30s", 24 * protocol.Second},
		{"one nanosecond too long", "checkpoint: 24000000001ns, undo: 1s", "30s", 0},
		{"the preStop hook leaves less", "checkpoint: 24s, undo: 1s", "30s, prestop: 1s", 0},
		{"declared shorter than it is", "checkpoint: 1m, gap: 2s", "30s", 2 * protocol.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parsed(t, fmt.Sprintf("jobs: {mail: {arrivals: {every: 1s}, duration: 2s, %s}}\nsupervisor: {grace: %s}\n", c.job, c.grace))
			assert.Equal(t, c.want, s.Jobs[0].Declared)
		})
	}
}

func TestStrategiesAndKinds(t *testing.T) {
	for word, want := range map[string]model.Strategy{"recreate": model.Recreate, "on_delete": model.OnDelete, "stateful": model.OneByOne} {
		assert.Equal(t, model.Rollout{Strategy: want}, parsed(t, "supervisor: {kind: plain, rollout: {strategy: "+word+"}}\n").Supervisor.Rollout)
	}
	s := parsed(t, "supervisor: {kind: plain, rollout: {max_surge: 0, max_unavailable: 1}}\n")
	assert.Equal(t, model.Supervisor{Kind: model.Plain, Grace: 30 * protocol.Second, Rollout: model.Rollout{MaxUnavailable: model.IntOrPercent{Value: 1}}}, s.Supervisor)
}

func TestEachKindOfSupervisorHasItsOwnGrace(t *testing.T) {
	for kind, want := range map[string]string{
		"kubernetes": "30s", "plain": "30s", "systemd": "1m30s", "docker": "10s", "nomad": "5s", "ecs": "30s", "fargate": "30s",
		"cloud-run": "10s", "heroku": "30s", "fly": "5s", "supervisord": "10s", "render": "30s",
	} {
		s := parsed(t, "supervisor: {kind: "+kind+"}\n").Supervisor
		assert.Equal(t, kind, s.Kind.String())
		assert.Equal(t, want, s.Grace.String(), kind)
	}
	assert.ElementsMatch(t, model.SupervisorNames(), keyNamed(t, reflect.TypeFor[supervisorKeys](), "kind").choices)
}

func keyNamed(t *testing.T, mapping reflect.Type, name string) key {
	for _, k := range keysOf(mapping) {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("no key %s", name)
	return key{}
}

func TestSupervisorsAreReadInFull(t *testing.T) {
	s := parsed(t, "supervisor: {kind: systemd, grace: 20s, exec_stop: 3s, signal: SIGQUIT, repeat: 2s}\n").Supervisor
	s.Rollout = model.Rollout{}
	assert.Equal(t, model.Supervisor{Kind: model.Systemd, Grace: 20 * protocol.Second, PreStop: 3 * protocol.Second, Signal: 3, Repeat: 2 * protocol.Second}, s)
	assert.Equal(t, 2*protocol.Second, parsed(t, "supervisor: {kind: nomad, shutdown_delay: 2s}\n").Supervisor.PreStop)
	f := parsed(t, "faults: {drill: 5%, liveness: 15s, eviction: {every: 24h, grace: 5s}, preemption: {every: 12h, notice: 2m}, scale_in: {every: 1h, workers: 2, back: 10m, victims: idle}}\n").Faults
	assert.Equal(t, model.PPB(50_000_000), f.Drill)
	assert.Equal(t, 15*protocol.Second, f.Liveness)
	assert.Equal(t, model.Eviction{Every: 24 * protocol.Hour, Grace: 5 * protocol.Second}, f.Evict)
	assert.Equal(t, model.Preemption{Every: 12 * protocol.Hour, Notice: 2 * protocol.Minute}, f.Preempt)
	assert.Equal(t, model.ScaleIn{Every: protocol.Hour, Workers: 2, Back: 10 * protocol.Minute, IdleFirst: true}, f.ScaleIn)
}

func TestPreStopThatUsesUpTheGraceIsLegalAndNoted(t *testing.T) {
	s := parsed(t, "supervisor: {prestop: 30s}\n")
	assert.Equal(t, []string{"prestop 30s uses up grace 30s: SIGTERM comes at its end and SIGKILL 2s later"}, Notes(s))
	assert.Empty(t, Notes(parsed(t, "")))
}

func TestABrokerThatIsSlowerThanAWorkerWaitsIsLegalAndNoted(t *testing.T) {
	assert.Equal(t, []string{"queue.service 1.5s: a worker waits 1s for an answer, so every renewal and every settling is taken for lost and sent again"},
		Notes(parsed(t, "queue: {service: 1500ms}")))
	assert.Empty(t, Notes(parsed(t, "fleet: {workers: 1, slots: 1}\njobs: {mail: {arrivals: {poisson: 6/m}, duration: 1s}}\nqueue: {service: 900ms}")))
}

func TestABrokerWithMoreCallsThanTimeIsLegalAndNoted(t *testing.T) {
	const fleet = "fleet: {workers: 200, slots: 1}\njobs: {mail: {arrivals: {poisson: 12/s}, duration: 10s}}\n"
	polls := fleet + "queue: {lease: 5m, long_poll: 0s, poll: 1s, service: %s}"
	assert.Equal(t, []string{"queue.service 8ms: about 132 calls a second keep the broker busy for 1.06 of the time there is, so answers come late or never; 107 of them ask for jobs in vain: lengthen poll, or have them wait at the broker (long_poll)"},
		Notes(parsed(t, fmt.Sprintf(polls, "8ms")))) // 12 claims, 12 acks, 1.2 renewals, and 80 who are free ask every 750 ms
	assert.Empty(t, Notes(parsed(t, fmt.Sprintf(polls, "7ms"))))
	assert.Empty(t, Notes(parsed(t, fleet+"queue: {lease: 5m, service: 30ms}")), "who waits at the broker asks seldom")
	assert.Equal(t, []string{"queue.service 50ms: about 29 calls a second keep the broker busy for 1.46 of the time there is, so answers come late or never"},
		Notes(parsed(t, fleet+"queue: {lease: 5m, service: 50ms}")))
}

func TestALeaseThatTheNetworkIsTooSlowForIsLegalAndNoted(t *testing.T) {
	const latency = "faults: {network: {latency: 100ms}}\n"
	s := parsed(t, latency+"queue: {lease: 801ms, heartbeat: 600ms, margin: 1ms}\n")
	assert.Equal(t, []string{"lease 801ms leaves a renewal 200ms to be answered, and a round trip takes about 200ms: workers lose what they hold without any fault; lengthen lease, or shorten heartbeat"}, Notes(s))
	assert.Empty(t, Notes(parsed(t, latency+"queue: {lease: 802ms, heartbeat: 600ms, margin: 1ms}\n")))
	assert.NotEmpty(t, Notes(parsed(t, latency+"queue: {lease: 802ms, heartbeat: 600ms, margin: 1ms, drift: 10000ppm}\n")))
	assert.Len(t, Notes(parsed(t, "queue: {lease: 3ms}\n")), 1, "the default network is fast, and not that fast")
}

func TestManifestBesideTheScenario(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: encoder}
spec:
  replicas: 12
  selector: {matchLabels: {a: b}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 4}}
  template:
    metadata: {labels: {a: b}}
    spec:
      terminationGracePeriodSeconds: 90
      containers: [{name: c, image: i, lifecycle: {preStop: {exec: {command: [sleep, "10"]}}}}]
`), 0o644))
	s, err := Parse(filepath.Join(dir, "s.yaml"), []byte("duration: 6h\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: w.yaml, select: statefulset/encoder}\n"))
	require.NoError(t, err)
	assert.Equal(t, 12, s.Fleet.Workers)
	assert.Equal(t, model.Supervisor{
		Grace: 90 * protocol.Second, PreStop: 10 * protocol.Second,
		Rollout: model.Rollout{Strategy: model.OneByOne, Partition: 4},
	}, s.Supervisor)
}

// A rollout that is a share of the fleet, or of another number, is one of the fleet that is simulated.
func TestAFleetOfTheScenarioIsReplacedInTheWayOfItsManifest(t *testing.T) {
	for file, c := range map[string]struct {
		text        string
		surge, down int
	}{
		"deployment.yaml": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {template: {spec: {containers: [{name: c}]}}}\n", 3, 2},
		"compose.yaml":    {"services: {w: {image: x, deploy: {update_config: {parallelism: 3, order: start-first}}}}\n", 3, 0},
		"all.yaml":        {"services: {w: {image: x, deploy: {update_config: {parallelism: 0}}}}\n", 0, 9},
		"w.nomad":         {"job \"j\" {\n  update { max_parallel = 4 }\n  group \"g\" {\n    task \"w\" {}\n  }\n}\n", 0, 4},
		"service.json":    {`{"serviceName": "w", "deploymentConfiguration": {"minimumHealthyPercent": 50, "maximumPercent": 150}}`, 4, 4},
	} {
		t.Run(file, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(c.text), 0o644))
			s, err := Parse(filepath.Join(dir, "s.yaml"), []byte("duration: 6h\nfleet: {workers: 9}\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: "+file+"}\n"))
			require.NoError(t, err)
			assert.Equal(t, 9, s.Fleet.Workers)
			assert.Equal(t, model.Rollout{MaxSurge: model.IntOrPercent{Value: c.surge}, MaxUnavailable: model.IntOrPercent{Value: c.down}}, s.Supervisor.Rollout)
			assert.Contains(t, Notes(s), "manifest: its number of workers, 1, gives way to fleet.workers 9")
		})
	}
}

// As where the manifest stands alone; what the scenario says goes before it.
func TestAFleetStartsAsLateAsItsManifestFindsItReady(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d.yaml"), []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\n"+
		"spec: {replicas: 2, template: {spec: {containers: [{name: c, readinessProbe: {initialDelaySeconds: 60}}]}}}\n"), 0o644))
	const note = "manifest: a pod is ready 1m0s after its start at the soonest, so its worker asks for jobs then"
	for fleet, start := range map[string]protocol.Duration{"": protocol.Minute, "fleet: {start: 7s}\n": 7 * protocol.Second} {
		s, err := Parse(filepath.Join(dir, "s.yaml"), []byte("duration: 6h\n"+fleet+"jobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: d.yaml}\n"))
		require.NoError(t, err)
		assert.EqualValues(t, start, s.Fleet.Start.Max())
		assert.Equal(t, start == protocol.Minute, slices.Contains(Notes(s), note))
	}
}

func TestWhatAManifestLeavesOpenIsNoted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.nomad"), []byte("job \"j\" {\n  group \"g\" {\n    count = 2\n    task \"w\" { kill_timeout = \"2h\" }\n  }\n}\n"), 0o644))
	s, err := Parse(filepath.Join(dir, "s.yaml"), []byte("duration: 6h\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\nsupervisor: {manifest: w.nomad}\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"manifest: kill_timeout 2h0m0s is above the limit of Nomad, 30s, which is simulated"}, Notes(s))
}

func TestEmpiricalReadsSecondsAndDurations(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seen.txt"), []byte("2.5\n1m30s\n\n 4s \n"), 0o644))
	s, err := Parse(filepath.Join(dir, "s.yaml"), []byte("duration: 6h\nfleet: {workers: 1, start: {empirical: seen.txt}}\njobs: {mail: {arrivals: {every: 1s}, duration: 2s}}\n"))
	require.NoError(t, err)
	want, err := dist.Empirical([]int64{int64(5 * protocol.Second / 2), int64(90 * protocol.Second), int64(4 * protocol.Second)})
	require.NoError(t, err)
	assert.Equal(t, want, s.Fleet.Start)
}

func TestDurationsAreReadExactly(t *testing.T) {
	for text, want := range map[string]protocol.Duration{
		"0": 0, "0s": 0, "1ns": 1, "1.5us": 1500, "2µs": 2000, "2μs": 2000, ".5ms": 500 * protocol.Microsecond, "1.s": protocol.Second,
		"1m30s": 90 * protocol.Second, "1d12h": 36 * protocol.Hour, "0.1d": 144 * protocol.Minute, "36500d": longest,
		"0.4ns": 0, "0.5ns": 1, "0.123456789s": 123_456_789,
	} {
		got, problem, _ := parseDuration(text)
		assert.Empty(t, problem, text)
		assert.Equal(t, want, got, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := protocol.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "ns"))
		got, problem, _ := parseDuration(d.String())
		assert.Empty(t, problem)
		assert.Equal(t, d, got)
	})
}

func TestChancesAreReadExactly(t *testing.T) {
	for text, want := range map[string]model.PPB{
		"0": 0, "0%": 0, "5%": 50_000_000, "0.01%": 100_000, "0.05": 50_000_000, "1": model.Certain, "100%": model.Certain,
		"0.0000001%": 1, ".5": 500_000_000, "33.3333333%": 333_333_333,
	} {
		got, problem, _ := parseChance(text)
		assert.Empty(t, problem, text)
		assert.Equal(t, want, got, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		ppb := rapid.Int64Range(0, int64(model.Certain)).Draw(t, "ppb")
		for _, text := range []string{fmt.Sprintf("%d.%07d%%", ppb/10_000_000, ppb%10_000_000), fmt.Sprintf("%d.%09d", ppb/1_000_000_000, ppb%1_000_000_000)} {
			got, problem, _ := parseChance(text)
			assert.Empty(t, problem, text)
			assert.Equal(t, model.PPB(ppb), got, text)
		}
	})
}
