package protocol

import "github.com/quiesce/quiesce/internal/deviation"

// asks reports whether claim requests are sent in this phase (rule 1).
func (m *Machine) asks() bool {
	return m.phase == PhaseServing || m.phase == PhaseDraining && m.deviates(deviation.ClaimsAfterStop)
}

// asksNow reports whether a claim request is sent now, as far as this phase sends any.
func (m *Machine) asksNow() bool { return m.asks() && !m.more }

// ask sends one claim request per queue that has none out and whose backoff is over, for as
// many jobs as there are free slots, or will be when it is answered.
func (m *Machine) ask(now Instant, fx *Effects) {
	free := int32(-1) // not counted yet
	for q := range m.requests {
		r := &m.requests[q]
		if r.state != RequestNone || r.due > now {
			continue
		}
		if free < 0 {
			free = m.free()
		}
		if free == 0 {
			return
		}
		r.seq++
		r.state, r.sent, r.want, r.granted, r.tries, r.handedBack = RequestAsked, now, free, 0, 0, false
		m.sendClaim(now, q, fx)
	}
}

func (m *Machine) sendClaim(now Instant, q int, fx *Effects) {
	r := &m.requests[q]
	if m.deviates(deviation.LeaseFromRetry) {
		r.sent = now
	}
	increment(&r.tries)
	r.due = now.Add(m.cfg.Park).Add(m.cfg.Reply)
	fx.put(Effect{Kind: Claim, Slot: NoSlot, Queue: uint8(q), Seq: r.seq, Want: r.want})
}

// stopRequests is what a stop or Quiet does to outstanding requests: unless their answers
// may still be run they are withdrawn, so that the broker ends the long poll and takes back
// what it handed out (rule 3).
func (m *Machine) stopRequests(now Instant, fx *Effects) {
	if m.lateClaim() != ReturnLateClaim || m.cfg.NoWithdraw {
		return
	}
	for q := range m.requests {
		switch {
		case m.requests[q].state != RequestAsked:
		case m.deviates(deviation.LateClaimDropped):
			m.closeRequest(q, WasAnswered, fx)
		default:
			m.withdraw(now, q, fx)
		}
	}
}

// withdraw gives a request up. From here on its answer is never run.
func (m *Machine) withdraw(now Instant, q int, fx *Effects) {
	r := &m.requests[q]
	switch {
	case m.deviates(deviation.WithdrawSkipped):
		m.pause(now, q, WasAnswered, fx)
		return
	case m.cfg.NoWithdraw:
		// Nobody can say any more what it was granted: a drain must not call that clean.
		m.doubt(now)
		if m.phase.Stopping() {
			fx.put(Effect{Kind: Note, Note: LeftUnsettled, Slot: NoSlot, Queue: uint8(q), Seq: r.seq})
		}
		m.pause(now, q, WasUnsettled, fx)
		return
	}
	r.state, r.tries = RequestWithdrawing, 0
	m.sendWithdraw(now, q, fx)
}

func (m *Machine) sendWithdraw(now Instant, q int, fx *Effects) {
	r := &m.requests[q]
	r.due = now.Add(m.backoff(m.cfg.Retry, r.tries))
	increment(&r.tries)
	fx.put(Effect{Kind: Withdraw, Slot: NoSlot, Queue: uint8(q), Seq: r.seq, Reason: BecauseWithdrawn})
}

// onRequestDue handles silence. While serving a request is repeated once under the same id,
// which the broker answers with what it granted already, and then withdrawn.
func (m *Machine) onRequestDue(now Instant, q int, fx *Effects) {
	switch r := &m.requests[q]; {
	case r.state == RequestWithdrawing:
		m.sendWithdraw(now, q, fx)
	case r.state == RequestAsked && m.phase == PhaseServing && r.tries < 2:
		if m.deviates(deviation.ClaimRenumbered) {
			r.seq++
		}
		m.sendClaim(now, q, fx)
	case r.state == RequestAsked:
		m.withdraw(now, q, fx)
	}
}

