package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
)

// The sentences are those of the Kubernetes documentation ("Pod Lifecycle", termination of
// Pods, and the field terminationGracePeriodSeconds of the Pod API), shortened.
func TestASupervisorStopsAProcessAsItsDocumentationSays(t *testing.T) {
	const now = protocol.Instant(100 * second)
	at := func(d protocol.Duration) protocol.Instant { return now.Add(d) }
	cases := map[string]struct {
		kind           SupervisorKind
		grace, preStop protocol.Duration
		term, kill     protocol.Instant
		told           protocol.Duration
	}{
		"without a hook the stop signal comes at once and SIGKILL at the end of the grace": {
			Kubernetes, 30 * second, 0, at(0), at(30 * second), 30 * second},
		"the hook runs before the stop signal, and the grace counts from its begin": {
			Kubernetes, 30 * second, 12 * second, at(12 * second), at(30 * second), 18 * second},
		"a hook that still runs at the end of the grace is granted two seconds, once": {
			Kubernetes, 30 * second, 50 * second, at(30 * second), at(32 * second), 2 * second},
		"a hook that takes exactly the grace has overrun it": {
			Kubernetes, 30 * second, 30 * second, at(30 * second), at(32 * second), 2 * second},
		"the value zero stops immediately, there is no opportunity to shut down": {
			Kubernetes, 0, 0, protocol.Never, at(0), 0},
		"the value zero leaves no time for a hook either": {
			Kubernetes, 0, 5 * second, protocol.Never, at(0), 0},
		"a plain supervisor knows no hooks": {
			Plain, 10 * second, 5 * second, at(0), at(10 * second), 10 * second},
		"a plain supervisor without grace kills": {
			Plain, 0, 0, protocol.Never, at(0), 0},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			s := Supervisor{Kind: c.kind, Grace: c.grace, PreStop: c.preStop}
			assert.Equal(t, StopPlan{Term: c.term, Kill: c.kill}, s.Stop(now))
			assert.Equal(t, c.told, s.WorkerGrace(), "what a worker can be told at its start")
		})
	}
}
