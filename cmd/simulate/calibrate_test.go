//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/fleet"
	"github.com/quiesce/quiesce/scenarios"
)

// hundred are a hundred lengths, from so many microseconds on.
func hundred(from int) (all []time.Duration) {
	for i := range 100 {
		all = append(all, time.Duration(from+i)*time.Microsecond)
	}
	return all
}

func TestWhatWasMeasuredIsALineOfAScenario(t *testing.T) {
	all := measuredOf(&fleet.Times{RoundTrip: hundred(1001), Start: hundred(20_001), Exit: []time.Duration{time.Millisecond}})
	assert.Equal(t, measured{"latency", all[0].about, 100, 525 * time.Microsecond, 550 * time.Microsecond, "latency: {p50: 525µs, p99: 550µs} # in network, in faults"}, all[0], "half of the way there and back")
	assert.Equal(t, "start: {p50: 20.05ms, p99: 20.099ms} # in fleet", all[1].line)
	assert.Equal(t, "1ms", all[2].law(), "where all are alike it is a constant")
	assert.Zero(t, all[3].n)
	assert.Empty(t, all[3].line)
	for _, m := range measuredOf(&fleet.Times{}) {
		assert.Empty(t, m.line, "%s was not measured", m.name)
	}
	assert.Equal(t, "latency: 1µs # in network, in faults", measuredOf(&fleet.Times{RoundTrip: make([]time.Duration, 1)})[0].line, "a scenario takes no zero")

	sc, err := scenarios.Parse("pasted", []byte("duration: 1h\nfleet:\n  workers: 1\n  "+all[1].line+"\nfaults:\n  network:\n    "+all[0].line+"\njobs: {a: {arrivals: {every: 1m}, duration: 1s}}\n"))
	require.NoError(t, err, "the loader takes what is printed")
	assert.InDelta(t, 20_050_000, sc.Fleet.Start.Sample(1<<63), 1000)
	assert.InDelta(t, 525_000, sc.Faults.Network.Latency.Sample(1<<63), 100)
}

// At ten times the speed what the machine took counts ten times; a start that the scenario gives and
// that is longer than a process needs here stays.
func TestTheLabIsToldWhatWasMeasuredInTheScenariosTime(t *testing.T) {
	long, err := dist.Constant(int64(2 * protocol.Second))
	require.NoError(t, err)
	short, err := dist.Constant(int64(protocol.Millisecond))
	require.NoError(t, err)
	for _, c := range []struct {
		start *dist.Table
		want  int64
	}{{long, long.Max()}, {short, int64(200_500 * protocol.Microsecond)}, {nil, int64(200_500 * protocol.Microsecond)}} {
		s := &model.Scenario{Fleet: model.Fleet{Start: c.start}, Faults: model.Faults{Network: model.Network{Latency: short}}}
		r := &calibration{scene: &scene{Scenario: s}, speed: 10, measured: measuredOf(&fleet.Times{RoundTrip: hundred(1001), Start: hundred(20_001)})}
		told, err := r.told()
		require.NoError(t, err)
		assert.InDelta(t, 5_250_000, told.Faults.Network.Latency.Sample(1<<63), 1000)
		assert.InDelta(t, c.want, told.Fleet.Start.Sample(1<<63), 1000)
		assert.Equal(t, short, s.Faults.Network.Latency, "the scenario stays as it is")
		r.measured = measuredOf(&fleet.Times{})
		told, err = r.told()
		require.NoError(t, err)
		assert.Equal(t, s, told, "nothing was measured")
	}
}

func TestACalibrationAsTableAndCSV(t *testing.T) {
	r := &calibration{
		scene: &scene{Scenario: &model.Scenario{Name: "mine"}}, policy: "hybrid", speed: 10, seeds: 2, late: 12*time.Hour + 34*time.Minute + 56*time.Second,
		measured: measuredOf(&fleet.Times{RoundTrip: hundred(1001), Start: hundred(20_001)}),
	}
	var table, csv bytes.Buffer
	require.NoError(t, r.writeTable(&table))
	for _, want := range []string{"mine under hybrid, 2 runs with real processes at 10 times its speed", "latency               525µs   550µs  100  one way", "exit                      –       –    0", "something came 12h34m56s late"} {
		assert.Contains(t, table.String(), want)
	}
	for line := range strings.Lines(table.String()) {
		assert.LessOrEqual(t, width(strings.TrimSuffix(line, "\n")), pageWidth, line)
	}
	require.NoError(t, r.writeCSV(&csv))
	assert.Contains(t, csv.String(), "latency,100,0.000525,0.00055,\"latency: {p50: 525µs, p99: 550µs} # in network, in faults\"\n")
	assert.Contains(t, csv.String(), "exit,0,,,\n")
	r.late = time.Millisecond
	table.Reset()
	require.NoError(t, r.writeTable(&table))
	assert.NotContains(t, table.String(), "late.")
}

