package brokertest

import (
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// What one execution leaves to the next.
var progressCases = []check{
	{"a cursor is kept, however it came", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		cursor := func(want string) *held {
			c := a.take()
			require.Equal(t, job, c.Job)
			require.Equal(t, want, string(c.Cursor))
			return c
		}
		c := cursor("")
		saved := []byte("saved\x00\xff")
		c.ok(c.save(saved), "save")
		saved[0] = 'S' // its caller goes on writing
		c.ok(c.renew(), "a renewal without a cursor keeps the one before")
		require.Equal(t, "saved\x00\xff", string(a.again().Cursor), "a repeat of the request tells it too")
		c.ok(c.release(protocol.BecauseDrain, 0), "a release without a cursor keeps the one before")
		c = cursor("saved\x00\xff")
		c.ok(c.renewWith([]byte("renewed")), "renew")
		s.later(lease)
		c = cursor("renewed")
		c.ok(c.settle(worker.Settlement{Verb: protocol.Release, Reason: protocol.BecauseDrain, Cursor: []byte("released")}), "release")
		c = cursor("released")
		failed := settlement(protocol.Fail)
		failed.Cursor = []byte("failed")
		c.ok(c.settle(failed), "fail")
		s.later(backoffMin)
		cursor("failed")
	}},
	{"a cursor of a claim that is over is not kept", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		a, b := s.worker("a"), s.worker("b")
		old := a.take()
		old.ok(old.save([]byte("first")), "save")
		s.later(lease)
		old.code(protocol.Expired, old.save([]byte("late")), "its lease ran out")
		c := b.take()
		require.Equal(t, "first", string(c.Cursor))
		old.code(protocol.Stale, old.renewWith([]byte("stale")), "another has it")
		c.ok(c.settle(worker.Settlement{Verb: protocol.Release, Reason: protocol.BecauseYield, Cursor: []byte("second")}), "release")
		c.code(protocol.Repeat, c.settle(worker.Settlement{Verb: protocol.Release, Reason: protocol.BecauseYield, Cursor: []byte("repeat")}), "it was released")
		c.code(protocol.Closed, c.save([]byte("closed")), "it was released")
		require.Equal(t, "second", string(a.take().Cursor))
	}},
	{"an expired claim's settlement may bring a cursor", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		a := s.worker("a")
		c := a.take()
		s.later(lease)
		c.ok(c.settle(worker.Settlement{Verb: protocol.Release, Reason: protocol.BecauseDistrust, Cursor: []byte("late")}), "nobody took it")
		require.Equal(t, "late", string(a.take().Cursor))
	}},
	{"saving does not extend the lease", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		c := s.worker("a").take()
		s.later(lease / 2)
		c.ok(c.save([]byte("x")), "save")
		s.later(lease / 2)
		c.code(protocol.Expired, c.renew(), "a lease after the grant")
	}},
	{"the next execution is told of the one before", func(t TB, open Open) {
		s := set(t, open)
		s.job()
		a := s.worker("a")
		var last worker.Prior
		next := func(why string) *held {
			c := a.take()
			require.Equal(t, last, c.Prior, why)
			return c
		}
		for _, reason := range []protocol.Reason{protocol.BecauseDrain, protocol.BecauseHurry, protocol.BecauseYield, protocol.BecauseDistrust} {
			c := next("before " + reason.String())
			c.ok(c.release(reason, 0), reason.String())
			last = worker.Prior{Token: c.Token, Reason: reason}
		}
		for _, reason := range []protocol.Reason{protocol.BecauseLate, protocol.BecauseBusy} {
			c := next("before " + reason.String())
			c.ok(c.release(reason, 0), reason.String()+" is no execution and leaves it as it was")
		}
		c := next("before a refusal")
		c.ok(c.refuse(0), "a refused claim is no execution")
		c = next("before a failure")
		c.ok(c.fail(), "fail")
		s.later(backoffMin)
		last = worker.Prior{Token: c.Token}
		c = next("after a failure, which has no reason")
		s.later(lease)
		last = worker.Prior{Token: c.Token, Reason: protocol.BecauseExpired}
		c = next("after an expiry")
		require.Equal(t, last, a.again().Prior, "a repeat of the request tells it too")
		s.later(lease)
		c.ok(c.release(protocol.BecauseDrain, 0), "it expired and is released late")
		last = worker.Prior{Token: c.Token, Reason: protocol.BecauseDrain}
		next("after a late release")
	}},
}
