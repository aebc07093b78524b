package findings_test

import (
	"testing"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
)

// Seed 13480 of simulate hunt, made small:
//
//	10s  job 1 arrives; the broker gives job 1 to worker 0
//	10.001s  worker 0 starts job 1
//	20.001s  the handler of job 1 in worker 0 fails; worker 0 begins to undo job 1
//	23.001s  the undo of job 1 in worker 0 ends; worker 0 sends fail for job 1
//	23.002s  the broker ends worker 0's claim on job 1: fail
//	24.002s  the broker gives job 1 to worker 0
//	24.003s  worker 0 starts job 1
//	34.003s  the handler of job 1 in worker 0 fails; worker 0 begins to undo job 1
//	35s  worker 0 is paused
//	37s  worker 0 goes on
//	37.753s  worker 0 sends quarantine for job 1
//	37.754s  the broker ends worker 0's claim on job 1: quarantine
//	38s  worker 0 is sent SIGTERM
//	39.003s  the undo of job 1 in worker 0 ends; worker 0 exits with status 0
//	39.003s  = worker 0 wrote into its ledger that job 1 (0 is a claim request) was lost, which it was not: ledger-true is broken
func TestLedgerTrue13480(t *testing.T) {
	sc, err := scenarios.Parse("ledger-true-13480.yaml", []byte(`name: ledger-true-13480
about: "a line of the ledger says what became of its job or claim request"
duration: 40s
warmup: 0s
fleet: {workers: 1, slots: 1, prefetch: 0, start: 0s}
queue: {lease: 40s, heartbeat: 13.333333333s, margin: 800ms, long_poll: 20s, max_failures: 5, poison: 3, starving: 10, backoff: {min: 1s, max: 1m0s}, sweep: {period: 1h0m0s, slack: 0s}, max_message_age: 10s}
jobs:
  job: {arrivals: {every: 10s}, duration: 10s, count: 1, checkpoint: 500ms, gap: 500ms, undo: 3s, fails: 100%, save: 2s}
supervisor: {kind: kubernetes, grace: 30s, prestop: 5s, rollout: {strategy: rolling, max_surge: 0, max_unavailable: 1}}
deploys: {at: [33s]}
faults:
  network: {latency: 1ms}
  at:
    - {time: 35s, kind: pause, length: 2s}
policies:
  - hybrid
finding:
  policy: hybrid
  seed: 0
  invariant: ledger-true
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
