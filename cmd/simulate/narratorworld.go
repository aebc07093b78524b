package main

import (
	"fmt"
	"slices"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/plots/chronicle"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
)

// worldNarrator tells what happens in a world. What nobody in it could know, such as when a job
// stood still, it takes from the records of the meter.
type worldNarrator struct {
	*narrator
	grace           protocol.Duration
	slots           int
	rollout, broker int // tracks
	deploy          *chronicle.Span
	pauses          map[protocol.JobKey]pause
	tokens          map[protocol.JobKey]protocol.Token // of the newest claims
	jobs            int
}

// pause is a job that nobody works on.
type pause struct {
	since protocol.Instant
	left  chronicle.Place
	order int // by which it began
}

func newWorldNarrator(scn *scene, s *selection, most int) *worldNarrator {
	var kinds []string
	for i := range scn.Jobs {
		kinds = append(kinds, scn.Jobs[i].Name)
	}
	n := &worldNarrator{
		narrator: newNarrator(fmt.Sprintf("%s under %s, seed %d", scn.Name, s.policy, s.seed), s, kinds, most),
		grace:    scn.Supervisor.WorkerGrace(), slots: scn.Fleet.Claims(),
		pauses: make(map[protocol.JobKey]pause), tokens: make(map[protocol.JobKey]protocol.Token),
	}
	n.rollout, n.broker = n.track("rollout", 0), n.track("broker", 0)
	return n
}

func (n *worldNarrator) see(o *sim.Observation) {
	switch o.Kind {
	case sim.SawRecord:
		n.seeRecord(o)
		return
	case sim.SawCount, sim.SawUncounted:
		n.seeCount(o)
		return
	}
	w := n.worker(o.Seat, who{seat: o.Seat}.String(), n.slots)
	if w == nil {
		return
	}
	switch o.Kind {
	case sim.SawEvent:
		n.begins(w, o.At, o.Life)
		ev, job := &o.Event, o.Event.Job
		if s := w.slot(ev.Slot); s != nil && aboutSlot(ev.Kind) {
			job = s.job
		}
		what := eventInWords(ev, job, n.grace)
		if ev.Kind == protocol.StopAsked && ev.Source == protocol.FromSignal {
			if w.signals++; w.signals > 1 {
				what += ", once more"
			}
		}
		n.event(w, o.At, ev, job, what)
	case sim.SawEffect:
		n.begins(w, o.At, o.Life)
		n.effect(w, o.At, &o.Effect, effectInWords(&o.Effect))
	case sim.SawFault:
		n.mark(w.track, 0, o.At, 0, faultInWords(o.Text))
	}
}

func (n *worldNarrator) seeRecord(o *sim.Observation) {
	r := &o.Record
	what, _ := recordInWords(r)
	switch r.Kind {
	case meter.RolloutBegan:
		n.deployEnds(o.At, "overtaken by the next one")
		n.deploy = &chronicle.Span{From: int64(o.At), Name: fmt.Sprintf("deploy %d", r.Deploy), Class: chronicle.Draining}
	case meter.RolloutFinished:
		n.deployEnds(o.At, "every worker is new and ready")
	case meter.ProcessExited, meter.ProcessKilled, meter.ProcessCrashed:
		if w := n.worker(o.Seat, who{seat: o.Seat}.String(), n.slots); w != nil {
			n.ends(w, o.At, what, chronicle.Killed)
		}
	case meter.LeaseExpired, meter.JobDead, meter.JobQuarantined, meter.JobCancelled, meter.JobStarving, meter.JobForgotten:
		if n.only < 0 || int64(r.Seat) == n.only {
			n.mark(n.broker, 0, o.At, r.Job, what)
		}
	}
	n.stands(o)
}

// seeCount marks batches that go on, and jobs that they wait for. The broker's track has room.
func (n *worldNarrator) seeCount(o *sim.Observation) {
	if (n.only < 0 || int64(o.Seat) == n.only) && (o.Kind == sim.SawUncounted || o.Count.Left == 0) {
		n.mark(n.broker, 0, o.At, o.Count.Job, batchInWords(o))
	}
}

func (n *worldNarrator) deployEnds(at protocol.Instant, how string) {
	if n.deploy != nil {
		n.deploy.Details = []chronicle.Detail{{Name: "end", Value: how}}
		n.keep(n.rollout, n.deploy, at)
		n.deploy = nil
	}
}

// stands follows jobs that stand still between two executions.
func (n *worldNarrator) stands(o *sim.Observation) {
	r := &o.Record
	switch r.Kind {
	case meter.ClaimGranted:
		n.tokens[r.Job] = r.Token
	case meter.ExecutionEnded:
		if n.tokens[r.Job] == r.Token && (r.How == meter.Interrupted || r.How == meter.Killed) {
			n.jobs++
			n.pauses[r.Job] = pause{o.At, n.place(r.Seat, r.Job), n.jobs}
		}
	case meter.ExecutionStarted:
		if p, paused := n.pauses[r.Job]; paused {
			n.goesOn(r.Job, p, o.At, n.place(r.Seat, r.Job), false)
		}
	case meter.JobFinished, meter.JobDead, meter.JobQuarantined, meter.JobCancelled:
		delete(n.pauses, r.Job)
		delete(n.tokens, r.Job)
	}
}

// place is where a job is, or was until just now; nowhere when its seat is not kept.
func (n *worldNarrator) place(seat int32, job protocol.JobKey) chronicle.Place {
	found := chronicle.Nowhere
	if w := n.workers[seat]; w != nil {
		for i := range w.slots {
			if w.slots[i].job == job && (found == chronicle.Nowhere || w.slots[i].claim != nil) {
				found = chronicle.Place{Track: w.track, Row: i + 1}
			}
		}
	}
	return found
}

// goesOn takes a stall into the chronicle, and tells the claim that ends it.
func (n *worldNarrator) goesOn(job protocol.JobKey, p pause, at protocol.Instant, went chronicle.Place, open bool) {
	delete(n.pauses, job)
	if at < n.from || p.since > n.until || n.only >= 0 && p.left == chronicle.Nowhere && went == chronicle.Nowhere {
		return
	}
	s := chronicle.Stall{Job: uint64(job), From: int64(max(p.since, n.from)), Until: int64(min(at, n.until)), Left: p.left, Went: went, Open: open || at > n.until}
	if p.since < n.from {
		s.Left = chronicle.Nowhere
	}
	n.story.Stalls = append(n.story.Stalls, s)
	if went != chronicle.Nowhere {
		claim := n.byTrack[went.Track].slots[went.Row-1].claim
		claim.Details = append(claim.Details, chronicle.Detail{Name: "stood still before", Value: brief(at.Sub(p.since))})
	}
}

// finish closes what is open at the end, stalls in the order in which they began.
func (n *worldNarrator) finish(end protocol.Instant) *chronicle.Chronicle {
	end = min(end, n.until)
	n.deployEnds(end, "it goes on")
	left := make([]protocol.JobKey, 0, len(n.pauses))
	for job := range n.pauses {
		left = append(left, job)
	}
	slices.SortFunc(left, func(a, b protocol.JobKey) int { return n.pauses[a].order - n.pauses[b].order })
	for _, job := range left {
		n.goesOn(job, n.pauses[job], end, chronicle.Nowhere, true)
	}
	n.narrator.finish(end)
	return n.story
}
