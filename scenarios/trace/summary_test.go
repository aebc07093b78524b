package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
)

func TestSummaryOfOurOwnTraces(t *testing.T) {
	shop, err := Summarize("testdata/shop.csv")
	require.NoError(t, err)
	assert.InDelta(t, 1111.033/382.814, shop.Busy, 1e-12)
	shop.Busy = 0
	assert.Equal(t, Summary{
		Jobs:         200,
		Span:         382_814 * time.Millisecond,
		MeanDuration: 5_555_165 * time.Microsecond,
		MaxDuration:  171_478 * time.Millisecond,
		SumDuration:  1111.033,
		Kinds:        []Count{{"job", 3}, {"mail", 122}, {"report", 18}, {"thumbnail", 57}},
		Warnings:     []string{"24 rows were out of order and sorted within a window of 4096 rows"},
	}, shop)

	batch, err := Summarize("testdata/batch.swf")
	require.NoError(t, err)
	assert.Equal(t, Summary{
		Jobs:         9,
		Skipped:      3,
		SkipReasons:  []Count{{"negative run time", 1}, {"unknown run time", 1}, {"unknown submit time", 1}},
		Span:         300 * time.Second,
		MeanDuration: 4465 * time.Second / 9,
		MaxDuration:  time.Hour,
		SumDuration:  4465,
		Busy:         4465.0 / 300,
		Kinds:        []Count{{"exe-1", 4}, {"exe-2", 2}, {"exe-3", 2}, {"job", 1}},
		Warnings: []string{
			"3 rows were skipped: 1 with negative run time, 1 with unknown run time, 1 with unknown submit time",
			"1 of 9 jobs take no time at all",
		},
	}, batch)
}

func TestSummaryOfOneInstantHasNoRate(t *testing.T) {
	r, err := NewReader("a.csv", strings.NewReader(head+"3,1,a\n3,2,a\n"))
	require.NoError(t, err)
	s, err := summarize(t.Context(), r, func(Job) {})
	require.NoError(t, err)
	assert.Zero(t, s.Span)
	assert.Zero(t, s.Busy)
	assert.Equal(t, []string{"all jobs arrive at the same instant, so the trace has no rate of arrival"}, s.Warnings)
}

func TestSummaryPassesErrorsOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.csv")
	rows := head + strings.Repeat("5,1,a\n", windowRows) + "4,1,a\n"
	require.NoError(t, os.WriteFile(path, []byte(rows), 0o600))
	_, err := Summarize(path)
	assert.Equal(t, windowRows+2, requireError(t, err).Line)
	_, err = Summarize(path + ".missing")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// 1,000 jobs of 99 years are 3e21 ns, where an int64 ends at 9e18.
func TestSumOfLongDurationsDoesNotOverflow(t *testing.T) {
	const each = 99 * 365 * 24 * time.Hour
	var sum total
	for range 1000 {
		sum.add(each)
	}
	assert.Equal(t, each, sum.mean(1000))
	assert.InEpsilon(t, 1000*each.Seconds(), float64(sum.seconds()), 1e-15)
}

func TestArchiveLogsAreReadCompletely(t *testing.T) {
	data := realdata.Folder(t, "traces")
	for name, c := range map[string]struct {
		file  string
		want  Summary // without Kinds
		kinds int
	}{
		"NASA iPSC/860, 1993": {"nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz", Summary{
			Jobs: 18239, Span: 7948936 * time.Second, MaxDuration: 62643 * time.Second,
			MeanDuration: 13950781 * time.Second / 18239, SumDuration: 13950781, Busy: 13950781.0 / 7948936,
			Warnings: []string{"173 of 18239 jobs take no time at all"},
		}, 494},
		"MetaCentrum, 2013": {"metacentrum-2013/wagap-2013.swf.gz", Summary{
			Jobs: 17898, Skipped: 2, SkipReasons: []Count{{"negative run time", 2}},
			Span: 7686036 * time.Second, MaxDuration: 5356972 * time.Second,
			MeanDuration: 897261525 * time.Second / 17898, SumDuration: 897261525, Busy: 897261525.0 / 7686036,
			Warnings: []string{"2 rows were skipped: 2 with negative run time"},
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Summarize(filepath.Join(data, c.file))
			require.NoError(t, err)
			rows := 0
			for _, kind := range got.Kinds {
				rows += kind.Rows
			}
			assert.Len(t, got.Kinds, c.kinds)
			assert.Equal(t, c.want.Jobs, rows, "every job has a kind")
			got.Kinds = nil
			assert.Equal(t, c.want, got)
		})
	}
}
