package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Instants are the scenario's, at ten times the speed of the wall's; what is measured is the wall's.
func TestTimesAreTakenFromWhatProcessesReport(t *testing.T) {
	about := func(kind factKind, at protocol.Instant, token protocol.Token) fact {
		return fact{Kind: kind, At: at, Job: 1, Token: token, Total: 300, Verb: protocol.Release}
	}
	first := &life{created: 0, reapedAt: 960, ended: exited, endAt: 900, facts: []fact{
		{Kind: factOpen, At: 50}, {Kind: factUp, At: 200}, {Kind: factReady, At: 230},
		about(factGranted, 300, 1), about(factStarted, 310, 1), about(factSettle, 500, 1),
		{Kind: factSettled, At: 540, Job: 1, Token: 1, Code: protocol.OK}, {Kind: factExit, At: 900},
	}}
	second := &life{created: 0, facts: []fact{
		{Kind: factOpen, At: 70}, {Kind: factUp, At: 200}, {Kind: factReady, At: 200},
		about(factGranted, 590, 2), about(factStarted, 600, 2), {Kind: factEnded, At: 920, Job: 1, Token: 2, Work: 300},
	}}
	sc := &model.Scenario{Duration: 1000, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 200}}
	measure := func(lives ...*life) Times {
		b := told(t, sc, "claimed", lives...)
		b.speed = 10
		return b.times()
	}
	assert.Equal(t, Times{
		Start: []time.Duration{7, 8}, RoundTrip: []time.Duration{4}, Exit: []time.Duration{6}, HandOff: []time.Duration{9}, Overrun: []time.Duration{2},
	}, measure(first, second), "sorted; what was waited for the scenario's start is no start-up")

	first.pauses = []span{{400, 450}}
	paused := measure(first, second)
	assert.Equal(t, []time.Duration{7}, paused.Start, "what stood still measures nothing")
	assert.Empty(t, paused.RoundTrip)
	assert.Empty(t, paused.Exit)

	var sum Account
	sum.Add(&Account{Times: Times{Start: []time.Duration{1}}})
	sum.Add(&Account{Times: Times{Start: []time.Duration{2}}})
	assert.Equal(t, []time.Duration{1, 2}, sum.Times.Start)
}
