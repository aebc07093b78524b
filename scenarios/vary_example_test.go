package scenarios_test

import (
	"fmt"

	"github.com/quiesce/quiesce/scenarios"
)

func ExampleLoadWith() {
	r, err := scenarios.ParseRange("queue.lease", "30s..10m:log:3")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range r.Values {
		s, err := scenarios.LoadWith("five-minute-lease", scenarios.Override{Path: r.Path, Value: v.Text, From: "--lease"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Queue.Lease, s.Queue.Heartbeat)
	}
	// Output:
	// 30s 10s
	// 2m15s 45s
	// 10m0s 3m20s
}