func TestCalibrateRefuses(t *testing.T) {
	r := invoke(t.Context(), "calibrate")
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, "name a scenario")
	t.Setenv("PATH", "")
	r = invoke(t.Context(), "calibrate", "small-fleet")
	assert.Equal(t, exitMisuse, r.status)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "redis-server is not installed")
	assert.Contains(t, r.stderr, "--redis redis://HOST:6379")
}

// The lab's own runs stand for the processes' here. The same runs agree in everything; those of slower
// processes do not, and it takes more than one run to say so.
func TestHowFarTheLabIsFromTheProcessesHasAnInterval(t *testing.T) {
	sc, err := scenarios.Load("testdata/brief.yaml")
	require.NoError(t, err)
	slow := *sc
	slow.Fleet.Start, err = dist.Lognormal(int64(5*protocol.Second), int64(6*protocol.Second))
	require.NoError(t, err)
	runs := func(sc *model.Scenario, seeds int) []*meter.Row {
		rows, err := simulated(t.Context(), &realFleet{seeds: seeds, first: 1}, sc, "release-now")
		require.NoError(t, err)
		return rows
	}
	table := func(seeds int) (*calibration, string) {
		r := &calibration{scene: &scene{Scenario: sc}, policy: "release-now", seeds: seeds}
		r.compare(runs(sc, seeds), runs(sc, seeds), runs(&slow, seeds))
		var b bytes.Buffer
		r.writeAgreement(&b)
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, width(strings.TrimSuffix(line, "\n")), pageWidth, line)
		}
		return r, b.String()
	}
	r, text := table(4)
	assert.Contains(t, text, "± half of the 95% interval")
	assert.Contains(t, text, "lab: nothing | lab, told: ")
	assert.Contains(t, r.beyondChance(), "rollout, mean")
	e := metric(r.offWith, "rollout_seconds")
	assert.Less(t, e.Lo, e.Mean)
	assert.Greater(t, e.Lo, 1.0, "of the lab minus the processes: it is slower")
	assert.Zero(t, metric(r.offWithout, "rollout_seconds").Hi)

	r.compare(runs(&slow, 4), runs(sc, 4), runs(&slow, 4))
	assert.Less(t, metric(r.offWithout, "rollout_seconds").Hi, -1.0, "the processes are slower than the lab")
	assert.Zero(t, metric(r.offWith, "rollout_seconds").Mean, "and it was told so")

	_, text = table(1)
	assert.NotContains(t, text, "±")
	assert.Contains(t, text, "--seeds 4 tells chance")
}

func TestCalibrateMeasuresRealProcesses(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
	var doc struct {
		Measured map[string]struct {
			N        int
			P50, P99 *float64
		}
		Lines   []string
		Metrics map[string]struct {
			Fleet, Lab, Lab_told        *float64
			Difference, Difference_told struct{ Mean, Lo, Hi *float64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "calibrate", "testdata/brief.yaml", "--policy", "release-now", "--seeds", "2", "--format", "json")), &doc))
	for _, name := range []string{"latency", "start", "exit", "hand_off", "overrun"} {
		m := doc.Measured[name]
		assert.Positive(t, m.N, name)
		require.NotNil(t, m.P50, name)
		assert.LessOrEqual(t, *m.P50, *m.P99, name)
	}
	assert.Len(t, doc.Lines, 2)
	m := doc.Metrics["delay_seconds_per_job"]
	assert.NotEqual(t, *m.Lab, *m.Lab_told, "with what was measured the lab is another")
	m = doc.Metrics["rollout_seconds"]
	require.NotNil(t, m.Difference.Lo)
	assert.InDelta(t, *m.Lab-*m.Fleet, *m.Difference.Mean, 1e-6)
	assert.InDelta(t, *m.Lab_told-*m.Fleet, *m.Difference_told.Mean, 1e-6)
	assert.LessOrEqual(t, *m.Difference.Lo, *m.Difference.Mean)
	assert.LessOrEqual(t, *m.Difference.Mean, *m.Difference.Hi)
}
