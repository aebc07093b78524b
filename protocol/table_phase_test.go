package protocol

// A phaseRow is one event. build makes the machine the event comes to, or nil where it
// cannot come; act is the event.
type phaseRow struct {
	name  string
	build func(Phase) *stage
	act   func(*stage)
}

func phaseTable() table {
	rows := phaseRows()
	tb := table{title: "PHASE"}
	for p := PhaseBooting; p < phases; p++ {
		tb.columns = append(tb.columns, p.String())
	}
	for _, row := range rows {
		tb.rows = append(tb.rows, row.name)
	}
	tb.cell = func(r, c int) string {
		s := rows[r].build(Phase(c))
		if s == nil || s.m.phase != Phase(c) {
			return "–"
		}
		return s.decide(func() { rows[r].act(s) },
			func() string { return s.m.phase.String() }, s.bytes, func(Effect) bool { return true })
	}
	return tb
}

// inPhase brings a machine with a job in slot 0 of 2 into a phase, by the given stop. The
// claim request that the stop withdrew has been answered.
func inPhase(p Phase, tweak func(*Config), stop func(*stage) Event) *stage {
	s := newStage(2, tweak)
	if p == PhaseBooting {
		return s
	}
	if s.serve().grant(1, plainKind); p == PhaseServing {
		return s
	}
	if p == PhaseQuiet {
		return s.do(Event{Kind: QuietAsked})
	}
	seq := s.m.requests[0].seq
	if s.do(stop(s), WithdrawClosed(0, seq, OK, 0)); p == PhaseDraining {
		return s
	}
	if s.until(cancelKind, 0); p >= PhaseCancelling {
		s.do(Event{})
	}
	if p >= PhaseSettling {
		s.do(Returned(0, ReturnedError, true))
	}
	if p == PhaseGone {
		s.do(Settled(0, 1, 10, OK))
	}
	return s
}

func sigterm(*stage) Event        { return StopBySignal(SIGTERM, Never) }
func sigint(*stage) Event         { return StopBySignal(SIGINT, Never) }
func notice(*stage) Event         { return StopFrom(FromNotice, Never) }
func hasty(s *stage) Event        { return StopBySignal(SIGTERM, s.now.Add(8*Second+500*Millisecond)) }
func plain(p Phase) *stage        { return inPhase(p, nil, sigterm) }
func stopping(p Phase) bool       { return p >= PhaseDraining }
func event(ev Event) func(*stage) { return func(s *stage) { s.do(ev) } }

// when builds like plain where the condition holds.
func when(holds func(Phase) bool, stop func(*stage) Event, more ...func(*stage)) func(Phase) *stage {
	return func(p Phase) *stage {
		if !holds(p) {
			return nil
		}
		s := inPhase(p, nil, stop)
		for _, f := range more {
			f(s)
		}
		return s
	}
}

// due builds a machine at the instant of a deadline of slot 0, of the request of queue 0, or
// of nothing in particular.
func dueIn(kind deadline, index int32, build func(Phase) *stage) func(Phase) *stage {
	return func(p Phase) *stage {
		s := build(p)
		if s == nil || !s.until(kind, index) {
			return nil
		}
		return s
	}
}

func second(s *stage) { s.pass(Second) }

