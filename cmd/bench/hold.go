package main

import (
	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/agenda"
)

// content is as large as an event of the simulator.
type content [4]uint32

// measureHold takes the next event and puts another in its place, over and over: the event
// queue of a world and nothing else (the hold model of Vaucher and Duval, 1975). One event of
// the row is one pop and one push. Delays are exponential with a mean of a minute.
func measureHold(pending int, events int64) row {
	delays, err := dist.Exponential(int64(protocol.Minute))
	if err != nil {
		panic("bench: a minute is no mean: " + err.Error())
	}
	rnd := sim.NewRandom(1, nil)
	drawn := uint64(0)
	var queue agenda.Agenda[content]
	push := func(now protocol.Instant, what content) {
		drawn++
		queue.Push(now.Add(protocol.Duration(delays.Sample(rnd.Draw(sim.StreamWork, 0, drawn)))), 0, what)
	}
	for range pending {
		push(0, content{})
	}
	hold := func() {
		next := queue.Pop()
		push(next.At, next.What)
	}
	for range pending { // until the instants are those of a queue that has been in use
		hold()
	}
	before, began := memory(), cpuTime()
	for range events {
		hold()
	}
	r := row{What: "hold", Runs: 1, Pending: queue.Len(), Events: events}
	r.rate(cpuTime()-began, memory().Mallocs-before.Mallocs)
	return r
}
