package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARequestIsAnsweredWithAsManyJobsAsItWantsInTheirOrder(t *testing.T) {
	s := tell(t)
	for range 3 {
		s.job()
	}
	w := s.worker(0, 1)
	given := w.ask(2)
	require.Len(t, given, 2)
	assert.Equal(t, []protocol.JobKey{1, 2}, []protocol.JobKey{given[0].job, given[1].job})
	require.Len(t, s.out.Answers, 3)
	assert.True(t, s.out.Answers[0].More && s.out.Answers[1].More)
	assert.Equal(t, Answer{To: w.who, Event: protocol.ClaimClosed(0, 1, protocol.OK, 0)}, s.out.Answers[2])
	assert.Equal(t, JobReady, s.row(3).State)
}

func TestARequestForNothingIsAnsweredAtOnceAndOneForTooMuchIsCapped(t *testing.T) {
	s := tell(t)
	for range 6 {
		s.job()
	}
	w := s.worker(0, 1)
	assert.Empty(t, w.ask(0))
	assert.Len(t, s.out.Answers, 1, "it must not wait for what it does not want")
	assert.Len(t, w.ask(100), 4, "the member's row has room for as many grants as it has slots")
}

func TestARepeatedRequestIsGivenWhatItStillHoldsAndNothingElse(t *testing.T) {
	s := tell(t)
	for range 4 {
		s.job()
	}
	w := s.worker(0, 1)
	given := w.ask(3)
	assert.Equal(t, given, w.askAs(1, 3), "the answer was lost, the request is repeated")
	assert.Equal(t, protocol.OK, w.ack(given[0]))
	assert.Equal(t, protocol.OK, w.release(given[1], protocol.BecauseYield, 0))
	assert.Equal(t, given[2:], w.askAs(1, 3))
	ev, _ := w.closes()
	assert.Equal(t, protocol.OK, ev.Code)
	assert.Equal(t, JobReady, s.row(4).State, "a repeat claims nothing new")
}

func TestARepeatedRequestIsNotGivenWhatAnotherTookMeanwhile(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	a.take()
	s.at(minute)
	b.take()
	assert.Empty(t, a.askAs(1, 1))
}

func TestARepeatedRequestIsNotGivenAJobWhoseLeaseHasRunOut(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	given := w.ask(1)
	s.at(minute - 1)
	assert.Equal(t, given, w.askAs(1, 1))
	s.at(minute)
	assert.Empty(t, w.askAs(1, 1), "nobody noticed the expiry yet, but the lease is over")
}

func TestARepeatOfARequestThatWaitsIsAnsweredOnceWithIt(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	assert.Empty(t, w.askAs(1, 1))
	assert.Empty(t, s.out.Answers)
	s.job()
	assert.Len(t, w.given(), 1)
	s.tick()
	assert.Empty(t, s.out.Answers)
}

func TestARequestBehindANewerOneIsRefused(t *testing.T) {
	s := tell(t)
	s.job()
	s.job()
	w := s.worker(0, 1)
	w.askAs(2, 1)
	assert.Empty(t, w.askAs(1, 1))
	ev, _ := w.closes()
	assert.Equal(t, protocol.ClaimClosed(0, 1, protocol.Refused, 0), ev)
	assert.Equal(t, JobReady, s.row(2).State)
}

func TestANewerRequestTakesThePlaceOfTheOneThatWaits(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	w.park()
	s.job()
	ev, ok := w.closes()
	require.True(t, ok)
	assert.Equal(t, uint64(2), ev.Seq)
}

func TestAWithdrawnRequestGivesBackWhatItWasGiven(t *testing.T) {
	s := tell(t)
	s.job()
	s.job()
	w := s.worker(0, 1)
	given := w.ask(2)
	w.ack(given[0])
	assert.Equal(t, 1, w.withdraw(1), "one is settled already")
	row := s.row(given[1].job)
	assert.Equal(t, JobReady, row.State)
	assert.Equal(t, protocol.BecauseWithdrawn, row.Reason)
	assert.Equal(t, protocol.Closed, w.renew(given[1]), "its token is worth nothing any more")
	assert.Equal(t, 0, w.withdraw(1), "the withdraw is repeated, there is nothing left")
}

func TestAWithdrawnRequestThatWaitsIsNotServedAnyMore(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	assert.Equal(t, 0, w.withdraw(1))
	s.job()
	assert.Empty(t, s.out.Answers)
	assert.Equal(t, JobReady, s.row(1).State)
}

