package explore

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Refutation is how a search catches a deviation.
type Refutation struct {
	World     string
	Invariant invariant.ID // the one that breaks first
	Lines     int          // of the shortest story
	Cycles    bool         // only the search for fair cycles shows it: no state or step is wrong
}

// refutations has a row for every deviation: one of the worlds in which it breaks what it is
// about. A test makes each of them.
var refutations = [...]Refutation{
	deviation.ClaimsAfterStop:      {World: "two-slots", Invariant: invariant.StopClaiming, Lines: 6},
	deviation.AnyAnswerCounts:      {World: "late-and-doubled", Invariant: invariant.SettledAfterReturn, Lines: 4},
	deviation.LateClaimDropped:     {World: "stop-and-loss", Invariant: invariant.ExitZeroHoldsNothing, Lines: 2},
	deviation.LateClaimRun:         {World: "stop-and-loss", Invariant: invariant.NoStartAfterStop, Lines: 3},
	deviation.WithdrawSkipped:      {World: "stop-and-loss", Invariant: invariant.ExitZeroHoldsNothing, Lines: 2},
	deviation.ClaimRenumbered:      {World: "progress", Invariant: invariant.ExitZeroHoldsNothing, Lines: 6},
	deviation.AskingEnds:           {World: "zombie", Invariant: invariant.DoneAfterFaults, Lines: 8},
	deviation.CancelsAtStop:        {World: "returns", Invariant: invariant.FinishWhatFits, Lines: 3},
	deviation.DeadlineConstant:     {World: "limits", Invariant: invariant.ExitBeforeKill, Lines: 12},
	deviation.PreStopForgotten:     {World: "signals", Invariant: invariant.ExitBeforeKill, Lines: 29},
	deviation.SettleUnfenced:       {World: "zombie", Invariant: invariant.NoStaleEffect, Lines: 13},
	deviation.ReadThenRelease:      {World: "copies", Invariant: invariant.NoStaleEffect, Lines: 8},
	deviation.RenewResurrects:      {World: "returns", Invariant: invariant.ExitZeroHoldsNothing, Lines: 8},
	deviation.ReleaseInTwoSteps:    {World: "returns", Invariant: invariant.SettledUntilAnswered, Lines: 16},
	deviation.ReleaseBeforeUndo:    {World: "returns", Invariant: invariant.UndoBeforeRelease, Lines: 4},
	deviation.UndoSkipped:          {World: "returns", Invariant: invariant.ResourcesFreed, Lines: 3},
	deviation.SharedUndoAfterLoss:  {World: "zombie", Invariant: invariant.SharedUndoWhileHeld, Lines: 12},
	deviation.ReleaseBeforeReturn:  {World: "returns", Invariant: invariant.SettledAfterReturn, Lines: 4},
	deviation.RunsBesideZombie:     {World: "zombie", Invariant: invariant.NotBesideItself, Lines: 15},
	deviation.HeartbeatStopsAtStop: {World: "signals", Invariant: invariant.LeaseKeptWhileHandled, Lines: 11},
	deviation.HeartbeatUnderWork:   {World: "limits", Invariant: invariant.LeaseKeptWhileHandled, Lines: 13},
	deviation.LeaseFromReply:       {World: "zombie", Invariant: invariant.ToldBeforeLeaseEnds, Lines: 12},
	deviation.LeaseFromRetry:       {World: "zombie", Invariant: invariant.ToldBeforeLeaseEnds, Lines: 10},
	deviation.NeverDistrusts:       {World: "zombie", Invariant: invariant.ToldBeforeLeaseEnds, Lines: 12},
	deviation.DistrustsEarly:       {World: "tight", Invariant: invariant.DoneAfterFaults, Lines: 14, Cycles: true},
	deviation.SettlesOnce:          {World: "progress", Invariant: invariant.DoneAfterFaults, Lines: 4},
	deviation.SettleUnderWork:      {World: "limits", Invariant: invariant.SettledUntilAnswered, Lines: 12},
	deviation.SecondSignalKills:    {World: "returns", Invariant: invariant.EscalatesByRepeat, Lines: 2},
	deviation.EscalationWaits:      {World: "signals", Invariant: invariant.EscalatesByRepeat, Lines: 6},
	deviation.NoticeCountsAsSignal: {World: "signals", Invariant: invariant.EscalatesByRepeat, Lines: 6},
	deviation.RunsUnknownVersion:   {World: "foreign", Invariant: invariant.UnderstoodOnly, Lines: 7},
	deviation.UnknownDropped:       {World: "foreign", Invariant: invariant.ExitZeroHoldsNothing, Lines: 10},
	deviation.CommitsBeforeSaved:   {World: "progress", Invariant: invariant.SavedBeforeCommit, Lines: 3},
	deviation.SavesForgotten:       {World: "progress", Invariant: invariant.ProgressSurvives, Lines: 5},
	deviation.FlushWaits:           {World: "progress", Invariant: invariant.ProgressSurvives, Lines: 3},
	deviation.ResumesUndone:        {World: "progress", Invariant: invariant.UndoneNotResumed, Lines: 6},
	deviation.InterruptionFails:    {World: "cancels-at-once", Invariant: invariant.DrainSpendsNoBudget, Lines: 8},
	deviation.InterruptionCancels:  {World: "cancels-at-once", Invariant: invariant.DrainSpendsNoBudget, Lines: 8},
	deviation.FailureExcused:       {World: "returns", Invariant: invariant.EndsAsReturned, Lines: 4},
	deviation.NeverSoftens:         {World: "progress", Invariant: invariant.ToldSoftly, Lines: 6},
	deviation.LateAckUncounted:     {World: "progress", Invariant: invariant.LateAcksCounted, Lines: 4},
	deviation.LedgerOmitsLeft:      {World: "signals", Invariant: invariant.LedgerComplete, Lines: 5},
	deviation.LedgerFlatters:       {World: "progress", Invariant: invariant.LedgerTrue, Lines: 8},
	deviation.AttemptAtClaim:       {World: "returns", Invariant: invariant.DrainSpendsNoBudget, Lines: 8},
	deviation.GoingUnsaid:          {World: "cancels-at-once", Invariant: invariant.DrainSpendsNoBudget, Lines: 22},
	deviation.BouncesJobs:          {World: "rollout", Invariant: invariant.ReturnsToNewer, Lines: 12},
	deviation.WorkersClock:         {World: "wrong-clocks", Invariant: invariant.LeaseKeptWhileHandled, Lines: 7},
	deviation.TokenForgotten:       {World: "failover", Invariant: invariant.TokensGrow, Lines: 3},
	deviation.LeasesForgotten:      {World: "failover", Invariant: invariant.DoneAfterFaults, Lines: 4},
	deviation.SweepsNewcomers:      {World: "sweep", Invariant: invariant.OneOpenClaim, Lines: 9},
	deviation.SweepDropsRest:       {World: "sweep", Invariant: invariant.NoJobLost, Lines: 15},
	deviation.SweepStopsAtLiving:   {World: "sweep", Invariant: invariant.FreedInTime, Lines: 15},
	deviation.OwnerByName:          {World: "dies-at-once", Invariant: invariant.FreedInTime, Lines: 13},
	deviation.LimitLeaks:           {World: "limit", Invariant: invariant.DoneAfterFaults, Lines: 1},
}

// RefutationOf returns how a deviation is caught; of deviation.None there is nothing to catch.
func RefutationOf(id deviation.ID) Refutation { return refutations[id] }
