package protocol

// deadlineTable says in which phases a deadline is ever armed. Its machines are all those of
// the other tables, in every phase that they can be brought to.
func deadlineTable() table {
	tb := table{title: "DEADLINE", remark: true}
	for p := PhaseBooting; p < phases; p++ {
		tb.columns = append(tb.columns, p.String())
	}
	for k := range deadlineNames {
		tb.rows = append(tb.rows, deadlineNames[k])
	}
	seen := armedByPhase()
	tb.cell = func(r, c int) string {
		if seen[c][r] {
			return "armed"
		}
		return "–"
	}
	return tb
}

func armedByPhase() (seen [phases][len(deadlineNames)]bool) {
	look := func(s *stage) {
		s.m.armed(func(d due) {
			if d.at != Never {
				seen[s.m.phase][d.kind] = true
			}
		})
	}
	lookOn := func(s *stage) {
		look(s)
		for s.m.Deadline() < Instant(Hour) {
			s.now = s.m.Deadline()
			look(s.do(Event{}))
		}
	}
	for p := PhaseBooting; p < phases; p++ {
		look(plain(p))
		for state := RequestNone; state < requestStates && p != PhaseBooting && p != PhaseGone; state++ {
			look(withRequest(state, p, nil))
		}
		lookOn(crowded(p))
	}
	for _, column := range append(heldColumns(), lostColumns()...) {
		for _, kind := range []Kind{plainKind, limitedKind, lengthyKind} {
			look(column.build(kind))
			look(column.build(kind).do(Event{Kind: QuietAsked}))
		}
	}
	return seen
}

// crowded has a slot in almost every state, in a phase: a drain of it meets every deadline.
func crowded(p Phase) *stage {
	s := newStage(5, func(c *Config) {
		c.Policy.Estimates = Adaptive
		c.Kinds[limitedKind].Gap = 0 // so that it is cancelled after the plain ones
		c.Kinds[limitedKind].Timeout = 2 * Minute
	})
	if p == PhaseBooting {
		return s
	}
	s.serve().grant(1, plainKind).grant(2, limitedKind).grant(3, limitedKind).grant(4, plainKind).grant(5, lengthyKind)
	s.do(Returned(3, ReturnedNil, true), Returned(4, ReturnedError, false))
	for range 2 {
		s.do(Renewed(1, 2, 20, Unknown, s.now, 0))
	}
	if p == PhaseQuiet {
		s.do(Event{Kind: QuietAsked})
	}
	if p >= PhaseDraining {
		s.do(StopBySignal(SIGTERM, Never))
	}
	return s
}
