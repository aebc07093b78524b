package fleet

import (
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// The rollout's view of the fleet changes with every change of a process: it is taken out of
// the count before and put in again after.

func (s *supervisor) uncount(l *life) { s.tally(l, -1) }
func (s *supervisor) recount(l *life) { s.tally(l, +1) }

func (s *supervisor) tally(l *life, d int) {
	switch {
	case l.stopping || s.seats[l.seat] != l:
	case l.generation == s.generation && l.ready:
		s.pods.NewReady += d
	case l.generation == s.generation:
		s.pods.NewStarting += d
	case l.ready:
		s.pods.OldReady += d
	default:
		s.pods.OldStarting += d
	}
}

func (s *supervisor) scheduleDeploys() {
	d := &s.sc.Deploys
	if d.Every > 0 {
		for k := 1; (d.Count == 0 || k <= d.Count) && protocol.Instant(d.Every)*protocol.Instant(k) < s.end; k++ {
			s.agenda.put(protocol.Instant(d.Every)*protocol.Instant(k), s.deploy)
		}
	}
	for _, at := range d.At {
		if at < s.end {
			s.agenda.put(at, s.deploy)
		}
	}
}

// deploy begins a rollout of a new generation. One that has not finished is overtaken.
func (s *supervisor) deploy() {
	s.generation++
	s.deploys++
	s.pods = model.Pods{Stopping: s.pods.Stopping}
	s.order = s.order[:0]
	for _, l := range s.seats {
		if l == nil {
			continue
		}
		s.recount(l)
		if !l.stopping {
			s.order = append(s.order, l.seat)
		}
	}
	if s.sc.Supervisor.Rollout.Strategy == model.OneByOne {
		slices.SortFunc(s.order, func(a, b int32) int { return int(b) - int(a) })
	} else {
		s.sortBy(s.order, func(seat int32) uint64 { return s.plan.Chance.Victim(s.deploys, seat) })
	}
	s.rolling, s.began = true, s.clock.Now()
	s.record(s.began, meter.Record{Kind: meter.RolloutBegan})
	s.advanceRollout()
}

// sortBy sorts seats by a rank, equal ones by their number.
func (s *supervisor) sortBy(seats []int32, rank func(int32) uint64) {
	slices.SortFunc(seats, func(a, b int32) int {
		switch ra, rb := rank(a), rank(b); {
		case ra < rb:
			return -1
		case ra > rb:
			return 1
		default:
			return int(a) - int(b)
		}
	})
}

// advanceRollout makes the moves that the rollout's rules allow now.
func (s *supervisor) advanceRollout() {
	r := &s.sc.Supervisor.Rollout
	for s.rolling && s.failed == nil {
		if r.Done(s.wanted, s.pods) {
			s.rolling = false
			now := s.clock.Now()
			s.record(now, meter.Record{Kind: meter.RolloutFinished, Span: now.Sub(s.began)})
			return
		}
		move := r.Next(s.wanted, s.pods)
		moved := false
		for ; move.Start > 0 && s.startLife(); move.Start-- {
			moved = true
		}
		for ; move.StopStarting > 0 && s.stopNext(false); move.StopStarting-- {
			moved = true
		}
		for ; move.StopReady > 0 && s.stopNext(true); move.StopReady-- {
			moved = true
		}
		if !moved {
			return
		}
	}
}

// stopNext stops the next old process that is ready, or that is not.
func (s *supervisor) stopNext(ready bool) bool {
	for _, seat := range s.order {
		if l := s.seats[seat]; l != nil && !l.stopping && l.generation != s.generation && l.ready == ready {
			s.stop(l, meter.ByDeploy)
			return true
		}
	}
	return false
}

// topUp starts what is missing from the fleet while no rollout does so: after the node, not
// the rollout, stopped a process. A StatefulSet waits until the seat is free.
func (s *supervisor) topUp() {
	if s.rolling {
		return
	}
	there := s.pods.OldReady + s.pods.OldStarting + s.pods.NewReady + s.pods.NewStarting
	if s.sc.Supervisor.Rollout.Strategy == model.OneByOne {
		there += s.pods.Stopping
	}
	for ; there < s.wanted && s.startLife(); there++ {
	}
}

// replace starts a process for one that the node stopped. During a rollout that is the
// rollout's business.
func (s *supervisor) replace() {
	s.advanceRollout()
	s.topUp()
}
