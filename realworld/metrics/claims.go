package metrics

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// claim is what is known of the claim in a slot: answers do not say what they are about, and
// a settling is sent again until it is answered.
type claim struct {
	job    protocol.JobKey
	token  protocol.Token // 0 in a free slot
	kind   protocol.Kind
	verb   protocol.Verb // that was sent
	reason protocol.Reason
	state  protocol.SlotState
	ended  bool // counted
}

// begin takes in whose claim is in the slot from now on.
func (c *claim) begin(e *protocol.Effect) {
	*c = claim{job: e.Job, token: e.Token, kind: e.JobKind, state: c.state}
}

// settles takes in that a claim is to end, and counts the interruption, once.
func (o *observer) settles(e *protocol.Effect) {
	if e.Slot < 0 { // a surplus job: sent once, and its answer counts nothing
		o.series.interruptions[e.Reason].Inc()
		o.kind(e.JobKind).jobs[protocol.WasHandedBack].Inc()
		return
	}
	c := &o.claims[e.Slot]
	if c.job != e.Job || c.token != e.Token {
		c.begin(e) // it goes back without having been run
	}
	if c.verb != protocol.NoVerb {
		return
	}
	c.verb, c.reason = e.Verb, e.Reason
	if e.Reason != protocol.NoReason {
		o.series.interruptions[e.Reason].Inc()
	}
}

// settled takes in the broker's answer. The ones that a worker loses by come with a note.
func (o *observer) settled(ev *protocol.Event) {
	if ev.Slot < 0 || int(ev.Slot) >= len(o.claims) || ev.Code != protocol.OK && ev.Code != protocol.Repeat {
		return
	}
	if c := &o.claims[ev.Slot]; c.job == ev.Job && c.token == ev.Token && c.verb != protocol.NoVerb {
		o.ended(ev.Slot, c.outcome())
	}
}

// outcome is what becomes of a job by the verb that ends its claim.
func (c *claim) outcome() protocol.Outcome {
	switch c.verb {
	case protocol.Ack:
		return protocol.WasFinished
	case protocol.Fail:
		return protocol.WasFailed
	case protocol.Refuse:
		return protocol.WasRefused
	case protocol.Quarantine:
		return protocol.WasQuarantined
	}
	if c.reason == protocol.BecauseYield || c.reason == protocol.BecauseLate {
		return protocol.WasHandedBack
	}
	return protocol.WasReleased
}

// ended counts what became of the job in a slot, once.
func (o *observer) ended(slot int32, outcome protocol.Outcome) {
	if slot < 0 {
		return // a claim request
	}
	if c := &o.claims[slot]; !c.ended && c.token != 0 {
		c.ended = true
		o.kind(c.kind).jobs[outcome].Inc()
	}
}

// follow keeps the slots' states up to date. A slot changes in a step that is about it, or
// that asks for something about it; only at the end, and when the time of an undo is over, does
// one change without.
func (o *observer) follow(ev protocol.Event, effects []protocol.Effect, state worker.State) {
	slots := state.Slots()
	if o.undoing > 0 || o.exited {
		for i := range slots {
			o.look(i, slots)
		}
		return
	}
	if int(ev.Slot) < len(slots) && ev.Slot >= 0 {
		o.look(int(ev.Slot), slots)
	}
	for i := range effects {
		if s := int(effects[i].Slot); s >= 0 && s < len(slots) {
			o.look(s, slots)
		}
	}
}

func (o *observer) look(i int, slots []protocol.Slot) {
	c := &o.claims[i]
	now := slots[i].State()
	if now == c.state {
		return
	}
	o.series.slots[c.state].Dec()
	o.series.slots[now].Inc()
	if c.state == protocol.SlotUndoing {
		o.undoing--
	}
	if now == protocol.SlotUndoing {
		o.undoing++
	}
	c.state = now
	if now == protocol.SlotFree {
		o.ended(int32(i), protocol.WasLost) // by nothing that anybody said
	}
}
