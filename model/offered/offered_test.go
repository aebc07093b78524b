package offered_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/offered"
	"github.com/quiesce/quiesce/protocol"
)

func constant(t *testing.T, d protocol.Duration) *dist.Table {
	table, err := dist.Constant(int64(d))
	require.NoError(t, err)
	return table
}

func TestKindsAddUpAndTracesAreLeftOut(t *testing.T) {
	sc := &model.Scenario{Jobs: []model.Job{
		{Arrivals: constant(t, 2*protocol.Second), Work: constant(t, 3*protocol.Second)},
		{Arrivals: constant(t, 500*protocol.Millisecond), Work: constant(t, protocol.Second)},
		{Work: constant(t, protocol.Hour)},
	}}
	perSecond, slots := offered.Load(sc)
	assert.InDelta(t, 2.5, perSecond, 1e-9)
	assert.InDelta(t, 3.5, slots, 1e-9)
}
