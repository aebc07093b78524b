package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	mapped "github.com/quiesce/quiesce/scenarios/trace"
)

func traceFile(t *testing.T, rows string) string {
	path := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(path, []byte("arrival,duration,kind\n"+rows), 0o644))
	return path
}

type row struct {
	arrival protocol.Instant
	work    protocol.Duration
	kind    protocol.Kind
}

func rowsOf(t *testing.T, trace model.Trace) []row {
	stream, err := trace.Open()
	require.NoError(t, err)
	defer func() { assert.NoError(t, stream.Close()) }()
	var rows []row
	for {
		arrival, work, kind, ok, err := stream.Next()
		require.NoError(t, err)
		if !ok {
			return rows
		}
		rows = append(rows, row{arrival, work, kind})
	}
}

func TestTraceOfAScenarioNumbersItsKindsByName(t *testing.T) {
	path := traceFile(t, "0,2,zip\n1.5,3,mail\n1,4,zip\n")
	s, err := Parse(filepath.Join(filepath.Dir(path), "s.yaml"), []byte(complete("jobs: {trace: jobs.csv, undo: 2s, deaf: 5%}\n")))
	require.NoError(t, err)
	like := model.Job{Checkpoint: protocol.Second / 2, Declared: protocol.Second / 2, Undo: 2 * protocol.Second, Deaf: 50_000_000, Effects: 1, Version: 1, NewVersion: 1}
	mail, zip := like, like
	mail.Name, zip.Name = "mail", "zip"
	assert.Equal(t, []model.Job{mail, zip}, s.Jobs)

	want := []row{{0, 2 * protocol.Second, 1}, {protocol.Instant(protocol.Second), 4 * protocol.Second, 1}, {protocol.Instant(3 * protocol.Second / 2), 3 * protocol.Second, 0}}
	assert.Equal(t, want, rowsOf(t, s.Trace))
	assert.Equal(t, want, rowsOf(t, s.Trace), "every Open starts anew")
	assert.Equal(t, []string{"trace: 1 row was out of order and sorted within a window of 4096 rows"}, Notes(s))
}

func TestRareKindsOfATraceBecomeOther(t *testing.T) {
	var b strings.Builder
	for k := range 70 { // Kind k has 70-k rows.
		for range 70 - k {
			fmt.Fprintf(&b, "0,1,k%02d\n", k)
		}
	}
	path := traceFile(t, b.String())
	trace, err := newJobTrace(path, mapped.Map{})
	require.NoError(t, err)
	assert.Len(t, trace.kinds, 64)
	assert.Equal(t, []string{"k61", "k62", "other"}, trace.kinds[61:])
	rows := rowsOf(t, trace)
	assert.Equal(t, protocol.Kind(0), rows[0].kind)
	assert.Equal(t, protocol.Kind(63), rows[len(rows)-1].kind)
	assert.Equal(t, []string{`trace: of 70 kinds the 63 most frequent keep their names, the rest is one kind "other"`}, trace.notes[1:])
}

func TestSixtyFourKindsOfATraceKeepTheirNames(t *testing.T) {
	var b strings.Builder
	for k := range 64 {
		fmt.Fprintf(&b, "%d,1,k%02d\n", k, k)
	}
	trace, err := newJobTrace(traceFile(t, b.String()), mapped.Map{})
	require.NoError(t, err)
	assert.Len(t, trace.kinds, 64)
	assert.NotContains(t, trace.kinds, otherKind)
	assert.Empty(t, trace.notes)
}

func TestAKindCalledOtherTakesTheRestIn(t *testing.T) {
	var b strings.Builder
	b.WriteString("0,1,other\n0,1,other\n")
	for k := range 70 {
		fmt.Fprintf(&b, "0,1,k%02d\n", k)
	}
	trace, err := newJobTrace(traceFile(t, b.String()), mapped.Map{})
	require.NoError(t, err)
	assert.Len(t, trace.kinds, 63)
	other := protocol.Kind(62)
	assert.Equal(t, "other", trace.kinds[other])
	rows := rowsOf(t, trace)
	assert.Equal(t, []protocol.Kind{other, other, 0}, []protocol.Kind{rows[0].kind, rows[1].kind, rows[2].kind})
	assert.Equal(t, other, rows[71].kind)
}

func TestATraceThatChangesUnderARunIsAnError(t *testing.T) {
	path := traceFile(t, "0,1,mail\n1,1,mail\n")
	trace, err := newJobTrace(path, mapped.Map{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("arrival,duration,kind\n0,1,mail\n1,1,zip\n"), 0o644))
	stream, err := trace.Open()
	require.NoError(t, err)
	defer stream.Close()
	_, _, _, ok, err := stream.Next()
	require.NoError(t, err)
	assert.True(t, ok)
	_, _, _, ok, err = stream.Next()
	assert.False(t, ok)
	assert.ErrorContains(t, err, `:3:1: kind "zip" was not there when the trace was first read`)
	require.NoError(t, os.Remove(path))
	_, err = trace.Open()
	var typed *Error
	assert.ErrorAs(t, err, &typed)
}

func TestATraceMustBeReadableAgain(t *testing.T) {
	if !filepath.IsAbs(os.DevNull) {
		t.Skip("no device with a path here")
	}
	_, err := Parse("s.yaml", []byte(complete("jobs: {trace: "+os.DevNull+"}\n")))
	assert.ErrorContains(t, err, "is not a regular file; save it as one: every run reads it again")
	_, _, err = FromInput(os.DevNull, "", "")
	assert.ErrorContains(t, err, "is not a regular file; save it as one: every run reads it again")
}
