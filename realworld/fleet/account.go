package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis"
)

// ledger puts together what processes reported, what the supervisor did and how the broker
// left the jobs, into the one stream of records that the meter reads.
type ledger struct {
	sc      *model.Scenario
	speed   float64
	until   protocol.Instant // what happened later is left out
	jobs    []*story         // by number, from 1
	lives   []*life
	records []meter.Record
	skew    protocol.Duration // between the clocks; see setSkew
	account Account
}

// Account is what a run left behind besides its metrics: whether the promises held.
type Account struct {
	Jobs       int // that were enqueued
	Done       int // at the broker, in the end
	Given      int // dead-lettered or quarantined
	Unfinished int // all others that the broker knows
	Lost       int // of which the broker knows nothing
	AckedTwice int // jobs of which it took two acks
	Stale      int // settlements that it took although a newer claim was out
	Processes  int // that there were
	Killed     int // of these, by SIGKILL
	Withdrawn  int // jobs that went back with a request that was withdrawn; which ones nobody saw
	Unheard    int // claims that no worker heard of; their leases ran out

	// Late is the longest, in real time, that a process came up or the supervisor acted after
	// the scenario says: when it is long the machine was too busy to play it.
	Late time.Duration

	Times Times // what the laboratory is told, and took itself here
}

// Broken says which promise did not hold, or nothing.
func (a *Account) Broken() string {
	switch {
	case a.Lost > 0:
		return fmt.Sprintf("%d of %d jobs are lost", a.Lost, a.Jobs)
	case a.AckedTwice > 0:
		return fmt.Sprintf("%d of %d jobs were acked twice", a.AckedTwice, a.Jobs)
	case a.Stale > 0:
		return fmt.Sprintf("%d settlements were taken although a newer claim was out", a.Stale)
	default:
		return ""
	}
}

// story is all that is known of a job.
type story struct {
	number protocol.JobKey
	job    *Job
	at     protocol.Instant // when it was enqueued
	claims []*claim         // by token
	info   redis.Info       // how the broker left it; State is empty when it knows nothing

	reached protocol.Duration
	running *claim // that an execution still works under in the end
	last    *claim // that was not ended
	ended   bool
}

// claim is one hold on a job.
type claim struct {
	token   protocol.Token
	life    *life // who held it; nil when nobody is known
	granted protocol.Instant
	renewed protocol.Instant // when its lease was surely extended last
	started *fact
	ended   *fact
	undone  *fact
	settle  *fact // the first attempt
	answer  protocol.Code
	taken   protocol.Instant // when an answer said so
}

// settled reports whether an answer said that the broker took the settlement.
func (c *claim) settled() bool { return c.answer == protocol.OK || c.answer == protocol.Repeat }

// newLedger reads what was reported.
func newLedger(s *supervisor, jobs []added) *ledger {
	b := &ledger{sc: s.sc, speed: s.plan.Speed, until: s.end, lives: s.lives}
	keys := make(map[protocol.JobKey]*story, len(jobs))
	for i := range jobs {
		st := &story{number: jobs[i].job.Job, job: jobs[i].job, at: jobs[i].at}
		keys[jobs[i].key] = st
		b.jobs = append(b.jobs, st)
	}
	if s.plan.Beyond > 0 {
		b.until = protocol.Never
	}
	for _, r := range s.records {
		b.put(r)
	}
	b.account.Jobs, b.account.Processes = len(jobs), len(s.lives)
	b.account.Late = s.clock.real(max(s.late, s.agenda.late))
	for _, l := range s.lives {
		if l.sent == killed || l.sent == crashed {
			b.account.Killed++
		}
		if l.endAt > b.until || l.ended == lives {
			l.ended, l.endAt = lives, protocol.Never // it lives at the end
		}
		b.read(l, keys)
	}
	b.setSkew()
	return b
}

// read sorts what a life reported by jobs and claims.
func (b *ledger) read(l *life, keys map[protocol.JobKey]*story) {
	for i := range l.facts {
		f := &l.facts[i]
		if f.At > b.until {
			continue
		}
		st := keys[f.Job]
		switch f.Kind {
		case factNote:
			r := meter.Record{At: f.At, Kind: meter.HandlerNoted, Note: f.Note, Count: f.Count, Seat: l.seat}
			if st != nil {
				r.Job = st.number
			}
			b.put(r)
			if f.Note == protocol.JobsWithdrawn {
				b.account.Withdrawn += int(f.Count)
			}
			continue
		case factLine:
			b.put(meter.Record{At: f.At, Kind: meter.LedgerLine, Outcome: f.Outcome, Seat: l.seat})
			continue
		}
		if st != nil && f.Token != 0 {
			st.claim(f.Token, l, f.At).take(f)
		}
	}
}

