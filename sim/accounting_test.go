package sim

import (
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
)

// fraction makes a small and short world of a scenario from the library: one of its workers
// in part, the same share of its jobs, and a deploy in time if it has any.
func fraction(t *testing.T, name string, part int, duration protocol.Duration) *model.Scenario {
	sc, err := scenarios.Load(name)
	require.NoError(t, err)
	sc.Fleet.Workers = max(sc.Fleet.Workers/part, 3)
	for k := range sc.Jobs {
		j := &sc.Jobs[k]
		j.Arrivals = table(dist.Exponential(int64(j.Arrivals.Moments().Mean * float64(part))))
	}
	sc.Duration, sc.Warmup = duration, 0
	return sc
}

// small returns the worlds whose books are checked. Each has a few thousand events and is
// measured from its start, so that every job is in the books from the first to the last.
func small(t *testing.T) []*model.Scenario {
	all := []*model.Scenario{
		fraction(t, "five-minute-lease", 40, 50*protocol.Minute),
		fraction(t, "three-minute-render", 1, 2*protocol.Hour),
		fraction(t, "cancellation-contract", 10, 70*protocol.Minute),
		fraction(t, "rolling-wave", 5, 2*protocol.Hour),
		fraction(t, "attempt-erosion", 40, 5*protocol.Hour),
		fraction(t, "pause-past-lease", 10, 70*protocol.Minute),
		fraction(t, "lost-claim-answer", 20, 21*protocol.Minute),
		fraction(t, "deaf-handlers", 10, 50*protocol.Minute),
		fraction(t, "crash-storm", 10, 50*protocol.Minute),
	}
	everything := smallFleet()
	everything.Duration, everything.Warmup = 20*protocol.Minute, 0
	return append(all, everything)
}

func TestEveryBookIsClosed(t *testing.T) {
	var events, stalls, overlaps, dead int
	var held, undo, queued int64
	for _, sc := range small(t) {
		for _, policy := range model.PresetNames() {
			t.Run(sc.Name+"/"+policy, func(t *testing.T) {
				w, row, b := keepBooks(t, sc, policy, 7)
				everyJobIsSomewhere(t, w, row, b)
				everyPartAddsUp(t, w, row, b)
				bothMetersAgree(t, row, b)
				everyNumberIsANumber(t, row)
				assert.Zero(t, row.Counts[meter.JobsLost], "nothing makes this broker forget")
				events += int(row.Counts[meter.Events])
				stalls += len(b.stalls)
				overlaps += b.overlapping
				dead += b.endings[meter.JobDead]
				held += row.Sums[meter.HeldTime]
				undo += row.Sums[meter.UndoTime]
				queued += row.Sums[meter.QueuedTime]
			})
		}
	}
	t.Logf("%d events, %d stalls, %d overlapping executions, %d dead-lettered jobs", events, stalls, overlaps, dead)
	assert.Greater(t, stalls, 1000)
	assert.Greater(t, overlaps, 10)
	assert.Positive(t, dead)
	assert.True(t, held > 0 && undo > 0 && queued > 0, "every part of a stall was seen: held %d, undo %d, queued %d", held, undo, queued)
}

func TestJobsLostAreThoseWhoseEnqueueingWasForgotten(t *testing.T) {
	sc := smallFleet()
	sc.Duration, sc.Warmup = 20*protocol.Minute, 0
	sc.Faults.Forget, sc.Faults.ForgetFor = 2*protocol.Minute, 2*protocol.Second
	lost, revived := 0, 0
	for _, policy := range model.PresetNames() {
		t.Run(policy, func(t *testing.T) {
			w, row, b := keepBooks(t, sc, policy, 11)
			everyJobIsSomewhere(t, w, row, b)
			everyPartAddsUp(t, w, row, b)
			everyNumberIsANumber(t, row)
			require.Equal(t, int64(b.endings[meter.JobForgotten]), row.Counts[meter.JobsLost])
			lost += b.endings[meter.JobForgotten]
			revived += b.revived
		})
	}
	assert.Greater(t, lost, 100)
	assert.Greater(t, revived, 10, "failovers also undo ends of jobs")
}

func keepBooks(t *testing.T, sc *model.Scenario, policy string, seed uint64) (*World, *meter.Row, *books) {
	w := newWorld(t, sc, policy, seed)
	b := &books{world: w}
	w.Observe(b.see)
	row := run(t, w)
	b.close()
	return w, row, b
}

