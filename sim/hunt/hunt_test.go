package hunt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
)

// Whatever is drawn can be written as a file, and the run that the file names is the same one.
func TestWhatIsDrawnCanBeWrittenAndReadBack(t *testing.T) {
	for seed := range uint64(300) {
		fault := ""
		if seed%3 == 0 {
			fault = "release-before-undo"
		}
		sc, err := hunt.Draw(seed, fault)
		require.NoError(t, err)
		sc.Finding.Invariant = "no-job-lost"
		text, err := scenarios.Format(sc)
		require.NoError(t, err)
		read, err := scenarios.Parse("drawn.yaml", text)
		require.NoError(t, err, "%s", text)
		want, err := hunt.Try(sc)
		require.NoError(t, err)
		got, err := hunt.Try(read)
		require.NoError(t, err)
		assert.Equal(t, want.Row.TraceHash, got.Row.TraceHash, "seed %d:\n%s", seed, text)
		assert.Equal(t, want.Findings, got.Findings, "seed %d", seed)
		again, err := scenarios.Format(read)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
	}
}