// answered returns the request that a claim answer belongs to. An answer counts only for
// the request that is out and not withdrawn (rule 2); for any other it returns nil.
func (m *Machine) answered(ev Event) *Request {
	if int(ev.Queue) >= len(m.requests) || m.phase == PhaseBooting || m.phase == PhaseGone {
		return nil
	}
	r := &m.requests[ev.Queue]
	if r.state == RequestAsked && r.seq == ev.Seq || m.deviates(deviation.AnyAnswerCounts) {
		return r
	}
	return nil
}

func (m *Machine) onGranted(now Instant, ev Event, fx *Effects) {
	r := m.answered(ev)
	if r == nil {
		return
	}
	r.granted++
	i := m.freeSlot()
	if r.granted > r.want || i == NoSlot {
		r.handedBack = true
		m.giveBackSurplus(ev, fx)
		return
	}
	m.exit(i)
	m.take(now, i, r, ev, fx)
	m.enter(i)
}

// take puts a granted job into free slot i, and starts it or hands it back.
func (m *Machine) take(now Instant, i int, r *Request, ev Event, fx *Effects) {
	since := min(r.sent.Add(ev.Span.less(m.cfg.DriftPPM)), now)
	s := &m.slots[i]
	*s = Slot{
		job: ev.Job, token: ev.Token, kind: ev.JobKind, queue: ev.Queue,
		mark: now, progress: now, trust: m.trustFrom(now, since),
	}
	m.armRenewal(now, since)
	switch verb, reason := m.judgeGrant(now, i, ev.Version); verb {
	case NoVerb:
		s.state = SlotRunning
		fx.put(about(Start, i, s))
		if m.phase.Stopping() {
			s.set(inLedger)
			m.soften(i, fx)
		}
	default:
		if verb == Refuse && m.deviates(deviation.UnknownDropped) {
			*s = Slot{}
			return
		}
		s.set(late)
		r.handedBack = true
		m.settle(now, i, verb, reason, fx)
	}
}

// judgeGrant decides whether the job granted to slot i is run, or how it goes back; version is that
// of its payload.
func (m *Machine) judgeGrant(now Instant, i int, version uint16) (Verb, Reason) {
	s := &m.slots[i]
	switch {
	case !m.understands(s.kind, version):
		return Refuse, BecauseRefused
	case m.runsHere(i) && !m.deviates(deviation.RunsBesideZombie):
		return Release, BecauseBusy
	case !m.runsNow(now, s.kind):
		return Release, BecauseLate
	case s.trust <= now:
		return Release, BecauseLate
	default:
		return NoVerb, NoReason
	}
}

// understands reports whether a payload may be run here (rule 14): guessing at an unknown
// version gives plausible but wrong results.
func (m *Machine) understands(kind Kind, version uint16) bool {
	if int(kind) >= len(m.cfg.Kinds) {
		return false
	}
	k := &m.cfg.Kinds[kind]
	return version >= k.MinVersion && version <= k.MaxVersion || m.deviates(deviation.RunsUnknownVersion)
}

// runsHere reports whether an earlier execution of slot i's job still runs in this process (rule 8).
func (m *Machine) runsHere(i int) bool {
	if m.census.known && !m.present.mayHave(m.slots[i].job) {
		return false // slot i is not counted while it changes
	}
	for j := range m.slots {
		s := &m.slots[j]
		if j != i && s.job == m.slots[i].job && s.state != SlotFree && s.state != SlotSettling {
			return true
		}
		if j != i && s.job == m.slots[i].job && s.state == SlotSettling && s.has(undoRuns) {
			return true
		}
	}
	return false
}

// runsNow reports whether a job granted in this phase is run (rule 2).
func (m *Machine) runsNow(now Instant, kind Kind) bool {
	if m.phase == PhaseServing || m.asks() {
		return true
	}
	left := m.cancelAt(kind).Sub(now) // without limit in Quiet
	if m.phase != PhaseDraining && m.phase != PhaseQuiet || left <= 0 {
		return false
	}
	switch m.lateClaim() {
	case RunLateClaim:
		return true
	case RunLateClaimIfShort:
		return m.isShort(kind, left)
	default:
		return false
	}
}

