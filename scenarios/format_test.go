package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

func TestBatchesAreWrittenAsTheyWereRead(t *testing.T) {
	s := parsed(t, "jobs: {mail: {arrivals: {every: 1s}, duration: 1s, batch: 9}}")
	text, err := Format(s)
	require.NoError(t, err)
	again, err := Parse("again.yaml", text)
	require.NoError(t, err)
	assert.Equal(t, s.Jobs, again.Jobs)

	s.Queue.Counted = model.CountedByRun
	_, err = Format(s)
	assert.ErrorContains(t, err, "the queue has settings of a real one", "only a column counts in another way")
}