func phaseRows() []phaseRow {
	tick := event(Event{})
	again := func(s *stage) { s.do(StopBySignal(SIGTERM, Never)) }
	interrupt := func(s *stage) { s.do(StopBySignal(SIGINT, Never)) }
	firstStop := func(policy OnStop) func(Phase) *stage {
		return func(p Phase) *stage {
			tweak := func(c *Config) { c.Policy.OnStop = policy }
			switch {
			case p == PhaseGone: // reached without a stop
				return newStage(1, tweak).do(RegisteredAs(0, Refused))
			case p.Stopping():
				return nil
			}
			return inPhase(p, tweak, sigterm)
		}
	}
	return []phaseRow{
		{"registered ok", plain, event(RegisteredAs(7, OK))},
		{"registered ok, quiet asked for", func(p Phase) *stage {
			if s := plain(p); p == PhaseBooting {
				return s.do(Event{Kind: QuietAsked})
			}
			return nil
		}, event(RegisteredAs(7, OK))},
		{"registered unknown", plain, event(RegisteredAs(0, Unknown))},
		{"registered refused", plain, event(RegisteredAs(0, Refused))},
		{"no answer to Register", dueIn(registerAgain, NoSlot, plain), tick},
		{"quiet", plain, event(Event{Kind: QuietAsked})},
		{"resume", plain, event(Event{Kind: ResumeAsked})},
		{"reconnected", plain, event(Event{Kind: Reconnected})},

		{"first stop, OnStop finish", firstStop(FinishOnStop), again},
		{"first stop, OnStop cancel", firstStop(CancelOnStop), again},
		{"first stop, OnStop die", firstStop(DieOnStop), again},
		{"first stop, OnStop ignore", firstStop(IgnoreOnStop), again},
		{"stop of another source", when(stopping, sigterm), event(StopFrom(FromContext, Never))},
		{"stop of another source, SIGKILL nearer", when(stopping, sigterm), func(s *stage) {
			s.do(StopFrom(FromSupervisor, s.m.KillAt().Add(-Millisecond)))
		}},
		{"first signal after a notice", when(stopping, notice), again},
		{"SIGTERM within 1s of its group", when(stopping, hasty), again},
		{"SIGTERM, second group", when(stopping, sigterm, second), again},
		{"SIGTERM, third group", when(stopping, sigterm, second, again, second), again},
		{"SIGINT, second", when(stopping, sigint), interrupt},
		{"SIGINT, third", when(stopping, sigint, interrupt), interrupt},
		{"SIGKILL moved nearer", plain, func(s *stage) { s.do(KillAt(min(s.m.KillAt().Add(-Millisecond), Instant(Hour)))) }},
		{"SIGKILL moved away", plain, func(s *stage) { s.do(KillAt(s.m.KillAt().Add(Millisecond))) }},

		{"handler returned, the last", func(p Phase) *stage {
			if p == PhaseSettling { // it outlived undoBy
				s := plain(PhaseCancelling)
				s.until(undoEnds, NoSlot)
				return s.do(Event{})
			}
			return plain(p)
		}, event(Returned(0, ReturnedError, true))},
		{"settle answered, the last", plain, event(Settled(0, 1, 10, OK))},
		{"cancelAt of a kind", func(p Phase) *stage {
			if p == PhaseCancelling { // a kind that needs longer was cancelled before
				return dueIn(cancelKind, 1, func(Phase) *stage {
					return newStage(2, nil).serve().grant(2, lengthyKind).grant(1, plainKind).do(StopBySignal(SIGTERM, Never))
				})(p)
			}
			return dueIn(cancelKind, 0, plain)(p)
		}, tick},
		{"cancelAt of a kind, AtDeadline die", dueIn(cancelKind, 0, func(p Phase) *stage {
			return inPhase(p, func(c *Config) { c.Policy.AtDeadline = DieAtDeadline }, sigterm)
		}), tick},
		{"undoBy", dueIn(undoEnds, NoSlot, func(p Phase) *stage {
			if p == PhaseDraining { // nothing runs, but a grant that would be run is out
				return newStage(1, func(c *Config) { c.Policy.LateClaim, c.Park = RunLateClaim, Minute }).serve().do(StopBySignal(SIGTERM, Never))
			}
			return plain(p)
		}), tick},
		{"settleBy", dueIn(settleEnds, NoSlot, plain), tick},
		{"every slot wedged", dueIn(wedged, NoSlot, func(p Phase) *stage {
			s := plain(p)
			if p == PhaseServing || p == PhaseQuiet {
				s = newStage(1, nil).serve().grant(1, plainKind).do(Renewed(0, 1, 10, Stale, 0, 0))
			}
			if p == PhaseQuiet {
				s.do(Event{Kind: QuietAsked})
			}
			return s
		}), tick},
		{"estimate", func(p Phase) *stage {
			return inPhase(p, func(c *Config) { c.Policy.Estimates = Adaptive }, sigterm)
		}, event(Estimate(plainKind, 12, 100))},
		{"tick", plain, tick},
	}
}
