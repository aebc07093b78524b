package model

import (
	"github.com/quiesce/quiesce/protocol"
)

// spec is the broker once more, in the plainest way its rules can be written: every job and
// every life is kept for ever in a slice, and every question is answered by looking at all
// of them. It shares nothing with Broker but the words. It has no failover.
type spec struct {
	cfg     *BrokerConfig
	seats   int
	slots   int
	jobs    []*specJob  // by number
	lives   []*specLife // by incarnation
	sweepAt protocol.Instant
	counter int // of leases and long polls, which are served in the order they began
	out     *Outbox
}

type specJob struct {
	JobRow
	id      protocol.JobKey
	leased  int // counter at the newest grant or renewal
	dropped bool
}

type specLife struct {
	Member
	going     bool
	closed    uint64
	seq       uint64
	grants    []grant
	parked    int // counter at the long poll's begin; 0 is none
	parkedAt  protocol.Instant
	parkedFor protocol.Duration
}

func newSpec(cfg *BrokerConfig, seats, slots int) *spec {
	s := &spec{cfg: cfg, seats: seats, slots: slots, sweepAt: protocol.Never}
	if cfg.Rescue == RescueBySweep {
		s.sweepAt = protocol.Instant(cfg.SweepPeriod)
	}
	return s
}

func (s *spec) job(id protocol.JobKey) *specJob {
	for _, j := range s.jobs {
		if j.id == id && !j.dropped {
			return j
		}
	}
	return nil
}

// life returns who sent something, if it is among the newest two lives of its seat.
func (s *spec) life(who Member) *specLife {
	newer := 0
	for i := len(s.lives) - 1; i >= 0; i-- {
		l := s.lives[i]
		switch {
		case l.Seat != who.Seat:
		case l.Incarnation == who.Incarnation:
			return l
		default:
			if newer++; newer == 2 {
				return nil
			}
		}
	}
	return nil
}

func (s *spec) next() int { s.counter++; return s.counter }

func (s *spec) say(to Member, ev protocol.Event) {
	s.out.Answers = append(s.out.Answers, Answer{To: to, Event: ev})
}

func (s *spec) fact(f Fact) { s.out.Facts = append(s.out.Facts, f) }

func (s *spec) Enqueue(now protocol.Instant, id protocol.JobKey, kind protocol.Kind, version uint16, work protocol.Duration, out *Outbox) {
	s.out = out
	j := &specJob{id: id, JobRow: JobRow{Kind: kind, Version: version, Work: work}}
	s.jobs = append(s.jobs, j)
	if w := s.waiter(nil); w != nil {
		s.serve(now, w, j)
	}
}

func (s *spec) CancelJob(now protocol.Instant, id protocol.JobKey, out *Outbox) {
	s.out = out
	j := s.job(id)
	switch {
	case j == nil:
	case j.State == JobClaimed:
		j.Cancel = true
	case j.State == JobReady || j.State == JobDelayed:
		s.cancel(now, j)
	}
}

func (s *spec) QuarantineOnExpiry(_ protocol.Instant, id protocol.JobKey, token protocol.Token) {
	if j := s.job(id); j != nil && j.State == JobClaimed && j.Token == token {
		j.Parks = true
	}
}

func (s *spec) Handle(now protocol.Instant, req Request, out *Outbox) {
	s.out = out
	switch req.Effect.Kind {
	case protocol.Register:
		s.register(now, req.From)
	case protocol.Going:
		s.going(now, req.From)
	case protocol.Claim:
		s.claim(now, req)
	case protocol.Withdraw:
		s.withdraw(now, req)
	case protocol.Renew, protocol.Save:
		s.extend(now, req)
	case protocol.Settle:
		s.settle(now, req)
	}
}

func (s *spec) Tick(now protocol.Instant, out *Outbox) {
	s.out = out
	s.notice(now)
	for {
		w := s.waiter(nil)
		if w == nil || w.parkedAt.Add(s.cfg.Park) > now {
			return
		}
		w.parked, w.parkedFor = 0, now.Sub(w.parkedAt)
		s.answerClaim(now, w)
	}
}

// Deadline is when something will happen by itself that somebody waits for.
func (s *spec) Deadline() protocol.Instant {
	at := protocol.Never
	waits := s.waiter(nil) != nil
	for _, l := range s.lives {
		if l.parked > 0 {
			at = min(at, l.parkedAt.Add(s.cfg.Park))
		}
	}
	for _, j := range s.jobs {
		switch {
		case j.State == JobClaimed && s.cfg.Rescue == RescueBySweep:
			at = min(at, s.sweepAt)
		case j.State == JobClaimed && s.cfg.Rescue == RescueByExpiry && waits:
			at = min(at, j.Lease)
		case j.State == JobDelayed && waits:
			at = min(at, j.Due)
		}
	}
	return at
}

// notice lets everything happen that the passing of time brings.
func (s *spec) notice(now protocol.Instant) {
	if s.cfg.Rescue == RescueByExpiry {
		s.expireAll(now, 0)
	}
	if s.sweepAt <= now {
		s.expireAll(now, s.cfg.SweepSlack)
		for s.sweepAt <= now {
			s.sweepAt = s.sweepAt.Add(s.cfg.SweepPeriod)
		}
	}
	for {
		var first *specJob
		for _, j := range s.jobs {
			if j.State == JobDelayed && j.Due <= now && (first == nil || j.Due < first.Due) {
				first = j
			}
		}
		if first == nil {
			break
		}
		s.ready(now, first)
	}
	for _, j := range s.jobs {
		if (j.State == JobDone || j.State == JobCancelledByOperator) && j.Due <= now {
			j.dropped = true
		}
	}
}

func (s *spec) expireAll(now protocol.Instant, slack protocol.Duration) {
	for {
		first := s.firstLeased(func(j *specJob) bool { return j.Lease.Add(slack) <= now })
		if first == nil {
			return
		}
		s.expire(now, first)
	}
}

// firstLeased returns the claimed job whose lease ends first, of those that fit.
func (s *spec) firstLeased(fits func(*specJob) bool) *specJob {
	var first *specJob
	for _, j := range s.jobs {
		if j.State == JobClaimed && fits(j) &&
			(first == nil || j.Lease < first.Lease || j.Lease == first.Lease && j.leased < first.leased) {
			first = j
		}
	}
	return first
}

// ready puts a job that was out before back into the queue.
func (s *spec) ready(now protocol.Instant, j *specJob) {
	j.State = JobReady
	if w := s.waiter(&j.Owner.Generation); w != nil {
		s.serve(now, w, j)
	}
}

// waiter picks who is served next: who waits longest, of a generation newer than the one a
// job comes back from if there is any.
func (s *spec) waiter(cameFrom *uint32) *specLife {
	pick := func(eligible func(*specLife) bool) *specLife {
		var first *specLife
		for _, l := range s.lives {
			if l.parked > 0 && eligible(l) && (first == nil || earlier(l, first)) {
				first = l
			}
		}
		return first
	}
	if cameFrom != nil {
		if w := pick(func(l *specLife) bool { return l.Generation > *cameFrom }); w != nil {
			return w
		}
	}
	return pick(func(*specLife) bool { return true })
}

func earlier(a, b *specLife) bool {
	switch {
	case a.parkedAt != b.parkedAt:
		return a.parkedAt < b.parkedAt
	case a.Generation != b.Generation:
		return a.Generation < b.Generation
	default:
		return a.parked < b.parked
	}
}
