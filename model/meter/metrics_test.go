package meter

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

// contract is the names that checks and shards of other versions call: the table of the
// command line's documentation.
const contract = `
jobs_enqueued jobs_completed jobs_dead_lettered jobs_dead_lettered_by_interruptions jobs_stuck jobs_starving jobs_lost
interruptions interruptions_per_job_per_deploy released reclaimed_by_expiry
stall_seconds_mean stall_seconds_p50 stall_seconds_p90 stall_seconds_p99 stall_seconds_max
deploy_stall_seconds_mean deploy_stall_seconds_p99 crash_stall_seconds_mean refusal_stall_seconds_mean
stall_share delay_seconds_per_job executions_started redone_executions overlapping_executions overlap_seconds
effects_applied_twice redone_work_seconds attempts_eroded attempts_eroded_per_job
finished_in_grace cancelled undone quarantined refused leaked acked_after_cancel
exit_seconds_p50 exit_seconds_p99 killed_at_grace queue_wait_seconds_p50 queue_wait_seconds_p99
rollout_seconds leader_gap_seconds_max events
unsettled superseded surplus withdrawn jobs_cancelled timeouts
stall_held_seconds_mean stall_undo_seconds_mean stall_queued_seconds_mean
`

func TestEveryNameOfTheContractIsThereOnce(t *testing.T) {
	times := map[string]int{}
	for _, m := range (&Row{}).Metrics() {
		times[m.Name]++
	}
	for _, name := range strings.Fields(contract) {
		assert.Equal(t, 1, times[name], name)
	}
	for reason := protocol.NoReason + 1; reason < protocol.Reasons; reason++ {
		name := "interruptions_" + strings.ReplaceAll(reason.String(), "-", "_")
		assert.Equal(t, 1, times[name], name)
	}
	for name, n := range times {
		assert.Equal(t, 1, n, name)
		assert.Regexp(t, `^[a-z][a-z0-9_]*$`, name)
	}
}

// docLine is a row of the table in the package comment: name, unit, definition.
var docLine = regexp.MustCompile(`(?m)^\t([a-z][a-z0-9_]*) +(count|s|1)( |$)`)

// TestTheTableInTheDocIsTheOrderOfTheMetrics keeps the package comment true, and with it the
// order of the metrics the same from run to run and from version to version.
func TestTheTableInTheDocIsTheOrderOfTheMetrics(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var documented [][2]string
	for _, m := range docLine.FindAllStringSubmatch(file.Doc.Text(), -1) {
		documented = append(documented, [2]string{m[1], m[2]})
	}
	used := &Row{}
	used.AllStalls.record(protocol.Second)
	used.Counts[JobsDelayed] = 1
	for _, row := range []*Row{{}, used} {
		var order [][2]string
		for _, m := range row.Metrics() {
			order = append(order, [2]string{m.Name, m.Unit})
		}
		require.Equal(t, documented, order)
	}
}

func TestNothingMeasuredIsNotZeroAndNotNaN(t *testing.T) {
	for _, m := range (&Row{}).Metrics() {
		assert.Zero(t, m.Value, m.Name)
		assert.Equal(t, m.Unit == "count" || m.Name == "overlap_seconds" || m.Name == "redone_work_seconds", m.Valid, "%s: a count or sum of nothing is zero, a mean of nothing is none", m.Name)
	}
}
