package model

import (
	"testing"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deviant(id deviation.ID) func(*BrokerConfig) {
	return func(c *BrokerConfig) { c.Deviations = deviation.Of(id) }
}

func TestABrokerThatForgetsLeasesFreesNoneOfTheDead(t *testing.T) {
	s := tell(t, journal, deviant(deviation.LeasesForgotten))
	s.job()
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	lives := a.take()
	b.take()
	s.forget(0)
	s.at(second)
	require.Equal(t, protocol.OK, a.renew(lives), "who lives puts it back")
	s.at(protocol.Hour)
	s.tick()
	s.worker(2, 1).ask(1)
	assert.Len(t, s.facts(LeaseRanOut), 0)
	row := s.row(2)
	assert.Equal(t, JobClaimed, row.State, "nothing frees it")
	assert.False(t, row.Leased())
}

func TestWhereAReleaseTakesTwoStepsAJobIsNobodysBetweenThem(t *testing.T) {
	s := tell(t, deviant(deviation.ReleaseInTwoSteps))
	s.job()
	s.job()
	a := s.worker(0, 1)
	given := a.ask(2)
	require.Equal(t, protocol.Unknown, a.release(given[0], protocol.BecauseDrain, 0))
	require.Equal(t, protocol.Unknown, a.release(given[1], protocol.BecauseDrain, 0))
	require.Equal(t, protocol.OK, a.release(given[1], protocol.BecauseDrain, 0))
	s.at(protocol.Hour)
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.Equal(t, JobReady, s.row(2).State)
}

func TestASweepThatTakesNewcomersFreesWhatWasNeverRenewed(t *testing.T) {
	s := tell(t, sweeping(10*second, 0), deviant(deviation.SweepsNewcomers))
	s.job()
	s.job()
	a := s.worker(0, 1)
	s.at(second)
	given := a.ask(2)
	s.at(5 * second)
	require.Equal(t, protocol.OK, a.renew(given[0]))
	s.at(10 * second)
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.Equal(t, JobReady, s.row(2).State)
}

func TestASweepThatDropsTheRestLosesAllButTheFirst(t *testing.T) {
	s := tell(t, sweeping(minute, 0), deviant(deviation.SweepDropsRest))
	for range 3 {
		s.job()
	}
	s.worker(0, 1).ask(2)
	s.worker(1, 1).ask(1)
	s.at(minute)
	s.tick()
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Nil(t, s.b.Job(2), "it went with its owner")
	assert.Equal(t, JobReady, s.row(3).State, "another's")
}

func TestASweepThatStopsAtTheLivingFreesNothingBehindThem(t *testing.T) {
	s := tell(t, sweeping(minute, 0), deviant(deviation.SweepStopsAtLiving))
	for range 4 {
		s.job()
	}
	dead, alive := s.worker(0, 1), s.worker(1, 1)
	dead.take()
	lives := alive.take()
	dead.ask(2)
	s.at(30 * second)
	require.Equal(t, protocol.OK, alive.renew(lives))
	s.at(minute)
	s.tick()
	assert.Equal(t, JobReady, s.row(1).State)
	assert.Equal(t, JobClaimed, s.row(3).State, "it is behind one that must not be freed")
	require.Equal(t, protocol.OK, alive.ack(lives))
	s.at(2 * minute)
	s.tick()
	assert.Equal(t, JobReady, s.row(3).State)
	assert.Equal(t, JobReady, s.row(4).State)
}

func TestWhereOwnersAreNamesTheNextLifeKeepsAliveWhatTheOneBeforeHeld(t *testing.T) {
	s := tell(t, deviant(deviation.OwnerByName))
	for range 3 {
		s.job()
	}
	s.worker(0, 1).take()
	s.worker(1, 1).take()
	next := s.worker(0, 1)
	given := next.take()
	for range 4 {
		s.at(protocol.Duration(s.now) + 30*second)
		require.Equal(t, protocol.OK, next.renew(given))
	}
	s.worker(2, 1).ask(1)
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.EqualValues(t, 3*minute, s.row(1).Lease)
	assert.Equal(t, protocol.JobKey(2), s.facts(LeaseRanOut)[0].Job, "another seat's")
}
