package hunt

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// What is made small can be written to a file and read back: in a file kinds have names of
// their own.
func TestKindsKeepNamesOfTheirOwn(t *testing.T) {
	for seed := uint64(0); ; seed++ {
		sc, err := Draw(seed, "")
		require.NoError(t, err)
		if len(sc.Jobs) < 2 || !sound(sc) {
			continue
		}
		sc.Jobs[0].Name = "job"
		assert.True(t, sound(sc))
		sc.Jobs[1].Name = "job"
		assert.False(t, sound(sc))
		return
	}
}

// A loader refuses a heartbeat that comes when its lease is trusted no more.
func TestAHeartbeatComesWhileItsLeaseIsTrusted(t *testing.T) {
	for seed := uint64(0); ; seed++ {
		sc, err := Draw(seed, "")
		require.NoError(t, err)
		q := &sc.Queue
		if q.DriftPPM == 0 || !sound(sc) {
			continue
		}
		q.Margin += (&protocol.Config{Lease: q.Lease, Margin: q.Margin, DriftPPM: q.DriftPPM}).Trusted() - q.Heartbeat - 1
		assert.True(t, sound(sc))
		q.Margin++
		assert.False(t, sound(sc))
		return
	}
}
