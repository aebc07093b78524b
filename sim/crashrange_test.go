package sim

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// oneJob is a trace of a single job.
type oneJob struct{ at protocol.Instant }

func (j oneJob) Open() (model.JobStream, error) { return &oneJobStream{oneJob: j}, nil }

type oneJobStream struct {
	oneJob
	given bool
}

func (s *oneJobStream) Next() (protocol.Instant, protocol.Duration, protocol.Kind, bool, error) {
	given := s.given
	s.given = true
	return s.at, 1000 * protocol.Hour, 0, !given, nil
}

func (s *oneJobStream) Close() error { return nil }

// killing is a worker with a job, killed at a random instant, beside an idle one.
type killing struct {
	*World
	sc      *model.Scenario
	granted protocol.Instant
	killed  protocol.Instant
	started protocol.Instant // again; 0 is never
	ended   protocol.Instant // dead-lettered; 0 is never
}

// spareFleet is two workers, of which one is idle.
var spareFleet = sync.OnceValue(func() *model.Scenario {
	sc := smallFleet()
	sc.Fleet = model.Fleet{Workers: 2, Slots: 1, Start: table(dist.Constant(second))}
	sc.Jobs = []model.Job{{Name: "job", Effects: 1}}
	sc.Deploys, sc.Faults = model.Deploys{}, model.Faults{}
	return sc
})

const hours = protocol.Hour

// kill -9 of a worker at a random phase of everything that is periodic: heartbeats, sweeps
// and the mover. Whoever is killed stays away, unless it is said after how long it is back.
func kill(t *testing.T, queue string, seed uint64, horizon, back protocol.Duration) *killing {
	phase := protocol.Duration(mix(seed) % uint64(hours))
	ran := protocol.Duration(mix(seed+1<<32) % uint64(2*protocol.Minute))
	if lease := settings(t, queue).Lease; ran >= lease {
		ran %= lease // of a lease that nobody renews
	}
	at := protocol.Instant(protocol.Minute + phase)
	base := *spareFleet()
	base.Duration, base.Warmup = protocol.Duration(at)+horizon, 0
	base.Trace = oneJob{at}
	preset, under, err := base.Under(queue)
	require.NoError(t, err)
	if under.Queue.Park > 0 {
		under.Queue.Park = 1000 * hours // somebody waits at every instant: the claim itself costs no time
	}
	w, err := NewWorld(under, preset, seed, nil)
	require.NoError(t, err)
	k := &killing{World: w, sc: under}
	w.Observe(k.see)
	k.await(t)
	require.NoError(t, w.runTo(max(w.now, k.started.Add(ran)), nil))
	under.Fleet.Start = table(dist.Constant(int64(back)))
	k.killHolder(t)
	return k
}

// await runs until the job starts, or is dead-lettered, or the run ends.
func (k *killing) await(t *testing.T) {
	for k.started == 0 && k.ended == 0 && k.now < k.end {
		require.NoError(t, k.runTo(min(k.now.Add(protocol.Second), k.end), nil))
	}
}

func settings(t *testing.T, queue string) model.Queue {
	q, err := model.QueuePresetNamed(queue)
	require.NoError(t, err)
	return q.Settings(spareFleet().Queue)
}

func (k *killing) see(o Observation) {
	switch {
	case o.Kind != SawRecord:
	case o.Record.Kind == meter.ClaimGranted && k.killed == 0:
		k.granted = o.At
	case o.Record.Kind == meter.ExecutionStarted && k.started == 0:
		k.started = o.At
	case o.Record.Kind == meter.JobDead:
		k.ended = o.At
	}
}

// killHolder kills the process that runs the job, and waits for what becomes of the job.
func (k *killing) killHolder(t *testing.T) {
	for i := range k.fleet.used() {
		if p := k.fleet.at(i); p.state == seatUp && p.execs[0].works() {
			k.killed, k.started = k.now, 0
			k.crash(p)
			k.await(t)
			return
		}
	}
	require.Fail(t, "nobody runs the job")
}

const (
	away  = 100 * hours
	kills = 100 // per system: enough to come within a fifth of both ends of every range
)

// crashOnly is what a crash costs each real queue with its defaults and an idle spare worker.
var crashOnly = []struct {
	queue    string
	from, to protocol.Duration
	since    string // what the range counts from
	costs    string
}{
	// 25–30 s of lease, 30 s of slack, 0–60 s to the check, 15–44 s of backoff, 0–5 s to the mover.
	{"asynq", 70 * protocol.Second, 169 * protocol.Second, "kill", "a retry"},
	{"bullmq", 15 * protocol.Second, 60 * protocol.Second, "kill", "a stall"},
	// A beat is up to 10 s old, which the table that calls it 60 s leaves out; then at most an hour.
	{"sidekiq-pro", 50 * protocol.Second, 3660 * protocol.Second, "kill", "a stall"},
	{"celery", 3600 * protocol.Second, 3700 * protocol.Second, "grant", "nothing"},
	{"river", 3600 * protocol.Second, 3636 * protocol.Second, "grant", "an attempt"},
	{"oban", 3600 * protocol.Second, 3660 * protocol.Second, "grant", "an attempt"},
	// The scan of 15 s, then the backoff of 15–44 s.
	{"faktory", 1815 * protocol.Second, 1859 * protocol.Second, "grant", "a retry"},
	{"pg-boss", 900 * protocol.Second, 960 * protocol.Second, "grant", "a retry"},
	{"graphile", 14400 * protocol.Second, 15000 * protocol.Second, "grant", "an attempt"},
	{"solid-queue", 240 * protocol.Second, 600 * protocol.Second, "kill", "the job"},
	{"rq", 60 * protocol.Second, 690 * protocol.Second, "kill", "the job"},
	{"arq", 310 * protocol.Second, 310500 * protocol.Millisecond, "grant", "an attempt"},
	{"good-job", 0, 10 * protocol.Second, "kill", "nothing"},
	{"shoryuken", 30 * protocol.Second, 30 * protocol.Second, "grant", "an attempt"},
	{"sqs-consumer", 30 * protocol.Second, 30 * protocol.Second, "grant", "an attempt"},
}

