package sim_test

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/lab"
)

// The tests in this file compare the simulator with what queueing and renewal theory say of
// the same world. They are deterministic: the seeds are fixed. What they ask for is that the
// theory lies inside the 95% interval of the replications, and that this interval is narrow
// enough for the agreement to mean something.

const second = int64(protocol.Second)

func law(t *dist.Table, err error) *dist.Table {
	if err != nil {
		panic(err)
	}
	return t
}

// render is the work of the five-minute-lease scenario.
func render() *dist.Table { return law(dist.Lognormal(45*second, 240*second)) }

// station is a fleet that nothing disturbs: no deploys, no faults, no latency. What is left
// is a queue with one server per worker.
func station(workers int, load float64, work *dist.Table, duration, warmup protocol.Duration) *model.Scenario {
	gap := work.Moments().Mean / (load * float64(workers))
	return &model.Scenario{
		Name: "station", Duration: duration, Warmup: warmup,
		Fleet:      model.Fleet{Workers: workers, Slots: 1, Start: law(dist.Constant(0))},
		Queue:      model.Queue{Lease: 5 * protocol.Minute, Heartbeat: 100 * protocol.Second},
		Jobs:       []model.Job{{Arrivals: law(dist.Exponential(int64(gap))), Work: work}},
		Supervisor: model.Supervisor{Grace: 30 * protocol.Second},
	}
}

// stopsAtOnce makes every worker of a fleet stop at the same instant.
func stopsAtOnce(sc *model.Scenario, at protocol.Instant) *model.Scenario {
	sc.Deploys.At = []protocol.Instant{at}
	sc.Supervisor.Rollout.MaxUnavailable = model.IntOrPercent{Value: 100, Percent: true}
	return sc
}

// replication is one run and what was seen of it from outside.
type replication struct {
	row  *meter.Row
	seen *onlooker
}

// firstSeed was chosen once: with one seed in twenty the truth lies outside of an interval.
const firstSeed = 1001

