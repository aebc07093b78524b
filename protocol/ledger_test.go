package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutcomes has one way to each line of the ledger that a slot can get.
func TestOutcomes(t *testing.T) {
	stop := StopBySignal(SIGTERM, Never)
	running := func() *stage { return newStage(1, nil).serve().grant(1, plainKind) }
	for _, c := range []struct {
		name string
		run  func() *stage
		want Outcome
	}{
		{"acked", func() *stage { return running().do(stop, Returned(0, ReturnedNil, true), Settled(0, 1, 10, OK)) }, WasFinished},
		{"failed", func() *stage { return running().do(stop, Returned(0, ReturnedFailed, true), Settled(0, 1, 10, OK)) }, WasFailed},
		{"yielded", func() *stage { return running().do(stop, Returned(0, ReturnedYield, true), Settled(0, 1, 10, Repeat)) }, WasHandedBack},
		{"granted in Quiet", func() *stage {
			s := newStage(1, noWithdraw).serve().do(Event{Kind: QuietAsked})
			return s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, 0), ClaimClosed(0, 1, OK, 0), stop, Settled(0, 1, 10, OK))
		}, WasHandedBack},
		{"cancelled by the drain", func() *stage {
			s := running().do(stop)
			s.until(cancelKind, 0)
			return s.do(Event{}, Returned(0, ReturnedError, true), Settled(0, 1, 10, OK))
		}, WasReleased},
		{"not understood", func() *stage {
			return newStage(1, nil).serve().do(GrantedJob(0, 1, 1, 10, plainKind, 9, 0), ClaimClosed(0, 1, OK, 0), stop, Settled(0, 1, 10, OK))
		}, WasRefused},
		{"undo failed", func() *stage {
			return running().do(stop, Returned(0, ReturnedError, false), Undid(0, UndoFailed), Settled(0, 1, 10, OK))
		}, WasQuarantined},
		{"settled elsewhere", func() *stage { return running().do(stop, Returned(0, ReturnedNil, true), Settled(0, 1, 10, Stale)) }, WasSuperseded},
		{"taken", func() *stage {
			return running().do(stop, Renewed(0, 1, 10, Stale, 0, 0), Returned(0, ReturnedNil, true))
		}, WasLost},
		{"quarantined before the stop, its undo ran on", func() *stage {
			return outlived(plainKind).do(Settled(0, 1, 10, OK), stop, Undid(0, UndoDone))
		}, WasQuarantined},
		{"ended elsewhere before the stop, its undo ran on", func() *stage {
			return outlived(plainKind).do(Settled(0, 1, 10, Closed), stop, Undid(0, UndoDone))
		}, WasSuperseded},
		{"taken while its settling was out, its undo ran on", func() *stage {
			return outlived(plainKind).do(Renewed(0, 1, 10, Stale, 0, 0), stop, Undid(0, UndoFailed))
		}, WasSuperseded},
		{"lost before its undo outlived its slice", func() *stage {
			s := undoing(plainKind).do(Renewed(0, 1, 10, Expired, 0, 0))
			s.until(undoLimit, 0)
			return s.do(Event{}, stop, Undid(0, UndoSkipped))
		}, WasLost},
		{"deaf", func() *stage { return toTheEnd(running().do(stop)) }, WasLeaked},
		{"its undo runs on", func() *stage { return toTheEnd(outlived(plainKind).do(Settled(0, 1, 10, OK), stop)) }, WasLeaked},
		{"no answer", func() *stage { return toTheEnd(running().do(stop, Returned(0, ReturnedNil, true))) }, WasUnsettled},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, e := range c.run().fx.All() {
				if e.Kind == Line && e.Slot == 0 {
					require.Equal(t, c.want, e.Outcome)
					return
				}
			}
			t.Fatal("no line")
		})
	}
}

// toTheEnd walks to settleBy and fires it.
func toTheEnd(s *stage) *stage {
	s.until(settleEnds, NoSlot)
	return s.do(Event{})
}
