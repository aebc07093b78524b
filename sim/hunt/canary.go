package hunt

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Canary shows a checker what no worker does, sound or not: a process that is told to stop, asks
// for a job after it, starts one that nobody granted, acks it while its handler runs, and exits
// with status 0. It returns the invariants that were seen to be broken; a check of checks that
// does not find all of CanaryBreaks finds nothing.
func Canary() []invariant.ID {
	sc := &model.Scenario{Fleet: model.Fleet{Workers: 1, Slots: 1}, Queue: model.Queue{Lease: 10 * sec, Heartbeat: 3 * sec}}
	bc := model.BrokerConfig{Lease: sc.Queue.Lease}
	c := invariant.New(invariant.Setup{Scenario: sc, Seats: 1, Slots: 1, Broker: model.NewBroker(&bc, 1, 1)})
	cfg := protocol.Config{Grace: 30 * sec, Kinds: make([]protocol.KindConfig, 1)}.WithDefaults()
	at := protocol.Instant(sec)
	step := func(ev protocol.Event, effects ...protocol.Effect) {
		c.Stepping(at, at, 0, &ev)
		for i := range effects {
			effects[i].At = at
			c.Effect(0, &effects[i])
		}
		c.Stepped(0)
		at = at.Add(sec)
	}
	c.Enqueued(0, 1)
	c.Up(0, model.Member{Nonce: 1}, &cfg, 0)
	var out model.Outbox
	out.Facts = append(out.Facts, model.Fact{Kind: model.Claimed, Job: 1, Token: 1, Nonce: 1})
	c.Did(at, &out)
	step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never), protocol.Effect{Kind: protocol.Going, Slot: protocol.NoSlot})
	step(protocol.Event{}, protocol.Effect{Kind: protocol.Claim, Slot: protocol.NoSlot, Seq: 1})
	step(protocol.Event{}, protocol.Effect{Kind: protocol.Start, Job: 1, Token: 1})
	step(protocol.Event{}, protocol.Effect{Kind: protocol.Settle, Job: 1, Token: 1, Verb: protocol.Ack})
	step(protocol.Event{}, protocol.Effect{Kind: protocol.Exit, Slot: protocol.NoSlot})
	var broken []invariant.ID
	for _, f := range c.Findings() {
		broken = append(broken, f.Invariant)
	}
	return broken
}

// CanaryBreaks is what the canary must be seen to break.
var CanaryBreaks = []invariant.ID{
	invariant.StopClaiming, invariant.NoStartAfterStop, invariant.AnswerObeyedOnce, invariant.SettledAfterReturn, invariant.ExitZeroHoldsNothing,
}

// CanaryDied reports whether the canary was seen to break what it breaks.
func CanaryDied() bool {
	seen := map[invariant.ID]bool{}
	for _, id := range Canary() {
		seen[id] = true
	}
	for _, id := range CanaryBreaks {
		if !seen[id] {
			return false
		}
	}
	return true
}
