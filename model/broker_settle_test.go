package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var everyVerb = []protocol.Verb{protocol.Ack, protocol.Release, protocol.Fail, protocol.Refuse, protocol.Quarantine}

func TestTheFirstVerbWinsAndItsRepeatIsToldSo(t *testing.T) {
	for _, first := range everyVerb {
		for _, second := range everyVerb {
			t.Run(first.String()+" then "+second.String(), func(t *testing.T) {
				s := tell(t)
				s.job()
				w := s.worker(0, 1)
				g := w.take()
				require.Equal(t, protocol.OK, w.settle(g, first))
				before := s.row(g.job)
				want := protocol.Closed
				if first == second {
					want = protocol.Repeat
				}
				assert.Equal(t, want, w.settle(g, second))
				assert.Equal(t, before, s.row(g.job), "a claim ends once")
				assert.Empty(t, s.out.Facts)
				assert.Equal(t, protocol.Closed, w.renew(g))
				assert.Equal(t, protocol.Closed, w.save(g, 7))
				assert.Equal(t, before, s.row(g.job))
			})
		}
	}
}

func TestAStaleTokenChangesNothing(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	old := a.take()
	s.at(minute)
	b.take()
	tokens := map[string]protocol.Token{"an older token": old.token, "no token": 0, "a token of the future": old.token + 1e12}
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			before := s.row(1)
			g := grant{1, token}
			assert.Equal(t, protocol.Stale, a.renew(g))
			assert.Equal(t, protocol.Stale, a.save(g, 7))
			for _, verb := range everyVerb {
				assert.Equal(t, protocol.Stale, a.settle(g, verb), verb.String())
				assert.Empty(t, s.out.Facts)
			}
			assert.Equal(t, before, s.row(1))
		})
	}
}

func TestNoTokenSettlesNoJobThatWasNeverClaimed(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	assert.Equal(t, protocol.Stale, w.ack(grant{1, 0}))
	assert.Equal(t, JobReady, s.row(1).State)
}

func TestAJobThatNobodyKnowsIsStale(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	assert.Equal(t, protocol.Stale, w.renew(grant{9, 1}))
	assert.Equal(t, protocol.Stale, w.ack(grant{9, 1}))
}

func TestAReleaseAfterATakeoverTakesNothingFromTheSuccessor(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	old := a.take()
	s.at(minute)
	g := b.take()
	assert.Equal(t, protocol.Stale, a.release(old, protocol.BecauseDrain, 0))
	assert.Equal(t, protocol.OK, b.renew(g))
	assert.Equal(t, protocol.OK, b.ack(g))
}

func TestARenewalThatArrivesAfterTheReleaseDoesNotBringTheLeaseBack(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	assert.Equal(t, protocol.OK, a.release(g, protocol.BecauseDrain, 0))
	assert.Equal(t, protocol.Closed, a.renew(g))
	taken := b.take()
	assert.Equal(t, protocol.Stale, a.renew(g))
	assert.Greater(t, taken.token, g.token)
}

func TestARenewalJustBeforeTheReleaseDelaysNobody(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	assert.Equal(t, protocol.OK, a.renew(g))
	assert.Equal(t, protocol.OK, a.release(g, protocol.BecauseDrain, 0))
	b.take()
}

