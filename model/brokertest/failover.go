package brokertest

import (
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// A broker that forgets its newest writes. It promises neither that no job is lost nor that
// one claim is alive, but that no two claims have one token.
var failoverCases = []check{
	{"a forgotten claim's token is not given out again", func(t TB, open Open) {
		s := set(t, open)
		replica := needsReplica(s)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		failOver := replica.CutOff()
		forgotten := a.take()
		s.later(tick)
		failOver()
		s.is(job, model.JobReady, "its claim was forgotten")
		c := b.take()
		require.Equal(t, job, c.Job)
		require.Greater(t, c.Token, forgotten.Token)
		staleEverywhere(forgotten, "it was forgotten")
		c.ok(c.ack(), "the claim stands")
	}},
	{"a forgotten settlement is sent again", func(t TB, open Open) {
		s := set(t, open)
		replica := needsReplica(s)
		job := s.job()
		c := s.worker("a").take()
		failOver := replica.CutOff()
		c.ok(c.ack(), "ack")
		failOver()
		s.is(job, model.JobClaimed, "its end was forgotten")
		c.ok(c.ack(), "ack once more")
		c.code(protocol.Repeat, c.ack(), "it is done")
	}},
	{"a forgotten renewal lets the lease run out", func(t TB, open Open) {
		s := set(t, open)
		replica := needsReplica(s)
		s.job()
		a, b := s.worker("a"), s.worker("b")
		c := a.take()
		s.later(lease - tick)
		failOver := replica.CutOff()
		c.ok(c.renew(), "renew")
		failOver()
		s.later(tick)
		c.code(protocol.Expired, c.renew(), "its renewal was forgotten")
		b.take()
	}},
}
