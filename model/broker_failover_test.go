package model

import (
	"testing"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func journal(c *BrokerConfig) { c.Journal = 10 * second }

// forget is a failover now to a replica that lacks everything since an instant.
func (s *story) forget(since protocol.Duration) {
	s.out.Reset()
	s.b.Forget(s.now, protocol.Instant(since), &s.out)
}

func TestAFailoverForgetsClaims(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a := s.worker(0, 1)
	s.at(5 * second)
	g := a.take()
	s.at(6 * second)
	s.forget(4 * second)
	assert.Equal(t, JobReady, s.row(1).State)
	assert.NotEmpty(t, s.facts(Forgotten))
	assert.Equal(t, protocol.Stale, a.renew(g), "the new primary knows of no such claim")
	assert.Empty(t, a.askAs(1, 1), "and a repeat of the request is given nothing")
}

func TestAFailoverForgetsRenewalsSettlementsAndEnqueues(t *testing.T) {
	s := tell(t, journal)
	for range 5 {
		s.job()
	}
	a, b := s.worker(0, 1), s.worker(1, 1)
	given := a.ask(4)
	last := b.take()
	before := make([]JobRow, 6)
	for job := protocol.JobKey(1); job <= 5; job++ {
		before[job] = s.row(job)
	}
	s.at(5 * second)
	require.Equal(t, protocol.OK, a.renew(given[0]))
	require.Equal(t, protocol.OK, a.ack(given[1]))
	require.Equal(t, protocol.OK, a.fail(given[2]))
	require.Equal(t, protocol.OK, a.save(given[3], 9))
	require.Equal(t, 1, b.withdraw(1))
	s.cancel(4)
	s.job()
	s.at(6 * second)
	s.forget(4 * second)
	for job := protocol.JobKey(1); job <= 5; job++ {
		assert.Equal(t, before[job], s.row(job), "job %d", job)
	}
	assert.Nil(t, s.b.Job(6), "its enqueue is forgotten, the job is lost")
	assert.Equal(t, protocol.OK, a.ack(given[1]), "the worker's repeat settles it after all")
	assert.Equal(t, protocol.OK, b.renew(last))
}

func TestAFailoverForgetsAnOperatorsCancel(t *testing.T) {
	s := tell(t, journal)
	s.job()
	s.job()
	a := s.worker(0, 1)
	g := a.take()
	s.at(5 * second)
	s.cancel(1)
	s.cancel(2)
	s.at(6 * second)
	s.forget(4 * second)
	assert.Equal(t, protocol.OK, a.renew(g))
	assert.Equal(t, JobReady, s.row(2).State)
}

func TestAFailoverForgetsNoMoreThanItsWindow(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a := s.worker(0, 1)
	s.at(second)
	g := a.take()
	s.at(5 * second)
	require.Equal(t, protocol.OK, a.save(g, 3))
	s.at(6 * second)
	s.forget(3 * second)
	assert.Equal(t, g.token, s.row(1).Token)
	assert.Zero(t, s.row(1).Cursor)
	assert.Equal(t, protocol.OK, a.renew(g))
}

func TestAFailoverReachesNoFurtherBackThanTheJournal(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a := s.worker(0, 1)
	s.at(second)
	g := a.take()
	s.at(30 * second)
	s.job() // the journal moves on
	s.forget(0)
	assert.Equal(t, g.token, s.row(1).Token, "thirty seconds ago is past forgetting")
	assert.Nil(t, s.b.Job(2))
}

func TestAfterAFailoverWhoWaitsIsServed(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	s.at(5 * second)
	g := a.take()
	b.park()
	s.at(6 * second)
	s.forget(4 * second)
	require.Len(t, b.given(), 1)
	assert.Equal(t, second, s.out.Answers[0].Event.Span)
	assert.NotEqual(t, g.token, b.given()[0].token)
}

func TestAfterAFailoverJobsKeepTheirOrder(t *testing.T) {
	s := tell(t, journal)
	for range 6 {
		s.job()
	}
	a := s.worker(0, 1)
	s.at(5 * second)
	a.ask(4)
	s.at(6 * second)
	s.forget(4 * second)
	s.job()
	assert.Equal(t, []protocol.JobKey{1, 2, 3, 4, 5, 6, 7}, a.takeAll())
}

func TestAFailoverForgetsWhatIsForgottenOnce(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a := s.worker(0, 1)
	s.at(5 * second)
	g := a.take()
	s.at(7 * second)
	require.Equal(t, protocol.OK, a.save(g, 3))
	s.at(8 * second)
	s.forget(4 * second)
	s.at(9 * second)
	s.forget(6 * second)
	assert.Empty(t, s.facts(Forgotten))
	assert.Equal(t, JobReady, s.row(1).State, "what the first took away the second does not bring back")
}

func TestABrokerWithoutAJournalForgetsNothing(t *testing.T) {
	s := tell(t)
	s.job()
	g := s.worker(0, 1).take()
	s.forget(-second)
	assert.Equal(t, g.token, s.row(1).Token)
}

// What happened before the instant since when writes are lacking happened on the new primary too.
func TestAfterAFailoverWhatTimeBringsAboutStillComes(t *testing.T) {
	s := tell(t, journal)
	for range 4 {
		s.job()
	}
	w := s.worker(0, 1)
	w.take()
	w.fail(w.take())
	w.ack(w.take())
	w.take()
	s.cancel(4)
	s.at(100 * ms)
	s.forget(50 * ms)
	s.at(second)
	s.tick()
	assert.Equal(t, JobReady, s.row(2).State, "its backoff is over")
	s.at(minute)
	s.tick()
	assert.Equal(t, JobReady, s.row(1).State, "its lease is over")
	assert.Equal(t, JobCancelledByOperator, s.row(4).State, "its lease is over, and it is cancelled")
	s.at(10 * minute)
	s.tick()
	assert.Nil(t, s.b.Job(3), "its ack is older than messages get")

	s.at(11 * minute)
	s.forget(11 * minute)
	s.tick()
	assert.Nil(t, s.b.Job(4), "and so is the cancel")
}

func TestAFailoverBringsAFinishedJobBackThoughItsRowWasDropped(t *testing.T) {
	s := tell(t, journal, func(c *BrokerConfig) { c.MaxMessageAge = second })
	s.job()
	a := s.worker(0, 1)
	g := a.take()
	s.at(5 * second)
	a.ack(g)
	s.at(7 * second)
	s.tick()
	require.Nil(t, s.b.Job(1))
	s.forget(4 * second)
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.Equal(t, protocol.OK, a.ack(g))
}

// The forgotten claim's worker runs on and the job is claimed anew: only different tokens
// can tell the two apart. Counting from the row alone would make them equal.
func TestAForgottenTokenIsNotGivenOutAgain(t *testing.T) {
	tokens := func(change func(*BrokerConfig)) (forgotten, next protocol.Token) {
		s := tell(t, journal, change)
		s.job()
		a, b := s.worker(0, 1), s.worker(1, 1)
		s.at(5 * second)
		forgotten = a.take().token
		s.at(6 * second)
		s.forget(4 * second)
		return forgotten, b.take().token
	}
	forgotten, next := tokens(func(*BrokerConfig) {})
	assert.Greater(t, next, forgotten)

	forgotten, next = tokens(func(c *BrokerConfig) { c.Deviations = deviation.Of(deviation.TokenForgotten) })
	assert.Equal(t, forgotten, next, "the mutant is seen to fail")
}

// The row of the promises that fails: a new primary whose clock is behind the newest token
// can give that token out again.
func TestANewPrimaryWhoseClockIsBehindMayRepeatAToken(t *testing.T) {
	s := tell(t, journal)
	s.job()
	a, b := s.worker(0, 1), s.worker(1, 1)
	s.at(5 * second)
	forgotten := a.take()
	s.at(5*second - 500*ms) // the replica's clock
	s.forget(4 * second)
	s.at(5 * second)
	again := b.take()
	assert.Equal(t, forgotten, again, "two workers hold one token: not promised otherwise")
}

func TestLeasesStayInOrderThoughANewPrimarysClockIsBehind(t *testing.T) {
	s := tell(t, journal)
	s.job()
	s.job()
	a := s.worker(0, 1)
	s.at(8 * second)
	a.take()
	s.at(2 * second)
	s.forget(9 * second)
	a.take()
	s.at(minute + 2*second)
	s.tick()
	assert.Equal(t, JobClaimed, s.row(1).State)
	assert.Equal(t, JobReady, s.row(2).State)
}

// As long as the clock moves on between two grants, tokens never repeat, whatever is forgotten.
func TestTokensNeverRepeatWhateverIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := brokerConfig(t)
		cfg.Journal = protocol.Hour
		b, h := NewBroker(cfg, testSeats, testSlots), newHistory()
		var out Outbox
		given := map[grant]bool{}
		newest := map[protocol.JobKey]protocol.Token{}
		play := func(call op) {
			h.now += protocol.Instant(protocol.Microsecond)
			out.Reset()
			call(b, &out)
			h.learn(&out)
			for _, f := range out.Facts {
				if f.Kind == Claimed {
					if given[grant{f.Job, f.Token}] || f.Token <= newest[f.Job] {
						t.Fatalf("job %d: token %d after %d", f.Job, f.Token, newest[f.Job])
					}
					given[grant{f.Job, f.Token}], newest[f.Job] = true, f.Token
				}
			}
		}
		h.now = protocol.Instant(second)
		play(h.register(t))
		t.Repeat(map[string]func(*rapid.T){
			"enqueue":  func(t *rapid.T) { play(h.enqueue(t)) },
			"register": func(t *rapid.T) { play(h.register(t)) },
			"claim":    func(t *rapid.T) { play(h.claim(t)) },
			"settle":   func(t *rapid.T) { play(h.settle(t)) },
			"withdraw": func(t *rapid.T) { play(h.withdraw(t)) },
			"tick":     func(t *rapid.T) { play(h.tick(t, b.Deadline())) },
			"forget": func(t *rapid.T) {
				h.now += protocol.Instant(protocol.Microsecond)
				since := h.now - protocol.Instant(rapid.Int64Range(0, int64(3*testLease)).Draw(t, "back"))
				play(func(q queue, out *Outbox) { q.(*Broker).Forget(h.now, since, out) })
			},
		})
	})
}
