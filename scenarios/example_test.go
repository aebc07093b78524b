package scenarios_test

import (
	"fmt"

	"github.com/quiesce/quiesce/scenarios"
)

func ExampleParse() {
	s, err := scenarios.Parse("mail.yaml", []byte(`
duration: 6h
fleet: {workers: 20}
queue: {lease: 90s}
jobs:
  mail: {arrivals: {poisson: 13/s}, duration: {lognormal: {p50: 800ms, p99: 4s}}, fails: 0.5%}
deploys: {every: 20m}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Name, "for", s.Duration, "after a warm-up of", s.Warmup)
	fmt.Println("lease", s.Queue.Lease, "heartbeat", s.Queue.Heartbeat, "grace", s.Supervisor.Grace)
	fmt.Println(s.Jobs[0].Name, s.Jobs[0].Work, "fails", s.Jobs[0].Fails, "in a billion")
	fmt.Println(s.Policies)
	// Output:
	// mail for 6h0m0s after a warm-up of 30m0s
	// lease 1m30s heartbeat 30s grace 30s
	// mail lognormal(p50=800ms, p99=4s) fails 5000000 in a billion
	// [crash-only drain hybrid]
}

func ExampleError() {
	_, err := scenarios.Parse("mail.yaml", []byte(`duration: 6h
fleet: {workers: 20}
queue:
  lease: 30s
  heartbeat: 45s
jobs:
  mail: {arrivals: {poisson: 13/s}, duration: 2s}
`))
	fmt.Println(err)
	// Output:
	// mail.yaml:5:14: queue.heartbeat 45s must be shorter than lease 30s; write 10s, a third of the lease, which survives one lost renewal
	//       heartbeat: 45s
	//                  ^
}
