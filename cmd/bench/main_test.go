package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASmallWorldIsMeasured(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 0, run([]string{"sim", "--workers", "50", "--slots", "1,2", "--events", "5000", "--json"}, &out, &errs), errs.String())
	var rows []row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Len(t, rows, 2)
	for _, r := range rows {
		assert.Greater(t, r.Events, int64(1000))
		assert.Greater(t, r.Jobs, int64(50))
		assert.Positive(t, r.NanosecondsPerEvent)
		assert.Positive(t, r.BytesPerWorker)
	}
	out.Reset()
	require.Equal(t, 0, run([]string{"sim", "--workers", "50", "--slots", "1", "--events", "5000"}, &out, &errs))
	assert.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 2)
}

func TestMisuseIsRefusedWithARemedy(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"sim --workers 0", "write numbers from 1"},
		{"sim --events 5", "write at least 1000"},
		{"sim --wokers 5", "unknown flag"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, run(strings.Fields(c.args), &out, &errs), c.args)
		assert.Contains(t, errs.String(), c.says)
		assert.Empty(t, out.String())
	}
}
