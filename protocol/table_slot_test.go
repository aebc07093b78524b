package protocol

import "fmt"

// A slotRow is one event about slot 0. reach walks to where it can happen.
type slotRow struct {
	name  string
	reach func(*stage) bool
	act   func(*stage)
}

// A slotColumn is one state of slot 0, with the flags that make a difference.
type slotColumn struct {
	name  string
	build func(kind Kind) *stage
}

func slotTable(title string, columns []slotColumn) table {
	rows := slotRows()
	tb := table{title: title}
	for _, c := range columns {
		tb.columns = append(tb.columns, c.name)
	}
	for _, row := range rows {
		tb.rows = append(tb.rows, row.name)
	}
	tb.cell = func(r, c int) string {
		cell := rows[r].cell(columns[c].build(plainKind))
		for _, kind := range []Kind{limitedKind, lengthyKind} { // where a kind's limits make the event possible
			if cell == "–" {
				cell = rows[r].cell(columns[c].build(kind))
			}
		}
		return cell
	}
	return tb
}

func (row slotRow) cell(s *stage) string {
	slot := &s.m.slots[0]
	state, flags := slot.state, slot.flags&(lost|superseded|undoRuns)
	if row.reach != nil && !row.reach(s) || slot.state != state || slot.flags&(lost|superseded|undoRuns) != flags {
		return "–"
	}
	return s.decide(func() { row.act(s) },
		func() string { return slot.state.String() },
		func() []byte {
			c := canonical{FormWriter: FormWriter{Now: s.now}}
			c.slot(&s.m, slot)
			return c.Buf
		},
		func(e Effect) bool { return e.Slot == 0 })
}

// occupied returns a serving machine with two queues and one slot, in which a job runs. The
// second queue still has its request out.
func occupied(kind Kind) *stage {
	return newStage(1, func(c *Config) {
		c.Queues = 2
		c.Grace = 2 * Hour
	}).serve().grant(1, kind)
}

func undoing(kind Kind) *stage { return occupied(kind).do(Returned(0, ReturnedError, false)) }
func zombie(kind Kind) *stage  { return occupied(kind).do(Renewed(0, 1, 10, Expired, 0, 0)) }
func outlived(kind Kind) *stage {
	s := undoing(kind)
	s.until(undoLimit, 0)
	return s.do(Event{})
}

// heldColumns are the slots whose claim is held or being ended.
func heldColumns() []slotColumn {
	return []slotColumn{
		{"Free", func(Kind) *stage {
			return newStage(1, func(c *Config) { c.Queues, c.Grace = 2, 2*Hour }).serve()
		}},
		{"Running", occupied},
		{"Cancelled", func(k Kind) *stage { return occupied(k).do(OperatorCancel(0, 1, 10)) }},
		{"Undoing", undoing},
		{"Settling", func(k Kind) *stage { return occupied(k).do(Returned(0, ReturnedNil, true)) }},
		{"Settling, undo runs", outlived},
	}
}

// lostColumns are the slots whose claim is gone.
func lostColumns() []slotColumn {
	return []slotColumn{
		{"Undoing, lost", func(k Kind) *stage { return undoing(k).do(Renewed(0, 1, 10, Expired, 0, 0)) }},
		{"Undoing, taken", func(k Kind) *stage { return undoing(k).do(Renewed(0, 1, 10, Stale, 0, 0)) }},
		{"Zombie", zombie},
		{"Zombie, taken", func(k Kind) *stage { return occupied(k).do(Renewed(0, 1, 10, Stale, 0, 0)) }},
		{"Zombie, undo runs", func(k Kind) *stage { return outlived(k).do(Settled(0, 1, 10, OK)) }},
		{"Leaked", func(k Kind) *stage {
			s := occupied(k)
			for range 3 {
				s.do(StopBySignal(SIGINT, Never))
			}
			return s
		}},
	}
}

