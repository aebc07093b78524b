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
}

// One fact more or less, and something was not measured.
func TestWhatDidNotHappenIsNotMeasured(t *testing.T) {
	granted := fact{Kind: factGranted, At: 300, Job: 1, Token: 1}
	started := fact{Kind: factStarted, At: 310, Job: 1, Token: 1, Work: 100, Total: 300}
	ended := fact{Kind: factEnded, At: 540, Job: 1, Token: 1, Work: 300}
	settle := fact{Kind: factSettle, At: 550, Job: 1, Token: 1, Verb: protocol.Release}
	settled := fact{Kind: factSettled, At: 590, Job: 1, Token: 1, Code: protocol.OK}
	next := fact{Kind: factGranted, At: 650, Job: 1, Token: 2}
	but := func(f fact, change func(f *fact)) fact { change(&f); return f }
	for _, c := range []struct {
		name string
		life life
		want Times
	}{
		{"a start", life{created: 10, facts: []fact{{Kind: factOpen, At: 50}, {Kind: factUp, At: 200}, {Kind: factReady, At: 230}}}, Times{Start: []time.Duration{7}}},
		{"one that never claimed", life{facts: []fact{{Kind: factOpen, At: 50}, {Kind: factUp, At: 200}}}, Times{}},
		{"one that was never to run", life{facts: []fact{{Kind: factUp, At: 200}, {Kind: factReady, At: 230}}}, Times{}},
		{"an exit", life{reapedAt: 960, facts: []fact{{Kind: factExit, At: 900}}}, Times{Exit: []time.Duration{6}}},
		{"one that goes on", life{facts: []fact{{Kind: factExit, At: 900}}}, Times{}},
		{"a death", life{reapedAt: 960}, Times{}},
		{"a job that goes on", life{facts: []fact{granted, started, ended, settle, settled, next}},
			Times{RoundTrip: []time.Duration{4}, HandOff: []time.Duration{10}, Overrun: []time.Duration{3}}},
		{"one that failed has a backoff", life{facts: []fact{granted, but(settle, func(f *fact) { f.Verb = protocol.Fail }), settled, next}},
			Times{RoundTrip: []time.Duration{4}}},
		{"one that nobody takes", life{facts: []fact{granted, settle, settled}}, Times{RoundTrip: []time.Duration{4}}},
		{"no answer", life{facts: []fact{granted, settle, next}}, Times{}},
		{"an answer that is none", life{facts: []fact{granted, settle, but(settled, func(f *fact) { f.Code = protocol.Stale }), next}}, Times{}},
		{"work that was cut short", life{facts: []fact{granted, started, but(ended, func(f *fact) { f.Work = 200 })}}, Times{}},
		{"work that was cancelled at its end", life{facts: []fact{granted, started, but(ended, func(f *fact) { f.Cause = protocol.ErrDraining })}}, Times{}},
		{"work that is quicker than the clock", life{facts: []fact{granted, started, but(ended, func(f *fact) { f.At = 500 })}}, Times{Overrun: []time.Duration{0}}},
	} {
		b := told(t, &model.Scenario{Duration: 1000, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 200}}, "claimed", &c.life)
		b.speed = 10
		assert.Equal(t, c.want, b.times(), c.name)
	}
}

func TestTimesOfRunsAreAddedUp(t *testing.T) {
	run := func(d time.Duration) *Account {
		return &Account{Times: Times{
			Start: []time.Duration{d}, RoundTrip: []time.Duration{d + 1}, Exit: []time.Duration{d + 2}, HandOff: []time.Duration{d + 3}, Overrun: []time.Duration{d + 4},
		}}
	}
	var sum Account
	sum.Add(run(10))
	sum.Add(run(20))
	assert.Equal(t, Times{
		Start: []time.Duration{10, 20}, RoundTrip: []time.Duration{11, 21}, Exit: []time.Duration{12, 22}, HandOff: []time.Duration{13, 23}, Overrun: []time.Duration{14, 24},
	}, sum.Times)
}
