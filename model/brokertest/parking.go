package brokertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

const park = 20 * time.Second

// Claim requests that wait.
var parkingCases = []check{
	{"a request that waits is served by a new job", func(t TB, open Open) {
		s := setParking(t, open)
		w := s.worker("a").park(3, park, 1)
		s.later(3 * time.Second)
		job := s.job()
		c := w.servedOne("a job came")
		require.Equal(t, job, c.Job)
		s.later(lease - tick)
		c.ok(c.renew(), "its lease began when it was granted")
	}},
	{"what a request that waits says of a kind counts when it is served", func(t TB, open Open) {
		s := setParking(t, open)
		w := s.worker("a").parking().park(1, park, 1)
		job := s.job()
		w.servedOne("a job came")
		s.later(lease)
		s.is(job, model.JobQuarantined, "its lease ran out, and its worker had said what that means for its kind")
	}},
	{"a served request says how long it waited", func(t TB, open Open) {
		s := setParking(t, open)
		a := s.worker("a")
		w := a.park(1, park, 1)
		s.later(3 * time.Second)
		s.job()
		answer := w.ended("a job came")
		require.NoError(t, answer.err)
		require.Equal(t, 3*time.Second, answer.Parked)
		again, err := s.broker.Claim(call(t), a.request(1, 1, park))
		require.NoError(t, err)
		require.Equal(t, answer.ClaimAnswer, again, "a repeat of the request is told the same")
	}},
	{"a request waits as long as it says", func(t TB, open Open) {
		s := setParking(t, open)
		a := s.worker("a")
		w := a.park(1, park, 1)
		s.later(park - tick)
		s.broker.(Parker).AwaitParked(1)
		s.later(tick)
		answer := w.ended("its time is over")
		require.NoError(t, answer.err)
		require.Empty(t, answer.Grants)
		require.Equal(t, park, answer.Parked)
		job := s.job()
		s.is(job, model.JobReady, "nobody waits any more")
		require.Equal(t, job, a.take().Job)
	}},
	{"a request that waits is served by what expires or becomes due", func(t TB, open Open) {
		s := setParking(t, open)
		first, second := s.job(), s.job()
		a, b := s.worker("a"), s.worker("b")
		claims := a.takes(2, 2)
		claims[0].ok(claims[0].release(protocol.BecauseYield, 5*time.Second), "release with a delay")
		w := b.park(1, 2*lease, 1)
		s.later(5 * time.Second)
		require.Equal(t, first, w.servedOne("the delay is over").Job)
		w = b.park(1, 2*lease, 1)
		s.later(lease - 5*time.Second)
		require.Equal(t, second, w.servedOne("its lease ran out").Job)
	}},
	{"a request that waits is served by what is handed back", func(t TB, open Open) {
		s := setParking(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		w := b.park(1, park, 1)
		c.ok(c.release(protocol.BecauseDrain, 0), "release")
		d := w.servedOne("it was released")
		require.Equal(t, job, d.Job)
		require.Greater(t, d.Token, c.Token)
	}},
	{"who waits longest is served first", func(t TB, open Open) {
		s := setParking(t, open)
		a, b := s.workerOf("a", 1), s.workerOf("b", 2)
		first := a.park(1, lease, 1)
		s.later(tick)
		second := b.park(1, lease, 2)
		one, two := s.job(), s.job()
		require.Equal(t, one, first.servedOne("it waited longer").Job)
		require.Equal(t, two, second.servedOne("it came second").Job)
	}},
	{"a job that comes back prefers a newer generation", func(t TB, open Open) {
		s := setParking(t, open)
		job := s.job()
		old, same, newer := s.workerOf("a", 1), s.workerOf("b", 1), s.workerOf("c", 2)
		c := old.take()
		longest := same.park(1, lease, 1)
		s.later(tick)
		preferred := newer.park(1, lease, 2)
		c.ok(c.release(protocol.BecauseDrain, 0), "release")
		d := preferred.servedOne("the other is about to be stopped, too")
		require.Equal(t, job, d.Job)
		d.ok(d.release(protocol.BecauseYield, 0), "release")
		require.Equal(t, job, longest.servedOne("it is a preference, never a condition").Job)
	}},
	{"a withdrawn request waits no more", func(t TB, open Open) {
		s := setParking(t, open)
		needsWithdraw(s)
		a := s.worker("a")
		w := a.park(1, park, 1)
		require.Zero(t, a.withdraw(1), "nothing was granted")
		s.broker.(Parker).AwaitParked(0)
		job := s.job()
		s.is(job, model.JobReady, "nobody waits")
		w.emptyHanded("it was withdrawn")
		a.refused(1, "it was withdrawn")
		require.Equal(t, job, a.take().Job)
	}},
	{"who is going waits no more", func(t TB, open Open) {
		s := setParking(t, open)
		a := s.worker("a")
		w := a.park(1, park, 1)
		a.going()
		s.broker.(Parker).AwaitParked(0)
		job := s.job()
		s.is(job, model.JobReady, "nobody waits")
		require.ErrorIs(t, w.ended("it is going").err, worker.ErrRefused)
	}},
	{"a newer request takes the place of the one that waits", func(t TB, open Open) {
		s := setParking(t, open)
		a := s.worker("a")
		w := a.park(1, park, 1)
		a.none("the queue is empty")
		s.broker.(Parker).AwaitParked(0)
		job := s.job()
		s.is(job, model.JobReady, "nobody waits")
		w.emptyHanded("a newer request closed it")
		a.refused(1, "a newer request closed it")
		require.Equal(t, job, a.take().Job)
	}},
	{"a cut connection loses no job", func(t TB, open Open) {
		s := setParking(t, open)
		a, b := s.worker("a"), s.worker("b")
		w := a.park(1, park, 1)
		w.cancel()
		require.Empty(t, w.ended("its client has gone").Grants)
		job := s.job()
		repeat, err := s.broker.Claim(call(t), a.request(1, 1, 0))
		if err != nil {
			require.ErrorIs(t, err, worker.ErrRefused)
		}
		for _, c := range a.given(repeat) {
			require.Equal(t, job, c.Job)
			c.ok(c.release(protocol.BecauseYield, 0), "release")
		}
		require.Equal(t, job, b.take().Job)
	}},
}

func setParking(t TB, open Open) *stage {
	s := set(t, open)
	needsParker(s)
	return s
}

// servedOne returns the one claim that a request was granted.
func (w *waiting) servedOne(why string) *held {
	w.Helper()
	claims := w.served(why)
	require.Len(w, claims, 1, why)
	return claims[0]
}
