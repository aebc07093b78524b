package brokertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// How claims end, once.
var settleCases = []check{
	{"the first verb wins and its repeat is told so", func(t TB, open Open) {
		for _, first := range verbs {
			s := set(t, open)
			job := s.job()
			c := s.worker("a").take()
			c.ok(c.settle(settlement(first)), first.String())
			want := s.info(job)
			for _, verb := range verbs {
				if verb == first {
					c.code(protocol.Repeat, c.settle(settlement(verb)), verb.String()+" once more")
				} else {
					c.code(protocol.Closed, c.settle(settlement(verb)), verb.String()+" after "+first.String())
				}
				require.Equal(t, want, s.info(job), "%s after %s changes nothing", verb, first)
			}
		}
	}},
	{"a late repeat is recognised", func(t TB, open Open) {
		for _, verb := range verbs {
			s := set(t, open, func(c *Config) { c.BackoffMin, c.BackoffMax = 2*keep, 2*keep })
			s.job()
			c := s.worker("a").take()
			c.ok(c.settle(settlement(verb)), verb.String())
			s.later(keep - tick)
			c.code(protocol.Repeat, c.settle(settlement(verb)), verb.String()+" once more, as late as a message may be")
		}
	}},
	{"what each verb does", func(t TB, open Open) {
		for _, c := range []struct {
			verb protocol.Verb
			want Job
		}{
			{protocol.Ack, Job{State: model.JobDone}},
			{protocol.Release, Job{State: model.JobReady, Deliveries: 1, Fruitless: 1}},
			{protocol.Fail, Job{State: model.JobDelayed, Deliveries: 1, Failures: 1}},
			{protocol.Refuse, Job{State: model.JobReady, Deliveries: 1}},
			{protocol.Quarantine, Job{State: model.JobQuarantined, Deliveries: 1}},
		} {
			s := set(t, open)
			job := s.job()
			a := s.worker("a")
			a.take().settle(settlement(c.verb))
			require.Equal(t, c.want, visible(s.info(job)), c.verb.String())
			s.later(lease)
			if c.want.State == model.JobDone || c.want.State == model.JobQuarantined {
				a.none(c.verb.String() + " is final")
			} else {
				require.Equal(t, job, a.take().Job, "after "+c.verb.String())
			}
		}
	}},
	{"a stale token changes nothing", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a, b := s.worker("a"), s.worker("b")
		old := a.take()
		old.ok(old.release(protocol.BecauseYield, 0), "release")
		c := b.take()
		require.Equal(t, job, c.Job)
		require.Greater(t, c.Token, old.Token, "tokens grow with every claim")
		staleEverywhere(old, "another has the job")
		require.Equal(t, Job{State: model.JobClaimed, Deliveries: 2, Fruitless: 1}, s.info(job))
		c.ok(c.ack(), "the claim stands")
		staleEverywhere(old, "another finished the job")
		s.is(job, model.JobDone, "it was acked")
	}},
	{"a stale token of a job that came back changes nothing", func(t TB, open Open) {
		s := set(t, open)
		job := s.job()
		a := s.worker("a")
		old := a.take()
		old.ok(old.release(protocol.BecauseYield, 0), "release")
		c := a.take()
		c.ok(c.fail(), "fail")
		staleEverywhere(old, "the job waits for its backoff")
		s.later(backoffMin)
		staleEverywhere(old, "the job is claimable")
		require.Equal(t, Job{State: model.JobReady, Deliveries: 2, Failures: 1}, s.info(job))
	}},
	{"a token that nobody was given is stale", func(t TB, open Open) {
		s := set(t, open)
		job, fresh := s.job(), s.job()
		a := s.worker("a")
		c := a.take()
		for _, g := range []worker.Grant{{Job: job, Token: c.Token + 1}, {Job: job}, {Job: fresh}, {Job: fresh, Token: 1}, {Job: job + fresh + 1000, Token: c.Token}} {
			staleEverywhere(&held{hand: a, Grant: g}, "nobody was given it")
		}
		c.ok(c.renew(), "the claim stands")
		s.is(fresh, model.JobReady, "nobody claimed it")
	}},
	{"several at once are answered in order", func(t TB, open Open) {
		s := set(t, open)
		for range 4 {
			s.job()
		}
		a := s.worker("a")
		claims := a.takes(4, 4)
		claims[3].ok(claims[3].release(protocol.BecauseYield, 0), "release")
		about := func(i int, verb protocol.Verb) worker.Settlement {
			s := settlement(verb)
			s.Job, s.Token = claims[i].Job, claims[i].Token
			return s
		}
		codes, err := s.broker.Settle(call(t), []worker.Settlement{
			about(2, protocol.Ack), about(3, protocol.Ack), about(0, protocol.Fail), about(2, protocol.Ack), about(2, protocol.Fail),
			{Job: claims[1].Job, Token: claims[1].Token + 1, Verb: protocol.Ack},
		})
		require.NoError(t, err)
		require.Equal(t, names(protocol.OK, protocol.Closed, protocol.OK, protocol.Repeat, protocol.Closed, protocol.Stale), names(codes...))
		codes, err = s.broker.Renew(call(t), []worker.Renewal{
			{Job: claims[0].Job, Token: claims[0].Token}, {Job: claims[1].Job, Token: claims[1].Token}, {Job: claims[3].Job, Token: claims[3].Token + 1},
		})
		require.NoError(t, err)
		require.Equal(t, names(protocol.Closed, protocol.OK, protocol.Stale), names(codes...))
		s.is(claims[0].Job, model.JobDelayed, "it failed")
		s.is(claims[2].Job, model.JobDone, "it was acked")
	}},
	{"a job that is released with a delay comes back after it", func(t TB, open Open) {
		for name, settle := range map[string]func(c *held) protocol.Code{
			"release": func(c *held) protocol.Code { return c.release(protocol.BecauseBusy, 5*time.Second) },
			"refuse":  func(c *held) protocol.Code { return c.refuse(5 * time.Second) },
		} {
			s := set(t, open)
			job := s.job()
			a := s.worker("a")
			c := a.take()
			c.ok(settle(c), name)
			s.is(job, model.JobDelayed, name)
			s.later(5*time.Second - tick)
			a.none("it is delayed for a millisecond more")
			c.code(protocol.Closed, c.renew(), name)
			s.later(tick)
			s.is(job, model.JobReady, "the delay is over")
			require.Equal(t, job, a.take().Job)
		}
	}},
	{"a job that comes back has its old place", func(t TB, open Open) {
		s := set(t, open)
		jobs := []protocol.JobKey{s.job(), s.job(), s.job(), s.job(), s.job()}
		a, b := s.worker("a"), s.worker("b")
		claims := a.takes(3, 3)
		claims[2].ok(claims[2].release(protocol.BecauseDrain, 0), "release")
		claims[0].ok(claims[0].release(protocol.BecauseYield, time.Second), "release with a delay")
		s.later(lease) // the second's lease runs out
		again := b.ask(5)
		var got []protocol.JobKey
		for _, c := range again {
			got = append(got, c.Job)
		}
		require.Equal(t, jobs, got)
	}},
}

// staleEverywhere requires that nothing can be done with a claim.
func staleEverywhere(c *held, why string) {
	c.Helper()
	c.code(protocol.Stale, c.renew(), "renew: "+why)
	c.code(protocol.Stale, c.renewWith([]byte("stale")), "renew: "+why)
	c.code(protocol.Stale, c.save([]byte("stale")), "save: "+why)
	for _, verb := range verbs {
		c.code(protocol.Stale, c.settle(settlement(verb)), verb.String()+": "+why)
	}
}

// visible is what a broker must know of a job: of a finished one only that it is.
func visible(info Job) Job {
	if info.State == model.JobDone || info.State == model.JobCancelledByOperator {
		return Job{State: info.State}
	}
	return info
}

func names(codes ...protocol.Code) []string {
	all := make([]string, len(codes))
	for i, c := range codes {
		all[i] = c.String()
	}
	return all
}
