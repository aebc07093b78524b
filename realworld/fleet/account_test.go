package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis"
)

// told is a ledger of one job, which the broker calls 1, from what lives reported.
func told(t *testing.T, sc *model.Scenario, state string, lives ...*life) *ledger {
	t.Helper()
	for _, l := range lives {
		if l.goingAt == 0 {
			l.goingAt = protocol.Never
		}
		if l.termAt == 0 {
			l.termAt = protocol.Never
		}
	}
	s := &supervisor{plan: &Plan{Speed: 1}, sc: sc, end: protocol.Instant(sc.Duration), lives: lives, clock: newClock(0, 1)}
	b := newLedger(s, []added{{job: &Job{Job: 1, Work: 30}, key: 1}})
	b.jobs[0].info.State = redis.State(state)
	return b
}

// line is a record without what does not matter here.
type line struct {
	At     protocol.Instant
	Kind   meter.Kind
	Token  protocol.Token
	Reason protocol.Reason
	Cause  meter.Cause
	Work   protocol.Duration
}

func linesOf(b *ledger) []line {
	b.settleAll()
	var all []line
	for _, r := range b.records {
		if r.Kind != meter.JobEnqueued && r.Kind != meter.ExecutionStarted {
			all = append(all, line{r.At, r.Kind, r.Token, r.Reason, r.Cause, r.Work})
		}
	}
	return all
}

// What no worker saw follows from what the dead had reported, what later executions were told,
// and how the broker left the job.
func TestWhatNoWorkerSawIsConcluded(t *testing.T) {
	const granted, started, renewed, settle = factGranted, factStarted, factRenewed, factSettle
	at := func(kind factKind, at protocol.Instant, token protocol.Token) fact {
		return fact{Kind: kind, At: at, Job: 1, Token: token, Total: 30, Verb: protocol.Ack}
	}
	after := func(at protocol.Instant, token, prior protocol.Token, why protocol.Reason) fact {
		return fact{Kind: started, At: at, Job: 1, Token: token, Total: 30, Prior: prior, PriorReason: why}
	}
	crash := func(end protocol.Instant, facts ...fact) *life {
		return &life{ended: crashed, sent: crashed, endAt: end, endCause: meter.ByCrash, facts: facts}
	}
	stopped := func(end protocol.Instant, facts ...fact) *life {
		return &life{ended: exited, endAt: end, stopping: true, termAt: end - 1, cause: meter.ByDeploy, endCause: meter.ByDeploy, facts: facts}
	}
	sc := &model.Scenario{Duration: 100, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 20, Poison: 3}}
	const claimed, finished = "claimed", "done"
	for name, c := range map[string]struct {
		lives []*life
		state string
		want  []line
	}{
		"killed at work: its lease runs out": {
			[]*life{crash(15, at(granted, 10, 5), at(started, 10, 5), at(renewed, 13, 5)), {facts: []fact{at(granted, 40, 6), after(40, 6, 5, protocol.BecauseExpired)}}}, claimed,
			[]line{
				{10, meter.ClaimGranted, 5, 0, 0, 0}, {15, meter.ExecutionEnded, 5, 0, meter.ByCrash, 5},
				{33, meter.LeaseExpired, 5, protocol.BecauseExpired, meter.ByCrash, 0}, {40, meter.ClaimGranted, 6, 0, 0, 0},
			},
		},
		"killed at its stop, after it had said that it would go": {
			[]*life{stopped(15, at(granted, 10, 5), at(started, 10, 5)), {facts: []fact{at(granted, 40, 6), after(40, 6, 5, protocol.BecauseCut)}}}, claimed,
			[]line{
				{10, meter.ClaimGranted, 5, 0, 0, 0}, {15, meter.ExecutionEnded, 5, 0, meter.ByDeploy, 5},
				{30, meter.LeaseExpired, 5, protocol.BecauseCut, meter.ByDeploy, 0}, {40, meter.ClaimGranted, 6, 0, 0, 0},
			},
		},
		"killed while its ack was out, which the broker took": {
			[]*life{crash(15, at(granted, 10, 5), at(settle, 14, 5))}, finished,
			[]line{{10, meter.ClaimGranted, 5, 0, 0, 0}, {14, meter.ClaimEnded, 5, 0, meter.ByOther, 0}, {14, meter.JobFinished, 5, 0, 0, 0}},
		},
		"killed while its ack was out, which the broker did not get": {
			[]*life{crash(15, at(granted, 10, 5), at(settle, 14, 5)), {facts: []fact{at(granted, 31, 6), after(31, 6, 5, protocol.BecauseExpired)}}}, claimed,
			[]line{{10, meter.ClaimGranted, 5, 0, 0, 0}, {30, meter.LeaseExpired, 5, protocol.BecauseExpired, meter.ByCrash, 0}, {31, meter.ClaimGranted, 6, 0, 0, 0}},
		},
		"still held by the dead at the end": {
			[]*life{crash(95, at(granted, 90, 5))}, claimed,
			[]line{{90, meter.ClaimGranted, 5, 0, 0, 0}},
		},
		"free again at the end": {
			[]*life{crash(55, at(granted, 50, 5))}, "ready",
			[]line{{50, meter.ClaimGranted, 5, 0, 0, 0}, {70, meter.LeaseExpired, 5, protocol.BecauseExpired, meter.ByCrash, 0}},
		},
		"killed while its ack was out, and nothing came of it by the end": {
			[]*life{crash(95, at(granted, 90, 5), at(settle, 94, 5))}, claimed,
			[]line{{90, meter.ClaimGranted, 5, 0, 0, 0}},
		},
		"taken again after the end": {
			[]*life{crash(95, at(granted, 90, 5)), {facts: []fact{at(granted, 110, 6)}}}, claimed,
			[]line{{90, meter.ClaimGranted, 5, 0, 0, 0}},
		},
		"killed after the end: it lives": {
			[]*life{crash(105, at(granted, 90, 5), at(started, 90, 5))}, claimed,
			[]line{{90, meter.ClaimGranted, 5, 0, 0, 0}},
		},
		"taken again a little before its lease can have run out: an answer takes its time": {
			[]*life{crash(15, at(granted, 10, 5), at(renewed, 13, 5)), {facts: []fact{at(granted, 32, 6), after(32, 6, 5, protocol.BecauseExpired)}}}, claimed,
			[]line{{10, meter.ClaimGranted, 5, 0, 0, 0}, {32, meter.LeaseExpired, 5, protocol.BecauseExpired, meter.ByCrash, 0}, {32, meter.ClaimGranted, 6, 0, 0, 0}},
		},
		"dead-lettered by its expiry": {
			[]*life{crash(55, at(granted, 50, 5))}, "dead",
			[]line{
				{50, meter.ClaimGranted, 5, 0, 0, 0}, {70, meter.LeaseExpired, 5, protocol.BecauseExpired, meter.ByCrash, 0},
				{70, meter.JobDead, 5, protocol.BecauseExpired, 0, 0},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, linesOf(told(t, sc, c.state, c.lives...)))
		})
	}
}

