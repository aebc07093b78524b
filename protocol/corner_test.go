package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// effects lists the kinds of what the last step asked for.
func (s *stage) effects() (kinds []EffectKind) {
	for _, e := range s.fx.All() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestAReturnThatIsNoneOfAHandlersIsImpossible(t *testing.T) {
	for _, code := range []Code{OK, ReturnedNil - 1, ReturnedPanic + 1} {
		s := newStage(1, nil).serve().grant(1, plainKind)
		require.Panics(t, func() { s.do(Returned(0, code, true)) }, "code %d", code)
	}
}

func TestHurryInSettlingMovesNoDeadline(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.Deadline = NoDeadline }).serve().grant(1, plainKind)
	s.do(StopBySignal(SIGTERM, Never), Returned(0, ReturnedNil, true))
	require.Equal(t, PhaseSettling, s.m.phase)
	s.pass(Second).do(StopBySignal(SIGTERM, Never))
	require.Equal(t, PhaseSettling, s.m.phase)
	require.Equal(t, Never, s.m.KillAt(), "settling without a deadline is retried for ever")
}

// A broker whose clock runs ahead may claim to have parked a request for longer than it was
// out. Trust is never counted from the future.
func TestNoAnswerExtendsTrustBeyondItsArrival(t *testing.T) {
	s := newStage(1, nil).serve()
	limit := s.now.Add(s.cfg.Lease - s.cfg.Margin)
	s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, Hour))
	require.Equal(t, limit, s.m.slots[0].trust)
	s.do(Renewed(0, 1, 10, OK, s.now.Add(Hour), 0), Renewed(0, 1, 10, OK, Never, 0))
	require.Equal(t, limit, s.m.slots[0].trust)
	s.do(Renewed(0, 1, 10, OK, 0, 0))
	require.Equal(t, limit, s.m.slots[0].trust, "a late answer takes nothing away either")
}

func TestAJobIsNotStartedBesideItsOwnUndo(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, plainKind).do(Returned(0, ReturnedError, false))
	s.until(undoLimit, 0)
	s.do(Event{})
	require.Equal(t, SlotSettling, s.m.slots[0].state)
	s.do(GrantedJob(0, s.m.requests[0].seq, 1, 11, plainKind, 1, 0))
	require.Equal(t, BecauseBusy, s.fx.All()[0].Reason)
	require.Equal(t, s.cfg.BusyDelay, s.fx.All()[0].Span)
}

// One renewal that was missed is an accident: with the usual third of a lease as heartbeat the
// next one is still in time.
func TestDistrustTakesTwoMissedRenewals(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind).do(Renewed(0, 1, 10, Unknown, 0, 0))
	_, armed := s.find(distrust, 0)
	require.False(t, armed)
	s.do(Renewed(0, 1, 10, Unknown, 0, 0))
	_, armed = s.find(distrust, 0)
	require.True(t, armed)
	s.do(Renewed(0, 1, 10, OK, s.now, 0))
	_, armed = s.find(distrust, 0)
	require.False(t, armed, "a good answer forgives")
}

// After a pause everything is due at once. The loss comes first even before a cancel that was
// due longer ago, so the handler is told the true cause and its claim is not renewed.
func TestLossesOfTrustFireFirst(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, lengthyKind).grant(2, plainKind)
	s.do(StopFrom(FromNotice, s.now.Add(Hour+10*Second))) // the lengthy one has five seconds
	s.now = s.now.Add(10 * Minute)
	s.do(Event{})
	var causes []Cause
	for _, e := range s.fx.All() {
		require.NotEqual(t, Renew, e.Kind)
		if e.Kind == Cancel {
			causes = append(causes, e.Cause)
		}
	}
	require.Equal(t, []Cause{ErrLeaseLost, ErrLeaseLost}, causes)
}

func TestALateGrantInQuietFollowsThePolicy(t *testing.T) {
	for _, c := range []struct {
		policy LateClaim
		count  uint32
		want   EffectKind
	}{
		{RunLateClaim, 0, Start}, {RunLateClaimIfShort, 0, Settle}, {RunLateClaimIfShort, 9, Start},
	} {
		s := newStage(1, func(cfg *Config) { cfg.Policy.LateClaim = c.policy }).serve()
		s.do(Estimate(plainKind, 30, c.count), Event{Kind: QuietAsked})
		s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, 0))
		require.Equal(t, []EffectKind{c.want}, s.effects(), "%+v", c)
	}
}

