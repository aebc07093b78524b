package fleet

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// supervisor starts, replaces and stops the processes of a fleet: by the clock what the
// simulator does by its queue. One goroutine runs it.
type supervisor struct {
	plan      *Plan
	sc        *model.Scenario
	clock     clock
	end       protocol.Instant
	agenda    agenda
	reports   chan report
	command   []string
	configs   [2]processConfig // of generation 0, and of all later ones
	namespace string
	origin    int64

	seats      []*life // nil is an empty seat
	numbers    []int   // lives of each seat so far
	empty      []int32 // the next one to be used last
	lives      []*life // all there ever were
	alive      int     // processes that have not been reaped
	generation uint32
	deploys    int
	rolling    bool
	began      protocol.Instant
	wanted     int // processes, less those that were scaled in
	scaled     int
	pods       model.Pods
	order      []int32 // seats in the order in which the rollout stops them

	jobs    *enqueuer
	records []meter.Record    // of the supervisor's own
	late    protocol.Duration // the longest that a process came up after it was to
	failed  error             // why the run cannot go on
}

// run runs the fleet to the end of the run, and beyond it for as long as the plan allows.
func (s *supervisor) run(ctx context.Context) error {
	for i := range s.plan.Jobs {
		j := &s.plan.Jobs[i]
		s.agenda.put(j.At, func() { s.jobs.add(j, s.versionOf(j.Kind)) })
	}
	s.scheduleDeploys()
	s.scheduleFaults()
	for range s.sc.Fleet.Workers {
		s.startLife()
	}
	err := s.loop(ctx, s.end, func() bool { return false })
	if err == nil && s.plan.Beyond > 0 {
		err = s.loop(ctx, s.end.Add(s.plan.Beyond), s.allEnded(ctx))
	}
	s.killAll()
	return err
}

// loop does what is due and takes in what is reported, until an instant or as soon as it may
// stop.
func (s *supervisor) loop(ctx context.Context, until protocol.Instant, enough func() bool) error {
	for s.failed == nil && !enough() {
		now := s.clock.Now()
		s.agenda.run(min(now, until))
		if s.plan.Progress != nil {
			s.plan.Progress(min(now, s.end), s.end)
		}
		if now >= until {
			break
		}
		// It looks around now and then even when nothing is due.
		wait := time.NewTimer(min(s.clock.real(min(s.agenda.next(), until).Sub(now)), lookAround))
		select {
		case r := <-s.reports:
			s.takeIn(r)
		case err := <-s.jobs.failed:
			s.failed = err
		case <-wait.C:
		case <-ctx.Done():
			s.failed = ctx.Err()
		}
		wait.Stop()
	}
	return s.failed
}

// lookAround is how often the supervisor does so, in real time.
const lookAround = 100 * time.Millisecond

// killAll ends every process, and waits for their last reports.
func (s *supervisor) killAll() {
	now := s.clock.Now()
	for _, l := range s.lives {
		l.kill(lives, now)
		if l.ended == lives {
			_ = l.cmd.Process.Kill() // also one that was sent SIGKILL before
		}
	}
	for s.alive > 0 {
		r := <-s.reports
		if r.over {
			s.alive--
		} else {
			r.from.facts = append(r.from.facts, r.facts...)
		}
	}
}

func (s *supervisor) versionOf(kind protocol.Kind) uint16 {
	j := &s.sc.Jobs[kind]
	if s.generation > 0 {
		return max(j.Version, j.NewVersion)
	}
	return j.Version
}

// startLife puts a new process of the present generation into an empty seat; it reports false
// when there is none left.
func (s *supervisor) startLife() bool {
	if len(s.empty) == 0 || s.failed != nil {
		return false
	}
	seat := s.empty[len(s.empty)-1]
	s.empty = s.empty[:len(s.empty)-1]
	s.beginLife(seat, s.generation)
	return true
}

func (s *supervisor) beginLife(seat int32, generation uint32) {
	if s.sc.Supervisor.Rollout.Strategy == model.OnDelete {
		generation = s.generation // whatever restarts is new
	}
	s.numbers[seat]++
	l := &life{seat: seat, number: s.numbers[seat], generation: generation, termAt: protocol.Never, goingAt: protocol.Never}
	s.seats[seat] = l
	s.lives = append(s.lives, l)
	s.recount(l)
	c := s.configs[min(generation, 1)]
	c.Origin, c.Namespace, c.Seat, c.Generation = s.origin, s.namespace, seat, generation
	l.created = s.clock.Now()
	l.due = l.created.Add(s.plan.Chance.Start(seat, l.number))
	c.Up = l.due
	if err := l.spawn(&c, s.command, s.reports); err != nil {
		s.failed = err
		l.ended = dropped
		return
	}
	s.alive++
}

