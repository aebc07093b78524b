package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// everyKey has every key that may stand beside the others.
const everyKey = `
name: all
about: every key
duration: 2d
warmup: 1m30s
fleet: {workers: 7, slots: 4, prefetch: 2, start: {uniform: {min: 0s, max: 1s}}}
queue:
  lease: 1m
  heartbeat: 15s
  margin: 2s
  drift: 50ppm
  long_poll: 5s
  poll: 3s
  service: 2ms
  max_failures: 9
  poison: 0
  starving: 4
  backoff: {min: 2s, max: 3s}
  count_at_claim: true
  max_attempts: 8
  sweep: {period: 1m, slack: 1s}
  on_expiry: quarantine
  max_message_age: 30s
  max_claims: 6
jobs:
  z first in the file:
    arrivals: {every: 2s}
    duration: {pareto: {min: 1s, alpha: 1.5}}
    checkpoint: 1s
    gap: 2s
    undo: 3s
    undo_fails: 0.01
    deaf: 5%
    cpu_bound: 0.0000001%
    fails: 100%
    oom: 0.01%
    save: 10s
    flush: true
    batch: 20
    effects: 3
    timeout: 1h
    version: 2
    new_version: 3
  a second: {arrivals: {lognormal: {p50: 1s, p99: 9s}}, duration: {exponential: {mean: 58s}}, checkpoint: 25s, version: 6}
supervisor: {kind: kubernetes, grace: 20s, prestop: 1s, rollout: {strategy: stateful, partition: 2}}
deploys: {every: 1h, at: [40m, 5m], count: 3}
faults:
  crash: {mtbf: 48h}
  pause: {every: 1h, length: 30s}
  partition: {every: 2h, length: {constant: 40s}}
  slow: {every: 3h, length: 50s, by: 2s}
  failover: {every: 24h, forgets: 500ms}
  drift: 100ppm
  drill: 5%
  liveness: 15s
  eviction: {every: 24h, grace: 5s}
  preemption: {every: 24h, notice: 2m}
  scale_in: {every: 1h, workers: 1, back: 10m, victims: idle}
  network: {latency: 1ms, loss: 0.01%, duplicate: 1%}
policies: [hybrid, drain+sweep]
`

// otherKeys are the alternatives that cannot stand beside those of everyKey.
var otherKeys = []string{
	"duration: 1h\njobs: {trace: jobs.csv, checkpoint: 1s, gap: 2s, undo: 1s, undo_fails: 1%, deaf: 1%, cpu_bound: 1%, fails: 1%, oom: 1%, save: 1s, flush: true, batch: 7, effects: 2, timeout: 1m, version: 2, new_version: 3}\nsupervisor: {manifest: w.yaml, select: deployment/w}\n",
	complete("supervisor: {rollout: {max_surge: 1, max_unavailable: 50%}}\njobs: {mail: {arrivals: {poisson: 1/s}, duration: {empirical: seen.txt}}}\n"),
	complete("supervisor: {kind: systemd, exec_stop: 3s, signal: SIGQUIT}\n"),
	complete("supervisor: {kind: nomad, shutdown_delay: 3s, repeat: 2s}\n"),
	complete("queue: {long_poll: 0s, poll: 1s}\npolicies: [{name: today, in_step: true}, hybrid]\n"),
	complete("jobs: {mail: {arrivals: {every: 1s}, duration: 1s, batch: 9}}\npolicies: [{name: today, counted: after_ack}, hybrid]\n"),
	complete("queue: {preset: asynq}\npolicies: [asynq, {name: today, policy: drain, unsafe: [settles-once]}, {name: lease, queue: bullmq}]\n"),
	complete("jobs: {mail: {arrivals: {constant: 1s}, duration: {p50: 1s, p99: 2s}}}\n"),
	complete("jobs: {mail: {arrivals: {exponential: {mean: 1s}}, duration: {lognormal: {p50: 1s, p99: 2s}}}}\n"),
	complete("jobs: {mail: {arrivals: {uniform: {min: 1s, max: 2s}}, duration: 0}}\n"),
	complete("jobs: {mail: {arrivals: {pareto: {min: 1s, alpha: 2}}, duration: 1s}}\n"),
	complete("jobs: {mail: {arrivals: {p50: 1s, p99: 2s}, duration: 1s}}\n"),
	complete("jobs: {mail: {arrivals: {empirical: seen.txt}, duration: 1s}}\n"),
	complete("jobs: {trace: jobs.csv, map: {arrival: arrival, duration: duration, kind: x}}\ndeploys: {trace: history.csv, app: web}\nfaults: {trace: faults.csv}\n"),
	complete("jobs: {trace: jobs.csv, map: {arrival: arrival, end: x}}\n"),
	complete("jobs: {mail: {arrivals: {every: 1s}, duration: 1s, count: 3}}\nsupervisor: {grace: 20s, prestop: 5s, prestop_tells: true}\n" +
		"faults: {at: [{time: 10s, kind: crash}, {time: 5s, seat: 2, kind: pause, length: 3s}]}\npolicies: [hybrid]\n" +
		"finding: {policy: hybrid, seed: 7, invariant: no-job-lost, overrides: [message/4294967297/12=0]}\n"),
}

