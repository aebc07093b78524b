package protocol

import "slices"

// A requestRow is one event about the claim request of queue 0, in each of some phases
// between which the table makes no difference.
type requestRow struct {
	name   string
	phases []Phase
	tweak  func(*Config)
	act    func(*stage)
	reach  func(*stage) bool // walks to where act can happen; nil: it is there
}

var (
	serving   = []Phase{PhaseServing}
	open      = []Phase{PhaseServing, PhaseQuiet}
	quietened = []Phase{PhaseQuiet, PhaseDraining, PhaseCancelling, PhaseSettling}
	anywhere  = []Phase{PhaseServing, PhaseQuiet, PhaseDraining, PhaseCancelling, PhaseSettling}
)

func runLate(c *Config)      { c.Policy.LateClaim = RunLateClaim }
func noWithdraw(c *Config)   { c.NoWithdraw = true }
func longGrace(c *Config)    { runLate(c); c.Grace = Hour; c.Kinds[plainKind].Undo = 30 * Minute }
func longAndFinal(c *Config) { longGrace(c); c.NoWithdraw = true }

func requestTable() table {
	rows := requestRows()
	tb := table{title: "REQUEST"}
	for r := RequestNone; r < requestStates; r++ {
		tb.columns = append(tb.columns, r.String())
	}
	for _, row := range rows {
		tb.rows = append(tb.rows, row.name)
	}
	tb.cell = func(r, c int) string {
		var cells []string
		for _, p := range rows[r].phases {
			if cell := rows[r].cell(RequestState(c), p); cell != "–" && !slices.Contains(cells, cell) {
				cells = append(cells, cell)
			}
		}
		switch len(cells) {
		case 0:
			return "–"
		case 1:
			return cells[0]
		}
		return "differs by phase"
	}
	return tb
}

func (row requestRow) cell(state RequestState, p Phase) string {
	s := withRequest(state, p, row.tweak)
	if s == nil || row.reach != nil && !row.reach(s) {
		return "–"
	}
	r := &s.m.requests[0]
	if r.state != state || s.m.phase != p {
		return "–"
	}
	seq := r.seq
	cell := s.decide(func() { row.act(s) },
		func() string { return r.state.String() },
		func() []byte {
			c := canonical{FormWriter: FormWriter{Now: s.now}}
			c.request(&s.m, r)
			return c.Buf
		},
		func(e Effect) bool { return e.Slot == NoSlot && e.Kind != Going && e.Kind != Exit })
	if cell == "stay" && r.seq != seq {
		return "→ Asked" // a new one
	}
	return cell
}

// withRequest brings the request of queue 0 into a state and then the machine into a phase.
// Slot 0 of 3 holds a job.
func withRequest(state RequestState, p Phase, tweak func(*Config)) *stage {
	s := newStage(3, func(c *Config) {
		c.Policy.LateClaim = RunLateClaim // lets a request stay open in every phase
		if tweak != nil {
			tweak(c)
		}
	}).serve().grant(1, plainKind)
	switch state {
	case RequestNone:
		s.do(ClaimClosed(0, s.m.requests[0].seq, Refused, 0))
	case RequestWithdrawing:
		seq := s.m.requests[0].seq
		if s.do(ClaimClosed(0, seq, Unknown, 0), ClaimClosed(0, seq, Unknown, 0)); s.cfg.NoWithdraw {
			return nil
		}
	}
	if p == PhaseQuiet {
		return s.do(Event{Kind: QuietAsked})
	}
	if p >= PhaseDraining {
		s.do(StopBySignal(SIGINT, Never))
	}
	if p >= PhaseCancelling {
		s.do(StopBySignal(SIGINT, Never))
	}
	if p >= PhaseSettling {
		s.do(Returned(0, ReturnedError, true))
	}
	return s
}

