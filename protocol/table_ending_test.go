package protocol

import "strings"

// endingTable says with which verb and reason a claim ends, by what the handler returned
// and what it had been told.
func endingTable() table {
	columns := []struct {
		name  string
		build func() *stage
	}{
		{"Running", func() *stage { return occupied(plainKind) }},
		{"draining", func() *stage {
			s := occupied(plainKind)
			s.do(StopBySignal(SIGTERM, s.now.Add(30*Second)))
			s.until(cancelKind, 0)
			return s.do(Event{})
		}},
		{"hurry", func() *stage {
			return occupied(plainKind).do(StopBySignal(SIGINT, Never), StopBySignal(SIGINT, Never))
		}},
		{"lease-lost", func() *stage {
			s := occupied(plainKind)
			s.do(Renewed(0, 1, 10, Unknown, s.now, 0), Renewed(0, 1, 10, Unknown, s.now, 0))
			s.until(distrust, 0)
			return s.do(Event{})
		}},
		{"timeout", func() *stage {
			s := occupied(limitedKind)
			s.until(kindTimeout, 0)
			return s.do(Event{})
		}},
		{"cancelled", func() *stage { return occupied(plainKind).do(OperatorCancel(0, 1, 10)) }},
		{"Zombie", func() *stage { return zombie(plainKind) }},
	}
	tb := table{title: "RETURN"}
	for _, c := range columns {
		tb.columns = append(tb.columns, c.name)
	}
	tb.rows = []string{"nil, clean", "nil, not clean", "yield", "error", "failed or panic"}
	codes := [][]Code{{ReturnedNil}, {ReturnedNil}, {ReturnedYield}, {ReturnedError}, {ReturnedFailed, ReturnedPanic}}
	tb.cell = func(r, c int) string {
		verdicts := map[string]bool{}
		for _, code := range codes[r] {
			if r != 1 {
				verdicts[ending(columns[c].build(), code, true)] = true
			}
			if r != 0 {
				verdicts[ending(columns[c].build(), code, false)] = true
			}
		}
		if len(verdicts) > 1 {
			return "clean or not makes a difference"
		}
		for v := range verdicts {
			return v
		}
		return "nothing"
	}
	return tb
}

// ending returns from the handler, lets the undo hooks succeed, and reads the Settle.
func ending(s *stage, code Code, clean bool) string {
	s.do(Returned(0, code, clean))
	if s.m.slots[0].state == SlotUndoing {
		s.do(Undid(0, UndoDone))
	}
	for _, e := range s.fx.All() {
		if e.Kind == Settle {
			return strings.TrimSuffix(e.Verb.String()+" "+e.Reason.String(), " -")
		}
	}
	return "nothing"
}
