package fleet

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
)

// The agreement is an equivalence test over replications. A replication is one seed: one run
// with real processes, and in the simulator eight that meet the same jobs, deploys and victims
// and differ in how long a message takes, by milliseconds: so which worker gets which job
// differs, as it does between two real runs. Their mean is what the real run is expected to
// show, their spread is by how much it may miss that by chance.
//
// Two one-sided tests at 5% ask whether the mean difference over the replications is surely
// within a margin, which is the same as whether its 90% interval lies inside. So too few or too
// different runs fail, they do not pass.
//
// The margins. Both metrics may differ by a tenth, and for each interruption by what real
// processes need on top: 30 ms on the wall, as much as a few round trips and a wake-up of a
// loaded machine, which speed makes longer. A stall is longer by that; a job has done less by it
// when it began later, and more when SIGTERM came later. What the lab is asked to tell apart is
// larger: a lease too long by a third, one renewal too few, a hand-back that waits for its lease,
// jobs that are a third too long.
const (
	replications = 4
	twins        = 8
	atSpeed      = 10
	share        = 0.10
	wall         = 30 * time.Millisecond
	oneSided     = 0.05
)

// difference is real runs beside what was expected of them, by replication.
type difference struct {
	metric         string
	real, expected []float64
	spread         float64 // of one run around what is expected, in the simulator
	adds           float64 // how many times what an interruption adds is in it
}

// interval is the mean difference and the half of its 90% interval. A run spreads as the
// simulator's do, or as the real ones were seen to do where that is more.
func (d *difference) interval() (mean, half float64) {
	each := make([]float64, len(d.real))
	for i := range each {
		each[i] = d.real[i] - d.expected[i]
	}
	spread := d.spread
	if len(each) > 1 {
		spread = max(spread, stat.StdDev(each, nil))
	}
	return stat.Mean(each, nil), distuv.UnitNormal.Quantile(1-oneSided) * spread / math.Sqrt(float64(len(each)))
}

// equivalent reports whether the difference is surely within the margin.
func (d *difference) equivalent() (ok bool, text string) {
	mean, half := d.interval()
	margin := d.margin()
	return math.Abs(mean)+half < margin,
		fmt.Sprintf("%s: simulated %.3f, real processes %+.3f ± %.3f, margin %.3f; expected %.3f, seen %.3f",
			d.metric, stat.Mean(d.expected, nil), mean, half, margin, d.expected, d.real)
}

// expect adds what the simulator expects of a seed.
func (d *difference) expect(t *testing.T, seed int, rows []*meter.Row) {
	t.Helper()
	var each []float64
	for _, row := range rows {
		each = append(each, measured(t, row, d.metric))
	}
	mean, variance := stat.MeanVariance(each, nil)
	d.expected = append(d.expected, mean)
	d.spread = math.Sqrt((d.spread*d.spread*float64(seed) + variance) / float64(seed+1)) // pooled
}

// simulatedOften is the runs of the simulator: by policy, by seed.
var simulatedOften = sync.OnceValues(func() (rows map[string][replications][twins]*meter.Row, err error) {
	sc, err := scenarios.Load(agreement)
	if err != nil {
		return nil, err
	}
	rows = map[string][replications][twins]*meter.Row{}
	for _, policy := range sc.Policies {
		var of [replications][twins]*meter.Row
		for i := range twins {
			twin := *sc
			if twin.Faults.Network.Latency, err = dist.Constant(int64(i+1) * int64(protocol.Millisecond)); err != nil {
				return nil, err
			}
			for seed := range replications {
				if of[seed][i], err = simulate(&twin, policy, uint64(seed+1)); err != nil {
					return nil, err
				}
			}
		}
		rows[policy] = of
	}
	return rows, nil
})

const agreement = "testdata/agreement.yaml"

// compared runs replications of both kinds. wrong may change what the fleet is told.
func compared(t *testing.T, policy string, n int, wrong func(*Plan)) (stall, redone difference, late time.Duration) {
	t.Helper()
	url := onRedis(t)
	sc, err := scenarios.Load(agreement)
	require.NoError(t, err)
	lab, err := simulatedOften() // before anything plays that it would disturb
	require.NoError(t, err)
	stall.metric, redone.metric = "deploy_stall_seconds_mean", "redone_work_seconds"
	stall.adds, redone.adds = 1, measured(t, lab[policy][0][0], "interruptions")
	outcomes := make([]func() (*meter.Row, *Account, error), n)
	for seed := range n {
		of := lab[policy][seed]
		stall.expect(t, seed, of[:])
		redone.expect(t, seed, of[:])
		plan := planOf(t, sc, policy, uint64(seed+1))
		plan.URL, plan.Speed, plan.command = url, atSpeed, quick(t)
		wrong(&plan)
		outcomes[seed] = begin(t.Context(), plan)
	}
	for _, outcome := range outcomes {
		row, account, err := outcome()
		require.NoError(t, err)
		late = max(late, account.Late)
		stall.real, redone.real = append(stall.real, measured(t, row, stall.metric)), append(redone.real, measured(t, row, redone.metric))
	}
	return stall, redone, late
}

// margin is how much the means of a metric may differ, of which each interruption adds to the
// stall's mean, and to the sum of work redone.
func (d *difference) margin() float64 {
	once := wall.Seconds() * atSpeed
	return share*stat.Mean(d.expected, nil) + once*d.adds
}

func TestRealProcessesAgreeWithTheSimulator(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"crash-only", "release-now"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			unlessBusy(t, 3, func(check assert.TestingT) time.Duration {
				stall, redone, late := compared(t, policy, replications, func(*Plan) {})
				same, text := stall.equivalent()
				t.Log(text)
				assert.True(check, same, text)
				same, text = redone.equivalent()
				t.Log(text)
				assert.True(check, same, text)
				return late
			})
		})
	}
}

// A fleet that is not the scenario's is told apart, in one run: by the stall when its lease is
// not as fast as its time, by the work redone when its jobs are a third too long.
func TestTheAgreementNoticesAFleetThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy string
		wrong  func(*Plan)
		stall  bool // or else the work redone
	}{
		"lease not scaled": {"crash-only", func(p *Plan) { p.lease = p.Scenario.Queue.Lease }, true},
		"jobs too long": {"release-now", func(p *Plan) {
			p.Jobs = slices.Clone(p.Jobs)
			for i := range p.Jobs {
				p.Jobs[i].Work = p.Jobs[i].Work * 4 / 3
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unlessBusy(t, 1, func(check assert.TestingT) time.Duration {
				stall, redone, late := compared(t, c.policy, 1, c.wrong)
				d := &stall
				if !c.stall {
					d = &redone
				}
				_, text := d.equivalent()
				t.Log(text)
				mean, half := d.interval()
				assert.Greater(check, mean-half, d.margin(), "surely outside: %s", text)
				return late
			})
		})
	}
}
