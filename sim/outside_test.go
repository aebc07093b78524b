package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// stormy is a world in which every kind of fault of a seat happens.
func stormy() *model.Scenario {
	sc := smallFleet()
	sc.Faults.DriftPPM, sc.Faults.Evict = 0, model.Eviction{Every: protocol.Hour, Grace: protocol.Second}
	sc.Faults.At = []model.NodeFault{{At: protocol.Instant(protocol.Minute), Node: 14, Kind: model.NodeCrash}}
	sc.Faults.Preempt = model.Preemption{Every: protocol.Hour, Notice: protocol.Minute}
	return sc
}

// What a world meets is what Outside says that it meets.
func TestOutsideIsWhatComesToARun(t *testing.T) {
	sc := stormy()
	w := newWorld(t, sc, "hybrid", 7)
	var (
		arrived []OutsideJob
		faults  []SeatFault
	)
	kinds := map[string]SeatFaultKind{"crash": SeatCrash, "pause": SeatPause, "partition": SeatPartition}
	w.Observe(func(o Observation) {
		switch {
		case o.Kind == SawRecord && o.Record.Kind == meter.JobEnqueued:
			arrived = append(arrived, OutsideJob{At: o.At, Job: o.Record.Job, Work: o.Record.Work})
		case o.Kind == SawFault:
			if kind, ok := kinds[o.Text]; ok {
				faults = append(faults, SeatFault{At: o.At, Seat: o.Seat, Kind: kind})
			}
		}
	})
	run(t, w)

	outside := NewOutside(sc, 7)
	jobs, err := outside.Jobs()
	require.NoError(t, err)
	for i := range jobs {
		assert.Less(t, int(jobs[i].Kind), len(sc.Jobs))
		jobs[i].Kind = 0
	}
	assert.Greater(t, len(jobs), 50)
	assert.Equal(t, arrived, jobs)

	told, err := outside.SeatFaults(w.fleet.seats)
	require.NoError(t, err)
	var same []SeatFault
	seen := map[SeatFaultKind]int{}
	for _, f := range told {
		seen[f.Kind]++
		switch f.Kind {
		case SeatPreempted:
			assert.Equal(t, protocol.Minute, f.Length)
		case SeatPause, SeatPartition:
			assert.Positive(t, f.Length)
		}
		if f.Kind == SeatCrash || f.Kind == SeatPause || f.Kind == SeatPartition {
			f.Length = 0
			same = append(same, f)
		}
	}
	assert.ElementsMatch(t, faults, same)
	for kind := SeatCrash; kind <= SeatPreempted; kind++ {
		assert.Positive(t, seen[kind], "faults of kind %d", kind)
	}
}

func TestOutsideDrawsFates(t *testing.T) {
	kind := &model.Job{Deaf: model.Certain / 2, Fails: model.Certain, OOM: 0, UndoFails: model.Certain / 2}
	deaf := 0
	for job := range protocol.JobKey(1000) {
		f := FateOf(7, kind, job, 1)
		assert.Equal(t, f, FateOf(7, kind, job, 1))
		assert.True(t, f.Fails)
		assert.False(t, f.OOM)
		if f.Deaf {
			deaf++
		}
	}
	assert.InDelta(t, 500, deaf, 80)
}
