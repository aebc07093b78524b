package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// inFolder parses a scenario beside files.
func inFolder(t *testing.T, text string, files map[string]string) (*model.Scenario, error) {
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return Parse(filepath.Join(dir, "s.yaml"), []byte(complete(text)))
}

func TestATraceIsReadByTheMapOfItsScenario(t *testing.T) {
	s, err := inFolder(t, "jobs: {trace: jobs.json, map: {arrival: 'at:ms', end: 'done:ms', kind: q}}\n", map[string]string{
		"jobs.json": `[{"at": 9000, "done": 9500, "q": "zip"}, {"at": 1000, "done": 3000, "q": "mail"}]`,
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"mail", "zip"}, []string{s.Jobs[0].Name, s.Jobs[1].Name})
	want := []row{{0, 2 * protocol.Second, 0}, {protocol.Instant(8 * protocol.Second), protocol.Second / 2, 1}}
	assert.Equal(t, want, rowsOf(t, s.Trace))
	assert.Equal(t, want, rowsOf(t, s.Trace), "every Open starts anew")
}

func TestADeployHistoryGivesTheDeploysOfTheRun(t *testing.T) {
	files := map[string]string{"d.csv": "time_utc,app\n2026-07-22T09:00:00Z,mail\n2026-07-22T08:00:00Z,web\n2026-07-22T08:30:00Z,web\n2026-07-22T20:00:00Z,web\n"}
	s, err := inFolder(t, "deploys: {trace: d.csv, app: web, at: [2h]}\n", files)
	require.NoError(t, err)
	minute := protocol.Instant(protocol.Minute)
	assert.Equal(t, model.Deploys{At: []protocol.Instant{0, 30 * minute, 120 * minute}}, s.Deploys, "that of 20:00 is after the end")
	assert.Equal(t, []string{"deploys: 2 of 3 in the trace fall into the run"}, Notes(s))
	s, err = inFolder(t, "deploys: {trace: d.csv}\n", files)
	require.NoError(t, err)
	assert.Equal(t, []protocol.Instant{0, 30 * minute, 60 * minute}, s.Deploys.At)
}

func TestAFaultHistoryGivesTheFaultsOfTheRun(t *testing.T) {
	s, err := inFolder(t, "faults: {crash: {mtbf: 48h}, trace: f.csv}\n", map[string]string{
		"f.csv": "time,seat,kind,length\n6h,1,crash,\n1h,5,pause,2m\n90,2,preempt,\n",
	})
	require.NoError(t, err)
	assert.Equal(t, 48*protocol.Hour, s.Faults.Crash, "recorded faults stand beside drawn ones")
	want := []model.NodeFault{
		{At: protocol.Instant(90 * protocol.Second), Node: 2, Kind: model.NodePreempt, Length: 2 * protocol.Minute},
		{At: protocol.Instant(protocol.Hour), Node: 5, Kind: model.NodePause, Length: 2 * protocol.Minute},
	}
	for range 2 { // Every Open starts anew.
		stream, err := s.Faults.Trace.Open()
		require.NoError(t, err)
		for _, w := range want {
			got, ok, err := stream.Next()
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, w, got)
		}
		_, ok, err := stream.Next()
		require.NoError(t, err)
		assert.False(t, ok)
		require.NoError(t, stream.Close())
	}
	assert.Equal(t, []string{"faults: 2 of 3 in the trace fall into the run"}, Notes(s))
	s, err = inFolder(t, "", nil)
	require.NoError(t, err)
	assert.Nil(t, s.Faults.Trace)
}

func TestWhatIsWrongWithAHistoryIsSaid(t *testing.T) {
	files := map[string]string{
		"jobs.csv": "a,b\n1,2\n", "late.csv": "time,seat,kind\n7h,1,crash\n", "bad.csv": "time,seat,kind\n7h,1,oom\n",
		"lanl.csv": "nodenum,Prob Started\n,6/21/2005 10:54\n4,6/21/2005 10:54\n",
	}
	for text, want := range map[string]string{
		"faults: {trace: late.csv}\n":                                     "s.yaml:1:17: faults.trace has no fault before the end at 6h0m0s, the first of 1 is at 7h0m0s; lengthen duration",
		"faults: {trace: bad.csv}\n":                                      `bad.csv:2:6: "oom" is not a kind of fault`,
		"faults: {trace: none.csv}\n":                                     "none.csv: does not exist; check the path of the history of faults",
		"deploys: {trace: late.csv}\n":                                    "s.yaml:1:18: deploys.trace has no deploy before the end at 6h0m0s, the first of 1 is at 7h0m0s",
		"deploys: {trace: late.csv, app: web}\n":                          "late.csv:1: header has no column app",
		"jobs: {trace: jobs.csv, map: {arrival: a}}\n":                    "s.yaml:1:30: jobs.map does not say how long jobs run; add duration=COLUMN or end=COLUMN",
		"jobs: {trace: jobs.csv, map: {arrival: a, duration: 'b:x'}}\n":   `s.yaml:1:53: jobs.map.duration duration=b:x: "x" is not a unit`,
		"jobs: {trace: jobs.csv, map: {arrival: a, duration: c}}\n":       `jobs.csv:1:1: header has no column "c"; it has a, b`,
		"jobs: {trace: jobs.csv, map: {arrival: a, length: b}}\n":         "s.yaml:1:43: jobs.map.length is not a key; valid are arrival, duration, end, kind",
		"jobs: {trace: jobs.csv}\n":                                       "--map arrival=COLUMN,duration=COLUMN",
		"deploys: {app: web, every: 1h}\nfaults: {trace: late.csv}\n":     "s.yaml:1:16: deploys.app chooses rows of a trace",
		"faults: {trace: lanl.csv, network: {latency: 1ms, losss: 1%}}\n": "did you mean loss?",
	} {
		_, err := inFolder(t, text, files)
		assert.ErrorContains(t, err, want, text)
	}
	s, err := inFolder(t, "faults: {trace: lanl.csv}\n", files)
	require.NoError(t, err)
	assert.Equal(t, []string{"faults: 1 row of the trace was skipped: no nodenum"}, Notes(s))
}