// A worker that ignores stops cannot drain itself: it waits for SIGKILL with its wedged slots.
func TestAnIgnorantWorkerIsNeverWedged(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.OnStop = IgnoreOnStop }).serve().grant(1, plainKind)
	s.do(Renewed(0, 1, 10, Stale, 0, 0)).pass(24 * Hour)
	require.Equal(t, PhaseServing, s.m.phase)
	require.Equal(t, Never, s.m.Deadline())
}

// Hooks that run on when the worker goes are code that runs on, although the claim has ended.
func TestUndoThatOutlivesTheWorkerIsALeak(t *testing.T) {
	s := outlived(plainKind)
	s.do(Settled(0, 1, 10, OK))
	require.Equal(t, SlotZombie, s.m.slots[0].state)
	s.do(StopBySignal(SIGTERM, s.now.Add(Minute))).pass(Hour)
	require.Equal(t, PhaseGone, s.m.phase)
	require.Equal(t, ExitLeaked, s.m.Status())
}

// A lost claim that nobody is known to have taken may still be held, by the broker's clock,
// when the worker goes: that is not "nothing held". One that was taken is somebody else's.
func TestAnExitAfterALossIsCleanOnlyIfTheClaimWasTaken(t *testing.T) {
	for code, status := range map[Code]int{Expired: ExitUnsettled, Stale: ExitClean} {
		s := newStage(1, nil).serve().grant(1, plainKind).do(Returned(0, ReturnedError, false))
		s.do(StopBySignal(SIGTERM, Never), Renewed(0, 1, 10, code, s.now, 0), Undid(0, UndoSkipped))
		require.Equal(t, PhaseGone, s.m.phase)
		require.Equal(t, status, s.m.Status(), "%v", code)
	}
}

// The answer to an older save leaves a newer cursor pending.
func TestAnOlderSaveDoesNotAnswerForANewerOne(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind)
	s.do(SaveCursor(0, 1, true), SaveCursor(0, 2, true), Saved(0, 1, 10, OK, s.now, 1))
	require.Equal(t, []EffectKind{CommitSegment}, s.effects())
	require.EqualValues(t, 1, s.fx.All()[0].Cursor)
	s.until(renewRound, NoSlot)
	s.do(Event{})
	require.EqualValues(t, 2, s.fx.All()[0].Cursor, "it rides on the next renewal")
}

func TestQuietThenResumeThenStop(t *testing.T) {
	s := newStage(1, nil).serve().do(Event{Kind: QuietAsked})
	require.Equal(t, []EffectKind{Withdraw}, s.effects())
	s.do(Event{Kind: ResumeAsked})
	require.Empty(t, s.effects(), "no new id while the Withdraw is open")
	s.do(StopBySignal(SIGTERM, Never))
	require.Equal(t, []EffectKind{Going}, s.effects(), "it has been withdrawn already")
	s.do(WithdrawClosed(0, 1, OK, 1))
	require.Equal(t, []EffectKind{Note, Line, Exit}, s.effects())
	require.Equal(t, ExitClean, s.m.Status())
}

// What arrives exactly when a deadline is due comes after it.
func TestAtTheSameInstantTheDeadlineComesFirst(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind).do(StopBySignal(SIGTERM, Never))
	s.until(cancelKind, 0)
	s.do(Returned(0, ReturnedNil, true))
	require.Equal(t, []EffectKind{Note, Cancel, Note, Settle}, s.effects())
	require.Equal(t, AckedAfterCancel, s.fx.All()[2].Note)

	s.until(settleEnds, NoSlot)
	s.do(Settled(0, 1, 10, OK))
	require.Equal(t, PhaseGone, s.m.phase)
	require.Equal(t, ExitUnsettled, s.m.Status(), "waited for until settleBy, and no longer")
}