// replicate runs a scenario with n seeds on all cores.
func replicate(t *testing.T, sc *model.Scenario, policy string, n int) []replication {
	t.Helper()
	preset, err := model.PresetNamed(policy)
	require.NoError(t, err)
	runs := make([]replication, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range runs {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			w, err := sim.NewWorld(sc, preset, firstSeed+uint64(i), nil)
			if err != nil {
				errs[i] = err
				return
			}
			seen := newOnlooker(sc)
			w.Observe(seen.see)
			runs[i].row, errs[i] = w.Run(nil)
			runs[i].seen = seen
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return runs
}

func each(runs []replication, f func(replication) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = f(r)
	}
	return values
}

// agrees requires theory to lie inside the interval of the replications, and the interval to
// reach no further than within of scale to either side of its mean.
func agrees(t *testing.T, what string, theory float64, values []float64, scale, within float64) {
	t.Helper()
	mean, lo, hi := lab.Interval(values)
	half := (hi - lo) / 2
	t.Logf("%s: theory %.4f, simulated %.4f ± %.4f (±%.1f%%) over %d replications", what, theory, mean, half, 100*half/scale, len(values))
	assert.LessOrEqual(t, lo, theory, what)
	assert.GreaterOrEqual(t, hi, theory, what)
	assert.LessOrEqual(t, half, within*scale, "%s: the interval is too wide to refute anything", what)
}

// agreesWithin requires the mean of the replications to be 0 up to a bias that is known.
func agreesWithin(t *testing.T, what string, bias float64, values []float64) {
	t.Helper()
	mean, lo, hi := lab.Interval(values)
	t.Logf("%s: simulated %.4f ± %.4f over %d replications", what, mean, (hi-lo)/2, len(values))
	assert.InDelta(t, 0, mean, bias, what)
}

// execution is what an onlooker knows of a handler that runs.
type execution struct {
	began   protocol.Instant
	renewed protocol.Instant // the lease counts from here
}

// onlooker keeps its own books of a run, from what an observer is shown and by nothing else.
type onlooker struct {
	from, until protocol.Instant
	lease       protocol.Duration
	n           int // jobs enqueued and not finished
	last        protocol.Instant
	area        float64 // n integrated over the measured part, in job-seconds
	arrived     int

	work    map[protocol.JobKey]protocol.Duration
	granted map[protocol.JobKey]protocol.Instant
	running map[protocol.JobKey]*execution
	unheard map[protocol.JobKey]bool // granted, and neither started nor settled

	residuals []float64                            // rest of every job that runs when a deploy begins, in seconds
	running0  int                                  // of those of the first deploy
	killed    int                                  // by deploys after the warm-up
	lethal    int                                  // executions that ended with their process, at any time
	crashes   int                                  // those by crashes
	cut       map[protocol.JobKey]protocol.Instant // the last renewal, until the next start
	ages      []float64                            // of leases when a deploy cut them off
	waits     []float64                            // from the end of a lease that a deploy cut off to the next start
}

func newOnlooker(sc *model.Scenario) *onlooker {
	return &onlooker{
		from: protocol.Instant(sc.Warmup), until: protocol.Instant(sc.Duration), lease: sc.Queue.Lease,
		work:    map[protocol.JobKey]protocol.Duration{},
		granted: map[protocol.JobKey]protocol.Instant{},
		running: map[protocol.JobKey]*execution{},
		unheard: map[protocol.JobKey]bool{},
		cut:     map[protocol.JobKey]protocol.Instant{},
	}
}

func seconds(d protocol.Duration) float64 { return float64(d) / 1e9 }

func (o *onlooker) inSystem(at protocol.Instant, d int) {
	if from, to := max(o.last, o.from), min(at, o.until); to > from {
		o.area += float64(o.n) * seconds(to.Sub(from))
	}
	o.last = at
	o.n += d
}

func (o *onlooker) see(ob sim.Observation) {
	switch ob.Kind {
	case sim.SawEffect:
		if x := o.running[ob.Effect.Job]; ob.Effect.Kind == protocol.Renew && x != nil {
			x.renewed = ob.At
		}
	case sim.SawRecord:
		o.seeRecord(ob.Record)
	}
}

func (o *onlooker) seeRecord(r meter.Record) {
	switch r.Kind {
	case meter.JobEnqueued:
		o.inSystem(r.At, +1)
		o.work[r.Job] = r.Work
		if r.At >= o.from {
			o.arrived++
		}
	case meter.JobFinished:
		o.inSystem(r.At, -1)
		delete(o.work, r.Job)
		delete(o.granted, r.Job)
	case meter.ClaimGranted:
		o.granted[r.Job] = r.At
		o.unheard[r.Job] = true
	case meter.ClaimEnded, meter.LeaseExpired:
		delete(o.unheard, r.Job)
	case meter.ExecutionStarted:
		delete(o.unheard, r.Job)
		o.running[r.Job] = &execution{began: r.At, renewed: o.granted[r.Job]}
		if renewed, ok := o.cut[r.Job]; ok {
			o.waits = append(o.waits, seconds(r.At.Sub(renewed.Add(o.lease))))
			delete(o.cut, r.Job)
		}
	case meter.ExecutionEnded:
		if r.How == meter.Killed {
			o.lethal++
			if r.Cause == meter.ByCrash {
				o.crashes++
			}
		}
		if x := o.running[r.Job]; r.How == meter.Killed && r.Cause == meter.ByDeploy && r.At >= o.from {
			o.killed++
			o.ages = append(o.ages, seconds(r.At.Sub(x.renewed)))
			o.cut[r.Job] = x.renewed
		}
		delete(o.running, r.Job)
	case meter.RolloutBegan:
		if len(o.residuals) == 0 {
			o.running0 = len(o.running)
		}
		for job, x := range o.running {
			o.residuals = append(o.residuals, seconds(o.work[job]-r.At.Sub(x.began)))
		}
	}
}

// meanInSystem closes the integral at the end of the run.
func (o *onlooker) meanInSystem() float64 {
	o.inSystem(o.until, 0)
	return o.area / seconds(o.until.Sub(o.from))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// erlangC is the chance that a job has to wait at c servers under an offered load of a.
// (Kleinrock, Queueing Systems I, 3.5.)
func erlangC(c int, a float64) float64 {
	b := 1.0 // Erlang's B, by its recurrence
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	rho := a / float64(c)
	return b / (1 - rho + rho*b)
}

func TestErlangCAgainstKnownValues(t *testing.T) {
	assert.InDelta(t, 0.7, erlangC(1, 0.7), 1e-12, "one server: the load")
	assert.InDelta(t, 1.0/3, erlangC(2, 1), 1e-12, "two servers under a load of one: a third")
}

// waitsAs checks the mean wait for a first start, and Little's law in three forms: for all
// jobs in the system, for those that wait, and for those that run.
func waitsAs(t *testing.T, sc *model.Scenario, wait float64, runs []replication, within float64) {
	m, gap := sc.Jobs[0].Work.Moments(), sc.Jobs[0].Arrivals.Moments().Mean
	span := seconds(sc.Duration - sc.Warmup)
	work, rate := m.Mean/1e9, 1e9/gap
	simulated := each(runs, func(r replication) float64 { return r.row.QueueWait.Mean() })
	agrees(t, "mean wait in seconds", wait, simulated, wait, within)

	all := rate * (wait + work)
	agrees(t, "jobs in the system, L = λ(W+E[S])", all, each(runs, func(r replication) float64 { return r.seen.meanInSystem() }), all, within)
	agrees(t, "jobs that run, λE[S]", rate*work, each(runs, func(r replication) float64 {
		return float64(r.row.Sums[meter.BegunTime]) / 1e6 / span
	}), rate*work, 0.02)
	// Here theory is not needed: what an onlooker integrates must be the rate of arrivals
	// times the time that the meter says a job spends. Only the jobs of the two ends differ.
	agrees(t, "L − λW, both sides measured", 0, each(runs, func(r replication) float64 {
		delay := float64(r.row.Sums[meter.DelayTime]) / 1e6 / float64(r.row.Counts[meter.JobsDelayed])
		return r.seen.meanInSystem() - float64(r.seen.arrived)/span*(delay+work)
	}), all, 0.02)
}

// TestWaitIsThatOfErlangC compares a fleet of three with M/M/3 at half load. Most of the
// time some worker's long poll is parked; that must not change who is served when.
func TestWaitIsThatOfErlangC(t *testing.T) {
	t.Parallel()
	const workers, load = 3, 0.5
	work := law(dist.Exponential(20 * second))
	sc := station(workers, load, work, 70*protocol.Hour, protocol.Hour)
	runs := replicate(t, sc, "hybrid", 8)
	// The exact moments of the tables, where a law of their name has 1/μ, 1/λ: the last
	// thousandth of E[S²] is taken in by the factor of Allen and Cunneen, which is 1 for
	// exponential laws.
	s, a := work.Moments(), sc.Jobs[0].Arrivals.Moments()
	offered := s.Mean / a.Mean
	variability := (s.SecondMoment/s.Mean/s.Mean + a.SecondMoment/a.Mean/a.Mean - 2) / 2
	require.InDelta(t, 1, variability, 0.005)
	wait := erlangC(workers, offered) * s.Mean / 1e9 / (workers - offered) * variability
	waitsAs(t, sc, wait, runs, 0.08)
}

// TestWaitIsThatOfPollaczekAndKhinchine compares a fleet of one with M/G/1, whose wait is
// that of the work's second moment: λE[S²] / 2(1−ρ).
func TestWaitIsThatOfPollaczekAndKhinchine(t *testing.T) {
	t.Parallel()
	sc := station(1, 0.6, render(), 240*protocol.Hour, protocol.Hour)
	runs := replicate(t, sc, "hybrid", 8)
	s, gap := sc.Jobs[0].Work.Moments(), sc.Jobs[0].Arrivals.Moments().Mean
	wait := s.SecondMoment / gap / 2 / (1 - s.Mean/gap) / 1e9
	waitsAs(t, sc, wait, runs, 0.08)
}

// renewalAge is E[(X mod heartbeat)] for the elapsed work X of a job that is found running:
// ∫ (x mod H)·P(S>x) dx / E[S] = E[∫ (x mod H) dx over 0..S] / E[S].
func renewalAge(work *dist.Table, heartbeat float64) float64 {
	return overQuantiles(work, func(s float64) float64 {
		whole, rest := math.Floor(s/heartbeat), math.Mod(s, heartbeat)
		return whole*heartbeat*heartbeat/2 + rest*rest/2
	}) / (work.Moments().Mean / 1e9)
}

// outlives is the chance that a job which is found running goes on for longer than d:
// ∫ P(S>x) dx from d / E[S] = E[(S−d)⁺] / E[S].
func outlives(work *dist.Table, d float64) float64 {
	return overQuantiles(work, func(s float64) float64 { return max(s-d, 0) }) / (work.Moments().Mean / 1e9)
}

// overQuantiles returns E[f(S)], S in seconds, by the midpoint rule over the table's quantiles.
func overQuantiles(work *dist.Table, f func(float64) float64) float64 {
	const cells = 1 << 18
	sum := 0.0
	for i := uint64(0); i < cells; i++ {
		sum += f(float64(work.Quantile(2*i+1, 2*cells)) / 1e9)
	}
	return sum / cells
}

func TestQuantileSumsAgainstExactMoments(t *testing.T) {
	work := render()
	m := work.Moments()
	assert.InEpsilon(t, m.Mean/1e9, overQuantiles(work, func(s float64) float64 { return s }), 1e-4)
	assert.InEpsilon(t, m.SecondMoment/1e18, overQuantiles(work, func(s float64) float64 { return s * s }), 1e-3)
	assert.InEpsilon(t, m.ResidualMean()/1e9, renewalAge(work, 1e9), 1e-3, "without renewals the age of a lease is that of its job")
	assert.InDelta(t, 1, outlives(work, 0), 1e-4)
}

// manyStopped is a fleet of which three workers in ten are busy, and which stops as one after
// the longest jobs have had time to come to an equilibrium.
//
// A worker's round of renewals outlives the job it was armed for, so a job that starts soon
// after another is renewed early. The long poll and the many idle workers see to it that
// nobody gets a job within a heartbeat of the last, and age is elapsed work modulo heartbeat.
func manyStopped() *model.Scenario {
	sc := station(900, 0.3, render(), 27*protocol.Minute, 10*protocol.Minute)
	sc.Queue.Park = protocol.Hour
	return stopsAtOnce(sc, protocol.Instant(15*protocol.Minute))
}

const stopRuns = 14

// TestRestOfAJobAtADeployIsResidualLife: a deploy finds long jobs more often than short
// ones, so the mean rest is E[S²]/2E[S] and not half the mean.
func TestRestOfAJobAtADeployIsResidualLife(t *testing.T) {
	t.Parallel()
	sc := manyStopped()
	rest := sc.Jobs[0].Work.Moments().ResidualMean() / 1e9
	require.Greater(t, rest, sc.Jobs[0].Work.Moments().Mean/2e9*1.5, "half the mean would be told apart")
	runs := replicate(t, sc, "crash-only", stopRuns)
	agrees(t, "rest of a running job in seconds", rest, each(runs, func(r replication) float64 { return mean(r.seen.residuals) }), rest, 0.05)

	lease, beat := seconds(sc.Queue.Lease), seconds(sc.Queue.Heartbeat)
	held := lease - renewalAge(sc.Jobs[0].Work, beat)
	agrees(t, "held stall of crash-only in seconds", held, each(runs, func(r replication) float64 {
		return float64(r.row.Sums[meter.HeldTime]) / 1e6 / float64(r.row.AllStalls.N)
	}), held, 0.02)
	agrees(t, "stall less the measured wait for a claim, in seconds", held, each(runs, func(r replication) float64 {
		return r.row.Stalls[meter.ByDeploy].Mean() - mean(r.seen.waits)
	}), held, 0.02)
	for _, r := range runs {
		require.Equal(t, int64(r.seen.running0), r.row.Stalls[meter.ByDeploy].N, "every job that ran was interrupted, and started again")
		require.Zero(t, r.row.Censored)
		require.GreaterOrEqual(t, slices.Min(r.seen.waits), 0.0, "no lease was cut short")
	}
}

// TestShareKilledByFinishOnlyIsThatOfResidualLife: who only waits loses the jobs whose rest
// is longer than the grace.
func TestShareKilledByFinishOnlyIsThatOfResidualLife(t *testing.T) {
	t.Parallel()
	sc := manyStopped()
	share := outlives(sc.Jobs[0].Work, seconds(sc.Supervisor.Grace))
	require.InDelta(t, 0.6, share, 0.15, "neither nearly all nor nearly none")
	runs := replicate(t, sc, "finish-only", stopRuns)
	agrees(t, "share of running jobs killed at the end of the grace", share, each(runs, func(r replication) float64 {
		return float64(r.seen.killed) / float64(r.seen.running0)
	}), share, 0.05)
}

// TestFiveMinuteLease checks what the default scenario is there to show. It runs a fifth of
// its fleet for its first fifty-two minutes: the warm-up, and one deploy after it.
func TestFiveMinuteLease(t *testing.T) {
	t.Parallel()
	sc, err := scenarios.Load("five-minute-lease")
	require.NoError(t, err)
	const part = 5
	sc.Fleet.Workers /= part
	sc.Jobs[0].Arrivals = law(dist.Exponential(int64(sc.Jobs[0].Arrivals.Moments().Mean * part)))
	sc.Duration = 52 * protocol.Minute
	require.Equal(t, 30*protocol.Minute, sc.Warmup)
	require.Equal(t, 20*protocol.Minute, sc.Deploys.Every)

	const seeds = 4
	stall := func(r replication) float64 { return r.row.Stalls[meter.ByDeploy].Mean() }
	total := func(runs []replication, c meter.Count) (n int64) {
		for _, r := range runs {
			n += r.row.Counts[c]
		}
		return n
	}
	crash := replicate(t, sc, "crash-only", seeds)
	hybrid := replicate(t, sc, "hybrid", seeds)
	drain := replicate(t, sc, "drain", seeds)
	none := replicate(t, sc, "none", seeds)

	agreesWithin(t, "crash-only: stall less (5m − age of the last renewal + wait for a claim), in seconds", 0.01,
		each(crash, func(r replication) float64 { return stall(r) - (300 - mean(r.seen.ages) + mean(r.seen.waits)) }))
	// A worker that soon gets its next job renews it early, so the age is some seconds less
	// than that of theory, whose renewals keep step with the job.
	assert.InDelta(t, 300-renewalAge(sc.Jobs[0].Work, 100), mean(each(crash, func(r replication) float64 { return stall(r) - mean(r.seen.waits) })), 8)
	for _, r := range crash {
		// A job whose grant met a dead worker is interrupted as well, and was never run.
		assert.InDelta(t, len(r.seen.waits), r.row.Stalls[meter.ByDeploy].N, 3)
		// A renewal is on its way to the broker for some milliseconds.
		assert.Greater(t, slices.Min(r.seen.waits), 0.0, "no lease was cut short")
		assert.InDelta(t, 0, mean(r.seen.waits), 15, "somebody soon has time")
	}

	c, h := mean(each(crash, stall)), mean(each(hybrid, stall))
	t.Logf("deploy stall: crash-only %.1f s, hybrid %.3f s, %.0f times lower; age of the last renewal %.1f s", c, h, c/h,
		mean(each(crash, func(r replication) float64 { return mean(r.seen.ages) })))
	assert.GreaterOrEqual(t, c, 100*h)
	for name, runs := range map[string][]replication{"crash-only": crash, "hybrid": hybrid, "drain": drain, "none": none} {
		assert.Zero(t, total(runs, meter.JobsLost), name)
		assert.Positive(t, total(runs, meter.Crashes), name)
		for _, r := range runs {
			assert.Greater(t, r.row.Stalls[meter.ByDeploy].N, int64(50), name)
		}
	}
	assert.Zero(t, total(crash, meter.JobsStuck))
	assert.Zero(t, total(hybrid, meter.JobsStuck))
	for _, r := range drain {
		assert.Positive(t, r.row.Counts[meter.JobsStuck], "under drain a crash leaves a job stuck")
		assert.LessOrEqual(t, r.row.Counts[meter.JobsStuck], int64(r.seen.crashes), "nothing but a crash does")
	}
	for _, r := range none {
		assert.Equal(t, r.row.Stalls[meter.ByDeploy].N, r.row.Censored[meter.ByDeploy], "no job that a deploy hit starts again")
		assert.Equal(t, int64(r.seen.lethal+len(r.seen.unheard)), r.row.Counts[meter.JobsStuck], "every job whose worker died is stuck")
	}
}
