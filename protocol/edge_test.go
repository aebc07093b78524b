package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What holds at the very instant, at the very number, and for the very first: a rule that is off
// by one there works on every other day.

// first returns the first effect of a kind of the last step, or nil.
func (s *stage) first(kind EffectKind) *Effect {
	for i, e := range s.fx.All() {
		if e.Kind == kind {
			return &s.fx.All()[i]
		}
	}
	return nil
}

// Rule 10: a grant in which trust ends as it arrives is none.
func TestAGrantThatIsNotTrustedAnyMoreIsNotRun(t *testing.T) {
	for _, c := range []struct {
		left Duration
		want EffectKind
	}{{0, Settle}, {1, Start}} {
		s := newStage(1, func(c *Config) { c.Park = Hour }).serve()
		s.now = s.now.Add(s.cfg.Lease - s.cfg.Margin - c.left)
		s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, 0))
		require.NotNil(t, s.first(c.want), "%v of trust left", c.left)
	}
}

// Rule 10: the loss comes first although it is due at this very instant and others were earlier.
func TestALossThatIsDueNowComesBeforeWhatWasDueEarlier(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind)
	s.now = s.m.slots[0].trust
	s.do(Event{})
	require.Equal(t, []EffectKind{Note, Cancel}, s.effects(), "a renewal was due long before, and goes out no more")
}

// Rule 10: a renewal that failed was missed once, however long the next answer takes.
func TestARenewalThatFailedIsMissedOnce(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind)
	require.True(t, s.until(renewRound, NoSlot))
	s.do(Event{}, Renewed(0, 1, 10, Unknown, s.now, 0))
	require.True(t, s.until(renewRound, NoSlot))
	s.do(Event{})
	require.EqualValues(t, 1, s.m.slots[0].missed)
	_, armed := s.find(distrust, 0)
	require.False(t, armed)
}

// Rule 2: what would have to be cancelled as it starts is handed back, whatever the policy.
func TestALateGrantForWhichNoTimeIsLeftIsNotRun(t *testing.T) {
	for _, c := range []struct {
		left Duration
		want EffectKind
	}{{0, Settle}, {1, Start}} {
		s := newStage(1, func(c *Config) { c.Policy.LateClaim, c.Park = RunLateClaim, Hour }).serve()
		s.do(StopBySignal(SIGTERM, Never))
		s.now = s.m.cancelAt(plainKind).Add(-c.left)
		s.do(GrantedJob(0, 1, 1, 10, plainKind, 1, 0))
		require.NotNil(t, s.first(c.want), "%v left", c.left)
	}
}

// Rules 2 and 13: whoever hurries starts nothing more, although nothing ran that he could cancel.
func TestALateGrantAfterAHurryIsNotRun(t *testing.T) {
	s := newStage(2, func(c *Config) { c.Policy.LateClaim = RunLateClaim }).serve().grant(1, plainKind)
	s.do(Returned(0, ReturnedError, false)) // its undo keeps the drain from ending
	s.do(StopBySignal(SIGINT, Never), StopBySignal(SIGINT, Never))
	require.Equal(t, PhaseCancelling, s.m.phase)
	s.do(GrantedJob(0, s.m.requests[0].seq, 2, 20, plainKind, 1, 0))
	require.Nil(t, s.first(Start))
	require.Equal(t, Release, s.first(Settle).Verb)
}

// Rule 2: a policy that runs late claims waits for the answer that may bring one.
func TestADrainThatRunsLateClaimsWaitsForThem(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.LateClaim = RunLateClaim }).serve().do(StopBySignal(SIGTERM, Never))
	require.Equal(t, PhaseDraining, s.m.phase)
	s.do(ClaimClosed(0, 1, OK, 0))
	require.Equal(t, PhaseGone, s.m.phase)
	s = newStage(1, noWithdraw).serve().do(StopBySignal(SIGTERM, Never))
	require.Equal(t, PhaseSettling, s.m.phase, "any other has no handler to wait for, and only an answer")
}

// Rule 13: the first signal after a notice counts a grace of its own, when that is shorter.
func TestTheFirstSignalAfterANoticeBringsItsOwnGrace(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind)
	s.do(StopFrom(FromNotice, s.now.Add(2*Minute))).pass(Second)
	s.do(StopBySignal(SIGTERM, Never))
	require.Equal(t, s.now.Add(s.cfg.Grace), s.m.KillAt())
}