// Each of two queues may be granted as much as there is room for; what there is no room for
// goes back.
func TestTwoQueuesShareTheSlots(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Queues = 2 }).serve()
	require.Equal(t, []EffectKind{Claim, Claim}, s.effects())
	s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, 0))
	require.Equal(t, []EffectKind{Start}, s.effects())
	s.do(GrantedJob(1, 1, 2, 20, plainKind, 1, 0))
	require.Equal(t, []EffectKind{Note, Settle}, s.effects())
	require.EqualValues(t, NoSlot, s.fx.All()[1].Slot)
	s.do(StopBySignal(SIGTERM, Never))
	require.Equal(t, []EffectKind{Going, Going, Withdraw, Withdraw, Soften}, s.effects())
}

// Answers that come before the worker has a life, or after it, change nothing.
func TestAnswersOutsideALife(t *testing.T) {
	answers := []Event{
		GrantedJob(0, 0, 1, 10, plainKind, 1, 0), GrantedJob(0, 1, 1, 10, plainKind, 1, 0), ClaimClosed(0, 1, OK, 0), ClaimClosed(0, 0, Unknown, 0),
		WithdrawClosed(0, 1, OK, 1), Renewed(0, 1, 10, Stale, 0, 0), Saved(0, 1, 10, OK, 0, 1), Settled(0, 1, 10, OK), OperatorCancel(0, 1, 10),
	}
	gone := newStage(1, nil).serve().grant(1, plainKind).do(Returned(0, ReturnedNil, true), StopBySignal(SIGTERM, Never)).pass(Hour)
	require.Equal(t, PhaseGone, gone.m.phase)
	for _, s := range []*stage{newStage(1, nil), gone} {
		for _, ev := range answers {
			before := s.bytes()
			s.do(ev)
			require.Empty(t, s.effects(), "%v in %v", ev.Kind, s.m.phase)
			require.Equal(t, before, s.bytes(), "%v in %v", ev.Kind, s.m.phase)
		}
	}
}

// A claim that was long on its way is renewed early. The jobs of one answer share that round,
// and a renewal that was sent a moment ago is not called silent because of it.
func TestAnEarlyRoundCallsNothingMissed(t *testing.T) {
	s := newStage(4, func(c *Config) { c.Lease, c.Heartbeat, c.Park = 30*Second, 10*Second, 25*Second }).serve().grant(1, plainKind)
	s.until(renewRound, NoSlot)
	s.do(Event{})
	require.Equal(t, []EffectKind{Renew}, s.effects())
	late := func(job JobKey) {
		s.do(GrantedJob(0, s.m.requests[0].seq, job, 20, plainKind, 1, 0))
		require.Equal(t, []EffectKind{Start}, s.effects())
	}
	s.pass(6 * Second)
	late(2)
	late(3)
	s.now = s.m.Deadline()
	s.do(Event{})
	require.Equal(t, []EffectKind{Renew, Renew, Renew}, s.effects())

	// The first renewal of slot 0 has been silent for an interval now, early rounds or not.
	s.pass(5 * Second)
	late(4)
	s.now = s.m.Deadline()
	s.do(Event{})
	require.Equal(t, []EffectKind{Note, Renew, Renew, Renew, Renew}, s.effects())
	require.EqualValues(t, 1, s.m.slots[0].missed)
	require.Zero(t, s.m.slots[1].missed)
}

// What follows pins down single words of the rules that the tables and stories leave open.

func TestAHurryNeverMovesSIGKILLAway(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, lengthyKind).grant(2, plainKind) // one would need an hour to undo
	s.do(StopBySignal(SIGTERM, s.now.Add(10*Second)))
	killAt := s.m.KillAt()
	s.now = s.now.Add(1500 * Millisecond)
	s.do(StopBySignal(SIGTERM, Never))
	require.Equal(t, SlotCancelled, s.m.slots[1].state, "the second group of SIGTERM hurries")
	require.LessOrEqual(t, s.m.KillAt(), killAt)
}

func TestAnErrorInADrainBeforeAnyCancelIsAFailure(t *testing.T) {
	s := occupied(plainKind)
	s.do(StopBySignal(SIGTERM, Never), Returned(0, ReturnedError, true))
	require.Equal(t, Fail, s.m.slots[0].verb)
}

