package brokertest

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Who asks, and what a request under an id is given.
var requestCases = []check{
	{"a life has one incarnation", func(t TB, open Open) {
		s := set(t, open)
		a, b := s.worker("a"), s.worker("b")
		require.NotEqual(t, a.incarnation, b.incarnation, "lives of two seats")
		first := a.incarnation
		a.register()
		require.Equal(t, first, a.incarnation, "the answer was lost and the same life registers again")
		next := s.worker("a")
		require.Greater(t, next.incarnation, first, "the seat's next life")
		b.register()
		next.register()
		require.Greater(t, next.incarnation, first)
	}},
	{"a request is granted what it wants in the queue's order", func(t TB, open Open) {
		s := set(t, open)
		jobs := []protocol.JobKey{s.job(), s.job(), s.job()}
		a := s.worker("a")
		claims := a.takes(2, 2)
		require.Equal(t, jobs[:2], []protocol.JobKey{claims[0].Job, claims[1].Job})
		require.Equal(t, jobs[2], a.take().Job)
		a.none("every job is claimed")
		for _, job := range jobs {
			require.Equal(t, Job{State: model.JobClaimed, Deliveries: 1}, s.info(job))
		}
	}},
	{"a job arrives as it was sent", func(t TB, open Open) {
		s := set(t, open)
		want := NewJob{Kind: kind, Version: 7, Payload: []byte("\x00\xff{\"a\": \"\u2028é\"}\r\n\x00")}
		s.broker.Enqueue(Queue, want)
		c := s.worker("a").take()
		require.Equal(t, want, NewJob{c.Kind, c.Version, c.Payload})
		require.Nil(t, c.Cursor, "nothing was saved")
		require.Zero(t, c.Prior, "nobody had it before")
	}},
	{"a request that is repeated gets the same claims", func(t TB, open Open) {
		s := set(t, open)
		for range 4 {
			s.job()
		}
		a := s.worker("a")
		first := a.takes(3, 3)
		require.Equal(t, grants(first), grants(a.askAs(1, 3)), "the first answer was lost")
		first[0].ok(first[0].ack(), "ack")
		first[1].ok(first[1].release(protocol.BecauseYield, 0), "release")
		require.Equal(t, grants(first[2:]), grants(a.askAs(1, 3)), "those it does not hold any more are left out, and nothing is claimed anew")
		s.later(lease)
		require.Empty(t, a.askAs(1, 3), "a repeat must not start a job whose lease has run out")
		a.takes(3, 3) // a new id claims anew
	}},
	{"a request that found nothing finds nothing when repeated", func(t TB, open Open) {
		s := set(t, open)
		a := s.worker("a")
		a.none("the queue is empty")
		s.job()
		require.Empty(t, a.askAs(1, 1), "what an id was granted does not change")
		a.take()
	}},
	{"an older request is refused", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		a.seq = 4
		c := a.take()
		a.refused(4, "it was overtaken by a newer one")
		s.is(job, model.JobClaimed, "the claim stands")
		c.ok(c.renew(), "the claim stands")
	}},
	{"a stranger is refused", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		stranger := *a
		stranger.incarnation += 1000
		stranger.refused(1, "nobody registered this incarnation")
		if !s.broker.Capabilities().NoWithdraw {
			n, err := s.broker.Withdraw(call(t), stranger.incarnation, Queue, 1)
			if err != nil {
				require.ErrorIs(t, err, worker.ErrRefused)
			}
			require.Zero(t, n)
		}
		s.is(job, model.JobReady, "nothing happened to it")
	}},
	{"a withdrawn request gives back what its answer granted", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		s.job()
		s.job()
		a, b := s.worker("a"), s.worker("b")
		lost := a.takes(3, 2)
		require.Equal(t, 2, a.withdraw(1))
		for _, c := range lost {
			require.Equal(t, Job{State: model.JobReady, Deliveries: 1}, s.info(c.Job), "it is claimable at once, and nothing but the delivery is counted")
			c.code(protocol.Closed, c.renew(), "the claim was ended")
			c.code(protocol.Closed, c.ack(), "the claim was ended")
		}
		require.Zero(t, a.withdraw(1), "a repeat has nothing left to give back")
		again := b.takes(3, 2)
		require.Zero(t, again[0].Prior, "what was withdrawn never ran")
		a.refused(1, "it was withdrawn")
	}},
	{"a withdrawn request that arrives afterwards is refused", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		job := s.job()
		a := s.worker("a")
		require.Zero(t, a.withdraw(1), "the request is still on its way")
		a.refused(1, "it was withdrawn before it came")
		s.is(job, model.JobReady, "nobody has it")
		a.seq = 1
		require.Equal(t, job, a.take().Job, "the next id is served")
	}},
	{"a late withdraw takes back nothing that is not its own", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		s.job()
		s.job()
		a := s.worker("a")
		first, second := a.take(), a.take()
		require.Zero(t, a.withdraw(1), "request 2 has closed it")
		first.ok(first.renew(), "its claim stands")
		require.Equal(t, 1, a.withdraw(2))
		second.code(protocol.Closed, second.renew(), "its claim was ended")
		first.ok(first.renew(), "its claim stands")
	}},
	{"a withdraw leaves alone what was settled or taken meanwhile", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		for range 3 {
			s.job()
		}
		a, b := s.worker("a"), s.worker("b")
		claims := a.takes(3, 3)
		claims[0].ok(claims[0].ack(), "ack")
		s.later(lease)
		taken := b.take()
		require.Equal(t, claims[1].Job, taken.Job)
		require.Equal(t, 1, a.withdraw(1), "the third, which ran out and which nobody took")
		s.is(claims[0].Job, model.JobDone, "it was acked")
		taken.ok(taken.renew(), "it is another's")
		claims[2].code(protocol.Closed, claims[2].ack(), "it was given back")
	}},
	{"a late claim goes back as if nothing had been", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		a.going()
		c.ok(c.release(protocol.BecauseLate, 0), "it came after the stop")
		require.Equal(t, Job{State: model.JobReady, Deliveries: 1}, s.info(job))
		next := b.take()
		require.Equal(t, job, next.Job)
		require.Zero(t, next.Prior, "a late claim never ran")
	}},
	{"who is going is granted nothing new", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		a.going()
		require.Equal(t, grants([]*held{c}), grants(a.askAs(1, 1)), "a repeat is told what it holds")
		a.refused(2, "it is going")
		a.register()
		a.refused(3, "it is going, and says once more who it is")
		c.ok(c.renew(), "it keeps what it holds")
		c.ok(c.ack(), "and settles it")
		require.Equal(t, job, b.take().Job, "others are served")
		s.job()
		s.worker("a").take().ack() // the seat's next life is not going
	}},
	{"requests at one time share no job", func(t TB, open Open) {
		s := set(t, open)
		const jobs, hands, want = 40, 8, 7
		for range jobs {
			s.job()
		}
		answers, errs := make([]worker.ClaimAnswer, hands), make([]error, hands)
		var wg sync.WaitGroup
		for i := range hands {
			a := s.worker(string(rune('a' + i)))
			wg.Go(func() { answers[i], errs[i] = s.broker.Claim(call(t), a.request(1, want, 0)) })
		}
		wg.Wait()
		seen := map[protocol.JobKey]bool{}
		for i := range hands {
			require.NoError(t, errs[i])
			for _, g := range answers[i].Grants {
				require.False(t, seen[g.Job], "job %d was granted twice", g.Job)
				seen[g.Job] = true
			}
		}
		require.Len(t, seen, jobs, "there was a request for each job")
	}},
}

// grants returns what claims are of, to compare.
func grants(claims []*held) []worker.Grant {
	g := make([]worker.Grant, len(claims))
	for i, c := range claims {
		g[i] = c.Grant
	}
	return g
}
