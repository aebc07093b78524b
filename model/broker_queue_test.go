package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (w *worker) takeAll() []protocol.JobKey {
	var jobs []protocol.JobKey
	for {
		given := w.ask(1)
		if len(given) == 0 {
			return jobs
		}
		jobs = append(jobs, given[0].job)
	}
}

func TestAReleasedJobKeepsItsPlaceInTheQueue(t *testing.T) {
	s := tell(t)
	for range 5 {
		s.job()
	}
	w := s.worker(0, 1)
	given := w.ask(4)
	w.release(given[3], protocol.BecauseDrain, 0)
	w.release(given[0], protocol.BecauseDrain, 0)
	w.release(given[2], protocol.BecauseDrain, 0)
	assert.Equal(t, []protocol.JobKey{1, 3, 4, 5}, w.takeAll())
}

func TestAJobThatWasCancelledInTheQueueDoesNotLetLaterOnesPass(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	s.job()
	s.job()
	s.job()
	given := w.ask(3)
	s.job()                                      // 4, never handed out
	s.job()                                      // 5
	w.release(given[2], protocol.BecauseLate, 0) // 3 is back
	s.cancel(4)
	assert.Equal(t, []protocol.JobKey{3, 5}, w.takeAll())
}

func TestAStaleFreshEntryDoesNotOvertakeAReturnedJob(t *testing.T) {
	s := tell(t)
	w := s.worker(0, 1)
	for range 3 {
		s.job()
	}
	first := w.take()
	s.cancel(2) // a stale entry at the head of the queue
	second := w.ask(1)[0]
	require.Equal(t, protocol.JobKey(3), second.job)
	s.job() // 4
	s.job() // 5
	g := w.take()
	require.Equal(t, protocol.JobKey(4), g.job)
	s.job() // 6
	last := w.ask(2)
	require.Len(t, last, 2)
	s.job() // 7
	s.job() // 8
	s.cancel(7)
	w.release(last[1], protocol.BecauseLate, 0) // 6
	w.release(first, protocol.BecauseLate, 0)   // 1
	assert.Equal(t, []protocol.JobKey{1, 6, 8}, w.takeAll())
}

func TestAReturnedJobPrefersAWaitingWorkerOfANewerGeneration(t *testing.T) {
	s := tell(t)
	s.job()
	leaver, old, fresh, newest := s.worker(0, 2), s.worker(1, 2), s.worker(2, 3), s.worker(3, 4)
	g := leaver.take()
	old.park()
	s.at(1 * second)
	newest.park()
	s.at(2 * second)
	fresh.park()
	leaver.release(g, protocol.BecauseDrain, 0)
	assert.Len(t, newest.given(), 1, "the one that waits longest among the newer ones")
	assert.Empty(t, old.given())
}

func TestAReturnedJobFallsBackToWhoeverWaits(t *testing.T) {
	s := tell(t)
	s.job()
	leaver, old, older := s.worker(0, 2), s.worker(1, 2), s.worker(2, 1)
	g := leaver.take()
	older.park()
	s.at(second)
	old.park()
	leaver.release(g, protocol.BecauseDrain, 0)
	assert.Len(t, older.given(), 1, "nobody newer waits, so who waits longest is served")
}

func TestExpiredAndDelayedJobsPreferNewerGenerationsToo(t *testing.T) {
	s := tell(t, func(c *BrokerConfig) { c.Park = protocol.Hour })
	s.job()
	s.job()
	leaver, old, fresh := s.worker(0, 1), s.worker(1, 1), s.worker(2, 2)
	given := leaver.ask(2)
	leaver.release(given[1], protocol.BecauseBusy, 5*second)
	old.park()
	s.at(second)
	fresh.park()
	s.at(5 * second)
	s.tick()
	require.Len(t, fresh.given(), 1)
	fresh.park()
	s.at(minute)
	s.tick()
	assert.Len(t, fresh.given(), 1)
	assert.Empty(t, old.given())
}

func TestANewJobGoesToWhoWaitsLongestWhateverItsGeneration(t *testing.T) {
	s := tell(t)
	old, fresh := s.worker(0, 1), s.worker(1, 2)
	old.park()
	s.at(second)
	fresh.park()
	s.job()
	assert.Len(t, old.given(), 1)
	s.job()
	assert.Len(t, fresh.given(), 1)
}

func TestOneInstantsLongPollsOfAGenerationAreServedInTheirOrder(t *testing.T) {
	s := tell(t)
	workers := []*worker{s.worker(2, 1), s.worker(0, 1), s.worker(1, 1)}
	for _, w := range workers {
		w.park()
	}
	workers[1].withdraw(1) // out of the middle
	s.job()
	assert.Len(t, workers[0].given(), 1)
	s.job()
	assert.Len(t, workers[2].given(), 1)
}

func TestADelayedJobIsDueForARequestWithoutAnyTick(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	w.release(w.take(), protocol.BecauseBusy, second)
	assert.Equal(t, protocol.Never, s.b.Deadline(), "nobody waits")
	s.at(second)
	w.take()
}

func TestAnExpiredJobThatIsReleasedLateIsInTheQueueOnce(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.at(minute)
	s.tick()
	require.Equal(t, protocol.OK, w.release(g, protocol.BecauseDrain, 0))
	assert.Len(t, s.b.returned, 1)
	assert.Equal(t, []protocol.JobKey{1}, w.takeAll())
}
