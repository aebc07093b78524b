package model

import (
	"testing"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func habits(h Habits) func(*BrokerConfig) { return func(c *BrokerConfig) { c.Habits = h } }

func TestWhereExpiryFailsAnExpiredJobWaitsForItsBackoffAndSpendsAFailure(t *testing.T) {
	s := tell(t, habits(Habits{ExpiryFails: true}), func(c *BrokerConfig) { c.MaxFailures = 3 })
	s.job()
	w := s.worker(0, 1)
	w.crash()
	row := s.row(1)
	assert.Equal(t, JobDelayed, row.State)
	assert.Equal(t, s.now.Add(second), row.Due)
	assert.Equal(t, uint16(1), row.Failures)
	assert.True(t, s.facts(LeaseRanOut)[0].Eroded)

	s.now = s.now.Add(second)
	w.crash()
	assert.Equal(t, s.now.Add(2*second), s.row(1).Due, "the backoff grows")
	s.now = s.now.Add(2 * second)
	w.crash()
	assert.Equal(t, JobDead, s.row(1).State)
	assert.Equal(t, protocol.BecauseExpired, s.facts(DeadLettered)[0].Reason)
}

func TestWhereExpiryFailsTheHolderMayStillFinishWhileTheJobWaits(t *testing.T) {
	s := tell(t, habits(Habits{ExpiryFails: true}))
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.at(minute)
	s.tick()
	require.Equal(t, JobDelayed, s.row(1).State)
	assert.Equal(t, protocol.OK, w.ack(g))
	assert.Equal(t, JobDone, s.row(1).State)
}

func TestWhereExpiryFailsAWorkerThatSaidItWasGoingSpendsNoFailure(t *testing.T) {
	s := tell(t, habits(Habits{ExpiryFails: true}))
	s.job()
	w := s.worker(0, 1)
	w.take()
	w.going()
	s.at(minute)
	s.tick()
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Zero(t, s.row(1).Failures)
}

func TestWhereExpiryBuriesAJobIsDeadAtItsFirst(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.OnExpiry = BuryExpired })
	s.job()
	s.worker(0, 1).crash()
	assert.Equal(t, JobDead, s.row(1).State)
	assert.Equal(t, protocol.BecauseExpired, s.facts(DeadLettered)[0].Reason)
}

func TestAReleaseGivesTheAttemptBackWhereThatIsTheHabit(t *testing.T) {
	s := tell(t, habits(Habits{ReleaseRestores: true}), func(c *BrokerConfig) { c.CountAtClaim, c.MaxAttempts = true, 2 })
	s.job()
	w := s.worker(0, 1)
	for range 5 {
		w.release(w.take(), protocol.BecauseDrain, 0)
		require.Equal(t, JobReady, s.row(1).State)
		require.False(t, s.facts(ClaimSettled)[0].Eroded)
	}
	w.crash()
	require.Equal(t, JobReady, s.row(1).State, "the first of two attempts")
	w.crash()
	assert.Equal(t, JobDead, s.row(1).State)
}

func TestAnInterruptionReportedAsAFailureIsAnErodedAttempt(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.MaxFailures = 1 })
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	e := w.about(protocol.Settle, g)
	e.Verb, e.Reason = protocol.Fail, protocol.BecauseDrain
	require.Equal(t, protocol.OK, w.send(e).Code)
	assert.True(t, s.facts(ClaimSettled)[0].Eroded)
	assert.Equal(t, protocol.BecauseDrain, s.facts(DeadLettered)[0].Reason, "no failure of its own killed it")
}

func TestWhereClaimsHangOnAConnectionTheyEndWithIt(t *testing.T) {
	s := tell(t, habits(Habits{FreedByHangup: true}))
	s.job()
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	b.take()
	c := s.worker(2, 1)
	c.park()
	s.out.Reset()
	s.b.Hangup(s.now, a.who, &s.out)
	require.Len(t, c.given(), 1)
	assert.Equal(t, g.job, c.given()[0].job)
	assert.Equal(t, JobClaimed, s.row(2).State, "another's claim stays")
	assert.Len(t, s.facts(LeaseRanOut), 1)
}