func TestEveryKeyOfTheSchemaIsAccepted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"jobs.csv": "arrival,duration,x\n0,1,2\n9,1,10\n", "history.csv": "time,app\n1,web\n", "faults.csv": "time,seat,kind\n1,1,crash\n", "seen.txt": "1s\n",
		"w.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  replicas: 2\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	v := newValidator(t)
	for _, text := range append(slices.Clone(otherKeys), everyKey) {
		_, err := Parse(filepath.Join(dir, "s.yaml"), []byte(text))
		require.NoError(t, err)
		assert.Empty(t, v.check(v.schema, yamlValue(t, text), ""), "%s", text)
	}
	assert.Empty(t, v.unseen(), "keys of the schema that no scenario of this test has")
}

func TestLibraryAgreesWithTheSchema(t *testing.T) {
	v := newValidator(t)
	for _, name := range Names() {
		data, err := Source(name)
		require.NoError(t, err)
		assert.Empty(t, v.check(v.schema, yamlValue(t, string(data)), ""), name)
	}
}

// What the decoder refuses for its form, the schema refuses as well.
func TestSchemaRefusesForms(t *testing.T) {
	v := newValidator(t)
	for _, fragment := range []string{
		"queue: {leese: 5m}", "queue: 5m", "policies: [hybird]", "policies: []", "queue: {lease: 300}", "duration: 0", "fleet: {workers: 0}",
		"fleet: {workers: 3, start: {normal: {mean: 3s}}}", "fleet: {workers: 3, start: {}}", "jobs: {}", "jobs: {mail: {duration: 2s}}",
		"jobs: {mail: {arrivals: {poisson: 13}, duration: 2s}}", "queue: {drift: 50}", "queue: {on_expiry: drop}", "faults: {pause: {every: 2h}}",
	} {
		text := complete(fragment)
		_, err := Parse("s.yaml", []byte(text))
		assert.Error(t, err, fragment)
		assert.NotEmpty(t, v.check(v.schema, yamlValue(t, text), ""), fragment)
	}
}

// Defaults stand in the schema as they are decoded, so following it changes nothing.
func TestDefaultsOfTheSchemaAreTheDefaults(t *testing.T) {
	var keep func(schema object) object
	keep = func(schema object) object {
		out := object{}
		properties, _ := schema["properties"].(object)
		for name, p := range properties {
			p := p.(object)
			if d, ok := p["default"]; ok {
				out[name] = d
			} else if inner := keep(p); len(inner) > 0 && p["required"] == nil {
				out[name] = inner
			}
		}
		return out
	}
	defaults := keep(newValidator(t).schema)
	defaults["fleet"].(object)["workers"] = 3
	delete(defaults["supervisor"].(object)["rollout"].(object), "partition") // Not with strategy rolling.
	text, err := yaml.Marshal(defaults)
	require.NoError(t, err)
	assert.Equal(t, parsed(t, ""), parsed(t, string(text)))
}

func yamlValue(t *testing.T, text string) any {
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}