func TestARequestThatArrivesAfterItsWithdrawIsRefused(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	assert.Equal(t, 0, w.withdraw(1))
	assert.Empty(t, w.askAs(1, 1))
	ev, _ := w.closes()
	assert.Equal(t, protocol.Refused, ev.Code)
	assert.Len(t, w.askAs(2, 1), 1, "the next id is another request")
}

func TestAWithdrawOfALaterRequestEndsTheOneThatWaits(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	w.withdraw(2)
	s.job()
	assert.Empty(t, w.given(), "request 1 is closed with 2")
}

func TestAWithdrawOfALaterRequestLeavesRunningJobsAlone(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	assert.Equal(t, 0, w.withdraw(2))
	assert.Equal(t, protocol.OK, w.renew(g))
}

func TestAWithdrawDoesNotTouchWhatAnotherTookMeanwhile(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	a.take()
	s.at(minute)
	g := b.take()
	assert.Equal(t, 0, a.withdraw(1))
	assert.Equal(t, protocol.OK, b.renew(g))
}

func TestAWithdrawDoesNotRaiseTheDead(t *testing.T) {
	for name, end := range map[string]func(*BrokerConfig){
		"quarantined at expiry": func(c *BrokerConfig) { c.OnExpiry = QuarantineExpired },
		"dead-lettered":         func(c *BrokerConfig) { c.Poison = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, end)
			s.job()
			a, b := s.worker(0, 1), s.worker(1, 1)
			a.take()
			s.at(minute)
			b.park() // notices the expiry
			before := s.row(1)
			require.True(t, before.State.Terminal())
			assert.Equal(t, 0, a.withdraw(1))
			assert.Equal(t, before, s.row(1))
		})
	}
}

func TestALongPollEndsEmptyAndSaysHowLongItWaited(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	s.at(5 * second)
	w.park()
	assert.Equal(t, protocol.Instant(25*second), s.b.Deadline())
	s.at(26 * second) // the timer is late
	s.tick()
	ev, ok := w.closes()
	require.True(t, ok)
	assert.Equal(t, protocol.ClaimClosed(0, 1, protocol.OK, 21*second), ev)
	assert.Equal(t, protocol.Never, s.b.Deadline())
}

func TestALongPollMayEndEarlierThanTheBrokersLongest(t *testing.T) {
	s := tell(t)
	a, b := s.worker(0, 1), s.worker(1, 1)
	a.park()
	b.park()
	s.at(3 * second)
	s.out.Reset()
	s.b.EndPoll(s.now, a.who, a.seq-1, &s.out)
	assert.Empty(t, s.out.Answers, "that request does not wait")
	s.b.EndPoll(s.now, a.who, a.seq, &s.out)
	assert.Equal(t, []Answer{{To: a.who, Event: protocol.ClaimClosed(0, 1, protocol.OK, 3*second)}}, s.out.Answers)
	s.job()
	assert.Empty(t, a.given(), "it waits no more")
	assert.Len(t, b.given(), 1)
}

func TestALongPollThatIsServedSaysHowLongItWaited(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	s.at(3 * second)
	s.job()
	require.Len(t, s.out.Answers, 2)
	assert.Equal(t, 3*second, s.out.Answers[0].Event.Span)
	assert.Equal(t, 3*second, s.out.Answers[1].Event.Span)
	s.at(9 * second)
	w.askAs(1, 1)
	assert.Equal(t, 3*second, s.out.Answers[0].Event.Span, "a repeat says when the job was granted, not when it asked again")
}

func TestWithoutALongPollAnEmptyAnswerComesAtOnce(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Park = 0 })
	w := s.worker(0, 1)
	assert.Empty(t, w.ask(1))
	ev, ok := w.closes()
	require.True(t, ok)
	assert.Equal(t, protocol.OK, ev.Code)
}

func TestStrangersAreRefused(t *testing.T) {
	s := tell(t)
	s.job()
	for _, who := range []Member{{}, {Seat: 99, Incarnation: 1}, {Seat: -1, Incarnation: 1}, {Seat: 0, Incarnation: 7}} {
		w := &worker{story: s, who: who}
		assert.Empty(t, w.ask(1))
		ev, ok := w.closes()
		require.True(t, ok)
		assert.Equal(t, protocol.Refused, ev.Code)
		assert.Equal(t, 0, w.withdraw(1))
		w.going()
		assert.Empty(t, s.out.Answers)
	}
}