func TestTheBootOfAProcessSweepsWhereThatIsTheHabit(t *testing.T) {
	s := tell(t, sweeping(protocol.Hour, 0), habits(Habits{SweepAtBoot: true}))
	s.job()
	s.worker(0, 1).take()
	s.at(30 * second)
	s.worker(1, 1)
	assert.Equal(t, JobClaimed, s.row(1).State, "its lease is not over")
	s.at(minute)
	w := s.worker(2, 1)
	assert.Len(t, w.ask(1), 1)
}

func TestAMoverFindsDelayedJobsAtItsPeriodAndNotBefore(t *testing.T) {
	s := tell(t, habits(Habits{MoverPeriod: 5 * second}))
	s.job()
	w := s.worker(0, 1)
	s.at(3 * second)
	w.fail(w.take())
	assert.Equal(t, protocol.Instant(5*second), s.row(1).Due, "due at 4 s, seen at 5")
	s.at(5 * second)
	w.fail(w.take())
	assert.Equal(t, protocol.Instant(10*second), s.row(1).Due)
}

func TestASpreadOnlyLengthensABackoffAndDiffersFromClaimToClaim(t *testing.T) {
	s := tell(t, habits(Habits{BackoffSpread: 10 * second}))
	seen := map[protocol.Duration]bool{}
	for token := range protocol.Token(200) {
		wait := s.b.retryAfter(1, &JobRow{Failures: 1, Token: token})
		require.GreaterOrEqual(t, wait, protocol.Duration(second))
		require.LessOrEqual(t, wait, protocol.Duration(11*second))
		seen[wait] = true
	}
	assert.Greater(t, len(seen), 190)
}

func TestABrokerThatBouncesJobsServesWhoeverWaitsLongest(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Deviations = deviation.Of(deviation.BouncesJobs) })
	s.job()
	leaver, old, fresh := s.worker(0, 2), s.worker(1, 2), s.worker(2, 3)
	g := leaver.take()
	old.park()
	s.at(second)
	fresh.park()
	leaver.release(g, protocol.BecauseDrain, 0)
	assert.Len(t, old.given(), 1)
}

func TestNoMoreClaimsAreOpenThanMayBe(t *testing.T) {
	s := tell(t, habits(Habits{MaxClaims: 2}))
	for range 4 {
		s.job()
	}
	a, b, c := s.worker(0, 1), s.worker(1, 1), s.worker(2, 2)
	given := a.ask(3)
	require.Len(t, given, 2)
	b.park()
	c.park()
	require.Equal(t, protocol.OK, a.ack(given[0]))
	assert.Equal(t, protocol.JobKey(3), b.given()[0].job, "who waited longest, and what came first")

	s.job()
	assert.Empty(t, s.out.Facts, "a job that comes waits like the others")
	require.Equal(t, protocol.OK, a.release(given[1], protocol.BecauseDrain, 0))
	assert.Equal(t, given[1].job, c.given()[0].job, "its old place is before the others, and it goes to a newer worker")

	a.park()
	s.at(minute)
	s.tick()
	assert.Len(t, s.facts(LeaseRanOut), 2)
	assert.Equal(t, protocol.JobKey(2), a.given()[0].job, "what expired makes room")
}

func TestAmongLimitedClaimsAJobThatCameBackPrefersANewerWorkerAndNoOtherDoes(t *testing.T) {
	s := tell(t, habits(Habits{MaxClaims: 1}))
	for range 3 {
		s.job()
	}
	leaver, old, fresh := s.worker(0, 1), s.worker(1, 0), s.worker(2, 2)
	g := leaver.take()
	old.park()
	s.at(second)
	fresh.park()
	leaver.release(g, protocol.BecauseDrain, 0)
	require.Equal(t, []JobState{JobClaimed, JobReady}, []JobState{s.row(1).State, s.row(2).State})
	require.Len(t, fresh.given(), 1)
	again := fresh.given()[0]
	s.at(2 * second)
	fresh.park()
	fresh.ack(again)
	require.Len(t, old.given(), 1, "a job that nobody had goes to who waited longest")
	assert.Equal(t, protocol.JobKey(2), old.given()[0].job)
}

func TestALimitThatLeaksIsReachedByTheDeadAlone(t *testing.T) {
	s := tell(t, habits(Habits{MaxClaims: 1}), deviant(deviation.LimitLeaks))
	s.job()
	a := s.worker(0, 1)
	a.take()
	s.at(minute)
	s.tick()
	require.Equal(t, JobReady, s.row(1).State)
	assert.Empty(t, a.ask(1), "it is free, and nobody may have it")
}
