package invariant

import "github.com/quiesce/quiesce/protocol"

// This file watches how jobs are asked for and begun: rules 1, 2, 3, 8 and 14.

// claims watches a claim request. (stop-claiming, requests-closed)
func (c *Checker) claims(seat int32, p *process, e *protocol.Effect) {
	if c.must(StopClaiming, !p.stopping) {
		c.breaks(StopClaiming, 0, seat, "worker %d asked for jobs after it was told to stop", seat)
	}
	if e.Seq == p.asked {
		return
	}
	if c.must(RequestsClosed, !p.open || p.cfg.NoWithdraw) {
		c.breaks(RequestsClosed, 0, seat, "worker %d sent claim request %d although request %d was neither answered nor withdrawn", seat, e.Seq, p.asked)
	}
	p.asked, p.askedAt, p.open, p.gaveBack = e.Seq, e.At, true, false
}

// starts watches the start of a handler. (no-start-after-stop, answer-obeyed-once,
// not-beside-itself, understood-only)
func (c *Checker) starts(seat int32, p *process, e *protocol.Effect) {
	c.sent |= sentStart
	if c.must(NoStartAfterStop, !p.stopping) {
		c.breaks(NoStartAfterStop, e.Job, seat, "worker %d started job %d after it was told to stop", seat, e.Job)
	}
	ev := &c.event
	obeyed := ev.Kind == protocol.Granted && ev.Job == e.Job && ev.Seq == p.asked && p.open && p.withdrawn < ev.Seq
	if c.must(AnswerObeyedOnce, obeyed) {
		c.breaks(AnswerObeyedOnce, e.Job, seat, "worker %d started job %d for claim request %d, which had been answered or withdrawn", seat, e.Job, ev.Seq)
	}
	all := c.slotsOf(seat)
	for i := range all {
		if s := &all[i]; int32(i) != e.Slot && s.job == e.Job && c.must(NotBesideItself, !s.runs && !s.undoes) {
			c.breaks(NotBesideItself, e.Job, seat, "worker %d started job %d beside an earlier execution of it that still ran there", seat, e.Job)
		}
	}
	k := &p.cfg.Kinds[min(int(e.JobKind), len(p.cfg.Kinds)-1)]
	if c.must(UnderstoodOnly, int(e.JobKind) < len(p.cfg.Kinds) && ev.Version >= k.MinVersion && ev.Version <= k.MaxVersion) {
		c.breaks(UnderstoodOnly, e.Job, seat, "worker %d started job %d of payload version %d and understands %d to %d", seat, e.Job, ev.Version, k.MinVersion, k.MaxVersion)
	}
	parked := ev.Span - ev.Span/1_000_000*protocol.Duration(p.cfg.DriftPPM) - ev.Span%1_000_000*protocol.Duration(p.cfg.DriftPPM)/1_000_000
	*c.slotAt(seat, e.Slot) = slot{
		job: e.Job, token: e.Token, kind: e.JobKind, started: beat{c.now, c.local}, runs: true, owed: p.ledger,
		trust: p.trustFrom(min(p.askedAt.Add(parked), c.local)),
	}
}

// grantDropped watches what becomes of a grant. (no-grant-dropped)
func (c *Checker) grantDropped(seat int32, p *process) {
	done := c.sent&(sentStart|sentSettle|sentSurplus) != 0 || p.withdrawn >= c.event.Seq
	if c.must(NoGrantDropped, done) {
		c.breaks(NoGrantDropped, c.grant, seat, "worker %d was granted job %d and neither ran it nor handed it back", seat, c.grant)
	}
}
