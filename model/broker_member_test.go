package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARepeatedRegisterIsTheSameIncarnation(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	again := Member{Seat: 0, Nonce: w.who.Nonce, Generation: 1}
	ev := (&worker{story: s, who: again}).send(protocol.Effect{Kind: protocol.Register})
	assert.Equal(t, protocol.RegisteredAs(w.who.Incarnation, protocol.OK), ev)
	other := s.worker(0, 1)
	assert.Greater(t, other.who.Incarnation, w.who.Incarnation)
}

func TestARepeatedRegisterKeepsTheMembersRow(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	given := w.ask(1)
	w.send(protocol.Effect{Kind: protocol.Register})
	assert.Equal(t, given, w.askAs(1, 1))
}

func TestASeatBeyondTheTableIsRefused(t *testing.T) {
	s := tell(t)
	for _, seat := range []int32{-1, 4} {
		w := &worker{story: s, who: Member{Seat: seat, Nonce: 77}}
		assert.Equal(t, protocol.RegisteredAs(0, protocol.Refused), w.send(protocol.Effect{Kind: protocol.Register}))
	}
}

func TestTwoLivesOfASeatAreKnownAndNoMore(t *testing.T) {
	s := tell(t)
	first := s.worker(0, 1)
	first.park()
	second := s.worker(0, 1)
	s.job()
	require.Len(t, first.given(), 1, "the life before is still known: it may be on its way out")
	require.Equal(t, protocol.OK, first.ack(first.given()[0]))

	first.park()
	third := s.worker(0, 1)
	s.job()
	assert.Empty(t, first.given(), "a forgotten life waits for nothing")
	assert.Len(t, third.ask(1), 1)
	first.ask(1)
	ev, _ := first.closes()
	assert.Equal(t, protocol.Refused, ev.Code)
	second.park()
}

// A limit: the broker remembers that a worker was going for as long as it remembers the
// worker. A seat that lives twice again within one lease makes a cut count as poison.
func TestACutUnderALifeThatIsForgottenCountsAsPoison(t *testing.T) {
	s := tell(t)
	s.job()
	first := s.worker(0, 1)
	first.take()
	first.going()
	s.worker(0, 1)
	s.worker(0, 1)
	s.at(minute)
	s.tick()
	require.Len(t, s.facts(LeaseRanOut), 1)
	assert.Equal(t, protocol.BecauseExpired, s.facts(LeaseRanOut)[0].Reason)
}
