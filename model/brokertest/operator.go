package brokertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// An operator cancels a job.
var operatorCases = []check{
	{"an operator's cancel of a job that nobody holds", func(t TB, open Open) {
		s := set(t, open)
		ready, delayed, expired := s.job(), s.job(), s.job()
		a := s.worker("a")
		claims := a.takes(3, 3)
		claims[0].ok(claims[0].release(protocol.BecauseYield, 0), "release")
		claims[1].ok(claims[1].release(protocol.BecauseYield, 2*lease), "release with a delay")
		s.later(lease)
		for _, job := range []protocol.JobKey{ready, delayed, expired} {
			s.broker.CancelJob(job)
			s.is(job, model.JobCancelledByOperator, "nobody held it")
		}
		s.later(2 * lease)
		a.none("they are cancelled")
		claims[2].code(protocol.Expired, claims[2].renew(), "it had expired before it was cancelled")
		claims[2].code(protocol.Closed, claims[2].ack(), "its late result does not bring it back")
		s.broker.CancelJob(ready)
		s.is(ready, model.JobCancelledByOperator, "twice is once")
	}},
	{"an operator's cancel is told to the holder", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		c := a.take()
		s.broker.CancelJob(job)
		s.is(job, model.JobClaimed, "its holder does not know yet")
		s.later(lease - tick)
		c.code(protocol.CancelOrder, c.renewWith([]byte("x")), "the order comes with a renewal")
		s.later(lease - tick)
		c.code(protocol.CancelOrder, c.renew(), "which extends the lease")
		c.ok(c.release(protocol.BecauseCancelled, 0), "it obeys")
		s.is(job, model.JobCancelledByOperator, "final")
		c.code(protocol.Repeat, c.release(protocol.BecauseCancelled, 0), "it was released")
		a.none("it is cancelled")
	}},
	{"a cancel that its holder did not obey is carried out when it lets go", func(t TB, open Open) {
		for name, end := range map[string]struct {
			do   func(s *stage, c *held) protocol.Code
			want model.JobState
		}{
			"release":              {func(_ *stage, c *held) protocol.Code { return c.release(protocol.BecauseDrain, 0) }, model.JobCancelledByOperator},
			"release with a delay": {func(_ *stage, c *held) protocol.Code { return c.release(protocol.BecauseBusy, time.Second) }, model.JobCancelledByOperator},
			"refuse":               {func(_ *stage, c *held) protocol.Code { return c.refuse(time.Second) }, model.JobCancelledByOperator},
			"fail":                 {func(_ *stage, c *held) protocol.Code { return c.fail() }, model.JobCancelledByOperator},
			"expiry":               {func(s *stage, _ *held) protocol.Code { s.later(lease); return protocol.OK }, model.JobCancelledByOperator},
			"ack":                  {func(_ *stage, c *held) protocol.Code { return c.ack() }, model.JobDone},
			"quarantine":           {func(_ *stage, c *held) protocol.Code { return c.quarantine() }, model.JobQuarantined},
		} {
			s := set(t, open)
			job := s.job()
			a := s.worker("a")
			c := a.take()
			s.broker.CancelJob(job)
			c.ok(end.do(s, c), name)
			s.is(job, end.want, "it was cancelled, then: "+name)
			s.later(lease)
			a.none(name)
		}
	}},
	{"a cancelled job's withdrawn claim cancels it", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		job := s.job()
		a := s.worker("a")
		a.take()
		s.broker.CancelJob(job)
		require.Equal(t, 1, a.withdraw(1))
		s.is(job, model.JobCancelledByOperator, "its holder never knew of it")
	}},
	{"what is over cannot be cancelled", func(t TB, open Open) {
		for _, end := range []struct {
			verb protocol.Verb
			want model.JobState
		}{{protocol.Ack, model.JobDone}, {protocol.Quarantine, model.JobQuarantined}} {
			s := set(t, open)
			job := s.job()
			c := s.worker("a").take()
			c.ok(c.settle(settlement(end.verb)), end.verb.String())
			s.broker.CancelJob(job)
			s.is(job, end.want, "the cancel came too late")
			c.code(protocol.Repeat, c.settle(settlement(end.verb)), end.verb.String())
		}
	}},
}
