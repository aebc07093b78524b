package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim"
)

// polling is five workers that come up together at 1s, and one job that comes while they look
// for some.
const polling = `
name: polling
duration: 1m
warmup: 0s
fleet: {workers: 5, start: 1s}
queue: {lease: 5m, long_poll: 0s, poll: 1s, service: 10ms}
jobs: {mail: {arrivals: {every: 5300ms}, count: 1, duration: 1s}}
faults: {network: {latency: 0s}}
policies: [{name: today, in_step: true}, hybrid]
`

// A line that nobody could ever work off is no longer than messages live.
func TestABrokerThatIsAskedTooMuchTurnsCallsAway(t *testing.T) {
	const crowd = 40
	text := strings.NewReplacer("workers: 5", "workers: 40", "service: 10ms", "service: 500ms, max_message_age: 5s").Replace(polling)
	sc, err := scenarios.Parse("crowd.yaml", []byte(text))
	require.NoError(t, err)
	preset, err := model.PresetNamed("hybrid")
	require.NoError(t, err)
	w, err := sim.NewWorld(sc, preset, 1, nil)
	require.NoError(t, err)
	_, err = w.Run(nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, w.Pending(), crowd+5*2+10, "a tick for each of them, five seconds of the line, and little else")
}

// answers returns when workers got an answer of a kind, by seat.
func answers(t *testing.T, column string, kind protocol.EventKind) map[int32][]time.Duration {
	sc, err := scenarios.Parse("polling.yaml", []byte(polling))
	require.NoError(t, err)
	preset, sc, err := sc.Under(column)
	require.NoError(t, err)
	w, err := sim.NewWorld(sc, preset, 1, nil)
	require.NoError(t, err)
	c := w.Check()
	at := map[int32][]time.Duration{}
	w.Observe(func(o sim.Observation) {
		if o.Kind == sim.SawEvent && o.Event.Kind == kind {
			at[o.Seat] = append(at[o.Seat], time.Duration(o.At))
		}
	})
	_, err = w.Run(nil)
	require.NoError(t, err)
	assert.Empty(t, c.Findings())
	return at
}

func TestABusyBrokerServesOneCallAfterTheOther(t *testing.T) {
	at := answers(t, "hybrid", protocol.Registered)
	var first []time.Duration
	for _, all := range at {
		first = append(first, all...)
	}
	slices.Sort(first)
	want := []time.Duration{1010, 1020, 1030, 1040, 1050}
	for i, ms := range want {
		assert.Equal(t, ms*time.Millisecond, first[i])
	}
}

func TestWorkersInStepAskOnEveryTickAndInALine(t *testing.T) {
	at := answers(t, "today", protocol.ClaimAnswered)
	require.Len(t, at, 5)
	missed := 0
	for seat, all := range at {
		for i, got := range all {
			line := got % time.Second // they came up at a full second
			assert.Positive(t, line)
			assert.LessOrEqual(t, line, 50*time.Millisecond, "seat %d asks on a tick and waits for four others at most", seat)
			if i > 0 && (got-all[i-1]).Round(time.Second) != time.Second {
				missed++
			}
		}
	}
	assert.Equal(t, 1, missed, "by the one that got the job and worked on it for a second")
}

func TestWorkersOfOursDriftApart(t *testing.T) {
	var last []time.Duration // within a second
	for _, all := range answers(t, "hybrid", protocol.ClaimAnswered) {
		last = append(last, all[len(all)-1]%time.Second)
		for i := 1; i < len(all); i++ {
			assert.Greater(t, all[i]-all[i-1], 500*time.Millisecond, "a jitter of a half at most")
		}
	}
	require.Len(t, last, 5)
	assert.Greater(t, slices.Max(last)-slices.Min(last), 200*time.Millisecond)
}
