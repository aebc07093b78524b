package fleet

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// stop lets the supervisor stop a process by its documented sequence, as far as nobody cuts it
// short.
func (s *supervisor) stop(l *life, cause meter.Cause) {
	s.stopBy(l, s.cutShort(l, s.sc.Supervisor.Stop(s.clock.Now())), cause)
}

// cutShort lets a drill or a liveness probe kill a process before its grace is over.
func (s *supervisor) cutShort(l *life, plan model.StopPlan) model.StopPlan {
	return plan.CutShort(s.sc.Faults.Liveness, func(span protocol.Duration) (protocol.Duration, bool) {
		return s.plan.Chance.Drill(s.deploys, l.seat, span)
	})
}

// stopBy carries out a plan. From now on the process is not part of the fleet any more.
func (s *supervisor) stopBy(l *life, plan model.StopPlan, cause meter.Cause) {
	s.uncount(l)
	l.stopping, l.cause = true, cause
	s.pods.Stopping++
	for _, at := range [...]protocol.Instant{plan.Term, plan.Again} {
		s.at(at, l, func() {
			s.told(l)
			l.signal(signalOf(plan.Signal))
			if plan.Continue && !l.paused { // it stands still as a machine does, whose end SIGCONT is not
				l.signal(goOn)
			}
		})
	}
	if sup := &s.sc.Supervisor; sup.Tells && sup.PreStop > 0 && plan.Term != protocol.Never {
		s.notify(l, s.clock.Now().Add(sup.Allowed())) // whatever may cut it short, nobody is told of it
	}
	s.at(plan.Kill, l, func() { l.kill(killed, s.clock.Now()) })
}

// notify tells a process when it will be killed.
func (s *supervisor) notify(l *life, killAt protocol.Instant) {
	s.told(l)
	if l.up {
		l.notice(killAt)
	} else {
		l.signal(signalOf(protocol.SIGTERM)) // nothing runs yet that could be told
	}
}

// at does something to a process at an instant, unless it has ended by then. What is due
// now is done now.
func (s *supervisor) at(at protocol.Instant, l *life, do func()) {
	if at <= s.clock.Now() {
		do()
		return
	}
	s.agenda.put(at, func() {
		if l.ended == lives {
			do()
		}
	})
}

// told notes that a process is being told to stop. One that stands still hears of it when it
// runs again.
func (s *supervisor) told(l *life) {
	switch {
	case l.paused:
		l.waits = true
	case l.termAt == protocol.Never:
		l.termAt = s.clock.Now()
		s.record(l.termAt, meter.Record{Kind: meter.StopAsked, Seat: l.seat})
	}
}

func (s *supervisor) scheduleFaults() {
	for i := range s.plan.Faults {
		f := &s.plan.Faults[i]
		s.agenda.put(f.At, func() {
			if l := s.seats[f.Seat]; l != nil {
				s.hit(l, f)
			}
		})
	}
	if in := &s.sc.Faults.ScaleIn; in.Every > 0 {
		for at := protocol.Instant(in.Every); at < s.end; at = at.Add(in.Every) {
			s.agenda.put(at, s.scaleIn)
		}
	}
}

// hit carries out a fault.
func (s *supervisor) hit(l *life, f *Fault) {
	now := s.clock.Now()
	switch f.Kind {
	case Crash:
		if l.up {
			l.kill(crashed, now)
		}
	case Pause:
		s.pause(l, f.Length)
	case Evict:
		if !l.stopping {
			s.stopBy(l, s.sc.Supervisor.Evict(now, s.sc.Faults.Evict.Grace), meter.ByOther)
			s.replaceAfter(f.At)
		}
	case Preempt:
		s.takeAway(l, now.Add(f.Length))
		s.replaceAfter(f.At)
	}
}

// replaceAfter replaces what the faults of an instant took away: after the last of them, or a
// new process could be hit as well.
func (s *supervisor) replaceAfter(at protocol.Instant) { s.agenda.put(at, s.replace) }

// takeAway takes the machine away from under a process, which is told when. One that is being
// stopped already may be killed sooner for it.
func (s *supervisor) takeAway(l *life, killAt protocol.Instant) {
	if l.stopping {
		s.at(killAt, l, func() { l.kill(killed, s.clock.Now()) })
	} else {
		s.stopBy(l, model.TakenAway(killAt), meter.ByOther)
	}
	s.notify(l, killAt)
}

// pause makes a process stand still, unless it does already.
func (s *supervisor) pause(l *life, length protocol.Duration) {
	if !l.up || l.paused || l.sent != lives {
		return
	}
	now := s.clock.Now()
	l.signal(standStill)
	l.paused = true
	l.pauses = append(l.pauses, span{now, protocol.Never})
	s.agenda.put(now.Add(length), func() {
		if l.paused {
			s.resume(l) // before it can do anything
			l.signal(goOn)
			if l.waits {
				s.told(l)
			}
		}
	})
}

func (s *supervisor) resume(l *life) {
	l.paused = false
	if l.sent == lives || l.sent == exited {
		l.pauses[len(l.pauses)-1].to = s.clock.Now()
	}
}

// scaleIn stops a part of the fleet, by the supervisor's usual sequence.
func (s *supervisor) scaleIn() {
	in := &s.sc.Faults.ScaleIn
	s.scaled++
	var victims []int32
	for _, l := range s.seats {
		if l != nil && !l.stopping {
			victims = append(victims, l.seat)
		}
	}
	s.sortBy(victims, func(seat int32) uint64 {
		rank := s.plan.Chance.ScaleIn(s.scaled, seat) >> 1
		if in.IdleFirst && s.seats[seat].busy > 0 {
			rank |= 1 << 63
		}
		return rank
	})
	n := min(in.Workers, len(victims), s.wanted-1)
	s.wanted -= n
	for _, seat := range victims[:n] {
		s.stop(s.seats[seat], meter.ByOther)
	}
	s.agenda.put(s.clock.Now().Add(in.Back), func() {
		s.wanted += n
		s.replace()
	})
	s.advanceRollout()
}