func TestACrashCostsEachRealQueueWhatIsDerivedFromItsDefaults(t *testing.T) {
	for _, c := range crashOnly {
		t.Run(c.queue, func(t *testing.T) {
			t.Parallel()
			least, most := protocol.Forever, protocol.Duration(0)
			for seed := range uint64(kills) {
				k := kill(t, c.queue, seed, c.to+hours, away)
				origin, end := k.killed, k.started
				if c.since == "grant" {
					origin = k.granted
				}
				if c.costs == "the job" {
					require.Zero(t, k.started, "seed %d: it ran again", seed)
					end = k.ended
				}
				require.NotZero(t, end, "seed %d: nothing became of the job", seed)
				took := end.Sub(origin)
				require.GreaterOrEqual(t, took, c.from, "seed %d", seed)
				require.LessOrEqual(t, took, c.to, "seed %d", seed)
				least, most = min(least, took), max(most, took)
				k.assertCost(t, c.costs)
			}
			t.Logf("%v to %v, of %v to %v", least, most, c.from, c.to)
			if width := c.to - c.from; width > protocol.Second {
				assert.LessOrEqual(t, least, c.from+width/5, "the lower end is reached")
				assert.GreaterOrEqual(t, most, c.to-width/5, "the upper end is reached")
			}
		})
	}
}

// assertCost looks at what the one crash was booked as.
func (k *killing) assertCost(t *testing.T, costs string) {
	row, measured := k.broker.Job(1), k.finish()
	require.NotNil(t, row)
	var failures, stalls uint16
	eroded := int64(1)
	switch costs {
	case "nothing":
		eroded = 0
	case "a retry":
		failures = 1
	case "a stall":
		stalls = 1
	case "an attempt":
		require.True(t, k.sc.Queue.CountAtClaim)
	case "the job":
		eroded = 0
		require.Equal(t, model.JobDead, row.State)
		require.Equal(t, int64(1), measured.Counts[meter.JobsDeadByInterruptions])
	}
	require.Equal(t, failures, row.Failures, "failures")
	if stalls > 0 {
		require.Equal(t, stalls, row.Poison, "stalls")
	}
	require.Equal(t, eroded, measured.Counts[meter.AttemptsEroded], "attempts eroded")
	require.Zero(t, measured.Counts[meter.JobsLost])
}

func TestWhereClaimingDeletesAJobACrashLosesIt(t *testing.T) {
	for _, queue := range []string{"sidekiq", "machinery", "celery-early-ack"} {
		for seed := range uint64(10) {
			k := kill(t, queue, seed, 24*hours, 5*protocol.Second)
			require.Zero(t, k.started, queue)
			require.Equal(t, int64(1), k.finish().Counts[meter.JobsLost], queue)
		}
	}
}

func TestASecondCrashFailsAHealthyJobOfBullmqForGood(t *testing.T) {
	k := kill(t, "bullmq", 1, hours, protocol.Second)
	require.NotZero(t, k.started)
	require.Zero(t, k.ended)
	k.killHolder(t)
	require.NotZero(t, k.ended)
	require.Equal(t, model.JobDead, k.broker.Job(1).State)
}

func TestAThirdCrashFailsAHealthyJobOfPgBossForGood(t *testing.T) {
	k := kill(t, "pg-boss", 1, hours, protocol.Second)
	for range 2 {
		require.Zero(t, k.ended)
		k.killHolder(t)
	}
	require.NotZero(t, k.ended)
}

func TestTheBootOfAnyProcessFindsTheOrphansOfSidekiqPro(t *testing.T) {
	for seed := range uint64(20) {
		k := kill(t, "sidekiq-pro", seed, 2*hours, 90*protocol.Second)
		require.LessOrEqual(t, k.started.Sub(k.killed), 90*protocol.Second, "seed %d", seed)
	}
}

func TestAsynqsMoverBringsARetryBackAtItsPeriod(t *testing.T) {
	for seed := range uint64(20) {
		k := kill(t, "asynq", seed, hours, away)
		require.Zero(t, k.started%protocol.Instant(5*protocol.Second), "seed %d: started at %v", seed, k.started)
	}
}