func TestGrantsBeyondWhatWasAskedForGoBackThoughASlotIsFree(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, plainKind) // one slot is taken, one job is asked for
	require.Equal(t, int32(1), s.m.requests[0].want)
	s.do(Returned(0, ReturnedNil, true), Settled(0, 1, 10, OK)) // now both are free
	seq := s.m.requests[0].seq
	s.do(GrantedJob(0, seq, 2, 20, plainKind, 1, 0))
	s.do(GrantedJob(0, seq, 3, 30, plainKind, 1, 0))
	running := 0
	for i := range s.m.slots {
		if s.m.slots[i].state == SlotRunning {
			running++
		}
	}
	require.Equal(t, 1, running)
}

func TestARequestThatNobodyAnsweredIsNotACleanExit(t *testing.T) {
	s := newStage(1, nil).serve()
	s.do(StopBySignal(SIGTERM, Never)) // the withdrawal is never answered
	for s.m.Phase() != PhaseGone {
		s.now = s.m.Deadline()
		s.do(Event{})
	}
	require.Equal(t, ExitUnsettled, s.m.Status())
}

func TestResumeInBootingForgetsTheQuietThatWasAskedFor(t *testing.T) {
	s := newStage(1, nil)
	s.do(Event{Kind: QuietAsked}, Event{Kind: ResumeAsked}, RegisteredAs(1, OK))
	require.Equal(t, PhaseServing, s.m.Phase())
}

func TestACursorOfALostClaimIsNotStoredWithAnOfferedResult(t *testing.T) {
	s := occupied(plainKind)
	s.do(SaveCursor(0, 7, false), Renewed(0, 1, 10, Expired, s.now, 0))
	require.Equal(t, SlotZombie, s.m.slots[0].state)
	s.do(Returned(0, ReturnedNil, true))
	require.Equal(t, SlotSettling, s.m.slots[0].state, "the result is offered")
	require.Zero(t, s.m.slots[0].cursor)
}

// A request that was given up because the broker takes none back may have been granted
// something, so for a lease afterwards a worker cannot say that nothing is held.
func TestARequestGivenUpShortlyBeforeTheStopIsNotNothing(t *testing.T) {
	for _, c := range []struct {
		later  Duration
		status uint8
	}{{Second, ExitUnsettled}, {2 * DefaultLease, ExitClean}} {
		s := newStage(1, func(c *Config) { c.NoWithdraw = true }).serve().do(Event{Kind: QuietAsked})
		require.True(t, s.until(requestDue, 0))
		s.do(Event{})
		s.now = s.now.Add(c.later)
		s.do(StopBySignal(SIGTERM, Never))
		require.Equal(t, PhaseGone, s.m.phase)
		require.EqualValues(t, c.status, s.m.status, "%v after", c.later)
	}
}

// A job for which there was no slot is released once. Until the broker says so, or for a lease,
// nobody may say that nothing is held.
func TestASurplusIsHeldUntilItsReleaseIsAnswered(t *testing.T) {
	for _, c := range []struct {
		answer Code
		later  Duration
		status uint8
	}{
		{NoCode, Second, ExitUnsettled},
		{Unknown, Second, ExitUnsettled},
		{OK, Second, ExitClean},
		{Stale, Second, ExitClean},
		{NoCode, 2 * DefaultLease, ExitClean},
	} {
		s := newStage(1, func(c *Config) { c.Queues = 2 }).serve()
		s.do(GrantedJob(0, s.m.requests[0].seq, 1, 10, plainKind, 1, 0), ClaimClosed(0, s.m.requests[0].seq, OK, 0))
		s.do(GrantedJob(1, s.m.requests[1].seq, 2, 11, plainKind, 1, 0), ClaimClosed(1, s.m.requests[1].seq, OK, 0))
		if c.answer != NoCode {
			s.do(Settled(NoSlot, 2, 11, c.answer))
		}
		s.do(Event{Kind: QuietAsked}, Returned(0, ReturnedNil, true), Settled(0, 1, 10, OK))
		s.now = s.now.Add(c.later)
		s.do(StopBySignal(SIGTERM, Never))
		require.Equal(t, PhaseGone, s.m.phase)
		require.EqualValues(t, c.status, s.m.status, "%v, %v later", c.answer, c.later)
	}
}