// everyJobIsSomewhere: what was enqueued has ended in one way, is still there, or is lost.
func everyJobIsSomewhere(t *testing.T, w *World, row *meter.Row, b *books) {
	there := map[model.JobState]int64{}
	w.broker.EachJob(func(_ protocol.JobKey, r *model.JobRow) { there[r.State]++ })
	c := &row.Counts
	assert.Equal(t, int64(w.arrival.jobs), c[meter.JobsEnqueued])
	assert.Equal(t, c[meter.JobsEnqueued],
		c[meter.JobsCompleted]+c[meter.JobsDeadLettered]+c[meter.QuarantinedJobs]+c[meter.JobsCancelled]+
			there[model.JobReady]+there[model.JobClaimed]+there[model.JobDelayed]+c[meter.JobsLost])
	assert.Equal(t, there[model.JobDead], c[meter.JobsDeadLettered])
	assert.Equal(t, there[model.JobQuarantined], c[meter.QuarantinedJobs])
	assert.Equal(t, int64(b.endings[meter.JobFinished]), c[meter.JobsCompleted])
	assert.LessOrEqual(t, c[meter.JobsDeadByInterruptions], c[meter.JobsDeadLettered])
	assert.LessOrEqual(t, c[meter.JobsStuck], there[model.JobClaimed])
}

// everyPartAddsUp: sums are those of their parts.
func everyPartAddsUp(t *testing.T, w *World, row *meter.Row, b *books) {
	running := int64(0)
	for i := range w.fleet.used() {
		for k := range w.fleet.at(i).execs {
			if w.fleet.at(i).execs[k].runs() {
				running++
			}
		}
	}
	c := &row.Counts
	assert.Equal(t, c[meter.ExecutionsStarted], int64(b.ended)+running, "executions that were started ended, or run")

	parts := row.Sums[meter.HeldTime] + row.Sums[meter.UndoTime] + row.Sums[meter.QueuedTime]
	assert.InDelta(t, row.AllStalls.Sum, parts, 3*float64(row.AllStalls.N), "held + undo + queued = stall, up to a microsecond each")
	var n, sum, censored int64
	for cause := range row.Stalls {
		n += row.Stalls[cause].N
		sum += row.Stalls[cause].Sum
		censored += row.Censored[cause]
		assert.LessOrEqual(t, row.Censored[cause], row.Stalls[cause].N)
	}
	assert.Equal(t, row.AllStalls.N, n, "stalls by cause")
	assert.Equal(t, row.AllStalls.Sum, sum, "stalls by cause")

	var byReason int64
	for _, n := range row.ByReason {
		byReason += n
	}
	assert.Zero(t, row.ByReason[protocol.NoReason], "an interruption without a reason")
	assert.Equal(t, c[meter.Released]+c[meter.RefusedJobs]+c[meter.ReclaimedByExpiry], byReason, "interruptions by reason are claims that ended without a result")
	assert.Equal(t, c[meter.ReclaimedByExpiry], row.ByReason[protocol.BecauseExpired]+row.ByReason[protocol.BecauseCut])
	assert.Equal(t, c[meter.RefusedJobs], row.ByReason[protocol.BecauseRefused])
	assert.LessOrEqual(t, c[meter.AttemptsEroded], byReason)
	assert.LessOrEqual(t, n, c[meter.Interruptions], "a stall is an interruption")
	assert.LessOrEqual(t, c[meter.DeployInterruptions], c[meter.Interruptions])
	assert.LessOrEqual(t, c[meter.JobDeployPairs], c[meter.DeployInterruptions])
	assert.Equal(t, c[meter.DeployInterruptions] > 0, c[meter.JobDeployPairs] > 0)
}

