package sim

import (
	"sort"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// books is a second meter, as naive as can be: it keeps every record of a run and computes
// the metrics afterwards, job by job, from lists of intervals. It shares no code with
// package meter. It holds for runs that are measured from their start.
type books struct {
	world   *World
	records []meter.Record

	stalls                []stall
	interruptions         int
	overlap, redone       float64 // seconds
	overlapping           int
	effectsTwice          int
	delay, stalled, begun float64 // seconds, over all jobs
	waits                 []float64
	started, ended        int
	enqueued              int
	endings               map[meter.Kind]int // of jobs, by what was last heard of them
	revived               int                // ends of jobs that a failover undid
	handedBack            int                // claims that ended without a result
	misjudged             int                // executions said to have come further, or less far, than they had time for
}

type stall struct {
	seconds  float64
	cause    meter.Cause
	censored bool
}

func (b *books) see(o Observation) {
	if o.Kind == SawRecord {
		b.records = append(b.records, o.Record)
	}
}

// interval is a span of time or of work.
type interval struct{ from, to int64 }

// life is what the books know of one execution.
type life struct {
	works   []interval // of time; the last is open while it works
	working bool
	done    interval // of work
	total   protocol.Duration
	effects int64
	closed  bool
}

func (l *life) begin(at protocol.Instant) {
	l.working = true
	l.works = append(l.works, interval{int64(at), int64(at)})
}

func (l *life) rest(at protocol.Instant) {
	if l.working {
		l.working = false
		l.works[len(l.works)-1].to = int64(at)
	}
}

// worked returns how long it worked.
func (l *life) worked() (sum int64) {
	for _, i := range l.works {
		sum += i.to - i.from
	}
	return sum
}

// last returns the last instant at which it worked, as of now.
func (l *life) last(now protocol.Instant) protocol.Instant {
	if l.working {
		return now
	}
	return protocol.Instant(l.works[len(l.works)-1].to)
}

// close computes everything, once the world has come to its end.
func (b *books) close() {
	b.endings = map[meter.Kind]int{}
	byJob := map[protocol.JobKey]*account{}
	for _, r := range b.records {
		if r.Job == 0 {
			continue
		}
		a := byJob[r.Job]
		if a == nil {
			a = &account{b: b, lives: map[protocol.Token]*life{}, granted: map[protocol.Token]protocol.Instant{}, firstStart: protocol.Never}
			byJob[r.Job] = a
		}
		a.enter(r)
	}
	live := b.world.fleet.progress(b.world.end)
	for job, a := range byJob {
		var done protocol.Duration
		if here := live.Get(uint64(job)); here != nil {
			done = *here
		}
		a.close(b.world.broker.Job(job), done)
	}
}

// account is the books of one job.
type account struct {
	b          *books
	lives      map[protocol.Token]*life
	granted    map[protocol.Token]protocol.Instant
	newest     protocol.Token
	enqueued   protocol.Instant
	firstStart protocol.Instant
	reached    protocol.Duration // by executions that have ended
	ending     meter.Kind        // JobEnqueued while it has none
	endedAt    protocol.Instant
	served     float64 // its delay in seconds when it finished

	open       bool // interrupted, and not started again
	openToken  protocol.Token
	openCause  meter.Cause
	wasStarted bool // at the interruption
}

func (a *account) enter(r meter.Record) {
	switch r.Kind {
	case meter.JobEnqueued:
		a.enqueued = r.At
		a.b.enqueued++
	case meter.ClaimGranted:
		a.newest = r.Token
		a.granted[r.Token] = r.At
	case meter.ExecutionStarted:
		a.start(r)
	case meter.ExecutionPaused:
		a.lives[r.Token].rest(r.At)
	case meter.ExecutionResumed:
		a.beginWork(a.lives[r.Token], r.At)
	case meter.ExecutionEnded:
		a.end(r)
	case meter.ClaimEnded:
		a.claimEnded(r)
	case meter.LeaseExpired:
		a.b.handedBack++
		a.interrupt(r)
	case meter.JobFinished, meter.JobDead, meter.JobQuarantined, meter.JobCancelled:
		a.over(r.At, false, false)
		a.ending, a.endedAt = r.Kind, r.At
		a.served = max(float64(r.At.Sub(a.enqueued)-a.reached)/1e9, 0)
	case meter.JobForgotten:
		if a.ending == meter.JobFinished {
			a.b.revived++
		}
		a.ending = meter.JobEnqueued
		if a.enqueued > r.At.Add(-a.b.world.sc.Faults.ForgetFor) {
			a.ending = meter.JobForgotten
		}
	}
}

func (a *account) start(r meter.Record) {
	a.over(r.At, true, false)
	if a.firstStart == protocol.Never {
		a.firstStart = r.At
		a.b.waits = append(a.b.waits, float64(r.At-a.enqueued)/1e9)
	}
	l := &life{done: interval{int64(r.Work), int64(r.Work)}}
	a.beginWork(l, r.At)
	a.lives[r.Token] = l
	a.b.started++
}

func (a *account) beginWork(l *life, at protocol.Instant) {
	for _, other := range a.lives {
		if other.working {
			a.b.overlapping++
			break
		}
	}
	l.begin(at)
}

func (a *account) end(r meter.Record) {
	l := a.lives[r.Token]
	l.rest(r.At)
	l.closed, l.done.to, l.total, l.effects = true, int64(r.Work), r.Total, int64(r.Count)
	if worked := l.worked(); l.done.to != min(l.done.from+worked, int64(r.Total)) {
		a.b.misjudged++
	}
	a.reached = max(a.reached, r.Work)
	a.b.ended++
	if r.How == meter.Interrupted || r.How == meter.Killed {
		a.interrupt(r)
	}
}

func (a *account) claimEnded(r meter.Record) {
	switch r.Verb {
	case protocol.Ack, protocol.Fail, protocol.Quarantine:
		a.over(r.At, false, false)
	default:
		a.b.handedBack++
		a.interrupt(r)
	}
}

func (a *account) interrupt(r meter.Record) {
	if r.Token == a.newest && !a.open && a.ending == meter.JobEnqueued {
		a.open, a.openToken, a.openCause, a.wasStarted = true, r.Token, r.Cause, a.firstStart != protocol.Never
		a.b.interruptions++
	}
}

// over ends the interruption that is open. It is a stall if it ended with a start, or with
// the run.
func (a *account) over(at protocol.Instant, counts, censored bool) {
	if !a.open {
		return
	}
	a.open = false
	from := a.granted[a.openToken]
	if l := a.lives[a.openToken]; l != nil {
		from = max(from, l.last(at))
	}
	length := float64(at.Sub(from)) / 1e9
	if a.wasStarted {
		a.b.stalled += length
	}
	if cooldown := 2 * a.b.world.sc.Queue.Lease; counts && from <= a.b.world.end.Add(-cooldown) {
		a.b.stalls = append(a.b.stalls, stall{length, a.openCause, censored})
	}
}

// close ends the books with the run; row is what the broker knows, live how far the job's
// executions are that still run.
func (a *account) close(row *model.JobRow, live protocol.Duration) {
	w := a.b.world
	if row != nil && row.State == model.JobClaimed && !w.alive(row.Owner) {
		a.interrupt(meter.Record{Token: a.newest, Cause: w.causeOfSilence(row.Owner.Seat, row.Owner.Nonce)})
	}
	a.over(w.end, true, true)
	a.b.endings[a.ending]++
	until := w.end
	switch a.ending {
	case meter.JobFinished:
		until = a.endedAt
		a.b.delay += a.served
	case meter.JobCancelled:
		until = a.endedAt
	default:
		if a.ending == meter.JobDead || a.ending == meter.JobQuarantined {
			until = a.endedAt
		}
		if row != nil {
			live = max(live, protocol.Duration(row.Cursor))
		} else {
			live = 0
		}
		a.b.delay += max(float64(w.end.Sub(a.enqueued)-live)/1e9, 0)
	}
	if a.firstStart != protocol.Never {
		a.b.begun += float64(until.Sub(a.firstStart)) / 1e9
	}
	a.b.twice(a.lives, w.end)
}

// twice adds what the executions of one job did more than once: time, work and effects, each
// as the sum of all parts less their union.
func (b *books) twice(lives map[protocol.Token]*life, end protocol.Instant) {
	var time, work []interval
	applied, distinct := int64(0), map[int64]bool{}
	for _, l := range lives {
		l.rest(end)
		time = append(time, l.works...)
		if !l.closed {
			continue
		}
		work = append(work, l.done)
		for k := int64(1); k <= l.effects; k++ {
			// Effect k of n falls at k/n of the work.
			if at := k * int64(l.total); l.done.from*l.effects < at && at <= l.done.to*l.effects {
				applied++
				distinct[k] = true
			}
		}
	}
	b.overlap += moreThanOnce(time)
	b.redone += excess(work)
	b.effectsTwice += int(applied) - len(distinct)
}

// moreThanOnce returns for how many seconds two or more of the intervals cover an instant.
func moreThanOnce(all []interval) float64 {
	var edges []int64
	for _, i := range all {
		edges = append(edges, i.from, i.to)
	}
	sort.Slice(edges, func(i, j int) bool { return edges[i] < edges[j] })
	sum := 0.0
	for k := 1; k < len(edges); k++ {
		covers := 0
		for _, i := range all {
			if i.from <= edges[k-1] && edges[k] <= i.to && edges[k-1] < edges[k] {
				covers++
			}
		}
		if covers > 1 {
			sum += float64(edges[k]-edges[k-1]) / 1e9
		}
	}
	return sum
}

// excess returns the sum of the intervals less their union, in seconds.
func excess(all []interval) float64 {
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
	sum, reached := 0.0, int64(-1)
	for _, i := range all {
		sum += float64(max(min(i.to, reached)-i.from, 0)) / 1e9
		reached = max(reached, i.to)
	}
	return sum
}
