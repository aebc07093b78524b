package meter

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/protocol"
)

// drawRow makes a row such as a run leaves.
func drawRow(t *rapid.T) *Row {
	r := &Row{TraceHash: rapid.Uint64().Draw(t, "hash")}
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<50))
	for _, values := range [][]int64{r.Counts[:], r.Sums[:], r.ByReason[:], r.Censored[:]} {
		for i := range values {
			values[i] = number.Draw(t, "number")
		}
	}
	for _, h := range rapid.SliceOfN(rapid.SampledFrom(r.histograms()), 0, 2).Draw(t, "histograms") {
		for _, us := range rapid.SliceOfN(rapid.Int64Range(0, 2*maxMicros), 0, 30).Draw(t, "values") {
			h.record(protocol.Duration(min(us, 9e12)) * protocol.Microsecond)
		}
	}
	for i := range 5 {
		r.DelayOverTime[i*i] = Slice{N: number.Draw(t, "n"), Sum: number.Draw(t, "sum")}
	}
	return r
}

func TestRowsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRow(t)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		var back Row
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, r.Metrics(), back.Metrics())
		again, err := json.Marshal(&back)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
		r.Pack()
		assert.Equal(t, *r, back, "a row from JSON is a packed row")
	})
}

func TestAPackedHistogramAnswersAsBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Histogram
		for _, us := range rapid.SliceOfN(rapid.Int64Range(0, maxMicros), 1, 50).Draw(t, "values") {
			h.record(protocol.Duration(us) * protocol.Microsecond)
		}
		packed := Histogram{bars: h.packed(), N: h.N, Sum: h.Sum, Max: h.Max}
		for _, q := range []float64{1, 50, 99, 100} {
			assert.Equal(t, h.Quantile(q), packed.Quantile(q), "quantile %v", q)
		}
	})
}

func TestBucketsAreThoseOfTheHistogram(t *testing.T) {
	var h Histogram
	h.record(protocol.Second)
	for i, b := range h.h.Distribution() {
		require.Equal(t, b.From, bucketAt(i), "bucket %d", i)
		require.Equal(t, b.To-b.From+1, widthAt(b.From), "bucket %d", i)
	}
}

func TestWhoeverRecordsAgainLosesNothingThatWasPacked(t *testing.T) {
	r := &Row{}
	r.QueueWait.record(protocol.Minute)
	r.Pack()
	r.QueueWait.record(protocol.Second)
	var both Histogram
	both.record(protocol.Minute)
	both.record(protocol.Second)
	assert.Equal(t, both.packed(), r.QueueWait.packed())
}

func TestEveryNumberOfARowHasANameOfItsOwn(t *testing.T) {
	for _, names := range [][]string{countNames[:], sumNames[:], reasonNames[:], causeNames[:]} {
		for i, name := range names {
			assert.NotEmpty(t, name, "number %d", i)
			assert.Equal(t, i, slices.Index(names, name), "%s names two numbers", name)
		}
	}
}

func TestRowsThatNoRunCanHaveLeftAreRefused(t *testing.T) {
	var h Histogram
	h.record(3 * protocol.Second)
	good, err := json.Marshal(&Row{QueueWait: h, Counts: [counts]int64{JobsEnqueued: 7}})
	require.NoError(t, err)
	for _, c := range []struct{ name, old, becomes, says string }{
		{"unknown counter", `"jobs_enqueued"`, `"jobs_enqueud"`, `there is no "jobs_enqueud"`},
		{"unknown member", `"sums"`, `"summs"`, "unknown field"},
		{"negative counter", `:7`, `:-7`, "jobs_enqueued is negative"},
		{"fraction", `:7`, `:7.5`, "cannot unmarshal"},
		{"bucket that does not exist", `[2998272,1]`, `[2998273,1]`, "no bucket begins at 2998273"},
		{"buckets out of order", `[2998272,1]`, `[2998272,1],[0,1]`, "does not come after"},
		{"empty bucket", `[2998272,1]`, `[2998272,0]`, "holds 0 values"},
		{"wrong number of values", `"n":1`, `"n":2`, "do not fit 1 values"},
		{"short hash", `"trace_hash":"0`, `"trace_hash":"`, "16 hexadecimal digits"},
		{"slice beyond the run", `"delay_over_time":[]`, `"delay_over_time":[[250,1,1]]`, "slice 250"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(string(good), c.old, c.becomes, 1)
			require.NotEqual(t, string(good), text)
			assert.ErrorContains(t, json.Unmarshal([]byte(text), &Row{}), c.says)
		})
	}
}

func TestSlicesCoverTheRunFromItsStart(t *testing.T) {
	w := Window{From: protocol.Instant(protocol.Hour), Until: protocol.Instant(2 * protocol.Hour)}
	var s Series
	s.add(&w, 0, protocol.Second, 1)
	s.add(&w, w.Until, protocol.Minute, 1)
	s.add(&w, w.Until+1, protocol.Minute, 1)
	s.add(&w, protocol.Instant(protocol.Hour), protocol.Second, 2)
	s.add(&w, protocol.Instant(protocol.Hour), protocol.Second, -1)
	assert.Equal(t, Slice{1, 1e6}, s[0])
	assert.Equal(t, Slice{1, 1e6}, s[Slices/2])
	assert.Equal(t, Slice{1, 60e6}, s[Slices-1])
}
