package sim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// recorded is a trace of faults in memory; after fails it ends in an error.
type recorded struct {
	faults []model.NodeFault
	fails  error
	closed *int
}

func (r recorded) Open() (model.FaultStream, error) { return &recordedStream{recorded: r}, nil }

type recordedStream struct {
	recorded
	at int
}

func (s *recordedStream) Next() (model.NodeFault, bool, error) {
	if s.at == len(s.faults) {
		return model.NodeFault{}, false, s.fails
	}
	s.at++
	return s.faults[s.at-1], true, nil
}

func (s *recordedStream) Close() error {
	if s.closed != nil {
		*s.closed++
	}
	return nil
}

// everyNodeFault has each kind on many nodes, among them ones beyond the fleet.
func everyNodeFault() (list []model.NodeFault) {
	for i := range 60 {
		list = append(list, model.NodeFault{
			At: protocol.Instant(i) * 37 * protocol.Instant(protocol.Second), Node: int32(i * 5 % 29),
			Kind: model.FaultKind(i % 4), Length: protocol.Duration(1+i%3) * 12 * protocol.Second,
		})
	}
	return list
}

func nodeFleet(strategy model.Strategy, faults ...model.NodeFault) *model.Scenario {
	sc := smallFleet()
	sc.Duration, sc.Warmup = 10*protocol.Minute, 0
	sc.Deploys = model.Deploys{}
	sc.Faults = model.Faults{Network: sc.Faults.Network, Trace: recorded{faults: faults}}
	sc.Supervisor.Rollout.Strategy = strategy
	for i := range sc.Jobs {
		sc.Jobs[i].Deaf, sc.Jobs[i].Fails = 0, 0
	}
	return sc
}

func minuteFive(kind model.FaultKind, node int32, length protocol.Duration) model.NodeFault {
	return model.NodeFault{At: protocol.Instant(5 * protocol.Minute), Node: node, Kind: kind, Length: length}
}

func (f *fleet) up() (n int) {
	for i := range f.used() {
		if f.at(i).state == seatUp && !f.at(i).stopping {
			n++
		}
	}
	return n
}

func TestAPreemptedNodeIsDrainedAndReplacedUnderEveryStrategy(t *testing.T) {
	for _, strategy := range []model.Strategy{model.RollingUpdate, model.Recreate, model.OneByOne, model.OnDelete} {
		for _, policy := range []string{"hybrid", "crash-only"} {
			sc := nodeFleet(strategy, minuteFive(model.NodePreempt, 3, 20*protocol.Second), minuteFive(model.NodePreempt, 16, 20*protocol.Second))
			sc.Jobs[0].Work = table(dist.Constant(60 * second)) // longer than the notice
			w := newWorld(t, sc, policy, 1)
			require.NoError(t, w.runTo(protocol.Instant(5*protocol.Minute)-1, nil))
			require.Equal(t, 12, w.fleet.up())
			require.NoError(t, w.runTo(protocol.Instant(5*protocol.Minute), nil))
			assert.Equal(t, 10, w.fleet.up(), "strategy %d: nodes 3 and 4 are told to go", strategy)
			require.NoError(t, w.runTo(protocol.Instant(6*protocol.Minute), nil))
			assert.Equal(t, 12, w.fleet.up(), "strategy %d: both are replaced", strategy)
			assert.Zero(t, w.fleet.pods.Stopping)
			row := run(t, w)
			assert.Zero(t, row.Stalls[meter.ByDeploy].N, "there was no deploy")
			assert.Zero(t, row.Stalls[meter.ByCrash].N)
			assert.Positive(t, row.Stalls[meter.ByOther].N, "%s", policy)
		}
	}
}

func TestANoticeShorterThanTheGraceIsAllThereIs(t *testing.T) {
	killed := func(notice protocol.Duration) (at []protocol.Instant) {
		sc := nodeFleet(model.RollingUpdate, minuteFive(model.NodePreempt, 2, notice))
		w := newWorld(t, sc, "deaf", 1)
		w.Observe(func(o Observation) {
			if o.Kind == SawRecord && o.Record.Kind == meter.ProcessKilled {
				at = append(at, o.At)
			}
		})
		run(t, w)
		return at
	}
	five := protocol.Instant(5 * protocol.Minute)
	assert.Equal(t, []protocol.Instant{five.Add(4 * protocol.Second)}, killed(4*protocol.Second))
	assert.Equal(t, []protocol.Instant{five.Add(2 * protocol.Minute)}, killed(2*protocol.Minute), "the notice is what a machine that goes away gives, whatever the grace")
	assert.Equal(t, []protocol.Instant{five}, killed(0))
}