// Rule 14: the range is closed at both ends, and nothing outside of it is run or blamed.
func TestVersionsOutsideOfTheRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		version uint16
		runs    bool
	}{{plainKind, 1, false}, {plainKind, 2, true}, {plainKind, 3, true}, {plainKind, 4, false}, {lengthyKind + 1, 2, false}} {
		s := newStage(1, func(c *Config) { c.Kinds[plainKind].MinVersion = 2 }).serve()
		s.do(GrantedJob(0, 1, 1, 10, c.kind, c.version, 0))
		if c.runs {
			require.NotNil(t, s.first(Start), "%+v", c)
			continue
		}
		e := s.first(Settle)
		require.NotNil(t, e, "%+v", c)
		require.Equal(t, Effect{Kind: Settle, Verb: Refuse, Reason: BecauseRefused, JobKind: c.kind, Job: 1, Token: 10, At: s.now, Span: s.cfg.RefuseDelay}, *e)
	}
}

// Rule 16: progress goes out at once if it is flushed, and else with the next renewal.
func TestProgressGoesAtOnceOrWithTheNextRenewal(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind)
	s.do(SaveCursor(0, 100, false))
	require.Empty(t, s.fx.All())
	s.until(renewRound, NoSlot)
	s.do(Event{})
	require.EqualValues(t, 100, s.first(Renew).Cursor)
	s.do(SaveCursor(0, 200, true))
	require.EqualValues(t, 200, s.first(Save).Cursor)
	s.do(Saved(0, 1, 10, OK, s.now, 200))
	require.EqualValues(t, 200, s.first(CommitSegment).Cursor)
	s.until(renewRound, NoSlot)
	s.do(Event{})
	require.EqualValues(t, 0, s.first(Renew).Cursor, "it is stored, and goes no more")
}

// Claim requests wait for what comes at once after, so that slots are asked for together.
func TestARequestWaitsForWhatComesAtOnce(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, plainKind).grant(2, plainKind)
	s.do(Returned(0, ReturnedNil, true), Returned(1, ReturnedNil, true))
	ev := Settled(0, 1, 10, OK)
	ev.More = true
	s.do(ev)
	require.Nil(t, s.first(Claim))
	s.do(Settled(1, 2, 20, OK))
	require.EqualValues(t, 2, s.first(Claim).Want)
}

// What the broker has nothing for, or does not answer, is repeated less and less often.
func TestRepetitionsComeLessAndLessOften(t *testing.T) {
	stop := StopBySignal(SIGTERM, Instant(24*Hour))
	for name, c := range map[string]struct {
		begin func() *stage
		what  EffectKind
		next  func(*stage) // makes the one that went out fail, and waits for the next
	}{
		"claims": {
			func() *stage { return newStage(1, nil).serve() }, Claim,
			func(s *stage) {
				s.do(ClaimClosed(0, s.m.requests[0].seq, OK, 0))
				s.now = s.m.Deadline()
				s.do(Event{})
			},
		},
		"withdrawals": {func() *stage { return newStage(1, nil).serve().do(stop) }, Withdraw, (*stage).tick},
		"settlings": {
			func() *stage {
				return newStage(1, nil).serve().grant(1, plainKind).do(stop, Returned(0, ReturnedNil, true), Settled(0, 1, 10, Unknown))
			}, Settle, (*stage).tick,
		},
		"registrations": {func() *stage { return newStage(1, nil) }, Register, (*stage).tick},
	} {
		s := c.begin()
		var gaps []Duration
		for len(gaps) < 4 {
			at := s.now
			for {
				c.next(s)
				if s.first(c.what) != nil {
					break
				}
			}
			gaps = append(gaps, s.now.Sub(at))
		}
		for i := 1; i < len(gaps); i++ {
			require.Greater(t, gaps[i], gaps[i-1], "%s: %v", name, gaps)
		}
	}
}

// tick fires the next deadline.
func (s *stage) tick() {
	s.now = s.m.Deadline()
	s.do(Event{})
}

// A worker whose slots are all wedged waits a lease from the last cancel, not from the first.
func TestWedgedIsALeaseAfterTheLastCancel(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, plainKind).grant(2, plainKind)
	s.do(OperatorCancel(0, 1, 10)).pass(Second).do(OperatorCancel(1, 2, 20))
	due, ok := s.find(wedged, NoSlot)
	require.True(t, ok)
	require.Equal(t, s.now.Add(s.cfg.Lease), due.at)
}

// A drain that weighs hands back at once what is expected to take longer than is left, and looks
// again at the rest.
func TestADrainThatWeighsHandsBackAtOnce(t *testing.T) {
	weighing := func() *stage {
		return newStage(1, func(c *Config) { c.Policy.Estimates = Adaptive }).serve().grant(1, plainKind)
	}
	hopeless := weighing().do(Estimate(plainKind, 22, 100), StopBySignal(SIGTERM, Never)) // more than an hour
	require.NotNil(t, hopeless.first(Cancel))
	quick := weighing().do(Estimate(plainKind, 8, 100), StopBySignal(SIGTERM, Never)) // a quarter of a second
	require.Nil(t, quick.first(Cancel))
	due, ok := quick.find(judgeRound, NoSlot)
	require.True(t, ok)
	require.Equal(t, quick.now.Add(judgeEvery), due.at)
}

