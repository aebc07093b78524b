package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAJobThatNobodyHoldsIsCancelledAtOnce(t *testing.T) {
	states := map[string]func(*story, *worker){
		"ready":   func(*story, *worker) {},
		"delayed": func(_ *story, w *worker) { w.release(w.take(), protocol.BecauseBusy, second) },
		"expired": func(s *story, w *worker) { w.take(); s.at(minute); s.tick() },
	}
	for name, bring := range states {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			s.job()
			w := s.worker(0, 1)
			bring(s, w)
			s.cancel(1)
			assert.Equal(t, JobCancelledByOperator, s.row(1).State)
			assert.Len(t, s.facts(JobCancelled), 1)
			s.now = s.now.Add(minute)
			w.park()
			s.cancel(1)
			assert.Empty(t, s.out.Facts, "it is cancelled once")
		})
	}
}

func TestTheHolderLearnsOfACancelAtItsRenewalAndItsReleaseIsTheEnd(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.cancel(1)
	assert.Equal(t, JobClaimed, s.row(1).State)
	s.at(20 * second)
	assert.Equal(t, protocol.CancelOrder, w.renew(g))
	assert.Equal(t, protocol.Instant(80*second), s.row(1).Lease, "the lease is extended nevertheless")
	assert.Equal(t, protocol.OK, w.release(g, protocol.BecauseCancelled, 0))
	assert.Equal(t, JobCancelledByOperator, s.row(1).State)
	assert.Len(t, s.facts(JobCancelled), 1)
	assert.Equal(t, protocol.Repeat, w.release(g, protocol.BecauseCancelled, 0))
	assert.Equal(t, protocol.Closed, w.ack(g))
	w.park()
}

func TestAHolderThatFinishesBeforeItLearnsOfTheCancelHasFinished(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	g := w.take()
	s.cancel(1)
	assert.Equal(t, protocol.OK, w.ack(g))
	assert.Equal(t, JobDone, s.row(1).State)
}

func TestACancelThatTheHolderNeverObeysIsCarriedOutWhenItLetsGo(t *testing.T) {
	ways := map[string]func(*story, *worker, grant){
		"by a drain":    func(_ *story, w *worker, g grant) { w.release(g, protocol.BecauseDrain, 0) },
		"with a delay":  func(_ *story, w *worker, g grant) { w.release(g, protocol.BecauseBusy, second) },
		"by a failure":  func(_ *story, w *worker, g grant) { w.fail(g) },
		"by a refusal":  func(_ *story, w *worker, g grant) { w.refuse(g, second) },
		"by a withdraw": func(_ *story, w *worker, _ grant) { w.withdraw(1) },
		"by its death":  func(s *story, _ *worker, _ grant) { s.at(minute); s.tick() },
	}
	for name, letGo := range ways {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			s.job()
			w, other := s.worker(0, 1), s.worker(1, 1)
			g := w.take()
			s.cancel(1)
			letGo(s, w, g)
			assert.Equal(t, JobCancelledByOperator, s.row(1).State)
			assert.Len(t, s.facts(JobCancelled), 1)
			other.park()
		})
	}
}

func TestALateSettlingDoesNotRaiseACancelledJob(t *testing.T) {
	for _, verb := range everyVerb {
		s := tell(t)
		s.job()
		w := s.worker(0, 1)
		g := w.take()
		s.at(minute)
		s.tick()
		s.cancel(1)
		before := s.row(1)
		assert.Equal(t, protocol.Closed, w.settle(g, verb), verb.String())
		assert.Equal(t, before, s.row(1))
		require.Empty(t, s.out.Facts)
	}
}

func TestACancelOfWhatHasEndedOrIsUnknownIsNothing(t *testing.T) {
	s := tell(t)
	s.job()
	w := s.worker(0, 1)
	w.ack(w.take())
	s.cancel(1)
	assert.Equal(t, JobDone, s.row(1).State)
	s.cancel(99)
	assert.Empty(t, s.out.Facts)
}
