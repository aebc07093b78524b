package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAWorkerThatIsGoingIsGivenNothingNew(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	w.going()
	assert.Empty(t, s.out.Answers, "no answer is awaited")
	assert.Empty(t, w.ask(1))
	ev, _ := w.closes()
	assert.Equal(t, protocol.Refused, ev.Code)
	assert.Equal(t, JobReady, s.row(1).State)
}

func TestGoingEndsTheLongPoll(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	w.park()
	s.at(2 * second)
	w.going()
	ev, ok := w.closes()
	require.True(t, ok)
	assert.Equal(t, protocol.ClaimClosed(0, 1, protocol.Refused, 2*second), ev)
	s.job()
	assert.Empty(t, w.given())
	w.going()
	assert.Empty(t, s.out.Answers, "saying it twice changes nothing")
}

// Refused means that certainly nothing was granted. Said to the repeat of a request that
// was granted something, it would make the worker ignore the answer that is on its way,
// and the job would lie there until its lease ends.
func TestAWorkerThatIsGoingStillLearnsWhatItsRequestWasGivenBefore(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	given := w.ask(1)
	w.going()
	assert.Equal(t, given, w.askAs(1, 1))
	ev, _ := w.closes()
	assert.Equal(t, protocol.OK, ev.Code)
}

func TestAWorkerThatIsGoingStillHoldsItsClaims(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	w.going()
	assert.Equal(t, protocol.OK, w.renew(g))
	assert.Equal(t, protocol.OK, w.save(g, 3))
	assert.Equal(t, protocol.OK, w.ack(g))
}

func TestExpiryUnderAWorkerThatIsGoingIsACutAndNoPoison(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Poison = 1 })
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	a.take()
	a.going()
	s.at(minute)
	b.take()
	require.Len(t, s.facts(LeaseRanOut), 1)
	cut := s.facts(LeaseRanOut)[0]
	assert.Equal(t, protocol.BecauseCut, cut.Reason)
	assert.False(t, cut.Eroded)
	assert.Zero(t, s.row(1).Poison)
}

func TestTheNextLifeOfASeatThatWentIsAWorkerLikeAnyOther(t *testing.T) {
	s := tell(t)
	s.job()
	old := s.worker(0, 1)
	g := old.take()
	old.going()
	fresh := s.worker(0, 2)
	s.job()
	fresh.take()
	s.at(minute)
	s.tick()
	reasons := map[protocol.Token]protocol.Reason{}
	for _, f := range s.facts(LeaseRanOut) {
		reasons[f.Token] = f.Reason
		assert.Equal(t, f.Token == g.token && f.Job == g.job, f.Reason == protocol.BecauseCut)
	}
	assert.Len(t, s.facts(LeaseRanOut), 2)
}
