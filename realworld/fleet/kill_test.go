package fleet

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
)

// kills is how many times SIGKILL is to hit a process that runs; attempts are more, since some
// find nobody.
const (
	kills    = 200
	attempts = 320
)

// TestSIGKILLAtRandomInstants kills processes while they boot, claim, work, renew and settle,
// and while their predecessors' claims wait for their leases. Whatever they held runs again;
// nothing is lost, nothing is acked twice, no stale token is taken, and in the end every job
// is done.
func TestSIGKILLAtRandomInstants(t *testing.T) {
	url := onRedis(t)
	sc, err := scenarios.Load("testdata/kills.yaml")
	require.NoError(t, err)
	killed := 0
	for seed := uint64(1); killed < kills; seed++ { // one run, where the machine keeps up
		require.Less(t, seed, uint64(6), "only %d processes ran when they were to be killed", killed)
		plan := planOf(t, sc, "hybrid", seed)
		plan.URL, plan.Beyond = url, 5*protocol.Minute
		random := sim.NewRandom(seed, nil)
		for i := range uint64(attempts) {
			plan.Faults = append(plan.Faults, Fault{
				At:   protocol.Instant(random.Choose(sim.StreamCrash, 1000, 2*i, int(sc.Duration))),
				Seat: int32(random.Choose(sim.StreamCrash, 1000, 2*i+1, sc.Fleet.Workers)), Kind: Crash,
			})
		}
		row, a, err := Run(t.Context(), plan)
		require.NoError(t, err)
		t.Logf("%+v", *a)
		require.Empty(t, a.Broken())
		assert.Equal(t, len(plan.Jobs), a.Jobs)
		assert.Equal(t, a.Jobs, a.Done, "everything is done in the end")
		assert.Zero(t, a.Unfinished+a.Given)
		assert.Positive(t, row.Counts[meter.ReclaimedByExpiry], "leases that had to run out")
		killed += a.Killed
	}
	assert.Empty(t, keysOf(t, url), "what a run leaves in Redis")
}

// keysOf lists what is stored of fleets. No other test runs beside this one.
func keysOf(t *testing.T, url string) []string {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	require.NoError(t, err)
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	require.NoError(t, err)
	defer client.Close()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	require.NoError(t, err)
	return keys
}

// TestTheAccountSeesWhatMustNotHappen breaks each promise in what workers reported.
func TestTheAccountSeesWhatMustNotHappen(t *testing.T) {
	ok := func(at protocol.Instant, job protocol.JobKey, token protocol.Token, verb protocol.Verb) []fact {
		return []fact{
			{Kind: factSettle, At: at, Job: job, Token: token, Verb: verb},
			{Kind: factSettled, At: at + 1, Job: job, Token: token, Code: protocol.OK},
		}
	}
	granted := func(at protocol.Instant, job protocol.JobKey, token protocol.Token) fact {
		return fact{Kind: factGranted, At: at, Job: job, Token: token}
	}
	for name, c := range map[string]struct {
		facts []fact
		state string
		says  string
	}{
		"in order":        {append([]fact{granted(10, 1, 5)}, ok(20, 1, 5, protocol.Ack)...), "done", ""},
		"lost":            {[]fact{granted(10, 1, 5)}, "", "1 of 1 jobs are lost"},
		"acked twice":     {append(append([]fact{granted(10, 1, 5), granted(10, 1, 6)}, ok(20, 1, 6, protocol.Ack)...), ok(5, 1, 5, protocol.Ack)...), "done", "1 of 1 jobs were acked twice"},
		"stale and taken": {append([]fact{granted(10, 1, 5), granted(15, 1, 6)}, ok(20, 1, 5, protocol.Release)...), "ready", "1 settlements were taken"},
		"late, not stale": {append(ok(14, 1, 5, protocol.Release), granted(15, 1, 6)), "claimed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := told(t, &model.Scenario{Duration: 100, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 50}}, c.state, &life{facts: c.facts})
			b.settleAll()
			if c.says == "" {
				assert.Empty(t, b.account.Broken())
			} else {
				assert.Contains(t, b.account.Broken(), c.says)
			}
		})
	}
}
