package brokertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Failures, expiries and interruptions: what each spends and what clears it.
var countCases = []check{
	{"a failed job waits twice as long each time", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		for n, wait := range []time.Duration{backoffMin, 2 * backoffMin, 4 * backoffMin, backoffMax, backoffMax} {
			c := a.take()
			c.ok(c.fail(), "fail")
			require.Equal(t, Job{State: model.JobDelayed, Deliveries: n + 1, Failures: n + 1}, s.info(job))
			s.later(wait - tick)
			a.none("its backoff has a millisecond left")
			s.later(tick)
		}
		require.Equal(t, job, a.take().Job, "without a limit it is tried for ever")
	}},
	{"failures are spent", func(t TB, open Open) {
		s := set(t, open, func(c *Config) { c.MaxFailures = 3 })
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		for range 2 {
			c := a.take()
			c.ok(c.fail(), "fail")
			s.later(backoffMax)
			d := b.take()
			d.ok(d.release(protocol.BecauseDrain, 0), "a release is no failure")
			e := b.take()
			e.ok(e.refuse(0), "a refusal is no failure")
			b.take()
			s.later(lease)
		}
		s.is(job, model.JobReady, "two failures of three")
		c := a.take()
		c.ok(c.fail(), "fail")
		require.Equal(t, Job{State: model.JobDead, Deliveries: 9, Failures: 3}, s.info(job))
		s.later(lease)
		a.none("a dead letter is not granted")
		c.code(protocol.Repeat, c.fail(), "it failed")
		c.code(protocol.Closed, c.ack(), "it failed")
	}},
	{"expiries in a row are poison", func(t TB, open Open) {
		s := set(t, open, func(c *Config) { c.Poison = 2 })
		job := s.job()
		a := s.worker("a")
		a.take()
		s.later(lease)
		require.Equal(t, Job{State: model.JobReady, Deliveries: 1, Poison: 1, Fruitless: 1}, s.info(job))
		c := a.take()
		s.later(lease)
		require.Equal(t, Job{State: model.JobDead, Deliveries: 2, Poison: 2, Fruitless: 2}, s.info(job))
		a.none("a dead letter is not granted")
		c.code(protocol.Expired, c.renew(), "its lease ran out")
		for _, verb := range verbs[1:] {
			c.code(protocol.Closed, c.settle(settlement(verb)), "only finished work brings it back: "+verb.String())
		}
		c.ok(c.ack(), "finished work is not buried")
		s.is(job, model.JobDone, "it was acked")
	}},
	{"what clears poison and what does not", func(t TB, open Open) {
		for _, c := range []struct {
			name   string
			do     func(c *held) protocol.Code
			poison int
		}{
			{"a saved cursor", func(c *held) protocol.Code { return c.save([]byte("x")) }, 0},
			{"a cursor with a renewal", func(c *held) protocol.Code { return c.renewWith([]byte("x")) }, 0},
			{"a renewal", func(c *held) protocol.Code { return c.renew() }, 1},
			{"a release by the drain", func(c *held) protocol.Code { return c.release(protocol.BecauseDrain, 0) }, 0},
			{"a hurried release", func(c *held) protocol.Code { return c.release(protocol.BecauseHurry, 0) }, 0},
			{"a yield", func(c *held) protocol.Code { return c.release(protocol.BecauseYield, 0) }, 0},
			{"a release in distrust", func(c *held) protocol.Code { return c.release(protocol.BecauseDistrust, 0) }, 0},
			{"a late claim", func(c *held) protocol.Code { return c.release(protocol.BecauseLate, 0) }, 1},
			{"a busy worker", func(c *held) protocol.Code { return c.release(protocol.BecauseBusy, 0) }, 1},
			{"a refusal", func(c *held) protocol.Code { return c.refuse(0) }, 1},
			{"a failure", func(c *held) protocol.Code { return c.fail() }, 0},
		} {
			s := set(t, open)
			job := s.job()
			a := s.worker("a")
			a.take()
			s.later(lease)
			again := a.take()
			again.ok(c.do(again), c.name)
			require.Equal(t, c.poison, s.info(job).Poison, c.name)
		}
	}},
	{"interruptions without progress are counted and spend nothing", func(t TB, open Open) {
		s := set(t, open, func(c *Config) { c.Starving, c.MaxFailures, c.Poison = 2, 2, 2 })
		job := s.job()
		a := s.worker("a")
		for n := range 5 {
			c := a.take()
			c.ok(c.release(protocol.BecauseDrain, 0), "release")
			require.Equal(t, Job{State: model.JobReady, Deliveries: n + 1, Fruitless: n + 1}, s.info(job))
		}
		for _, reason := range []protocol.Reason{protocol.BecauseLate, protocol.BecauseBusy} {
			c := a.take()
			c.ok(c.release(reason, 0), "release")
			require.Equal(t, 5, s.info(job).Fruitless, "it never ran")
		}
		c := a.take()
		c.ok(c.save([]byte("x")), "save")
		require.Zero(t, s.info(job).Fruitless, "progress")
	}},
	{"a worker that was going is cut", func(t TB, open Open) {
		s := set(t, open, func(c *Config) { c.Poison = 1 })
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		old := a.take()
		a.going()
		s.later(lease)
		require.Equal(t, Job{State: model.JobReady, Deliveries: 1, Fruitless: 1}, s.info(job), "an interruption and no poison")
		next := b.take()
		require.Equal(t, worker.Prior{Token: old.Token, Reason: protocol.BecauseCut}, next.Prior)
		s.later(lease)
		s.is(job, model.JobDead, "the other had not said that it was going")
	}},
	{"a worker that was going before its claim's last renewal is cut", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		c := a.take()
		a.going()
		s.later(lease / 2)
		c.ok(c.renew(), "it drains and renews as before")
		s.worker("a") // the seat's next life
		s.later(lease)
		require.Equal(t, Job{State: model.JobReady, Deliveries: 1, Fruitless: 1}, s.info(job))
	}},
}
