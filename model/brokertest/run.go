package brokertest

import "testing"

// Queue is the queue that the kit uses, and OtherQueue a second one where queues must not
// mix.
const (
	Queue      = "brokertest"
	OtherQueue = "brokertest-other"
)

// Run checks a broker: each named case and the random histories are a subtest.
// The flags of pgregory.net/rapid say how many histories and how long, for example
// -rapid.checks=1000 -rapid.steps=100.
func Run(t *testing.T, open Open) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, open) })
	}
}

// named is one check.
type named struct {
	name  string
	check func(t TB, open Open)
}

var cases []named
