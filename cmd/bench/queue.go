package main

import (
	"fmt"
	"time"

	"github.com/quiesce/quiesce/model/dist"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim"
	"github.com/quiesce/quiesce/sim/agenda"
)

// The M/M/c queue that simulators are compared by: customers arrive at random, wait for the
// first of a thousand servers that is free, and are served for a time that is exponential as
// well. An arrival and a departure are one event each.
const (
	servers     = 1000
	utilisation = 0.95
	meanService = protocol.Second
)

// queue says whether the two models of the queue are right. Waits are in mean service times.
type queue struct {
	Servers    int     `json:"servers"`
	Load       float64 `json:"load"`
	Customers  int64   `json:"customers"`
	EngineWait float64 `json:"engine_wait"`
	LoopWait   float64 `json:"loop_wait"`
	TheoryWait float64 `json:"theory_wait"`
}

// lines of customers are rings of this many places; a power of two. More have never waited.
const places = 1 << 16

// line is who waits, by the instants of their arrival.
type line struct {
	arrived      [places]protocol.Instant
	served, came uint64
	waited       protocol.Duration // altogether
}

func (l *line) join(at protocol.Instant) {
	if l.came-l.served == places {
		panic("bench: the line of the M/M/c queue is longer than any that was seen")
	}
	l.arrived[l.came%places] = at
	l.came++
}

// next takes whoever waits longest, if anybody does.
func (l *line) next(now protocol.Instant) bool {
	if l.served == l.came {
		return false
	}
	l.waited += now.Sub(l.arrived[l.served%places])
	l.served++
	return true
}

// laws returns the distributions of the times between arrivals, and of service.
func laws() (gaps, service *dist.Table, err error) {
	gap := float64(meanService) / (servers * utilisation)
	if gaps, err = dist.Exponential(int64(gap)); err == nil {
		service, err = dist.Exponential(int64(meanService))
	}
	return gaps, service, err
}

// throughEngine runs the queue on the simulator's agenda and random numbers, and returns the
// mean wait.
func throughEngine(customers int64, gaps, service *dist.Table) float64 {
	const (
		departs uint8 = iota // first, when both happen at the same instant
		arrives
	)
	rnd := sim.NewRandom(1, nil)
	var events agenda.Agenda[uint8]
	var l line
	busy, arrived, served := 0, uint64(0), uint64(0)
	serve := func(now protocol.Instant) {
		served++
		events.Push(now.Add(protocol.Duration(service.Sample(rnd.Draw(sim.StreamWork, 0, served)))), departs, departs)
	}
	arrive := func(now protocol.Instant) {
		arrived++
		events.Push(now.Add(protocol.Duration(gaps.Sample(rnd.Draw(sim.StreamArrival, 0, arrived)))), arrives, arrives)
	}
	arrive(0)
	for events.Len() > 0 {
		next := events.Pop()
		switch now := next.At; next.What {
		case arrives:
			l.join(now)
			if arrived < uint64(customers) {
				arrive(now)
			}
			if busy < servers {
				busy++
				l.next(now)
				serve(now)
			}
		case departs:
			if l.next(now) {
				serve(now)
			} else {
				busy--
			}
		}
	}
	return float64(l.waited) / float64(customers) / float64(meanService)
}

// byHand runs the queue as tightly as it can be written: a heap of departures, one variable
// for the next arrival, and random numbers in turn.
func byHand(customers int64, gaps, service *dist.Table) float64 {
	var l line
	var departures [servers]protocol.Instant // a binary heap
	busy, left := 0, customers
	state := uint64(1)
	draw := func(t *dist.Table) protocol.Duration {
		state += 0x9e3779b97f4a7c15 // splitmix64, Steele et al. 2014
		x := state
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return protocol.Duration(t.Sample(x ^ x>>31))
	}
	// sink puts an instant where the root was.
	sink := func(at protocol.Instant) {
		i := 0
		for {
			c := 2*i + 1
			if c >= busy {
				break
			}
			if c+1 < busy && departures[c+1] < departures[c] {
				c++
			}
			if departures[c] >= at {
				break
			}
			departures[i] = departures[c]
			i = c
		}
		departures[i] = at
	}
	arrival := protocol.Instant(0).Add(draw(gaps))
	for left > 0 || busy > 0 {
		if left == 0 || busy > 0 && departures[0] <= arrival {
			now := departures[0]
			if l.next(now) {
				sink(now.Add(draw(service)))
				continue
			}
			busy--
			if last := departures[busy]; busy > 0 {
				sink(last)
			}
			continue
		}
		now := arrival
		left--
		arrival = now.Add(draw(gaps))
		l.join(now)
		if busy == servers {
			continue
		}
		l.next(now)
		at, i := now.Add(draw(service)), busy
		for busy++; i > 0 && at < departures[(i-1)/2]; i = (i - 1) / 2 {
			departures[i] = departures[(i-1)/2]
		}
		departures[i] = at
	}
	return float64(l.waited) / float64(customers) / float64(meanService)
}

// theory returns the mean wait by Erlang's C formula.
func theory() float64 {
	offered := servers * utilisation
	blocked := 1.0 // Erlang B, by its recursion
	for n := 1; n <= servers; n++ {
		blocked = offered * blocked / (float64(n) + offered*blocked)
	}
	waits := blocked / (1 - utilisation*(1-blocked))
	return waits / (servers - offered)
}

// measureQueue runs both models in turn and keeps the best time of each.
func measureQueue(customers int64, best int) (queue, []row, error) {
	gaps, service, err := laws()
	if err != nil {
		return queue{}, nil, fmt.Errorf("the M/M/c queue: %w", err)
	}
	q := queue{Servers: servers, Load: utilisation, Customers: customers, TheoryWait: theory()}
	rows := []row{
		{What: "M/M/c engine", Runs: best, Pending: servers, Events: 2 * customers},
		{What: "M/M/c loop", Runs: best, Pending: servers, Events: 2 * customers},
	}
	for i := range best {
		for k, run := range []func(){
			func() { q.EngineWait = throughEngine(customers, gaps, service) },
			func() { q.LoopWait = byHand(customers, gaps, service) },
		} {
			before, began := memory(), cpuTime()
			run()
			cpu := cpuTime() - began
			if i == 0 || cpu < time.Duration(rows[k].CPUSeconds*float64(time.Second)) {
				rows[k].rate(cpu, memory().Mallocs-before.Mallocs)
			}
		}
	}
	return q, rows, nil
}