func requestRows() []requestRow {
	answer := func(code Code, parked Duration) func(*stage) {
		return func(s *stage) { s.do(ClaimClosed(0, s.m.requests[0].seq, code, parked)) }
	}
	granted := func(off uint64) func(*stage) {
		return func(s *stage) { s.do(GrantedJob(0, s.m.requests[0].seq-off, 2, 20, plainKind, 1, 0)) }
	}
	withdrawn := func(code Code) func(*stage) {
		return func(s *stage) { s.do(WithdrawClosed(0, s.m.requests[0].seq, code, 0)) }
	}
	timeout := func(s *stage) bool { return s.until(requestDue, 0) }
	tick, stop, quiet := event(Event{}), event(StopBySignal(SIGTERM, Never)), event(Event{Kind: QuietAsked})
	returned := func(c *Config) { c.Policy.LateClaim = ReturnLateClaim }
	second := func(s *stage) bool { // the repetition is silent, too
		if s.m.requests[0].state == RequestAsked {
			timeout(s)
			s.do(Event{})
		}
		return timeout(s)
	}
	full := func(s *stage) { // every slot is taken when the answer closes
		seq := s.m.requests[0].seq
		s.do(GrantedJob(0, seq, 2, 20, plainKind, 1, 0), GrantedJob(0, seq, 3, 30, plainKind, 1, 0), ClaimClosed(0, seq, OK, 0))
	}
	return []requestRow{
		{"poll backoff over", serving, nil, tick, func(s *stage) bool { return s.m.requests[0].state == RequestNone && timeout(s) }},
		{"poll backoff over, not Serving", quietened, nil, tick, func(s *stage) bool { return s.m.requests[0].state == RequestNone && timeout(s) }},
		{"stop, LateClaim return", open, returned, stop, nil},
		{"stop, LateClaim run or runIfShort", open, runLate, stop, nil},
		{"stop, broker cannot withdraw", open, noWithdraw, stop, nil},
		{"quiet, LateClaim return", serving, returned, quiet, nil},
		{"quiet, LateClaim run or runIfShort", serving, runLate, quiet, nil},
		{"resume", []Phase{PhaseQuiet}, nil, event(Event{Kind: ResumeAsked}), nil},

		{"granted, within want", anywhere, nil, granted(0), nil},
		{"granted, under another id", anywhere, nil, granted(1), nil},
		{"granted, beyond want", anywhere, nil, granted(0), func(s *stage) bool {
			granted(0)(s)
			granted(0)(s)
			return true
		}},
		{"answered ok, granted, slots left", serving, nil, func(s *stage) { s.grant(2, plainKind) }, nil},
		{"answered ok, granted, no slot left", serving, nil, full, nil},
		{"answered ok, nothing, parked in full", serving, nil, answer(OK, DefaultPark), nil},
		{"answered ok, nothing, early", serving, nil, answer(OK, 0), nil},
		{"answered refused", serving, nil, answer(Refused, 0), nil},
		{"answered ok or refused, not Serving", quietened, nil, answer(OK, 0), nil},
		{"answered unknown, first attempt", serving, nil, answer(Unknown, 0), nil},
		{"answered unknown, second attempt", serving, nil, func(s *stage) { answer(Unknown, 0)(s) }, func(s *stage) bool {
			if s.m.requests[0].state == RequestAsked {
				answer(Unknown, 0)(s)
			}
			return true
		}},
		{"answered unknown, not Serving", quietened, nil, answer(Unknown, 0), nil},
		{"silence, first attempt", serving, nil, tick, func(s *stage) bool { return s.m.requests[0].state == RequestAsked && timeout(s) }},
		{"silence, second attempt", serving, nil, tick, func(s *stage) bool { return s.m.requests[0].state == RequestAsked && second(s) }},
		{"silence, not Serving", quietened, longGrace, tick, func(s *stage) bool { return s.m.requests[0].state == RequestAsked && timeout(s) }},
		{"silence, not Serving, cannot withdraw", quietened, longAndFinal, tick, func(s *stage) bool { return s.m.requests[0].state == RequestAsked && timeout(s) }},
		{"withdraw answered ok", serving, nil, withdrawn(OK), nil},
		{"withdraw answered ok, not Serving", quietened, nil, withdrawn(OK), nil},
		{"withdraw answered unknown", anywhere, nil, withdrawn(Unknown), nil},
		{"no answer to Withdraw", anywhere, nil, tick, func(s *stage) bool { return s.m.requests[0].state == RequestWithdrawing && timeout(s) }},
		{"settleBy", []Phase{PhaseSettling}, func(c *Config) { c.Park = Hour }, tick, func(s *stage) bool { return s.until(settleEnds, NoSlot) }},
	}
}
