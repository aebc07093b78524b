package brokertest

import (
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// When a lease is over, by whose clock, and what its holder may do then.
var leaseCases = []check{
	{"a lease is over at its end and not before", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		s.later(lease - tick)
		b.none("the lease has a millisecond left")
		c.ok(c.renew(), "the lease has a millisecond left")
		s.later(lease - tick)
		b.none("a renewal begins the lease anew")
		s.later(tick)
		c.code(protocol.Expired, c.renew(), "the lease ran out at this instant")
		c.code(protocol.Expired, c.save([]byte("x")), "the lease ran out at this instant")
		s.is(job, model.JobReady, "expired and claimable")
		next := b.take()
		require.Equal(t, job, next.Job)
		require.Greater(t, next.Token, c.Token, "tokens grow with every claim")
		require.Nil(t, next.Cursor, "what came too late is not stored")
	}},
	{"only the broker's clock counts, wherever it stands", func(t TB, open Open) {
		for _, off := range []time.Duration{-time.Hour, time.Hour} {
			s := set(t, open, func(c *Config) { c.Start = time.Now().Add(off).Truncate(time.Millisecond) })
			a, b := s.worker("a"), s.worker("b")
			first := s.job()
			c := a.take()
			b.none("the claim is within its lease, although the client's clock is an hour off")
			s.later(lease - tick)
			c.ok(c.renew(), "the lease has a millisecond left")
			s.later(lease - tick)
			c.ok(c.renew(), "the renewed lease has a millisecond left, although the client's clock is an hour off")
			s.later(lease)
			c.code(protocol.Expired, c.renew(), "the lease ran out, although the client's clock stood still")
			next := b.take()
			require.Equal(t, first, next.Job)
			next.ok(next.release(protocol.BecauseYield, time.Second), "release with a delay")
			a.none("the delay is not over, although the client's clock is an hour off")
			s.later(time.Second)
			failing := a.take()
			failing.ok(failing.fail(), "fail")
			b.none("the backoff is not over, although the client's clock is an hour off")
			s.later(backoffMin)
			done := b.take()
			done.ok(done.ack(), "ack")
			done.code(protocol.Repeat, done.ack(), "it is remembered, although the client's clock is an hour off")
		}
	}},
	{"ack after expiry, before the next claim", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		s.later(10 * lease)
		c.ok(c.ack(), "finished work is not redone")
		s.is(job, model.JobDone, "it was acked")
		b.none("it was acked")
		c.code(protocol.Repeat, c.ack(), "it was acked")
	}},
	{"ack after expiry, after the next claim", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		old := a.take()
		s.later(lease)
		c := b.take()
		require.Equal(t, job, c.Job)
		old.code(protocol.Stale, old.ack(), "another has it")
		s.is(job, model.JobClaimed, "another has it")
		c.ok(c.renew(), "its claim stands")
		c.ok(c.ack(), "ack")
		old.code(protocol.Stale, old.ack(), "another finished it")
	}},
	{"release after expiry", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		s.later(lease)
		c.ok(c.release(protocol.BecauseDrain, 0), "nobody took it")
		require.Equal(t, Job{State: model.JobReady, Deliveries: 1, Fruitless: 1}, s.info(job), "one interruption, counted once, and a handler's return clears poison")
		c.code(protocol.Repeat, c.release(protocol.BecauseDrain, 0), "it was released")
		next := b.take()
		require.Equal(t, worker.Prior{Token: c.Token, Reason: protocol.BecauseDrain}, next.Prior)
		b.none("it is in the queue once")
	}},
	{"release with a delay after expiry", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		s.later(lease)
		c.ok(c.release(protocol.BecauseBusy, time.Second), "nobody took it")
		s.is(job, model.JobDelayed, "it was claimable and is not any more")
		b.none("it is delayed")
		s.later(time.Second)
		require.Equal(t, job, b.take().Job)
		b.none("it is in the queue once")
	}},
	{"release against takeover", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		old := a.take()
		s.later(lease)
		c := b.take()
		old.code(protocol.Stale, old.release(protocol.BecauseDrain, 0), "it was on its way while another took the job")
		s.is(job, model.JobClaimed, "another has it")
		a.none("another has it")
		c.ok(c.renew(), "its claim stands")
	}},
	{"renew after release", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		c.ok(c.release(protocol.BecauseDrain, 0), "release")
		c.code(protocol.Closed, c.renew(), "a heartbeat must not bring the lease back")
		c.code(protocol.Closed, c.save([]byte("x")), "the claim has ended")
		s.is(job, model.JobReady, "it was released")
		next := b.take()
		require.Equal(t, job, next.Job)
		require.Nil(t, next.Cursor, "what came too late is not stored")
		c.code(protocol.Stale, c.renew(), "another has it")
	}},
	{"renew racing release", func(t TB, open Open) {
		s := set(t, open)
		a := s.worker("a")
		for range 50 {
			job := s.job()
			c := a.take()
			var renewed, released []protocol.Code
			var errRenew, errRelease error
			var wg sync.WaitGroup
			wg.Go(func() {
				renewed, errRenew = s.broker.Renew(call(t), []worker.Renewal{{Job: c.Job, Token: c.Token}})
			})
			wg.Go(func() {
				released, errRelease = s.broker.Settle(call(t), []worker.Settlement{{Job: c.Job, Token: c.Token, Verb: protocol.Release, Reason: protocol.BecauseDrain}})
			})
			wg.Wait()
			require.NoError(t, errRenew)
			require.NoError(t, errRelease)
			require.Equal(t, []protocol.Code{protocol.OK}, released)
			require.Contains(t, []protocol.Code{protocol.OK, protocol.Closed}, renewed[0])
			s.is(job, model.JobReady, "whichever came first, it is released")
			again := a.take()
			require.Equal(t, job, again.Job)
			again.ok(again.ack(), "ack")
		}
	}},
	{"an expired claim's repeat is not granted again", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		a := s.worker("a")
		c := a.take()
		s.later(lease)
		require.Empty(t, a.askAs(1, 1))
		c.ok(c.ack(), "it may still be settled")
	}},
	{"a seat's next life leaves alone what the one before holds", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		s.job()
		old := s.worker("a")
		c, d := old.take(), old.take()
		next := s.worker("a")
		next.none("they are held")
		c.ok(c.renew(), "a renewal of the earlier life")
		c.ok(c.ack(), "a settlement of the earlier life")
		s.later(lease)
		require.Equal(t, d.Job, next.take().Job, "expiry frees it")
		d.code(protocol.Stale, d.ack(), "the next life has it")
	}},
	{"a seat's next life keeps nothing alive that the one before held", func(t TB, open Open) {
		s := set(t, open)
		held := s.job()
		s.job()
		s.worker("a").take()
		next, b := s.worker("a"), s.worker("b")
		c := next.take()
		for range 2 {
			s.later(lease / 2)
			c.ok(c.renew(), "its own")
		}
		require.Equal(t, held, b.take().Job, "nobody renewed it for a whole lease")
	}},
	{"expiry that means quarantine", func(t TB, open Open) {
		s := set(t, open, func(c *Config) { c.OnExpiry = model.QuarantineExpired })
		acked, other := s.job(), s.job()
		a, b := s.worker("a"), s.worker("b")
		c, d := a.take(), a.take()
		s.later(lease)
		s.is(acked, model.JobQuarantined, "its lease ran out")
		b.none("quarantined jobs are not granted")
		c.code(protocol.Expired, c.renew(), "its lease ran out")
		for _, verb := range verbs[1:] {
			c.code(protocol.Closed, c.settle(settlement(verb)), "only finished work brings it back: "+verb.String())
		}
		c.ok(c.ack(), "finished work is not parked")
		s.is(acked, model.JobDone, "it was acked")
		s.is(other, model.JobQuarantined, "its lease ran out")
		s.later(lease)
		d.ok(d.ack(), "however late")
	}},
	{"expiry that means quarantine for a kind", func(t TB, open Open) {
		s := set(t, open)
		parked, again := s.job(), s.job()
		other := s.broker.Enqueue(Queue, NewJob{Kind: otherKind, Version: version, Payload: []byte("payload")})
		a, b := s.worker("a").parking(), s.worker("b")
		claims := a.takes(3, 3)
		require.Equal(t, []protocol.JobKey{parked, again, other}, []protocol.JobKey{claims[0].Job, claims[1].Job, claims[2].Job})
		s.later(lease - tick)
		claims[0].ok(claims[0].renew(), "a renewal")
		claims[1].ok(claims[1].release(protocol.BecauseDrain, 0), "a release")
		s.later(tick)
		s.is(other, model.JobReady, "of its kind nothing was said")
		s.is(again, model.JobReady, "it was handed back before its lease ran out")
		s.later(lease - tick)
		s.is(parked, model.JobQuarantined, "its lease ran out, and its worker had said what that means for its kind")
		require.Equal(t, Job{State: model.JobQuarantined, Deliveries: 1, Poison: 1, Fruitless: 1}, s.info(parked))
		claims[0].code(protocol.Expired, claims[0].renew(), "its lease ran out")
		claims[0].code(protocol.Closed, claims[0].release(protocol.BecauseDrain, 0), "only finished work brings it back")
		claims[0].ok(claims[0].ack(), "finished work is not parked")

		next := b.take()
		require.Equal(t, again, next.Job)
		s.later(lease)
		s.is(again, model.JobReady, "the worker that held it now has said nothing of the kind")
		a.going()
	}},
	{"a worker that was going leaves its jobs to quarantine, too, if its kind says so", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a").parking()
		a.take()
		a.going()
		s.later(lease)
		require.Equal(t, Job{State: model.JobQuarantined, Deliveries: 1, Fruitless: 1}, s.info(job), "an interruption and no poison")
	}},
}
