package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func poison(n int) func(*BrokerConfig) { return func(c *BrokerConfig) { c.Poison = n } }

// crash lets w claim the next job and vanish: its lease runs out and the expiry is noticed.
func (w *worker) crash() {
	w.take()
	w.now = w.now.Add(w.cfg.Lease)
	w.tick()
}

func TestExpiriesInARowDeadLetterAJobAsPoison(t *testing.T) {
	s := tell(t, poison(3))
	s.job()
	w := s.worker(0, 1)
	w.crash()
	w.crash()
	require.Equal(t, JobReady, s.row(1).State)
	w.crash()
	assert.Equal(t, JobDead, s.row(1).State)
	require.Len(t, s.facts(DeadLettered), 1)
	assert.Equal(t, protocol.BecauseExpired, s.facts(DeadLettered)[0].Reason)
	assert.True(t, s.facts(LeaseRanOut)[0].Eroded)
}

func TestWithoutAPoisonLimitExpiriesAreCountedAndDeadLetterNothing(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	for range 20 {
		w.crash()
	}
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Equal(t, uint16(20), s.row(1).Poison)
}

func TestOnlyProgressOrAHandlersReturnClearsPoison(t *testing.T) {
	released := func(reason protocol.Reason) func(*worker, grant) {
		return func(w *worker, g grant) { w.release(g, reason, 0) }
	}
	cases := map[string]struct {
		act    func(*worker, grant)
		clears bool
	}{
		"a saved cursor":          {func(w *worker, g grant) { w.save(g, 5); w.release(g, protocol.BecauseLate, 0) }, true},
		"a failure":               {func(w *worker, g grant) { w.fail(g) }, true},
		"a release by a drain":    {released(protocol.BecauseDrain), true},
		"a release by a hurry":    {released(protocol.BecauseHurry), true},
		"a yield":                 {released(protocol.BecauseYield), true},
		"distrust of the lease":   {released(protocol.BecauseDistrust), true},
		"a late claim":            {released(protocol.BecauseLate), false},
		"a withdrawn claim":       {func(w *worker, _ grant) { w.withdraw(w.seq) }, false},
		"a withdrawn job":         {released(protocol.BecauseWithdrawn), false},
		"a refusal":               {func(w *worker, g grant) { w.refuse(g, 0) }, false},
		"a busy worker":           {released(protocol.BecauseBusy), false},
		"a renewal":               {func(w *worker, g grant) { w.renew(g); w.release(g, protocol.BecauseLate, 0) }, false},
		"a cut":                   {func(w *worker, _ grant) { w.going(); w.now = w.now.Add(minute); w.tick() }, false},
		"saving nothing (zero)":   {func(w *worker, g grant) { w.save(g, 0); w.release(g, protocol.BecauseLate, 0) }, false},
		"a save that was refused": {func(w *worker, g grant) { w.release(g, protocol.BecauseLate, 0); w.save(g, 5) }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := tell(t, poison(3))
			s.job()
			w := s.worker(0, 1)
			w.crash()
			w.crash()
			c.act(w, w.take())
			want := uint16(2)
			if c.clears {
				want = 0
			}
			assert.Equal(t, want, s.row(1).Poison)
			assert.NotEqual(t, JobDead, s.row(1).State)
		})
	}
}

func TestAFailedJobWaitsTwiceAsLongEachTimeUntilItsFailuresAreSpent(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) {
		c.MaxFailures, c.Backoff = 5, protocol.Backoff{Min: second, Max: 5 * second}
	})
	s.job()
	w := s.worker(0, 1)
	for _, wait := range []protocol.Duration{second, 2 * second, 4 * second, 5 * second} {
		require.Equal(t, protocol.OK, w.fail(w.take()))
		row := s.row(1)
		require.Equal(t, JobDelayed, row.State)
		require.Equal(t, wait, row.Due.Sub(s.now))
		s.now = row.Due
	}
	require.Equal(t, protocol.OK, w.fail(w.take()))
	assert.Equal(t, JobDead, s.row(1).State)
	require.Len(t, s.facts(DeadLettered), 1)
	assert.Equal(t, protocol.NoReason, s.facts(DeadLettered)[0].Reason, "a failure did it, no interruption")
}

func TestWithoutABackoffAFailedJobIsClaimableAtOnce(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Backoff = protocol.Backoff{} })
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	b.park()
	a.fail(g)
	assert.Len(t, b.given(), 1)
}

