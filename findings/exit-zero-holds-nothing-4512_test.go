package findings_test

import (
	"testing"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
)

// Seed 4512 of simulate hunt, made small:
//
//	1s  job 1 arrives
//	1.042945814s  worker 0 asks for jobs (request 1)
//	1.407135895s  the broker gives job 1 to worker 0
//	1.5339048s  worker 0 starts job 1
//	3.876279146s  worker 0 cancels job 1 (lease-lost)
//	4.0339048s  the handler of job 1 in worker 0 returns early; worker 0 begins to undo job 1
//	4.5339048s  the undo of job 1 in worker 0 ends; worker 0 asks for jobs (request 2)
//	5s  worker 0 is sent SIGTERM and withdraws request 2
//	5.118308963s  worker 0 withdraws request 2
//	5.375827973s  worker 0 withdraws request 2
//	5.947774816s  worker 0 exits with status 0
//	5.947774816s  = worker 0 exited with status 0 and holds job 1: exit-zero-holds-nothing is broken
func TestExitZeroHoldsNothing4512(t *testing.T) {
	sc, err := scenarios.Parse("exit-zero-holds-nothing-4512.yaml", []byte(`name: exit-zero-holds-nothing-4512
about: "a process that exits with status 0 holds no claim, and gets none later"
duration: 6s
warmup: 0s
fleet: {workers: 1, slots: 1, start: 0s}
queue: {lease: 2s, heartbeat: 666.666666ms, margin: 500ms, long_poll: 20s, max_failures: 5, poison: 3, starving: 10, backoff: {min: 1s, max: 1m0s}, sweep: {period: 1h0m0s, slack: 0s}, max_message_age: 10s}
jobs:
  job: {arrivals: {every: 1s}, duration: 10s, count: 1, checkpoint: 500ms, gap: 500ms, undo: 500ms, undo_fails: 100%}
supervisor: {kind: kubernetes, grace: 15s, rollout: {strategy: rolling, max_surge: 0, max_unavailable: 1}}
deploys: {at: [5s]}
faults:
  network: {latency: {uniform: {min: 0s, max: 800ms}}}
policies:
  - hybrid
finding:
  policy: hybrid
  seed: 0
  invariant: exit-zero-holds-nothing
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
