package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Where every message comes twice the broker answers each request twice, and each of its answers
// comes twice as well.
func TestRequestsAndAnswersAreDoubled(t *testing.T) {
	sc := smallFleet()
	sc.Faults.Network = model.Network{Latency: sc.Faults.Network.Latency, Duplicate: model.Certain}
	asked, answered := 0, 0
	w := newWorld(t, sc, "hybrid", 1)
	w.Observe(func(o Observation) {
		switch {
		case o.Kind == SawEffect && o.Effect.Kind == protocol.Settle:
			asked++
		case o.Kind == SawEvent && o.Event.Kind == protocol.SettleAnswered:
			answered++
		}
	})
	_, err := w.Run(nil)
	require.NoError(t, err)
	require.Greater(t, asked, 100)
	assert.InDelta(t, 4, float64(answered)/float64(asked), 0.1, "but for those on their way at the end")
}