// claim returns the claim with a token, which is new when it has not been heard of.
func (st *story) claim(token protocol.Token, l *life, at protocol.Instant) *claim {
	i, found := slices.BinarySearchFunc(st.claims, token, func(c *claim, t protocol.Token) int { return cmp.Compare(c.token, t) })
	if !found {
		st.claims = slices.Insert(st.claims, i, &claim{token: token, life: l, granted: at, renewed: at})
	}
	return st.claims[i]
}

func (c *claim) take(f *fact) {
	switch f.Kind {
	case factRenewed:
		c.renewed = max(c.renewed, f.At)
	case factStarted:
		c.started = f
	case factEnded:
		c.ended = f
	case factUndone:
		c.undone = f
	case factSettle:
		if c.settle == nil {
			c.settle = f
		}
	case factSettled:
		if !c.settled() && f.Code != protocol.Unknown {
			c.answer, c.taken = f.Code, f.At
		}
	}
}

// setSkew compares the broker's clock with the scenario's: a token is the broker's clock in
// microseconds, unless the job's last was larger. The shortest way from there to a worker
// counts as none.
func (b *ledger) setSkew() {
	b.skew = protocol.Forever
	for _, st := range b.jobs {
		if len(st.claims) > 0 {
			c := st.claims[0]
			b.skew = min(b.skew, c.granted.Sub(b.raw(c.token)))
		}
	}
}

func (b *ledger) raw(t protocol.Token) protocol.Instant {
	return protocol.Instant(float64(t) * 1000 * b.speed)
}

// grantedAt is when a token was made.
func (b *ledger) grantedAt(t protocol.Token) protocol.Instant { return b.raw(t).Add(b.skew) }

func (b *ledger) put(r meter.Record) {
	if r.At <= b.until {
		b.records = append(b.records, r)
	}
}

// settleAll turns stories into records.
func (b *ledger) settleAll() {
	for _, st := range b.jobs {
		b.unheard(st)
		b.tell(st)
		b.audit(st)
	}
	slices.SortStableFunc(b.records, func(x, y meter.Record) int { return cmp.Compare(x.At, y.At) })
	deploys := int32(0)
	for i := range b.records {
		r := &b.records[i]
		if r.Kind == meter.RolloutBegan {
			deploys++
		}
		r.Deploy = deploys
	}
}

// unheard adds claims that no worker heard of, where the next execution was told of them.
func (b *ledger) unheard(st *story) {
	for _, c := range slices.Clone(st.claims) {
		if c.started == nil || c.started.Prior == 0 {
			continue
		}
		known := slices.ContainsFunc(st.claims, func(k *claim) bool { return k.token == c.started.Prior })
		if reason := c.started.PriorReason; !known && (reason == protocol.BecauseExpired || reason == protocol.BecauseCut) {
			at := b.grantedAt(c.started.Prior)
			st.claim(c.started.Prior, b.holderAt(at), at)
			b.account.Unheard++
		}
	}
}

// holderAt returns the life that must have been granted what nobody heard of: the one that
// ended next.
func (b *ledger) holderAt(at protocol.Instant) *life {
	var holder *life
	for _, l := range b.lives {
		if l.endAt >= at && (holder == nil || l.endAt < holder.endAt) {
			holder = l
		}
	}
	return holder
}

// tell writes the records of one job.
func (b *ledger) tell(st *story) {
	b.put(meter.Record{At: st.at, Kind: meter.JobEnqueued, Job: st.number, Work: st.job.Work})
	fruitless := 0
	for i, c := range st.claims {
		var next *claim
		if i+1 < len(st.claims) {
			next = st.claims[i+1]
		}
		b.put(b.about(st, c, c.granted, meter.ClaimGranted))
		b.tellExecution(st, c)
		o := b.outcome(st, c, next)
		if o.expired {
			r := b.about(st, c, o.expiry, meter.LeaseExpired)
			r.Reason, r.Cause = o.reason, causeOfSilence(c.life, o.expiry)
			r.Eroded = b.sc.Queue.Poison > 0 && o.reason == protocol.BecauseExpired
			b.put(r)
			fruitless = b.starve(st, fruitless, o.expiry)
		}
		if o.settled {
			r := b.about(st, c, o.settledAt, meter.ClaimEnded)
			r.Verb, r.Reason = c.settle.Verb, c.settle.Reason
			r.Cause = causeOfRelease(c.life, c.settle)
			b.put(r)
			switch {
			case r.Verb == protocol.Ack:
				b.put(b.about(st, c, o.settledAt, meter.JobFinished))
				st.ended = true
			case r.Verb == protocol.Quarantine:
				b.put(b.about(st, c, o.settledAt, meter.JobQuarantined))
				st.ended = true
			case r.Verb == protocol.Fail:
				fruitless = 0
			case ran(c.settle) && !o.expired:
				fruitless = b.starve(st, fruitless, o.settledAt)
			}
		}
		if !o.expired && !o.settled {
			st.last = c
		}
		if next == nil && !st.ended {
			b.tellEnd(st, c, o)
		}
	}
}

