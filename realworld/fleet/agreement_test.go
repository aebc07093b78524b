package fleet

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/scenarios"
)

// The agreement is an equivalence test over replications. A replication is one seed, run with
// real processes and in the simulator: the same jobs, deploys and victims. Two one-sided tests
// at 5% ask whether the mean difference is surely within a margin, which is the same as whether
// its 90% interval lies inside; so too few or too different runs fail, they do not pass.
//
// The margins. A mean deploy stall may differ by a tenth, and by what real processes need on
// top: 30 ms on the wall, as much as a few round trips and a wake-up of a loaded machine, which
// speed makes longer. What the lab is asked to tell apart is ten times larger: a lease too
// long by a third, one renewal too few, a hand-back that waits for its lease. Work redone may
// differ by two fifths: it depends on the second at which a SIGTERM hits a job, differs by a
// tenth between two runs of one seed, and five runs of a few minutes leave an interval of up to
// a sixth to both sides.
const (
	replications = 5
	atSpeed      = 10
	stallShare   = 0.10
	stallWall    = 30 * time.Millisecond
	redoneShare  = 0.40
	oneSided     = 0.05
)

// unlessBusy requires what was measured to be as it should, on a machine that could play it.
func unlessBusy(t *testing.T, ok bool, late time.Duration) {
	t.Helper()
	if !ok && late > tooBusy {
		t.Skipf("this machine is too busy to compare anything: something came %v late", late)
	}
	assert.True(t, ok)
}

// atOnce is how many fleets run at a time: more would take the processor from each other.
var atOnce = make(chan struct{}, runtime.GOMAXPROCS(0))

// tooBusy is how late something may come, which is two seconds of the scenario: a rollout is
// then no longer the one that is simulated.
const tooBusy = 200 * time.Millisecond

// difference is real minus simulated, over replications.
type difference struct {
	metric    string
	simulated float64 // mean
	each      []float64
}

// interval is the mean difference and the half of its 90% interval.
func (d *difference) interval() (mean, half float64) {
	n := float64(len(d.each))
	for _, v := range d.each {
		mean += v / n
	}
	variance := 0.0
	for _, v := range d.each {
		variance += (v - mean) * (v - mean) / (n - 1)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - oneSided)
	return mean, t * math.Sqrt(variance/n)
}

// equivalent reports whether the difference is surely within a margin.
func (d *difference) equivalent(margin float64) (ok bool, text string) {
	mean, half := d.interval()
	return math.Abs(mean)+half < margin,
		fmt.Sprintf("%s: simulated %.3f, real processes %+.3f ± %.3f, margin %.3f; each %.3f", d.metric, d.simulated, mean, half, margin, d.each)
}

// compared runs replications of both kinds. wrong may change what the fleet is told.
func compared(t *testing.T, policy string, n int, wrong func(*Plan)) (stall, redone difference, late time.Duration) {
	t.Helper()
	url := onRedis(t)
	sc, err := scenarios.Load("testdata/agreement.yaml")
	require.NoError(t, err)
	var workers []string
	if raceDetector {
		path, err := plain()
		require.NoError(t, err)
		workers = []string{path}
	}
	stall.metric, redone.metric = policy+" deploy_stall_seconds_mean", policy+" redone_work_seconds"
	var (
		wg       sync.WaitGroup
		plans    = make([]Plan, n)
		rows     = make([]*meter.Row, n)
		accounts = make([]*Account, n)
		errs     = make([]error, n)
	)
	for i := range plans {
		plans[i] = planOf(t, sc, policy, uint64(i+1))
		plans[i].URL, plans[i].Speed, plans[i].command = url, atSpeed, workers
		wrong(&plans[i])
		wg.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			rows[i], accounts[i], errs[i] = Run(t.Context(), plans[i])
		})
	}
	wg.Wait()
	for i, row := range rows {
		require.NoError(t, errs[i])
		sound(t, accounts[i])
		late = max(late, accounts[i].Late)
		lab := simulated(t, sc, policy, uint64(i+1))
		for d, name := range map[*difference]string{&stall: "deploy_stall_seconds_mean", &redone: "redone_work_seconds"} {
			expected := measured(t, lab, name)
			d.simulated += expected / float64(n)
			d.each = append(d.each, measured(t, row, name)-expected)
		}
	}
	return stall, redone, late
}

func stallMargin(simulated float64) float64 {
	return stallShare*simulated + stallWall.Seconds()*atSpeed
}

func TestRealProcessesAgreeWithTheSimulator(t *testing.T) {
	for _, policy := range []string{"crash-only", "release-now"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			stall, redone, late := compared(t, policy, replications, func(*Plan) {})
			same, text := stall.equivalent(stallMargin(stall.simulated))
			t.Log(text)
			again, also := redone.equivalent(redoneShare * redone.simulated)
			t.Log(also)
			unlessBusy(t, same && again, late)
		})
	}
}

// A fleet that is not the scenario's is told apart: by the stall when its lease is not as fast as
// its time, by the work redone when its jobs are a third too long.
func TestTheAgreementNoticesAFleetThatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		wrong  func(*Plan)
		stall  bool // or else redone work
	}{
		"lease not scaled": {"crash-only", func(p *Plan) { p.lease = p.Scenario.Queue.Lease }, true},
		"jobs too long": {"release-now", func(p *Plan) {
			jobs := append([]Job(nil), p.Jobs...)
			for i := range jobs {
				jobs[i].Work = jobs[i].Work * 4 / 3
			}
			p.Jobs = jobs
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stall, redone, late := compared(t, c.policy, 2, c.wrong)
			d, margin := &stall, stallMargin(stall.simulated)
			if !c.stall {
				d, margin = &redone, redoneShare*redone.simulated
			}
			same, text := d.equivalent(margin)
			t.Log(text)
			mean, _ := d.interval()
			unlessBusy(t, !same && mean > margin, late) // and not for want of replications
		})
	}
}