// lateClaim is what becomes of a job that is granted after the stop (rule 2).
func (m *Machine) lateClaim() LateClaim {
	if m.deviates(deviation.LateClaimRun) {
		return RunLateClaim
	}
	return m.cfg.Policy.LateClaim
}

// giveBackSurplus releases a job nobody here asked for: once, because there is no slot to
// remember it in. Should the release be lost, the lease does its work; and who exits before
// that must not say that nothing is held.
func (m *Machine) giveBackSurplus(ev Event, fx *Effects) {
	m.surplus++
	m.surplusTo = m.heldUntil(fx.now)
	fx.put(Effect{Kind: Note, Note: SurplusReleased, Slot: NoSlot, Job: ev.Job, Token: ev.Token, Queue: ev.Queue, JobKind: ev.JobKind})
	fx.put(Effect{Kind: Settle, Verb: Release, Reason: BecauseLate, Slot: NoSlot, Job: ev.Job, Token: ev.Token, Queue: ev.Queue, JobKind: ev.JobKind})
}

func (m *Machine) freeSlot() int {
	from := 0
	if m.census.known {
		from = int(m.census.below)
	}
	for i := from; i < len(m.slots); i++ {
		if m.slots[i].state == SlotFree {
			m.census.below = int32(i)
			return i
		}
	}
	m.census.below = int32(len(m.slots))
	return NoSlot
}

func (m *Machine) onClaimAnswered(now Instant, ev Event, fx *Effects) {
	r := m.answered(ev)
	if r == nil || r.state != RequestAsked || r.seq != ev.Seq {
		return
	}
	if ev.Code == Unknown {
		m.onRequestDue(now, int(ev.Queue), fx)
		return
	}
	outcome := WasAnswered
	if r.handedBack {
		outcome = WasHandedBack
	}
	parkedInFull := m.cfg.Park > 0 && ev.Span >= m.cfg.Park-m.cfg.Park/8
	if ev.Code == OK && (r.granted > 0 || parkedInFull) {
		m.closeRequest(int(ev.Queue), outcome, fx)
		r.due, r.empties = now, 0
		return
	}
	m.pause(now, int(ev.Queue), outcome, fx)
}

// pause closes a request that brought nothing; the next one waits a little longer each time.
func (m *Machine) pause(now Instant, q int, outcome Outcome, fx *Effects) {
	m.closeRequest(q, outcome, fx)
	r := &m.requests[q]
	r.due = now.Add(m.backoff(m.cfg.Poll, r.empties))
	increment(&r.empties)
}

func (m *Machine) onWithdrawAnswered(now Instant, ev Event, fx *Effects) {
	if int(ev.Queue) >= len(m.requests) {
		return
	}
	r := &m.requests[ev.Queue]
	if r.state != RequestWithdrawing || r.seq != ev.Seq {
		return
	}
	if ev.Code != OK {
		return // silence and error alike: it is repeated when its backoff is over
	}
	fx.put(Effect{Kind: Note, Note: JobsWithdrawn, Slot: NoSlot, Queue: ev.Queue, Want: int32(ev.Count)})
	m.closeRequest(int(ev.Queue), WasWithdrawn, fx)
	r.due = now
	if m.deviates(deviation.AskingEnds) {
		r.due = Never
	}
}

func (m *Machine) closeRequest(q int, outcome Outcome, fx *Effects) {
	r := &m.requests[q]
	r.state = RequestNone
	if r.inLedger {
		r.inLedger = false
		fx.put(Effect{Kind: Line, Outcome: outcome, Slot: NoSlot, Queue: uint8(q), Seq: r.seq, Span: fx.now.Sub(m.stopAt)})
	}
}
