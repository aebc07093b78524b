package sim

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

func TestSameSeedSameBytesWhateverRunsBeside(t *testing.T) {
	for _, policy := range model.PresetNames() {
		want := run(t, newWorld(t, smallFleet(), policy, 7))
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		for _, procs := range []int{1, 2} {
			runtime.GOMAXPROCS(procs)
			rows := make([]*meter.Row, 3)
			var wg sync.WaitGroup
			for i := range rows {
				wg.Go(func() {
					w, err := NewWorld(smallFleet(), preset(t, policy), 7, nil)
					if err == nil {
						rows[i], _ = w.Run(nil)
					}
				})
			}
			wg.Wait()
			for _, row := range rows {
				require.NotNil(t, row)
				assert.Equal(t, want.TraceHash, row.TraceHash, "policy %s, GOMAXPROCS %d", policy, procs)
				assert.Equal(t, want.Metrics(), row.Metrics(), "policy %s, GOMAXPROCS %d", policy, procs)
			}
		}
	}
}

func TestTraceHashTellsSeedsAndPoliciesApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, policy := range model.PresetNames() {
		for seed := range uint64(3) {
			row := run(t, newWorld(t, smallFleet(), policy, seed))
			if was, ok := seen[row.TraceHash]; ok {
				// Two policies may do the same thing only when nothing made them differ.
				t.Errorf("policy %s seed %d has the trace hash of %s", policy, seed, was)
			}
			seen[row.TraceHash] = policy
		}
	}
}

func TestObservingChangesNothing(t *testing.T) {
	want := run(t, newWorld(t, smallFleet(), "hybrid", 3)).TraceHash
	w := newWorld(t, smallFleet(), "hybrid", 3)
	n := 0
	w.Observe(func(Observation) { n++ })
	assert.Equal(t, want, run(t, w).TraceHash)
	assert.Greater(t, n, 1000)
}

// outside is everything that comes from outside of the workers.
type outside struct {
	arrivals []arrivalSeen
	deploys  []protocol.Instant
	faults   []faultSeen
}

type arrivalSeen struct {
	job  protocol.JobKey
	at   protocol.Instant
	work protocol.Duration
}

type faultSeen struct {
	what string
	seat int32
	at   protocol.Instant
}

func observeOutside(t *testing.T, policy string, seed uint64) outside {
	var o outside
	sc := smallFleet()
	sc.Faults.Trace = recorded{faults: everyNodeFault()}
	w := newWorld(t, sc, policy, seed)
	w.Observe(func(ob Observation) {
		switch {
		case ob.Kind == SawRecord && ob.Record.Kind == meter.JobEnqueued:
			o.arrivals = append(o.arrivals, arrivalSeen{ob.Record.Job, ob.At, ob.Record.Work})
		case ob.Kind == SawRecord && ob.Record.Kind == meter.RolloutBegan:
			o.deploys = append(o.deploys, ob.At)
		case ob.Kind == SawFault && ob.Text != "resume":
			o.faults = append(o.faults, faultSeen{ob.Text, ob.Seat, ob.At})
		}
	})
	run(t, w)
	return o
}

func TestArrivalsWorkDeploysAndFaultsAreTheSameUnderEveryPolicy(t *testing.T) {
	for seed := range uint64(3) {
		want := observeOutside(t, "hybrid", seed)
		require.Greater(t, len(want.arrivals), 1000)
		require.Len(t, want.deploys, 7)
		kinds := map[string]int{}
		for _, f := range want.faults {
			kinds[f.what]++
		}
		require.Greater(t, kinds["crash"], 5)
		require.Greater(t, kinds["pause"], 5)
		require.Greater(t, kinds["partition"], 5)
		seats := newWorld(t, smallFleet(), "hybrid", seed).fleet.seats
		require.GreaterOrEqual(t, kinds["preempt"], 15*(seats/12), "each hits every seat of its node")
		for _, policy := range model.PresetNames() {
			assert.Equal(t, want, observeOutside(t, policy, seed), "policy %s, seed %d", policy, seed)
		}
	}
}

func TestOverridesOfZeroAreHarmless(t *testing.T) {
	sc := smallFleet()
	sc.Faults.Network.Loss = model.Certain / 2
	overrides := map[Address]uint64{}
	for seat := range uint64(40) {
		for life := uint64(1); life < 40; life++ {
			for n := range uint64(4000) {
				if n%drawsPerMessage == 0 {
					overrides[Address{StreamMessage, seat<<32 | life, n}] = 0
					overrides[Address{StreamAnswer, seat<<32 | life, n}] = 0
				}
			}
		}
	}
	sc.Duration = 5 * protocol.Minute
	w, err := NewWorld(sc, preset(t, "hybrid"), 1, overrides)
	require.NoError(t, err)
	row := run(t, w)
	lossy := run(t, newWorld(t, sc, "hybrid", 1))
	assert.Greater(t, row.Counts[meter.JobsCompleted], 2*lossy.Counts[meter.JobsCompleted], "with every loss overridden jobs are done")
}

func TestForeseeingChangesNothing(t *testing.T) {
	for _, policy := range []string{"hybrid", "crash-only", "adaptive"} {
		for _, sc := range []*model.Scenario{smallFleet(), fiveMinuteFleet(100, 2*protocol.Hour)} {
			plain, foreseeing := newWorld(t, sc, policy, 7), newWorld(t, sc, policy, 7)
			require.False(t, plain.large)
			foreseeing.large = true
			require.Equal(t, run(t, plain), run(t, foreseeing))
		}
	}
}
