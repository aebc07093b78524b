package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
)

// fetching is one worker of two slots that fetches three jobs more, and ten jobs of a minute of
// which the first eight seconds bring all.
const fetching = `
duration: 30m
warmup: 0s
fleet: {workers: 1, slots: 2, prefetch: 3, start: 1s}
queue: {lease: 5m, heartbeat: 100s}
jobs: {copy: {arrivals: {every: 800ms}, count: 10, duration: 1m, checkpoint: 100ms}}
supervisor: {kind: plain, grace: 30s}
deploys: {at: [90s]}
`

// watched plays fetching under a policy and shows every observation.
func watched(t *testing.T, policy string, see func(o *sim.Observation)) *meter.Row {
	sc, err := scenarios.Parse("fetching.yaml", []byte("name: fetching\npolicies: ["+policy+"]"+fetching))
	require.NoError(t, err)
	preset, err := model.PresetNamed(policy)
	require.NoError(t, err)
	w, err := sim.NewWorld(sc, preset, 1, nil)
	require.NoError(t, err)
	c := w.Check()
	w.Observe(func(o sim.Observation) { see(&o) })
	row, err := w.Run(nil)
	require.NoError(t, err)
	assert.Empty(t, c.Findings())
	return row
}

func TestWhatIsFetchedAheadWaitsForASlotInItsTurn(t *testing.T) {
	claimed, works, mostClaimed, mostWorks := 0, 0, 0, 0
	var order []protocol.JobKey
	row := watched(t, "hybrid", func(o *sim.Observation) {
		if o.Kind != sim.SawRecord || o.At > 80_000_000_000 { // before the deploy
			return
		}
		switch o.Record.Kind {
		case meter.ClaimGranted:
			claimed++
		case meter.ClaimEnded:
			claimed--
		case meter.ExecutionStarted:
			works++
			order = append(order, o.Record.Job)
		case meter.ExecutionEnded:
			works--
		}
		mostClaimed, mostWorks = max(mostClaimed, claimed), max(mostWorks, works)
	})
	assert.Equal(t, 5, mostClaimed)
	assert.Equal(t, 2, mostWorks)
	assert.Equal(t, []protocol.JobKey{1, 2, 3, 4}, order)
	assert.EqualValues(t, 10, row.Counts[meter.JobsCompleted])
}

// A drain gives back at once what has not begun, and begins nothing; a death leaves it to the
// lease like the rest.
func TestWhatWaitsIsHandedBackAtTheStop(t *testing.T) {
	stop := protocol.Never
	begun, handedBack := 0, 0
	row := watched(t, "hybrid", func(o *sim.Observation) {
		if o.Kind != sim.SawRecord || o.Seat != 0 {
			return
		}
		switch r := &o.Record; {
		case r.Kind == meter.StopAsked:
			stop = o.At
		case o.At < stop:
		case r.Kind == meter.ExecutionStarted:
			begun++
		case r.Kind == meter.ClaimEnded && r.Verb == protocol.Release && o.At < stop.Add(protocol.Second):
			handedBack++
		}
	})
	assert.Zero(t, begun)
	assert.Equal(t, 3, handedBack)
	assert.EqualValues(t, 5, row.Counts[meter.Released], "and the two that were worked on, at the deadline")
	assert.Zero(t, row.Counts[meter.ReclaimedByExpiry])

	row = watched(t, "crash-only", func(*sim.Observation) {})
	assert.EqualValues(t, 5, row.Counts[meter.ReclaimedByExpiry])
	assert.EqualValues(t, 10, row.Counts[meter.JobsCompleted])
}
