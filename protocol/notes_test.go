package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotes has one way to each note: what is not counted where it happens is missing from every
// dashboard and every comparison.
func TestNotes(t *testing.T) {
	stop := StopBySignal(SIGTERM, Never)
	running := func() *stage { return newStage(1, nil).serve().grant(1, plainKind) }
	at := func(s *stage, kind deadline, index int32) *stage {
		require.True(t, s.until(kind, index))
		return s.do(Event{})
	}
	told := map[NoteCode]bool{}
	for _, c := range []struct {
		run  func() *stage
		want NoteCode
		not  func() *stage // the same, and nothing to note
	}{
		{func() *stage { return running().do(stop, Returned(0, ReturnedNil, true)) }, FinishedInGrace,
			func() *stage { return running().do(Returned(0, ReturnedNil, true)) }},
		{func() *stage { return running().do(OperatorCancel(0, 1, 10), Returned(0, ReturnedNil, true)) }, AckedAfterCancel,
			func() *stage { return running().do(OperatorCancel(0, 1, 10), Returned(0, ReturnedError, true)) }},
		{func() *stage { return at(running().do(stop), cancelKind, 0) }, CancelledByDrain,
			func() *stage { return running().do(OperatorCancel(0, 1, 10)) }},
		{func() *stage { return at(newStage(1, nil).serve().grant(1, limitedKind), kindTimeout, 0) }, CancelledByTimeout,
			func() *stage { return running().do(OperatorCancel(0, 1, 10)) }},
		{func() *stage { return running().do(Returned(0, ReturnedError, false), Undid(0, UndoDone)) }, Undone,
			func() *stage { return running().do(Returned(0, ReturnedError, false), Undid(0, UndoFailed)) }},
		{func() *stage { return running().do(Renewed(0, 1, 10, Stale, 0, 0)) }, LeaseLost,
			func() *stage { return running().do(Returned(0, ReturnedNil, true), Renewed(0, 1, 10, Stale, 0, 0)) }},
		{func() *stage { return running().do(Renewed(0, 1, 10, Unknown, 0, 0)) }, RenewalMissed,
			func() *stage { return running().do(Renewed(0, 1, 10, OK, 0, 0)) }},
		{func() *stage { return running().grantTwo() }, SurplusReleased,
			func() *stage { return running().do(GrantedJob(0, 9, 2, 20, plainKind, 1, 0)) }},
		{func() *stage { return newStage(1, nil).serve().do(stop, WithdrawClosed(0, 1, OK, 2)) }, JobsWithdrawn,
			func() *stage { return newStage(1, nil).serve().do(stop, WithdrawClosed(0, 1, Unknown, 0)) }},
		{func() *stage { return running().do(Returned(0, ReturnedNil, true), Settled(0, 1, 10, Closed)) }, SettleSuperseded,
			func() *stage { return running().do(Returned(0, ReturnedNil, true), Settled(0, 1, 10, OK)) }},
		{func() *stage { return toTheEnd(running().do(stop, Returned(0, ReturnedNil, true))) }, LeftUnsettled,
			func() *stage { return silent(newStage(1, noWithdraw).serve()) }},
		{func() *stage { return silent(newStage(1, noWithdraw).serve().do(stop)) }, LeftUnsettled,
			func() *stage { return toTheEnd(running().do(stop)) }},
		{func() *stage { return at(running().do(stop), undoEnds, NoSlot) }, HandlerLeaking,
			func() *stage { return at(running().do(stop), cancelKind, 0) }},
		{func() *stage { return toTheEnd(running().do(stop)) }, HandlerLeaked,
			func() *stage { return toTheEnd(running().do(stop, Returned(0, ReturnedNil, true))) }},
		{func() *stage { return at(running().do(OperatorCancel(0, 1, 10)), wedged, NoSlot) }, EverySlotWedged,
			func() *stage { return running().do(OperatorCancel(0, 1, 10)).do(stop) }},
	} {
		require.Contains(t, c.run().notes(), c.want)
		require.NotContains(t, c.not().notes(), c.want, "%v", c.want)
		told[c.want] = true
	}
	for code := NoNote + 1; code < noteCodes; code++ {
		require.True(t, told[code], "%v is noted nowhere", code)
	}
}

// notes lists what the last step noted.
func (s *stage) notes() (codes []NoteCode) {
	for _, e := range s.fx.All() {
		if e.Kind == Note {
			codes = append(codes, e.Note)
		}
	}
	return codes
}

// silent waits for the answer to the claim request until the worker gives it up.
func silent(s *stage) *stage {
	for s.m.requests[0].state == RequestAsked {
		s.tick()
	}
	return s
}

// grantTwo ends job 1, and answers the request that follows, for one job, with two.
func (s *stage) grantTwo() *stage {
	s.do(Returned(0, ReturnedNil, true), Settled(0, 1, 10, OK))
	seq := s.m.requests[0].seq
	return s.do(GrantedJob(0, seq, 3, 30, plainKind, 1, 0), GrantedJob(0, seq, 4, 40, plainKind, 1, 0))
}
