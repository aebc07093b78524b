package model

import "github.com/quiesce/quiesce/protocol"

func (s *spec) register(now protocol.Instant, who Member) {
	if who.Seat < 0 || int(who.Seat) >= s.seats {
		s.say(who, protocol.RegisteredAs(0, protocol.Refused))
		return
	}
	for _, l := range s.lives {
		if l.Seat == who.Seat && l.Nonce == who.Nonce && s.life(l.Member) != nil {
			who.Incarnation = l.Incarnation
			s.say(who, protocol.RegisteredAs(l.Incarnation, protocol.OK))
			return
		}
	}
	who.Incarnation = uint64(len(s.lives) + 1)
	s.lives = append(s.lives, &specLife{Member: who})
	for _, l := range s.lives {
		if s.life(l.Member) == nil {
			l.parked = 0 // a life before the last two is gone for good
		}
	}
	s.say(who, protocol.RegisteredAs(who.Incarnation, protocol.OK))
	if s.cfg.SweepAtBoot {
		s.expireAll(now, s.cfg.SweepSlack)
	}
}

// Hangup ends what a life waits for, and its claims where they hang on its connection.
func (s *spec) Hangup(now protocol.Instant, who Member, out *Outbox) {
	s.out = out
	l := s.life(who)
	if l == nil {
		return
	}
	if l.parked > 0 {
		l.parked, l.closed = 0, l.seq
	}
	for s.cfg.FreedByHangup {
		j := s.firstLeased(func(j *specJob) bool { return j.Owner.Incarnation == l.Incarnation })
		if j == nil {
			return
		}
		s.expire(now, j)
	}
}

// EndPoll answers a request that waited for as long as it wanted to.
func (s *spec) EndPoll(now protocol.Instant, who Member, seq uint64, out *Outbox) {
	s.out = out
	if l := s.life(who); l != nil && l.parked > 0 && l.seq == seq {
		l.parked, l.parkedFor = 0, now.Sub(l.parkedAt)
		s.answerClaim(now, l)
	}
}

func (s *spec) going(now protocol.Instant, who Member) {
	l := s.life(who)
	if l == nil {
		return
	}
	l.going = true
	if l.parked > 0 {
		l.parked, l.closed = 0, l.seq
		s.say(l.Member, protocol.ClaimClosed(0, l.seq, protocol.Refused, now.Sub(l.parkedAt)))
	}
}

func (s *spec) claim(now protocol.Instant, req Request) {
	l, seq := s.life(req.From), req.Effect.Seq
	known := l != nil && seq > l.closed && seq == l.seq
	switch {
	case known && l.parked > 0:
	case known:
		s.answerClaim(now, l)
	case l == nil || seq <= l.closed || l.going:
		s.say(req.From, protocol.ClaimClosed(0, seq, protocol.Refused, 0))
	default:
		l.seq, l.closed, l.grants, l.parked = seq, seq-1, nil, 0
		l.parkedAt, l.parkedFor = now, 0
		s.notice(now)
		want := min(int(req.Effect.Want), s.slots)
		for _, j := range s.jobs {
			if len(l.grants) < want && j.State == JobReady && !j.dropped {
				s.grant(now, l, j)
			}
		}
		if len(l.grants) == 0 && want > 0 && s.cfg.Park > 0 {
			l.parked = s.next()
			return
		}
		s.answerClaim(now, l)
	}
}

func (s *spec) serve(now protocol.Instant, w *specLife, j *specJob) {
	w.parked, w.parkedFor = 0, now.Sub(w.parkedAt)
	s.grant(now, w, j)
	s.answerClaim(now, w)
}

func (s *spec) grant(now protocol.Instant, l *specLife, j *specJob) {
	j.Token = max(j.Token+1, protocol.Token(now/1000))
	j.Owner, j.State, j.Verb, j.Reason = l.Member, JobClaimed, protocol.NoVerb, protocol.NoReason
	j.Lease, j.leased = now.Add(s.cfg.Lease), s.next()
	j.Parks = false
	j.Deliveries++
	l.grants = append(l.grants, grant{j.id, j.Token})
	s.fact(Fact{Kind: Claimed, Job: j.id, Token: j.Token, Seat: l.Seat, Nonce: l.Nonce, At: now})
}

func (s *spec) answerClaim(now protocol.Instant, l *specLife) {
	for _, g := range l.grants {
		if j := s.job(g.job); s.holds(now, j, g.token) {
			s.say(l.Member, protocol.GrantedJob(0, l.seq, g.job, g.token, j.Kind, j.Version, l.parkedFor))
			s.out.Answers[len(s.out.Answers)-1].More = true
		}
	}
	s.say(l.Member, protocol.ClaimClosed(0, l.seq, protocol.OK, l.parkedFor))
}

// holds says whether a claim is the newest, open, and within its lease as far as that matters.
func (s *spec) holds(now protocol.Instant, j *specJob, token protocol.Token) bool {
	return s.newest(j, token) && j.Verb == protocol.NoVerb && j.State == JobClaimed &&
		(s.cfg.Rescue != RescueByExpiry || j.Lease > now)
}

func (s *spec) newest(j *specJob, token protocol.Token) bool {
	return j != nil && token != 0 && j.Token == token
}

func (s *spec) withdraw(now protocol.Instant, req Request) {
	l, seq := s.life(req.From), req.Effect.Seq
	if l == nil {
		s.say(req.From, protocol.WithdrawClosed(0, seq, protocol.OK, 0))
		return
	}
	if l.seq <= seq {
		l.parked = 0
	}
	freed := 0
	if l.seq == seq && l.closed < seq {
		for _, g := range l.grants {
			j := s.job(g.job)
			if s.newest(j, g.token) && j.Verb == protocol.NoVerb && !j.State.Terminal() {
				freed++
				s.release(now, j, protocol.Release, protocol.BecauseWithdrawn, 0)
			}
		}
	}
	l.closed = max(l.closed, seq)
	s.say(req.From, protocol.WithdrawClosed(0, seq, protocol.OK, freed))
}
