package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// The crash path is never switched off: a process that dies at any effect of a drain, before
// it is carried out, leaves an outcome that the crash-only policy allows too.

// quietFleet has nothing wrong with it but what a test does to it.
func quietFleet(undoFails model.PPB) *model.Scenario {
	return &model.Scenario{
		Name: "quiet-fleet", Duration: 20 * protocol.Minute,
		Fleet: model.Fleet{Workers: 4, Slots: 2, Start: table(dist.Constant(2 * second))},
		Queue: model.Queue{Lease: 20 * protocol.Second, Heartbeat: 6 * protocol.Second, Park: 5 * protocol.Second, MaxFailures: 5, Poison: 3, Starving: 10,
			Backoff: protocol.Backoff{Min: protocol.Second, Max: protocol.Minute}, MaxMessageAge: 20 * protocol.Minute},
		Jobs: []model.Job{{Name: "job", Arrivals: table(dist.Constant(2 * second)), Work: table(dist.Uniform(second, 20*second)),
			Checkpoint: 200 * protocol.Millisecond, Declared: 200 * protocol.Millisecond, Undo: protocol.Second, UndoFails: undoFails,
			Effects: 1, Fails: 50_000_000, Save: 4 * protocol.Second}},
		Supervisor: model.Supervisor{Grace: 10 * protocol.Second, Rollout: model.Rollout{MaxSurge: model.IntOrPercent{Value: 1}}},
		Deploys:    model.Deploys{At: []protocol.Instant{protocol.Instant(3 * protocol.Minute)}},
		Faults:     model.Faults{Network: model.Network{Latency: table(dist.Uniform(second/1000, second/5))}},
	}
}

// truth is what really happened to a job, seen from outside the protocol.
type truth struct {
	succeeded, failed int
}

// runCut runs a world in which the process that is being stopped dies at its effect number
// at of those asked for since its SIGTERM, and returns what became of every job.
func runCut(t require.TestingT, sc *model.Scenario, seed uint64, victim int32, at int, deviations deviation.Set) (w *World, jobs map[protocol.JobKey]*truth, wasCut bool) {
	p, err := model.PresetNamed("hybrid")
	require.NoError(t, err)
	p.Deviations = deviations
	w, err = NewWorld(sc, p, seed, nil)
	require.NoError(t, err)
	jobs = map[protocol.JobKey]*truth{}
	of := func(j protocol.JobKey) *truth {
		if jobs[j] == nil {
			jobs[j] = &truth{}
		}
		return jobs[j]
	}
	w.Observe(func(o Observation) {
		if o.Kind != SawRecord || o.Record.Kind != meter.ExecutionEnded {
			return
		}
		switch o.Record.How {
		case meter.Succeeded:
			of(o.Record.Job).succeeded++
		case meter.Failed:
			of(o.Record.Job).failed++
		}
	})
	n := 0
	w.cut = func(p *process, e *protocol.Effect) bool {
		if wasCut || p.seat != victim || p.termAt == protocol.Never {
			return false
		}
		n++
		if n != at {
			return false
		}
		wasCut = true
		return true
	}
	// Jobs stop arriving early enough for every one to be done at the end.
	sc.Jobs[0].Arrivals = table(dist.Constant(2 * second))
	_, err = w.Run(nil)
	require.NoError(t, err)
	return w, jobs, wasCut
}

// mustBeAllowed checks one outcome against what crash-only allows.
func mustBeAllowed(t require.TestingT, w *World, jobs map[protocol.JobKey]*truth, undoFails bool) {
	w.broker.EachJob(func(job protocol.JobKey, row *model.JobRow) {
		is := jobs[job]
		if is == nil {
			is = &truth{}
		}
		if row.State == model.JobDone {
			require.Positive(t, is.succeeded, "job %d is acked although no execution finished it", job)
		}
		require.LessOrEqual(t, int(row.Failures), is.failed, "job %d has more failures than its handler made", job)
		if !undoFails {
			require.NotEqual(t, model.JobQuarantined, row.State, "job %d is quarantined although no undo failed", job)
		}
		require.LessOrEqual(t, row.Poison, uint16(1), "job %d: one death spends at most one poison", job)
		require.NotEqual(t, model.JobDead, row.State, "job %d is dead although it failed only %d times", job, is.failed)
		old := w.end.Add(-2 * protocol.Minute)
		enqueued := protocol.Instant(job) * protocol.Instant(2*protocol.Second)
		if enqueued < old && row.State == model.JobClaimed {
			require.True(t, w.alive(row.Owner), "job %d is claimed by the dead", job)
		}
	})
}

func TestEffectsCutAnywhereLeaveWhatCrashOnlyAllows(t *testing.T) {
	cuts, points := 0, map[int]bool{}
	rapid.Check(t, func(t *rapid.T) {
		undoFails := rapid.SampledFrom([]model.PPB{0, model.Certain / 2}).Draw(t, "undo fails")
		victim := int32(rapid.IntRange(0, 3).Draw(t, "victim"))
		at := rapid.IntRange(1, 30).Draw(t, "effect")
		seed := rapid.Uint64Range(0, 50).Draw(t, "seed")
		w, jobs, cut := runCut(t, quietFleet(undoFails), seed, victim, at, deviation.Set{})
		if cut {
			cuts++
			points[at] = true
		}
		mustBeAllowed(t, w, jobs, undoFails > 0)
	})
	require.Greater(t, cuts, 20, "most draws cut something")
	require.Greater(t, len(points), 8, "at many different points")
}

// What the property does not cover is acts: a protocol that hands a job back too early or
// charges a failure breaks it, so it can fail.
func TestTruncationPropertyCanFail(t *testing.T) {
	broken := func() (found bool) {
		recorder := &failures{}
		for seed := range uint64(5) {
			w, jobs, _ := runCut(t, quietFleet(0), seed, 0, 5, deviation.Of(deviation.InterruptionFails))
			mustBeAllowed(recorder, w, jobs, false)
		}
		return recorder.failed
	}
	require.True(t, broken())
}

// failures is a testing.T that only remembers.
type failures struct{ failed bool }

func (f *failures) Errorf(string, ...any) { f.failed = true }
func (f *failures) FailNow()              { f.failed = true }