func slotRows() []slotRow {
	// each steps alternative events on copies and keeps the machine of the last.
	each := func(evs ...Event) func(*stage) {
		return func(s *stage) {
			var before Machine
			s.m.CopyTo(&before, NewMemory(&s.cfg, len(s.m.slots)))
			results := map[string]bool{}
			var message any
			for _, ev := range evs {
				before.CopyTo(&s.m, s.m.Memory())
				_, message = impossibly(func() { s.do(ev) })
				results[fmt.Sprint(s.m.slots[0].state, message != nil)] = true
			}
			if len(results) > 1 {
				panic("the events of one row differ")
			}
			if message != nil {
				panic(message)
			}
		}
	}
	grant := func(version uint16) func(*stage) {
		return func(s *stage) {
			for q := range s.m.requests {
				s.do(GrantedJob(q, s.m.requests[q].seq, 2, 20, plainKind, version, 0))
			}
		}
	}
	to := func(kind deadline, index int32) func(*stage) bool {
		return func(s *stage) bool { return s.until(kind, index) }
	}
	renewed := func(code Code) func(*stage) {
		return func(s *stage) { s.do(Renewed(0, 1, 10, code, s.now, 0)) }
	}
	round := func(kind deadline) func(*stage) bool { // at its time, or wherever it would be
		return func(s *stage) bool {
			s.until(kind, NoSlot)
			return true
		}
	}
	sent := func(s *stage) bool { // a renewal is out
		round(renewRound)(s)
		s.do(Event{})
		return true
	}
	fire := func(kind deadline) func(*stage) {
		return func(s *stage) { s.m.fire(s.now, due{s.now, kind, NoSlot}, s.fx) }
	}
	living := func(then func(*stage) bool) func(*stage) bool {
		return func(s *stage) bool { return s.m.phase != PhaseGone && then(s) }
	}
	stopped := func(then func(*stage) bool) func(*stage) bool {
		return living(func(s *stage) bool {
			s.do(StopBySignal(SIGINT, s.now.Add(30*Second)))
			return then(s)
		})
	}
	missedTwice := func(s *stage) bool {
		s.do(Renewed(0, 1, 10, Unknown, s.now, 0), Renewed(0, 1, 10, Unknown, s.now, 0))
		return s.until(distrust, 0)
	}
	beforeTheSlotsOwn := func(s *stage) bool { // undoBy, unless the limit of an undo fires then, which comes first
		ends := s.until(undoEnds, NoSlot)
		limit, undoing := s.find(undoLimit, 0)
		return ends && (!undoing || limit.at > s.now)
	}
	ago := Instant(0)
	tick := event(Event{})
	return []slotRow{
		{"granted, run", nil, grant(1)},
		{"granted, not understood or not run", nil, grant(9)},
		{"returned nil, clean", nil, each(Returned(0, ReturnedNil, true))},
		{"returned nil, not clean", nil, each(Returned(0, ReturnedNil, false))},
		{"returned otherwise, clean", nil, each(Returned(0, ReturnedYield, true), Returned(0, ReturnedError, true), Returned(0, ReturnedFailed, true), Returned(0, ReturnedPanic, true))},
		{"returned otherwise, not clean", nil, each(Returned(0, ReturnedYield, false), Returned(0, ReturnedError, false), Returned(0, ReturnedFailed, false), Returned(0, ReturnedPanic, false))},
		{"undo done", nil, each(Undid(0, UndoDone))},
		{"undo skipped shared hooks", nil, each(Undid(0, UndoSkipped))},
		{"undo failed", nil, each(Undid(0, UndoFailed))},
		{"undo limit", to(undoLimit, 0), tick},

		{"save", nil, each(SaveCursor(0, 5, false), SaveCursor(0, 5, true))},
		{"saved ok", nil, each(Saved(0, 1, 10, OK, ago, 5))},
		{"saved expired", nil, each(Saved(0, 1, 10, Expired, ago, 5))},
		{"saved stale or closed", nil, each(Saved(0, 1, 10, Stale, ago, 5), Saved(0, 1, 10, Closed, ago, 5))},
		{"saved unknown", nil, each(Saved(0, 1, 10, Unknown, ago, 5))},

		{"renewal round", living(round(renewRound)), fire(renewRound)},
		{"renewed ok", sent, renewed(OK)},
		{"renewed, cancel ordered", sent, renewed(CancelOrder)},
		{"renewed expired", sent, renewed(Expired)},
		{"renewed stale or closed", sent, func(s *stage) {
			each(Renewed(0, 1, 10, Stale, s.now, 0), Renewed(0, 1, 10, Closed, s.now, 0))(s)
		}},
		{"renewed unknown", sent, renewed(Unknown)},
		{"operator cancel", nil, each(OperatorCancel(0, 1, 10))},
		{"distrust", missedTwice, tick},
		{"trust ends", to(trustEnds, 0), tick},
		{"kind's timeout", to(kindTimeout, 0), tick},

		{"settled ok or repeat", nil, each(Settled(0, 1, 10, OK), Settled(0, 1, 10, Repeat))},
		{"settled stale or closed", nil, each(Settled(0, 1, 10, Stale), Settled(0, 1, 10, Closed))},
		{"settled unknown", nil, each(Settled(0, 1, 10, Unknown))},
		{"settling round", living(round(settleRound)), fire(settleRound)},
		{"any answer for another token", nil, each(Saved(0, 1, 9, Stale, ago, 5), Renewed(0, 1, 9, Stale, ago, 0), OperatorCancel(0, 1, 9), Settled(0, 1, 9, OK))},
		{"any answer for another job", nil, each(Saved(0, 2, 10, Stale, ago, 5), Renewed(0, 2, 10, Stale, ago, 0), OperatorCancel(0, 2, 10), Settled(0, 2, 10, OK))},

		{"first stop", living(func(*stage) bool { return true }), event(StopBySignal(SIGINT, Never))},
		{"first stop, OnStop die", living(func(s *stage) bool { s.cfg.Policy.OnStop = DieOnStop; return true }), event(StopBySignal(SIGINT, Never))},
		{"cancelAt of its kind", stopped(func(s *stage) bool { return s.until(cancelKind, 0) }), tick},
		{"hurry", stopped(func(*stage) bool { return true }), event(StopBySignal(SIGINT, Never))},
		{"undoBy", stopped(beforeTheSlotsOwn), tick},
		{"settleBy", stopped(func(s *stage) bool { return s.until(settleEnds, NoSlot) }), tick},
	}
}
