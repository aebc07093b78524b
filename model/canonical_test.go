package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// readBack makes a broker of the canonical form of another, with the payloads of its jobs. Before that it
// is made one at its beginning, in the same way: what it has been leaves nothing behind.
func readBack(t require.TestingT, b *Broker, now protocol.Instant, into *Broker) {
	b.CopyTo(into)
	beginning := NewBroker(b.cfg, int(b.members.seats), int(b.members.slots))
	for _, state := range []*Broker{beginning, b} {
		rest := into.ReadCanonical(now, append(state.AppendCanonical(nil, now, nil), "rest"...))
		require.Equal(t, "rest", string(rest))
	}
}

// What the canonical form leaves out decides nothing: a broker that is written down and read
// back after every call answers like the one that is not.
func TestABrokerReadBackBehavesEqually(t *testing.T) {
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := brokerConfig(t)
		cfg.Journal, cfg.MoverPeriod, cfg.BackoffSpread = 0, 0, 0
		if rapid.Bool().Draw(t, "remembers") {
			cfg.MaxMessageAge = protocol.Forever
		}
		h := newHistory()
		original, read := NewBroker(cfg, testSeats, testSlots), NewBroker(cfg, testSeats, testSlots)
		var out, again Outbox
		for range rapid.IntRange(0, 80).Draw(t, "calls") {
			call := h.someCall(t, original)
			out.Reset()
			again.Reset()
			call(original, &out)
			call(read, &again)
			require.Equal(t, out.Answers, again.Answers)
			require.Equal(t, out.Facts, again.Facts)
			h.learn(&out)
			require.Equal(t, original.AppendCanonical(nil, h.now, nil), read.AppendCanonical(nil, h.now, nil))
			// A queue may hold what left it by another way, and wake the broker for nothing.
			require.LessOrEqual(t, original.Deadline(), read.Deadline())
			readBack(t, original, h.now, read)
			calls++
		}
	})
	require.Greater(t, calls, 1000)
}

// Instants are relative and nothing is counted from the clock's zero: a broker that is read
// back at another time is the same, and its leases end as long from then.
func TestABrokerReadBackLaterIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := brokerConfig(t)
		h := newHistory()
		original := NewBroker(cfg, testSeats, testSlots)
		h.live(t, 60, original)
		written := original.AppendCanonical(nil, h.now, nil)
		read := new(Broker)
		original.CopyTo(read)
		later := h.now.Add(protocol.Hour)
		read.ReadCanonical(later, written)
		require.Equal(t, written, read.AppendCanonical(nil, later, nil))
	})
}

// The repeat of a request that was answered after a long poll says how long it waited, and
// what it was given: a worker that hears it asks again at once.
func TestABrokerReadBackRepeatsItsAnswers(t *testing.T) {
	for _, jobs := range []int{0, 1} {
		s := tell(t)
		w := s.worker(0, 1)
		w.ask(1)
		if jobs == 0 {
			s.at(s.cfg.Park)
			s.tick()
		} else {
			s.at(s.cfg.Park / 2)
			s.job()
		}
		read := new(Broker)
		readBack(t, s.b, s.now, read)
		var out, again Outbox
		repeat := Request{From: s.b.members.lives(0)[1].Member, Effect: protocol.Effect{Kind: protocol.Claim, Slot: protocol.NoSlot, Seq: s.b.members.lives(0)[1].seq, Want: 1}}
		s.b.Handle(s.now, repeat, &out)
		read.Handle(s.now, repeat, &again)
		require.Len(t, out.Answers, 1+jobs)
		require.NotZero(t, out.Answers[0].Event.Span)
		require.Equal(t, out.Answers, again.Answers)
	}
}
