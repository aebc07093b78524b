package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bench(t *testing.T, args string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 0, run(strings.Fields(args), &out, &errs), errs.String())
	return out.String()
}

const small = "sim --workers 50 --slots 1,2 --events 5000 --best 1 --customers 100000 "

func TestASmallRunMeasuresEverything(t *testing.T) {
	var r report
	require.NoError(t, json.Unmarshal([]byte(bench(t, small+"--json")), &r))
	var what []string
	for _, x := range r.Rows {
		what = append(what, x.What)
		assert.GreaterOrEqual(t, x.Events, int64(5000))
		assert.Positive(t, x.Pending)
		assert.Positive(t, x.NanosecondsPerEvent)
	}
	assert.Equal(t, []string{"world", "hold", "world", "hold", "M/M/c engine", "M/M/c loop"}, what)
	for _, x := range r.Rows[:4] {
		if x.What == "world" {
			assert.Greater(t, x.Jobs, int64(50))
			assert.Positive(t, x.BytesAtRest)
			assert.Positive(t, x.BytesPerWorker)
		}
	}
	assert.Equal(t, r.Rows[0].Pending, r.Rows[1].Pending, "the hold is as large as its world")
	assert.Positive(t, r.Cores.ByClock)
	assert.Positive(t, r.Cores.ByCPU)
	assert.Equal(t, r.Cores.Cores, r.Cores.Replications)
}

func TestTheTableHasALineForEverything(t *testing.T) {
	out := bench(t, small)
	assert.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 1+6+1+2)
	assert.Contains(t, out, "M/M/1000 at load 0.95")
	assert.NotContains(t, bench(t, "sim --workers 50 --slots 1 --events 5000 --best 1 --customers 0"), "M/M/")
}

func TestTheFasterOfTwoRoundsIsKept(t *testing.T) {
	round := func(small, large float64) []row {
		return []row{
			{What: "world", Workers: 1000, Slots: 1, EventsPerSecond: small, JobsPerCPUSecond: small},
			{What: "world", Workers: 9000, Slots: 1, EventsPerSecond: large, JobsPerCPUSecond: large},
		}
	}
	var r report
	r.keep(round(30, 10))
	r.keep(round(20, 15))
	assert.Equal(t, round(30, 15), r.Rows)
	o := options{workers: []int{9000, 1000}, slots: []int{1}}
	assert.Equal(t, []growth{{Slots: 1, Smallest: 1000, Largest: 9000, Cost: 2}}, growths(o, r.Rows))
	assert.Empty(t, growths(options{workers: []int{1000}, slots: []int{1}}, r.Rows), "one size does not grow")
}

// Both models of the queue must be right, or their speed says nothing. The waits of a million
// customers depend on each other: their mean is known to some 20% only, and seeds are fixed.
func TestTheQueueWaitsAsTheorySays(t *testing.T) {
	gaps, service, err := laws()
	require.NoError(t, err)
	want := theory()
	assert.InDelta(t, 0.0013, want, 0.0003, "Erlang C at a thousand servers")
	assert.InEpsilon(t, want, throughEngine(3_000_000, gaps, service), 0.2)
	assert.InEpsilon(t, want, byHand(3_000_000, gaps, service), 0.2)
}

func TestMisuseIsRefusedWithARemedy(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"sim --workers 0", "write numbers from 1"},
		{"sim --events 5", "write at least 1000"},
		{"sim --simulated 1s", "write 1m to 1000h"},
		{"sim --customers -1", "write 0 to leave the queue out"},
		{"sim --best 0", "write at least 1"},
		{"sim --wokers 5", "unknown flag: --wokers; bench sim --help lists what there is"},
		{"sim --workers ten", `--workers "ten" cannot be read; write it like --workers=1000,10000,100000`},
		{"sim --simulated soon", `--simulated "soon" cannot be read; write it like --simulated=4m0s`},
		{"simm", `unknown command "simm" for "bench"; bench --help lists what there is`},
		{"drain --systems=", "name at least one of quiesce, asynq, river"},
		{"redis --systems=", "name at least one of quiesce, asynq, river"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, run(strings.Fields(c.args), &out, &errs), c.args)
		assert.Contains(t, errs.String(), c.says)
		assert.Empty(t, out.String())
	}
}
