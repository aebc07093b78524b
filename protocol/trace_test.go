package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
)

// TestGoldenTraces plays the stories in testdata, one per rule. Rewrite them with
//
//	go test ./protocol -run TestGoldenTraces -rewrite
//
// then raise RulesVersion, read the difference and explain it in the commit.
//
// A story is prose and steps. Every step may say at=; the clock walks there first, with a
// tick at each deadline on the way. What is not said has a sensible default: an answer is to
// the request, or for the token, that it could be for,
// and came without delay.
//
//	worker slots=2 lease=5m grace=30s ... [unregistered]    a new machine, and its answer to Register
//	registered ok|refused|unknown
//	kind gap=1s undo=2s timeout=20s versions=1-3    before worker; may be repeated
//	granted job=7 token=3 [kind= version= parked= seq= queue= more]    more: the answer goes on
//	answered ok|refused|unknown [seq= parked=]    the end of a claim answer without a job
//	withdrawn [jobs=1 unknown]
//	renewed|saved|settled slot=0 ok|... [token= sent= cursor=]
//	returned slot=0 nil|yield|error|failed|panic [unclean]
//	undone slot=0 ok|skipped|failed
//	save slot=0 cursor=5 [flush]
//	stop signal=SIGTERM | from=notice [kill-at=30s]
//	sigkill moved-to=20s
//	quiet, resume, cancel slot=0, estimate bucket=10 count=5
//	tick until=30s    one tick at each deadline
//	sleep until=30s   one tick at the end: a paused process
func TestGoldenTraces(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") || strings.Contains(path, "fuzz") {
			return
		}
		tr := trace{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return tr.run(t, d)
		})
	})
}

// TestEveryMachineDeviationChangesItsGoldenTrace plays each rule's story once more with a
// deviation that breaks the rule. A story that does not notice would not notice the same
// mistake in the code either.
func TestEveryMachineDeviationChangesItsGoldenTrace(t *testing.T) {
	exempt := []deviation.ID{ // the broker reads these
		deviation.SettleUnfenced, deviation.RenewResurrects, deviation.TokenForgotten, deviation.BouncesJobs,
		deviation.ReadThenRelease, deviation.AttemptAtClaim, deviation.WorkersClock, deviation.ReleaseInTwoSteps,
		deviation.LeasesForgotten, deviation.SweepsNewcomers, deviation.SweepDropsRest,
		deviation.SweepStopsAtLiving, deviation.OwnerByName, deviation.LimitLeaks,
	}
	rules := map[deviation.ID]int{
		deviation.ClaimsAfterStop: 1, deviation.AnyAnswerCounts: 2, deviation.LateClaimDropped: 2,
		deviation.WithdrawSkipped: 3, deviation.AskingEnds: 3, deviation.CancelsAtStop: 4, deviation.DeadlineConstant: 5,
		deviation.ReleaseBeforeUndo: 7, deviation.SharedUndoAfterLoss: 7,
		deviation.ReleaseBeforeReturn: 8, deviation.RunsBesideZombie: 8,
		deviation.HeartbeatStopsAtStop: 9, deviation.HeartbeatUnderWork: 9,
		deviation.LeaseFromReply: 10, deviation.NeverDistrusts: 10, deviation.DistrustsEarly: 10, deviation.SettlesOnce: 11,
		deviation.SecondSignalKills: 13, deviation.EscalationWaits: 13, deviation.NoticeCountsAsSignal: 13,
		deviation.RunsUnknownVersion: 14, deviation.CommitsBeforeSaved: 16,
		deviation.SettleUnderWork: 11, deviation.UnknownDropped: 14, deviation.InterruptionCancels: 17,
		deviation.InterruptionFails: 17, deviation.GoingUnsaid: 19,
		deviation.LateClaimRun: 2, deviation.ClaimRenumbered: 3, deviation.PreStopForgotten: 5, deviation.UndoSkipped: 7,
		deviation.LeaseFromRetry: 10, deviation.NeverSoftens: 17, deviation.LateAckUncounted: 17, deviation.LedgerOmitsLeft: 18,
		deviation.SavesForgotten: 16, deviation.FlushWaits: 16, deviation.ResumesUndone: 16, deviation.FailureExcused: 17, deviation.LedgerFlatters: 18,
	}
	for _, id := range exempt {
		require.NotContains(t, rules, id)
	}
	require.Len(t, deviation.All(), len(rules)+len(exempt), "a deviation has no story")
	for _, id := range deviation.All() {
		rule, ok := rules[id]
		if !ok {
			continue
		}
		t.Run(id.String(), func(t *testing.T) {
			paths, err := filepath.Glob(fmt.Sprintf("testdata/rule%02d_*.txt", rule))
			require.NoError(t, err)
			require.Len(t, paths, 1, "stories of rule %d", rule)
			changed := false
			tr := trace{deviations: deviation.Of(id)}
			datadriven.RunTest(t, paths[0], func(t *testing.T, d *datadriven.TestData) string {
				if tr.run(t, d) != d.Expected {
					changed = true
				}
				return d.Expected
			})
			require.True(t, changed, "the story of rule %d does not notice", rule)
		})
	}
}

// TestEveryRuleHasAStory keeps the set of stories whole.
func TestEveryRuleHasAStory(t *testing.T) {
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	told := map[int]int{}
	for _, f := range files {
		rule := 0
		if _, err := fmt.Sscanf(f.Name(), "rule%d_", &rule); err == nil {
			told[rule]++
		}
	}
	for rule := 1; rule <= 19; rule++ {
		stories := 1
		if rule == 12 || rule == 15 { // not kept by this machine, see the package comment
			stories = 0
		}
		require.Equal(t, stories, told[rule], "stories of rule %d", rule)
	}
}