// tellEnd writes how a job ended that was not finished.
func (b *ledger) tellEnd(st *story, c *claim, o outcome) {
	at := max(o.expiry, o.settledAt)
	switch {
	case st.info.State == redis.Dead:
		r := b.about(st, c, at, meter.JobDead)
		if o.expired {
			r.Reason = o.reason
		}
		b.put(r)
		st.ended = true
	case st.info.State == redis.Quarantined:
		b.put(b.about(st, c, at, meter.JobQuarantined))
		st.ended = true
	}
}

// starve counts an interruption without progress; the broker reports a job once.
func (b *ledger) starve(st *story, fruitless int, at protocol.Instant) int {
	fruitless++
	if fruitless == b.sc.Queue.Starving && fruitless > 0 {
		b.put(meter.Record{At: at, Kind: meter.JobStarving, Job: st.number})
	}
	return fruitless
}

// ran reports whether a handler had run under a claim that was handed back.
func ran(f *fact) bool {
	switch f.Reason {
	case protocol.BecauseLate, protocol.BecauseWithdrawn, protocol.BecauseRefused, protocol.BecauseBusy:
		return false
	default:
		return f.Verb != protocol.Refuse
	}
}

func (b *ledger) about(st *story, c *claim, at protocol.Instant, kind meter.Kind) meter.Record {
	r := meter.Record{At: at, Kind: kind, Job: st.number, Token: c.token}
	if c.life != nil {
		r.Seat = c.life.seat
	}
	return r
}

// tellExecution writes what was done under a claim.
func (b *ledger) tellExecution(st *story, c *claim) {
	if c.started == nil {
		return
	}
	r := b.about(st, c, c.started.At, meter.ExecutionStarted)
	r.Work = c.started.Work
	b.put(r)
	end, dead := protocol.Never, false
	switch {
	case c.ended != nil:
		end = c.ended.At
	case c.life.ended != lives:
		end, dead = c.life.endAt, true
	}
	stood, paused := b.tellPauses(st, c, end)
	r = b.about(st, c, end, meter.ExecutionEnded)
	r.Span, r.Total, r.Count, r.Paused = c.started.Work, c.started.Total, int32(b.sc.Jobs[st.job.Kind].Effects), paused
	switch {
	case c.ended != nil:
		r.Work, r.How, r.Cause = c.ended.Work, meter.How(c.ended.How), meter.CauseOfCancel(c.ended.Cause, c.life.cause)
		b.put(r)
	case dead:
		r.Work, r.How, r.Cause = c.progress(end, stood), meter.Killed, c.life.endCause
		b.put(r)
	default:
		st.running = c
		st.reached = max(st.reached, c.progress(b.until, stood))
		return
	}
	if c.undone != nil {
		b.put(b.about(st, c, c.undone.At, meter.UndoEnded))
	}
}

// progress is how far an execution had come at an instant, if it had worked all the time but
// while its process stood still.
func (c *claim) progress(at protocol.Instant, stood protocol.Duration) protocol.Duration {
	return min(c.started.Work+max(at.Sub(c.started.At)-stood, 0), c.started.Total)
}

// tellPauses writes when an execution stood still with its process, and returns for how long
// that was in all, and whether it was to the end.
func (b *ledger) tellPauses(st *story, c *claim, end protocol.Instant) (stood protocol.Duration, paused bool) {
	for _, p := range c.life.pauses {
		from, to := max(p.from, c.started.At), p.to
		if p.from < c.started.At || p.from >= end { // one that began before is over, or nothing could have started
			continue
		}
		b.put(b.about(st, c, from, meter.ExecutionPaused))
		if to >= end {
			return stood + min(end, b.until).Sub(from), true
		}
		b.put(b.about(st, c, to, meter.ExecutionResumed))
		stood += to.Sub(from)
	}
	return stood, false
}

// outcome is what became of a claim at the broker.
type outcome struct {
	settled   bool
	settledAt protocol.Instant
	expired   bool
	expiry    protocol.Instant
	reason    protocol.Reason // of the expiry
}