// takeIn takes in what a process reports.
func (s *supervisor) takeIn(r report) {
	l := r.from
	for i := range r.facts {
		s.hear(l, &r.facts[i])
	}
	l.facts = append(l.facts, r.facts...)
	if r.err != nil && l.sent == lives {
		s.failed = r.err
	}
	if r.over {
		s.alive--
		s.reaped(l, r.state)
	}
}

func (s *supervisor) hear(l *life, f *fact) {
	switch f.Kind {
	case factUp:
		l.up = true
		s.late = max(s.late, f.At.Sub(l.due))
	case factReady:
		s.uncount(l)
		l.ready = true
		s.recount(l)
		s.advanceRollout()
	case factStarted:
		l.busy++
	case factEnded:
		l.busy--
	case factGoing:
		l.goingAt = min(l.goingAt, f.At)
	case factMemory:
		l.sent, l.endAt = crashed, f.At
	case factExit:
		if l.sent == lives {
			l.sent, l.endAt = exited, f.At
		}
	}
}

// reaped takes in that a process has ended.
func (s *supervisor) reaped(l *life, state *os.ProcessState) {
	now := s.clock.Now()
	l.reapedAt = now
	if n := len(l.facts); n > 0 {
		l.endAt = max(l.endAt, l.facts[n-1].At) // what SIGKILL did not reach at once
	}
	if l.paused {
		s.resume(l)
	}
	switch {
	case l.sent != lives:
		l.ended = l.sent
	case l.termAt != protocol.Never && !l.up: // nothing ran yet that could be told
		l.ended, l.endAt = dropped, now
	default:
		s.failed = fmt.Errorf("fleet: the worker process in seat %d ended by itself: %s", l.seat, l.lastWords(state))
		l.ended, l.endAt = dropped, now
		return
	}
	since := protocol.Duration(0)
	if l.termAt != protocol.Never {
		since = l.endAt.Sub(l.termAt)
	}
	switch l.ended {
	case exited:
		s.record(l.endAt, meter.Record{Kind: meter.ProcessExited, Span: since, Status: l.status(), Seat: l.seat})
	case killed:
		s.record(l.endAt, meter.Record{Kind: meter.ProcessKilled, Span: since, Seat: l.seat})
	case crashed:
		s.record(l.endAt, meter.Record{Kind: meter.ProcessCrashed, Seat: l.seat})
	}
	l.endCause = l.cause
	if l.ended == crashed {
		l.endCause = meter.ByCrash
	}
	s.vacate(l)
}

// status is what a process exited with, by its own word.
func (l *life) status() uint8 {
	for i := len(l.facts) - 1; i >= 0; i-- {
		if l.facts[i].Kind == factExit {
			return l.facts[i].Status
		}
	}
	return 0
}

// vacate empties the seat of a process that has ended. One that was not told to stop is
// started again in its seat.
func (s *supervisor) vacate(l *life) {
	s.uncount(l)
	s.seats[l.seat] = nil
	if !l.stopping {
		s.beginLife(l.seat, l.generation)
		return
	}
	s.pods.Stopping--
	s.empty = append(s.empty, l.seat)
	s.advanceRollout()
	s.topUp()
}

func (s *supervisor) record(at protocol.Instant, r meter.Record) {
	r.At = at
	s.records = append(s.records, r)
}

// allEnded looks now and then whether every job has ended.
func (s *supervisor) allEnded(ctx context.Context) func() bool {
	var last time.Time
	ended := 0 // of the jobs that were added, in their order
	return func() bool {
		if time.Since(last) < lookAround {
			return false
		}
		last = time.Now()
		jobs := s.jobs.sofar()
		for ; ended < len(jobs); ended++ {
			info, ok, err := s.jobs.queue.Job(ctx, jobs[ended].key)
			if err != nil {
				s.failed = fmt.Errorf("fleet: %w", err)
				return true
			}
			if ok && !hasEnded(info.State) {
				return false
			}
		}
		return len(jobs) == len(s.plan.Jobs)
	}
}
