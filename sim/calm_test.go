package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
)

// Who waits for the end of a job that is claimed and handed back for ever waits for nothing: it is
// given up long before everything must have ended.
func TestACalmRunEndsWhenAJobGoesRound(t *testing.T) {
	sc := smallFleet()
	sc.Duration, sc.Warmup, sc.Deploys, sc.Faults = protocol.Minute, 0, model.Deploys{}, model.Faults{Network: sc.Faults.Network}
	sc.Fleet.Workers, sc.Fleet.Slots = 1, 1
	sc.Queue.Lease, sc.Queue.Heartbeat = 10*protocol.Second, 8*protocol.Second
	sc.Jobs = []model.Job{{
		Name: "long", Count: 200, Arrivals: table(dist.Constant(second / 10)), Work: table(dist.Constant(30 * second)),
		Checkpoint: 100 * protocol.Millisecond, Declared: 3 * protocol.Second,
	}}
	p := preset(t, "hybrid")
	p.Deviations = deviation.Of(deviation.DistrustsEarly)
	w, err := NewWorld(sc, p, 1, nil)
	require.NoError(t, err)
	run(t, w)
	began, limit := w.now, w.calmLimit()
	require.NoError(t, w.RunCalm())
	assert.False(t, w.allEnded())
	most := uint16(0)
	w.broker.EachJob(func(_ protocol.JobKey, row *model.JobRow) { most = max(most, row.Deliveries) })
	assert.Greater(t, most, uint16(roundAndRound))
	assert.Less(t, w.now.Sub(began), limit/10)
}
