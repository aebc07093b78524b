package brokertest

import (
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Two queues on one broker.
var queueCases = []check{
	{"queues are separate", func(t TB, open Open) {
		s := set(t, open)
		a := s.worker("a")
		b := a.on(OtherQueue)
		job := s.jobOn(OtherQueue)
		a.none("the job is on the other queue")
		c := b.take()
		require.Equal(t, job, c.Job)
		mine := s.job()
		require.NotEqual(t, job, mine, "keys are different in all queues")
		require.Equal(t, grants([]*held{c}), grants(b.askAs(1, 1)), "requests of the same number on two queues are two")
		d := a.take()
		require.Equal(t, mine, d.Job)
		a.going()
		a.refused(3, "it is going, on this queue")
		other := s.jobOn(OtherQueue)
		require.Equal(t, other, b.take().Job, "going is said for each queue")
		c.ok(c.ack(), "ack")
		d.ok(d.renew(), "renew")
		s.is(job, model.JobDone, "it was acked")
		s.is(mine, model.JobClaimed, "the other was acked")
	}},
	{"a withdraw is of one queue", func(t TB, open Open) {
		s := set(t, open)
		needsWithdraw(s)
		s.job()
		s.jobOn(OtherQueue)
		a := s.worker("a")
		b := a.on(OtherQueue)
		c, d := a.take(), b.take()
		require.Equal(t, 1, a.withdraw(1))
		c.code(protocol.Closed, c.renew(), "it was withdrawn")
		d.ok(d.renew(), "request 1 on the other queue was not")
	}},
}