func TestFinishedWorkOfAnExpiredClaimCountsUntilTheNextClaim(t *testing.T) {
	t.Run("before the expiry is noticed", func(t *testing.T) {
		s := tell(t)
		s.job()
		a := s.worker(0, 1)
		g := a.take()
		s.at(2 * minute)
		assert.Equal(t, protocol.Expired, a.renew(g))
		assert.Equal(t, protocol.Expired, a.save(g, 7))
		assert.Zero(t, s.row(1).Cursor)
		assert.Equal(t, protocol.OK, a.ack(g))
		assert.Equal(t, JobDone, s.row(1).State)
	})
	t.Run("after it was noticed", func(t *testing.T) {
		s := tell(t)
		s.job()
		a, b := s.worker(0, 1), s.worker(1, 1)
		g := a.take()
		s.at(2 * minute)
		s.tick()
		require.Len(t, s.facts(LeaseRanOut), 1)
		assert.Equal(t, protocol.Expired, a.renew(g))
		assert.Equal(t, protocol.OK, a.ack(g))
		assert.Equal(t, protocol.Repeat, a.ack(g))
		b.park() // its place in the queue is a stale entry
	})
	t.Run("after the next claim", func(t *testing.T) {
		s := tell(t)
		s.job()
		a, b := s.worker(0, 1), s.worker(1, 1)
		g := a.take()
		s.at(2 * minute)
		b.take()
		assert.Equal(t, protocol.Stale, a.ack(g))
	})
}

func TestARefusedJobComesBackAfterItsDelayAndSpendsNothing(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	assert.Equal(t, protocol.OK, w.refuse(g, 5*second))
	require.Len(t, s.facts(ClaimSettled), 1)
	assert.Equal(t, protocol.Refuse, s.facts(ClaimSettled)[0].Verb)
	row := s.row(1)
	assert.Equal(t, JobDelayed, row.State)
	assert.Equal(t, protocol.Instant(5*second), row.Due)
	assert.Zero(t, row.Failures+row.Poison+row.Fruitless)
	w.park()
	assert.Equal(t, protocol.Instant(5*second), s.b.Deadline(), "somebody waits for it")
	s.at(5 * second)
	s.tick()
	assert.Len(t, w.given(), 1)
}

func TestAJobRefusedWithoutDelayMayGoToAWaitingWorkerAtOnce(t *testing.T) {
	s := tell(t)
	old, fresh := s.worker(0, 1), s.worker(1, 2)
	s.job()
	g := old.take()
	fresh.park()
	assert.Equal(t, protocol.OK, old.refuse(g, 0))
	given := fresh.given()
	require.Len(t, given, 1)
	assert.Equal(t, protocol.OK, fresh.renew(given[0]), "the refusal must not close the new claim")
	assert.Equal(t, protocol.OK, fresh.ack(given[0]))
}

func TestAReleasedJobComesBackAtOnceOrAfterItsDelay(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	w.release(w.take(), protocol.BecauseDrain, 0)
	g := w.take()
	assert.Equal(t, protocol.OK, w.release(g, protocol.BecauseBusy, 4*second))
	s.at(4*second - 1)
	w.park()
	s.at(4 * second)
	s.tick()
	assert.Len(t, w.given(), 1)
}

func TestACursorRidesOnWhateverIsAcceptedAndOnNothingElse(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	e := w.about(protocol.Renew, g)
	e.Cursor = 1
	w.send(e)
	assert.Equal(t, protocol.Cursor(1), s.row(1).Cursor)
	assert.Equal(t, protocol.OK, w.save(g, 2))
	assert.Equal(t, protocol.Cursor(2), s.row(1).Cursor)
	e = w.about(protocol.Settle, g)
	e.Verb, e.Reason, e.Cursor = protocol.Release, protocol.BecauseDrain, 3
	w.send(e)
	assert.Equal(t, protocol.Cursor(3), s.row(1).Cursor)
	e.Cursor = 4
	w.send(e)
	assert.Equal(t, protocol.Cursor(3), s.row(1).Cursor, "the repeat was not accepted")
	assert.Equal(t, protocol.Cursor(3), s.row(w.take().job).Cursor, "the next execution resumes there")
}

func TestAQuarantinedJobRestsUntilAnOperatorActs(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	assert.Equal(t, protocol.OK, w.quarantine(g))
	assert.Len(t, s.facts(Quarantined), 1)
	s.at(protocol.Hour)
	w.park()
	assert.Equal(t, JobQuarantined, s.row(1).State)
	assert.Equal(t, protocol.Closed, w.ack(g), "it was settled: the first verb wins")
}