// A claim that was granted to a request nobody reads any more shows when the next execution
// is told of it. Its token says when.
func TestAClaimThatNobodyHeardOf(t *testing.T) {
	sc := &model.Scenario{Duration: 100_000, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 20_000}}
	b := told(t, sc, "claimed",
		&life{ended: crashed, endAt: 12_000, endCause: meter.ByCrash, seat: 1},
		&life{facts: []fact{
			{Kind: factGranted, At: 40_000, Job: 1, Token: 1030}, // the clock of the broker is 990 µs ahead
			{Kind: factStarted, At: 40_000, Job: 1, Token: 1030, Total: 30, Prior: 1000, PriorReason: protocol.BecauseExpired},
		}})
	assert.Equal(t, []line{
		{10_000, meter.ClaimGranted, 1000, 0, 0, 0}, {30_000, meter.LeaseExpired, 1000, protocol.BecauseExpired, meter.ByCrash, 0},
		{40_000, meter.ClaimGranted, 1030, 0, 0, 0},
	}, linesOf(b))
	assert.Equal(t, 1, b.account.Unheard)
}

// A process that stands still works on nothing, however long.
func TestAnExecutionInAProcessThatStoodStill(t *testing.T) {
	sc := &model.Scenario{Duration: 100, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 90}}
	b := told(t, sc, "claimed", &life{
		ended: crashed, endAt: 40, endCause: meter.ByCrash, pauses: []span{{5, 8}, {15, 25}, {35, protocol.Never}},
		facts: []fact{{Kind: factGranted, At: 10, Job: 1, Token: 5}, {Kind: factStarted, At: 10, Job: 1, Token: 5, Total: 30}},
	})
	assert.Equal(t, []line{
		{10, meter.ClaimGranted, 5, 0, 0, 0}, {15, meter.ExecutionPaused, 5, 0, 0, 0}, {25, meter.ExecutionResumed, 5, 0, 0, 0},
		{35, meter.ExecutionPaused, 5, 0, 0, 0}, {40, meter.ExecutionEnded, 5, 0, meter.ByCrash, 15},
	}, linesOf(b))
}

// What is open at the end of the run is asked about as it was then: a process that ended later
// lived, and what it had done by then counts.
func TestWhatIsOpenAtTheEnd(t *testing.T) {
	sc := &model.Scenario{Duration: 100, Jobs: make([]model.Job, 1), Queue: model.Queue{Lease: 20}}
	facts := []fact{{Kind: factGranted, At: 90, Job: 1, Token: 5}, {Kind: factStarted, At: 90, Job: 1, Token: 5, Total: 30}}
	for name, c := range map[string]struct {
		end  protocol.Instant
		want meter.Ending
		live protocol.Duration
	}{
		"it ended before": {95, meter.Ending{Known: true, Claimed: true, Rescued: true, Cause: meter.ByCrash}, 0},
		"it ended after":  {105, meter.Ending{Known: true, Claimed: true, Rescued: true, Alive: true, Cause: meter.ByLease}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := told(t, sc, "claimed", &life{ended: crashed, endAt: c.end, endCause: meter.ByCrash, facts: facts})
			b.settleAll()
			e, live := b.ending(1)
			assert.Equal(t, c.want, e)
			assert.Equal(t, c.live, live)
		})
	}
}
