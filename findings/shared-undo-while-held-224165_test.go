package findings_test

import (
	"testing"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
)

// Seed 224165 of simulate hunt, made small:
//
//	181.853807ms  job 2 arrives
//	14.529130938s  the broker gives job 2 to worker 0
//	14.530130938s  worker 0 starts job 2
//	14.562379353s  the handler of job 2 in worker 0 fails; worker 0 begins to undo job 2
//	15s  worker 0 is paused
//	20s  worker 0 is cut off
//	20.4s  worker 0 goes on and sends quarantine for job 2
//	20.529130938s  worker 0's lease on job 2 has run out; the broker gives job 2 to worker 1
//	20.529130938s  = the lease of job 2 ran out at 20.529130938s and worker 0 goes on undoing under shared names: shared-undo-while-held is broken
func TestSharedUndoWhileHeld224165(t *testing.T) {
	sc, err := scenarios.Parse("shared-undo-while-held-224165.yaml", []byte(`name: shared-undo-while-held-224165
about: "shared undo hooks run only while the claim is held"
duration: 22s
warmup: 0s
fleet: {workers: 2, slots: 3, prefetch: 0, start: 0s}
queue: {lease: 6s, heartbeat: 2s, margin: 120ms, long_poll: 20s, max_failures: 5, poison: 3, starving: 10, backoff: {min: 1s, max: 1m0s}, sweep: {period: 1h0m0s, slack: 0s}, max_message_age: 10s}
jobs:
  job: {arrivals: {uniform: {min: 1ms, max: 200ms}}, duration: {uniform: {min: 20ms, max: 400ms}}, count: 8, checkpoint: 500ms, gap: 500ms, undo: 2s, fails: 100%}
  job2: {arrivals: {uniform: {min: 1ms, max: 200ms}}, duration: 10s, count: 2, checkpoint: 500ms, gap: 500ms}
supervisor: {kind: kubernetes, grace: 4s, rollout: {strategy: rolling, max_surge: 0, max_unavailable: 1}}
faults:
  network: {latency: 1ms}
  at:
    - {time: 15s, kind: pause, length: 5.4s}
    - {time: 20s, kind: partition, length: 10s}
policies:
  - hybrid
finding:
  policy: hybrid
  seed: 224165
  invariant: shared-undo-while-held
`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := hunt.Try(sc)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range o.Findings {
		t.Error(f)
	}
}
