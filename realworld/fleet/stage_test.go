package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis/local"
	"github.com/quiesce/quiesce/sim"
)

// TestMain makes the test binary a worker process when a fleet of it starts it.
func TestMain(m *testing.M) {
	Main(func(seed uint64, kind *model.Job, job protocol.JobKey, execution int) Fate {
		return Fate(sim.FateOf(seed, kind, job, execution))
	})
	code := m.Run()
	if raceDetector {
		if path, err := plain(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	if shared.server != nil {
		_ = shared.server.Close()
	}
	os.Exit(code)
}

// shared is the Redis that the tests share; every run has a namespace of its own.
var shared struct {
	once   sync.Once
	server *local.Server
	err    error
}

// onRedis returns the URL of a Redis, and skips where none is installed.
func onRedis(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = local.Start(context.Background(), local.Options{}) })
	var missing *local.Missing
	if errors.As(shared.err, &missing) {
		t.Skip(missing)
	}
	require.NoError(t, shared.err)
	return shared.server.URL()
}

// planOf is a run of a scenario in which the same comes from outside as in the simulator.
func planOf(t *testing.T, sc *model.Scenario, policy string, seed uint64) Plan {
	t.Helper()
	preset, under, err := sc.Under(policy)
	require.NoError(t, err)
	outside := sim.NewOutside(under, seed)
	plan := Plan{Scenario: under, Preset: preset, Seed: seed, Chance: outside, Speed: 10}
	jobs, err := outside.Jobs()
	require.NoError(t, err)
	for _, j := range jobs {
		plan.Jobs = append(plan.Jobs, Job(j))
	}
	faults, err := outside.SeatFaults(Seats(under))
	require.NoError(t, err)
	kinds := map[sim.SeatFaultKind]FaultKind{sim.SeatCrash: Crash, sim.SeatPause: Pause, sim.SeatEviction: Evict, sim.SeatPreempted: Preempt}
	for _, f := range faults {
		plan.Faults = append(plan.Faults, Fault{At: f.At, Seat: f.Seat, Kind: kinds[f.Kind], Length: f.Length})
	}
	return plan
}

// simulated is the same run in the laboratory.
func simulated(t *testing.T, sc *model.Scenario, policy string, seed uint64) *meter.Row {
	t.Helper()
	row, err := simulate(sc, policy, seed)
	require.NoError(t, err)
	return row
}

func simulate(sc *model.Scenario, policy string, seed uint64) (*meter.Row, error) {
	preset, under, err := sc.Under(policy)
	if err != nil {
		return nil, err
	}
	w, err := sim.NewWorld(under, preset, seed, nil)
	if err != nil {
		return nil, err
	}
	return w.Run(nil)
}

// measured returns a metric of a run, NaN when there was nothing to measure.
func measured(t *testing.T, row *meter.Row, name string) float64 {
	t.Helper()
	for _, m := range row.Metrics() {
		if m.Name == name && m.Valid {
			return m.Value
		}
	}
	return math.NaN()
}

// quick is the command of workers that are as quick as in production; nil is this binary.
func quick(t *testing.T) []string {
	t.Helper()
	if !raceDetector {
		return nil
	}
	path, err := plain()
	require.NoError(t, err)
	return []string{path}
}

// plain builds workers without the race detector, which makes processes several times slower,
// and lets them linger for a second at their end.
var plain = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "quiesce-fleet")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "simulate")
	out, err := exec.Command("go", "build", "-race=false", "-pgo=off", "-o", path, "github.com/quiesce/quiesce/cmd/simulate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// play runs a plan, when there is room for it. A promise that was not kept is an error.
func play(ctx context.Context, plan Plan) (*meter.Row, *Account, error) {
	atOnce <- struct{}{}
	defer func() { <-atOnce }()
	row, account, err := Run(ctx, plan)
	if err == nil && account.Broken() != "" {
		err = fmt.Errorf("%s: %+v", account.Broken(), account)
	}
	return row, account, err
}

// begin is play in the background. What it returns waits for the end.
func begin(ctx context.Context, plan Plan) (outcome func() (*meter.Row, *Account, error)) {
	over := make(chan struct{})
	var (
		row     *meter.Row
		account *Account
		err     error
	)
	go func() {
		defer close(over)
		row, account, err = play(ctx, plan)
	}()
	return func() (*meter.Row, *Account, error) {
		<-over
		return row, account, err
	}
}

// atOnce is how many fleets run at a time. They wait most of the time; too many would take the
// processor from each other.
var atOnce = make(chan struct{}, 1+runtime.GOMAXPROCS(0))

// tooBusy is how late something may come, in real time: what happens then is not what was to
// happen.
const tooBusy = 200 * time.Millisecond

// rest is how long the last attempt of a check waits. Two that failed may have had other tests beside
// them, on a machine of few or slow processors; by then those are over.
const rest = 90 * time.Second

// unlessBusy has something checked that a machine with other things to do cannot play. A check
// that fails is repeated, so many times in all: what is wrong is wrong every time. When it still
// fails, and something came late, it says nothing.
func unlessBusy(t *testing.T, attempts int, check func(t assert.TestingT) (late time.Duration)) {
	t.Helper()
	for ; ; attempts-- {
		var wrong complaints
		late := check(&wrong)
		switch {
		case len(wrong) == 0:
			return
		case attempts > 1:
			t.Logf("once more; something came %v late: %s", late, wrong)
			if attempts == 2 {
				time.Sleep(rest)
			}
		case late > tooBusy:
			t.Skipf("this machine is too busy: something came %v late: %s", late, wrong)
		default:
			t.Error(wrong)
			return
		}
	}
}

// complaints are what checks have to say.
type complaints []string

func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}
