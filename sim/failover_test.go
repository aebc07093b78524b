package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// With a lease of an hour whoever holds a claim that a failover has forgotten would work on it
// for twenty minutes. The connections of all ended with the old primary, and the claims are
// verified as soon as there is a new one.
func TestAClaimThatAFailoverForgotIsNoticedAtOnce(t *testing.T) {
	sc := &model.Scenario{
		Name: "forgetful", Duration: 6 * protocol.Hour,
		Fleet: model.Fleet{Workers: 20, Slots: 1, Start: table(dist.Constant(second))},
		Queue: model.Queue{Lease: protocol.Hour, Heartbeat: 20 * protocol.Minute, MaxFailures: 5, MaxMessageAge: 10 * protocol.Second},
		Jobs: []model.Job{{Name: "render", Arrivals: table(dist.Exponential(20 * second)), Work: table(dist.Constant(300 * second)),
			Checkpoint: protocol.Second}},
		Supervisor: model.Supervisor{Grace: 15 * protocol.Second},
		Faults: model.Faults{
			Forget: 5 * protocol.Minute, ForgetFor: 10 * protocol.Second,
			Network: model.Network{Latency: table(dist.Uniform(second/1000, second/50))},
		},
	}
	w := newWorld(t, sc, "hybrid", 1)
	var failover protocol.Instant // the newest of which somebody heard
	heard, lost := 0, 0
	w.Observe(func(o Observation) {
		switch {
		case o.Kind == SawEvent && o.Event.Kind == protocol.Reconnected:
			heard++
			failover = o.At
		case o.Kind == SawEffect && o.Effect.Kind == protocol.Note && o.Effect.Note == protocol.LeaseLost:
			lost++
			assert.Less(t, o.At.Sub(failover), protocol.Second, "seat %d lost its claim at %v", o.Seat, o.At)
		}
	})
	run(t, w)
	require.Greater(t, lost, 3, "failovers take claims away")
	assert.Greater(t, heard, 20*20, "everybody hears of each of some seventy failovers")
}