// bothMetersAgree compares the meter with the naive books.
func bothMetersAgree(t *testing.T, row *meter.Row, b *books) {
	c := &row.Counts
	assert.Zero(t, b.misjudged, "work is time")
	assert.Equal(t, int64(b.started), c[meter.ExecutionsStarted])
	assert.Equal(t, int64(b.interruptions), c[meter.Interruptions])
	assert.Equal(t, int64(b.handedBack), c[meter.Released]+c[meter.RefusedJobs]+c[meter.ReclaimedByExpiry])
	assert.Equal(t, int64(b.overlapping), c[meter.OverlappingExecutions])
	assert.Equal(t, int64(b.effectsTwice), c[meter.EffectsAppliedTwice])
	var n, censored [meter.Causes]int64
	var sum [meter.Causes]float64
	for _, s := range b.stalls {
		n[s.cause]++
		sum[s.cause] += s.seconds
		if s.censored {
			censored[s.cause]++
		}
	}
	rounding := 1e-6 * float64(len(b.records)) // the meter counts whole microseconds
	for cause := range n {
		name := meter.Cause(cause).String()
		assert.Equal(t, n[cause], row.Stalls[cause].N, "stalls by %s", name)
		assert.Equal(t, censored[cause], row.Censored[cause], "censored stalls by %s", name)
		if n[cause] > 0 {
			assert.InDelta(t, sum[cause]/float64(n[cause]), row.Stalls[cause].Mean(), 1e-6, "mean stall by %s", name)
		}
	}
	assert.InDelta(t, b.redone, seconds(row, meter.RedoneWork), rounding, "redone work")
	assert.InDelta(t, b.overlap, seconds(row, meter.OverlapTime), rounding, "overlap")
	assert.InDelta(t, b.delay, seconds(row, meter.DelayTime), rounding, "delay")
	assert.InDelta(t, b.stalled, seconds(row, meter.StalledTime), 1e-5*b.stalled+rounding, "jobs that are stalled, over time")
	assert.InDelta(t, b.begun, seconds(row, meter.BegunTime), 1e-5*b.begun+rounding, "jobs that are begun, over time")
	sort.Float64s(b.waits)
	if len(b.waits) > 0 {
		// Three digits, and neighbouring ranks are equally right.
		k := len(b.waits) / 2
		p50 := row.QueueWait.Quantile(50)
		assert.GreaterOrEqual(t, p50, b.waits[max(k-1, 0)]*0.999-1e-6)
		assert.LessOrEqual(t, p50, b.waits[min(k+1, len(b.waits)-1)]*1.001+1e-6)
	}
}

// What a job has waited by the end of the run is its age without the work that was done on it, be that
// saved or not: of six that arrive every ten seconds, one is worked on from the first moment.
func TestWorkThatGoesOnAtTheEndIsNoDelay(t *testing.T) {
	for _, save := range []protocol.Duration{0, 7 * protocol.Second} {
		sc := quietFleet(0)
		sc.Duration, sc.Deploys, sc.Faults = 65*protocol.Second, model.Deploys{}, model.Faults{}
		sc.Fleet.Workers, sc.Fleet.Slots = 1, 1
		j := &sc.Jobs[0]
		j.Arrivals, j.Work, j.Fails, j.Save = table(dist.Constant(10*second)), table(dist.Constant(3600*second)), 0, save
		row := run(t, newWorld(t, sc, "hybrid", 1))
		require.EqualValues(t, 6, row.Counts[meter.JobsDelayed])
		assert.InDelta(t, 45+35+25+15+5, seconds(row, meter.DelayTime), 0.1, "saved every %d", save)
	}
}

func seconds(row *meter.Row, s meter.Sum) float64 { return float64(row.Sums[s]) / 1e6 }

func everyNumberIsANumber(t *testing.T, row *meter.Row) {
	for _, m := range row.Metrics() {
		assert.False(t, math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || m.Value < 0, "%s is %v", m.Name, m.Value)
		assert.GreaterOrEqual(t, m.N, m.Censored, m.Name)
		if m.Unit == "1" && m.Name == "stall_share" {
			assert.LessOrEqual(t, m.Value, 1.0, m.Name)
		}
		if !m.Valid {
			assert.Zero(t, m.Value, "%s has a value although nothing was measured", m.Name)
		}
	}
}

// Whoever counts a job once, before its ack, has counted what is acked, and nothing too early:
// whatever fails, and whatever the broker forgets. In the same worlds the others do not.
func TestABatchIsRightWhereItsJobsAreCountedOnceAndBeforeTheAck(t *testing.T) {
	seen := map[model.Counting][2]int64{}
	for _, counted := range []model.Counting{model.CountedByJob, model.CountedByRun, model.CountedAfterAck} {
		sc := smallFleet()
		sc.Queue.Counted = counted
		sc.Faults.Forget, sc.Faults.ForgetFor = 2*protocol.Minute, 2*protocol.Second
		sc.Jobs[0].Batch, sc.Jobs[1].Batch = 40, 7
		for _, policy := range model.PresetNames() {
			c := run(t, newWorld(t, sc, policy, 3)).Counts
			require.Greater(t, c[meter.BatchesDone], int64(10), policy)
			s := seen[counted]
			seen[counted] = [2]int64{s[0] + c[meter.BatchesNeverCompleted], s[1] + c[meter.BatchesCompletedEarly]}
		}
	}
	t.Log(seen)
	assert.Equal(t, [2]int64{}, seen[model.CountedByJob])
	assert.Zero(t, seen[model.CountedByRun][0])
	assert.Positive(t, seen[model.CountedByRun][1])
	assert.Positive(t, seen[model.CountedAfterAck][0])
	assert.Zero(t, seen[model.CountedAfterAck][1])
}