// outcome concludes what became of a claim. next is the claim after it.
func (b *ledger) outcome(st *story, c, next *claim) outcome {
	var o outcome
	leaseEnd := c.renewed.Add(b.sc.Queue.Lease)
	prior := b.saidOf(st, c)
	o.settled = c.settled() || c.settle != nil && c.answer == protocol.NoCode && b.taken(st, c, next, prior, leaseEnd)
	if o.settled {
		o.settledAt = c.settle.At
		// One that came late found the job claimable, unless it was late only by what a renewal
		// takes whose answer was lost.
		o.expired = o.settledAt > leaseEnd.Add(b.sc.Queue.Lease/2)
	} else {
		o.expired = prior == protocol.BecauseExpired || prior == protocol.BecauseCut || next != nil ||
			st.info.State != redis.Claimed && leaseEnd <= b.until && c.life != nil && c.life.ended != lives
	}
	if !o.expired {
		return o
	}
	o.expiry = min(leaseEnd, b.until)
	if next != nil {
		o.expiry = min(o.expiry, next.granted)
		if o.settled {
			o.settledAt = min(o.settledAt, next.granted)
		}
	}
	o.reason = prior
	if prior != protocol.BecauseExpired && prior != protocol.BecauseCut {
		o.reason = protocol.BecauseExpired
		if c.life != nil && c.life.goingAt <= o.expiry {
			o.reason = protocol.BecauseCut
		}
	}
	return o
}

// saidOf returns why a claim was interrupted, as the broker told a later execution.
func (b *ledger) saidOf(st *story, c *claim) protocol.Reason {
	for _, later := range st.claims {
		if later.started != nil && later.started.Prior == c.token {
			return later.started.PriorReason
		}
	}
	return protocol.NoReason
}

// taken says whether the broker took a settlement that was never answered: the process died.
func (b *ledger) taken(st *story, c, next *claim, prior protocol.Reason, leaseEnd protocol.Instant) bool {
	switch {
	case prior == protocol.BecauseExpired || prior == protocol.BecauseCut:
		return false
	case prior != protocol.NoReason:
		return true
	case next != nil:
		return next.granted < leaseEnd
	case c.settle.Verb == protocol.Ack:
		return st.info.State == redis.Done
	default:
		return st.info.State != redis.Claimed && leaseEnd > b.until
	}
}

// causeOfSilence says why a holder does not renew its claim any more.
func causeOfSilence(l *life, at protocol.Instant) meter.Cause {
	switch {
	case l == nil:
		return meter.ByOther
	case l.ended != lives && l.endAt <= at:
		return l.endCause
	case l.stopping && l.termAt <= at:
		return l.cause
	default:
		return meter.ByLease
	}
}

func causeOfRelease(l *life, f *fact) meter.Cause {
	switch {
	case f.Verb == protocol.Refuse:
		return meter.ByRefusal
	case f.Reason == protocol.BecauseDistrust:
		return meter.ByLease
	case f.Reason == protocol.BecauseDrain, f.Reason == protocol.BecauseHurry, f.Reason == protocol.BecauseLate, l.termAt <= f.At:
		return l.cause
	default:
		return meter.ByOther
	}
}

// audit counts what must never happen.
func (b *ledger) audit(st *story) {
	a := &b.account
	switch {
	case st.info.State == redis.Done:
		a.Done++
	case st.info.State == "":
		a.Lost++
	case hasEnded(st.info.State):
		a.Given++
	default:
		a.Unfinished++
	}
	acks := 0
	newest := protocol.Instant(protocol.Never) // when a claim with a larger token had arrived
	for i := len(st.claims) - 1; i >= 0; i-- {
		c := st.claims[i]
		if c.answer == protocol.OK && c.settle != nil {
			if c.settle.Verb == protocol.Ack {
				acks++
			}
			if c.settle.At > newest {
				a.Stale++
			}
		}
		newest = min(newest, c.granted)
	}
	if acks > 1 {
		a.AckedTwice++
	}
}

// ending says what the broker and the fleet know of a job at the end of the run.
func (b *ledger) ending(job protocol.JobKey) (meter.Ending, protocol.Duration) {
	st := b.jobs[job-1]
	e := meter.Ending{Known: st.info.State != "", Rescued: true}
	if c := st.last; c != nil {
		e.Claimed, e.Alive = true, c.life != nil && c.life.ended == lives
		e.Cause = causeOfSilence(c.life, b.until)
	}
	return e, st.reached
}

// Add adds another run's account.
func (a *Account) Add(o *Account) {
	a.Jobs += o.Jobs
	a.Done += o.Done
	a.Given += o.Given
	a.Unfinished += o.Unfinished
	a.Lost += o.Lost
	a.AckedTwice += o.AckedTwice
	a.Stale += o.Stale
	a.Processes += o.Processes
	a.Killed += o.Killed
	a.Withdrawn += o.Withdrawn
	a.Unheard += o.Unheard
	a.Late = max(a.Late, o.Late)
	a.Times.add(&o.Times)
}