func TestPreemptionsDuringARolloutAndOfMoreNodesThanSeatsAreMadeGood(t *testing.T) {
	for _, strategy := range []model.Strategy{model.RollingUpdate, model.Recreate, model.OneByOne, model.OnDelete} {
		var faults []model.NodeFault
		for round := range protocol.Instant(4) { // Within one grace the whole fleet goes four times.
			for node := range int32(12) {
				f := minuteFive(model.NodePreempt, node, protocol.Minute)
				f.At += round * protocol.Instant(4*protocol.Second)
				faults = append(faults, f)
			}
		}
		sc := nodeFleet(strategy, faults...)
		sc.Duration = 20 * protocol.Minute // one by one takes its time
		sc.Deploys.At = []protocol.Instant{protocol.Instant(5*protocol.Minute - 2*protocol.Second), protocol.Instant(5*protocol.Minute + 7*protocol.Second)}
		w := newWorld(t, sc, "hybrid", 1)
		require.NoError(t, w.runTo(w.end, nil))
		assert.Equal(t, 12, w.fleet.up(), "strategy %d", strategy)
		assert.False(t, w.fleet.rolling, "strategy %d", strategy)
	}
}

func TestACrashedNodeCrashesWhoeverStandsOnIt(t *testing.T) {
	sc := nodeFleet(model.RollingUpdate, minuteFive(model.NodeCrash, 12+7, 0))
	w := newWorld(t, sc, "hybrid", 1)
	life := w.fleet.at(7).life
	var crashed []int32
	w.Observe(func(o Observation) {
		if o.Kind == SawRecord && o.Record.Kind == meter.ProcessCrashed {
			crashed = append(crashed, o.Seat)
		}
	})
	run(t, w)
	assert.Equal(t, []int32{7}, crashed)
	assert.Greater(t, w.fleet.at(7).life, life)
}

func TestAPausedAndACutOffNodeLastAsLongAsRecorded(t *testing.T) {
	sc := nodeFleet(model.RollingUpdate, minuteFive(model.NodePause, 1, protocol.Minute), minuteFive(model.NodePartition, 2, protocol.Minute))
	w := newWorld(t, sc, "hybrid", 1)
	require.NoError(t, w.runTo(protocol.Instant(5*protocol.Minute), nil))
	assert.Equal(t, protocol.Instant(6*protocol.Minute), w.fleet.at(1).pausedUntil)
	assert.Equal(t, protocol.Instant(6*protocol.Minute), w.fleet.at(2).partitionedUntil)
	assert.Positive(t, run(t, w).Stalls[meter.ByLease].N, "both last longer than the lease")
}

func TestAWorkerIsCutOffForAsLongAsIsDrawn(t *testing.T) {
	lost := func(length protocol.Duration) int64 {
		_, row := watchStops(t, calm(func(sc *model.Scenario) {
			sc.Faults.Partition = model.Spell{Every: 10 * protocol.Minute, Length: table(dist.Constant(int64(length)))}
			sc.Jobs[0].Work = table(dist.Constant(60 * second))
		}), "hybrid")
		return row.Stalls[meter.ByLease].N
	}
	assert.Zero(t, lost(5*protocol.Second), "a lease is thirty seconds")
	assert.Greater(t, lost(protocol.Minute), int64(5))
}

func TestATraceOfFaultsThatFailsEndsTheRun(t *testing.T) {
	broken := errors.New("line 7 is gone")
	sc := nodeFleet(model.RollingUpdate)
	closed := 0
	sc.Faults.Trace = recorded{faults: everyNodeFault()[:3], fails: broken, closed: &closed}
	_, err := newWorld(t, sc, "hybrid", 1).Run(nil)
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, 1, closed)
	sc.Faults.Trace = recorded{fails: broken}
	_, err = NewWorld(sc, preset(t, "hybrid"), 1, nil)
	assert.ErrorIs(t, err, broken)
}