func TestABackoffWithoutALimitDoesNotOverflow(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Backoff = protocol.Backoff{Min: second, Max: protocol.Forever} })
	last := protocol.Duration(0)
	for failures := uint16(1); failures < 100; failures++ {
		wait := s.b.retryAfter(1, &JobRow{Failures: failures})
		require.GreaterOrEqual(t, wait, last)
		last = wait
	}
	assert.Equal(t, protocol.Forever, last)
}

func TestInterruptionsSpendNoFailures(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.MaxFailures = 1 })
	s.job()
	w := s.worker(0, 1)
	for reason := protocol.BecauseDrain; reason < protocol.BecauseCancelled; reason++ {
		require.Equal(t, protocol.OK, w.release(w.take(), reason, 0))
		require.False(t, s.facts(ClaimSettled)[0].Eroded)
	}
	w.crash()
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Zero(t, s.row(1).Failures)
}

func TestWhereAClaimSpendsAnAttemptInterruptionsDeadLetter(t *testing.T) {
	ends := map[string]struct {
		act  func(*worker)
		want protocol.Reason
	}{
		"by a release": {func(w *worker) { w.release(w.take(), protocol.BecauseDrain, 0) }, protocol.BecauseDrain},
		"by an expiry": {func(w *worker) { w.crash() }, protocol.BecauseExpired},
		"by a refusal": {func(w *worker) { w.refuse(w.take(), second) }, protocol.BecauseRefused},
		"by a failure": {func(w *worker) { w.fail(w.take()) }, protocol.NoReason},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			s := tell(t, func(c *BrokerConfig) { c.CountAtClaim, c.MaxAttempts = true, 3 })
			s.job()
			w := s.worker(0, 1)
			w.release(w.take(), protocol.BecauseDrain, 0)
			require.True(t, s.facts(ClaimSettled)[0].Eroded, "the claim cost an attempt")
			w.release(w.take(), protocol.BecauseYield, 0)
			require.Equal(t, JobReady, s.row(1).State)
			c.act(w)
			assert.Equal(t, JobDead, s.row(1).State)
			require.Len(t, s.facts(DeadLettered), 1)
			assert.Equal(t, c.want, s.facts(DeadLettered)[0].Reason)
			assert.Equal(t, uint16(3), s.row(1).Deliveries)
		})
	}
}

func TestWhereAClaimSpendsNoAttemptMaxAttemptsMeansNothing(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.MaxAttempts = 1 })
	s.job()
	w := s.worker(0, 1)
	w.release(w.take(), protocol.BecauseDrain, 0)
	assert.Equal(t, JobReady, s.row(1).State)
}

func TestOneClaimErodesOnceThoughItExpiresAndIsReleasedLater(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.CountAtClaim, c.MaxAttempts = true, 9 })
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.at(minute)
	s.tick()
	require.True(t, s.facts(LeaseRanOut)[0].Eroded)
	require.Equal(t, protocol.OK, w.release(g, protocol.BecauseDrain, 0))
	assert.False(t, s.facts(ClaimSettled)[0].Eroded)
	assert.Equal(t, uint16(1), s.row(1).Fruitless, "one interruption, noticed twice")
}

func TestAJobInterruptedAgainAndAgainIsReportedAsStarvingOnce(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Starving = 3 })
	s.job()
	w := s.worker(0, 1)
	reports := 0
	for range 6 {
		w.release(w.take(), protocol.BecauseDrain, 0)
		reports += len(s.facts(GrewStarving))
	}
	assert.Equal(t, 1, reports)
	assert.Equal(t, JobReady, s.row(1).State, "it is reported, never dead-lettered")
}

func TestStarvationIsCountedAnewAfterProgress(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Starving = 3 })
	s.job()
	w := s.worker(0, 1)
	w.release(w.take(), protocol.BecauseDrain, 0)
	w.release(w.take(), protocol.BecauseDrain, 0)
	g := w.take()
	w.save(g, 1)
	w.release(g, protocol.BecauseDrain, 0)
	assert.Equal(t, uint16(1), s.row(1).Fruitless)
	w.release(w.take(), protocol.BecauseDrain, 0)
	require.Empty(t, s.facts(GrewStarving))
	w.crash()
	assert.Len(t, s.facts(GrewStarving), 1, "an expiry counts like any other interruption")
}

func TestHandingBackWhatNeverRanIsNoStarvation(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Starving = 1 })
	s.job()
	w := s.worker(0, 1)
	for _, reason := range []protocol.Reason{protocol.BecauseLate, protocol.BecauseWithdrawn, protocol.BecauseRefused, protocol.BecauseBusy} {
		w.release(w.take(), reason, 0)
		assert.Empty(t, s.facts(GrewStarving), reason.String())
	}
}
