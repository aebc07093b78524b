package model

import (
	"math"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sweeping(period, slack protocol.Duration) func(*BrokerConfig) {
	return func(c *BrokerConfig) { c.Rescue, c.SweepPeriod, c.SweepSlack = RescueBySweep, period, slack }
}

func TestAnExpiredJobIsClaimableByTheNextRequest(t *testing.T) {
	s := tell(t)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	old := a.take()
	assert.Equal(t, protocol.Never, s.b.Deadline(), "nobody waits, so a lease costs no timer")
	s.at(minute - 1)
	b.park()
	b.withdraw(b.seq)
	s.at(minute)
	g := b.take()
	assert.Equal(t, old.job, g.job)
	assert.Greater(t, g.token, old.token)
}

func TestAnExpiredJobIsHandedToWhoWaitsAtTheInstantOfExpiry(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Park = protocol.Hour })
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	b.park()
	assert.Equal(t, protocol.Instant(minute), s.b.Deadline())
	s.at(10 * second)
	require.Equal(t, protocol.OK, a.renew(g))
	assert.Equal(t, protocol.Instant(70*second), s.b.Deadline())
	s.at(70 * second)
	s.tick()
	require.Len(t, b.given(), 1)
	require.Len(t, s.facts(LeaseRanOut), 1)
	assert.Equal(t, protocol.BecauseExpired, s.facts(LeaseRanOut)[0].Reason)
}

func TestExpiryFreesInTheOrderOfTheLeasesEnds(t *testing.T) {
	s := tell(t)
	s.job()
	s.job()
	a := s.worker(0, 1)
	given := a.ask(2)
	s.at(second)
	require.Equal(t, protocol.OK, a.renew(given[0]))
	s.at(minute)
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State, "it was renewed")
	assert.Equal(t, JobReady, s.row(2).State)
}

func TestASweepFreesOnlyAtItsPeriodAndOnlyAfterTheSlack(t *testing.T) {
	s := tell(t, sweeping(40*second, 30*second))
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take() // its lease ends at 60 s, the slack at 90 s
	assert.Equal(t, protocol.Instant(40*second), s.b.Deadline(), "the sweep runs whether or not somebody waits")
	s.at(80 * second)
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State, "within the slack")
	assert.Equal(t, protocol.Instant(120*second), s.b.Deadline())
	s.at(110 * second)
	b.park()
	assert.Equal(t, JobClaimed, s.row(1).State, "between two sweeps nothing is freed")
	s.at(120 * second)
	s.tick()
	require.Len(t, b.given(), 1)
	assert.Equal(t, protocol.Stale, a.renew(g))
}

func TestUntilTheSweepARunOutLeaseCanStillBeRenewed(t *testing.T) {
	s := tell(t, sweeping(protocol.Hour, 0))
	s.job()
	a := s.worker(0, 1)
	g := a.take()
	s.at(30 * minute)
	assert.Equal(t, protocol.OK, a.renew(g))
	s.at(protocol.Hour)
	s.tick()
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Equal(t, protocol.Expired, a.renew(g))
}

func TestASweepThatWasMissedWhileNothingWasClaimedIsNotMadeUpFor(t *testing.T) {
	s := tell(t, sweeping(second, 0))
	a := s.worker(0, 1)
	s.at(1000*protocol.Hour + 500*ms)
	s.job()
	a.take()
	assert.Equal(t, protocol.Instant(1000*protocol.Hour+second), s.b.Deadline(), "sweeps keep their rhythm")
}

func TestASweepWithoutAPeriodIsRefused(t *testing.T) {
	assert.Panics(t, func() { NewBroker(&BrokerConfig{Rescue: RescueBySweep}, 1, 1) })
}

func TestWithoutRescueAVanishedWorkersJobIsNeverFreed(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Rescue = NoRescue })
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	s.at(1000 * protocol.Hour)
	b.park()
	assert.Equal(t, protocol.Instant(1000*protocol.Hour+20*second), s.b.Deadline())
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.Equal(t, protocol.OK, a.renew(g), "its holder keeps it, however late it is")
}

func TestAJobWhoseExpiryMeansQuarantineIsParked(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.OnExpiry = QuarantineExpired })
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	g := a.take()
	s.at(minute)
	b.park()
	assert.Equal(t, JobQuarantined, s.row(1).State)
	assert.Len(t, s.facts(Quarantined), 1)
	assert.Equal(t, protocol.Expired, a.renew(g))
}

func TestWhereExpiryEndedAJobOnlyAnAckOfItsOpenClaimBringsItBack(t *testing.T) {
	for name, end := range map[string]func(*BrokerConfig){
		"in quarantine":      func(c *BrokerConfig) { c.OnExpiry = QuarantineExpired },
		"in the dead letter": func(c *BrokerConfig) { c.Poison = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, end)
			s.job()
			a, b := s.worker(0, 1), s.worker(1, 1)
			g := a.take()
			s.at(minute)
			b.park()
			before := s.row(1)
			require.True(t, before.State.Terminal())
			for _, verb := range everyVerb[1:] {
				assert.Equal(t, protocol.Closed, a.settle(g, verb), verb.String())
				assert.Equal(t, before, s.row(1))
			}
			assert.Equal(t, protocol.OK, a.ack(g), "the work was done after all")
			assert.Equal(t, JobDone, s.row(1).State)
			assert.Equal(t, protocol.Repeat, a.ack(g))
		})
	}
}

// What is done while another job is held costs no memory for as long as that is held.
func TestALeaseThatDoesNotEndKeepsNoOthers(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Lease = protocol.Hour })
	s.job()
	long := s.worker(0, 1).take()
	w := s.worker(1, 1)
	for n := range 5000 {
		s.at(protocol.Duration(n) * protocol.Millisecond)
		s.job()
		require.Equal(t, protocol.OK, w.ack(w.take()))
	}
	assert.LessOrEqual(t, len(s.b.leases.entries.buf), 32)
	assert.Equal(t, 1, s.b.leases.running)
	s.at(protocol.Hour)
	assert.Equal(t, long.job, w.take().job, "its own lease ends as it would have")
}

// Leases are numbered, and their numbers begin again at some time.
func TestLeasesAreKeptApartWhenTheirNumbersBeginAgain(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	s.b.leases.granted = math.MaxUint32 - 2
	for range 4 {
		s.job()
	}
	given := w.ask(4)
	require.Len(t, given, 4)
	for _, g := range given {
		assert.True(t, s.b.Job(g.job).Leased(), "job %d", g.job)
	}
	s.at(minute)
	for range 4 {
		assert.Len(t, w.ask(1), 1, "each is over after a lease")
	}
}