// An estimate beyond the last bucket is not the first one of the next kind.
func TestEstimatesBeyondTheLastBucketAreIgnored(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.Estimates = Adaptive }).serve()
	s.do(Estimate(plainKind, BucketsPerKind, 5), Estimate(lengthyKind, BucketsPerKind, 5), Estimate(lengthyKind+1, 0, 5))
	require.Equal(t, make([]uint32, BucketsPerKind*len(s.cfg.Kinds)), s.m.histograms.buckets)
	s.do(Estimate(plainKind, BucketsPerKind-1, 5))
	require.EqualValues(t, 5, s.m.histograms.buckets[BucketsPerKind-1])
}

func TestACopyKnowsTheEstimates(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.Estimates = Adaptive }).serve().do(Estimate(plainKind, 3, 7))
	var c Machine
	s.m.CopyTo(&c, NewMemory(&s.cfg, 1))
	require.Equal(t, s.m.histograms, c.histograms)
	s.do(Estimate(plainKind, 3, 8))
	require.EqualValues(t, 7, c.histograms.buckets[3], "it is a copy, and goes its own way")
}

// A job beyond what was asked for goes back as it came: nobody is to blame for it.
func TestASurplusIsReleasedUnblamed(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind).grantTwo()
	e := s.first(Settle)
	require.NotNil(t, e)
	require.Equal(t, Release, e.Verb)
	require.EqualValues(t, NoSlot, e.Slot)
}

// Rule 5: a policy that does not heed the supervisor's budget heeds no later word of it, either.
func TestADrainWithoutADeadlineIsNotBroughtNearer(t *testing.T) {
	s := newStage(1, func(c *Config) { c.Policy.Deadline = NoDeadline }).serve().grant(1, plainKind)
	s.do(StopFrom(FromNotice, Never), StopFrom(FromSupervisor, s.now.Add(Second)))
	require.Equal(t, Never, s.m.KillAt())
}

// A settling that was hard to get through does not slow the next one down.
func TestBackoffOfSettlingBeginsAnew(t *testing.T) {
	s := newStage(1, nil).serve().grant(1, plainKind).do(Returned(0, ReturnedNil, true))
	for range 6 {
		require.True(t, s.until(settleRound, NoSlot))
		s.do(Event{})
	}
	s.do(Settled(0, 1, 10, OK))
	s.grant(2, plainKind).do(Returned(0, ReturnedNil, true))
	gaps := []Duration{}
	for range 3 {
		at := s.now
		require.True(t, s.until(settleRound, NoSlot))
		gaps = append(gaps, s.now.Sub(at))
		s.do(Event{})
	}
	require.Equal(t, []Duration{s.cfg.Retry.Min, 2 * s.cfg.Retry.Min, 4 * s.cfg.Retry.Min}, gaps)
}

// Nobody is woken for a round of settling with nothing to repeat.
func TestNoRoundOfSettlingIsLeftAfterTheLastAnswer(t *testing.T) {
	s := newStage(2, nil).serve().grant(1, plainKind).grant(2, plainKind)
	s.do(Returned(0, ReturnedNil, true), Returned(1, ReturnedNil, true), Settled(0, 1, 10, OK))
	_, waits := s.find(settleRound, NoSlot)
	require.True(t, waits, "for the answer about the other job")
	s.do(Settled(1, 2, 20, OK))
	_, waits = s.find(settleRound, NoSlot)
	require.False(t, waits)
}

// Rule 7: hooks that outlived their slice leave shared names alone once the claim is not trusted any
// more, or has expired: that their job is to be parked may not have been heard yet.
func TestUndoThatOutlivedItsSliceDoesNotOutliveItsClaim(t *testing.T) {
	for name, lose := range map[string]func(s *stage){
		"trust ends": func(s *stage) {
			s.now = s.m.slots[0].trust
			s.do(Event{})
		},
		"it expired": func(s *stage) { s.do(Renewed(0, 1, 10, Expired, s.now, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(1, nil).serve().grant(1, plainKind).do(Returned(0, ReturnedError, false))
			require.True(t, s.until(undoLimit, 0))
			s.do(Event{})
			require.Equal(t, Quarantine, s.first(Settle).Verb)
			require.Nil(t, s.first(PrivateOnly), "as long as the claim is held they go on")
			lose(s)
			require.NotNil(t, s.first(PrivateOnly))
			_, armed := s.find(trustEnds, 0)
			require.False(t, armed)
		})
	}
}
