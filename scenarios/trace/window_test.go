package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The naive model of the window: a row is refused exactly when as many rows as the window
// holds, or more, stand above it and arrive later; all others come out as a stable sort
// would order them.
func TestWindowSortsWhatFitsAndRefusesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(t, "window")
		arrivals := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 60).Draw(t, "arrivals")

		var text strings.Builder
		text.WriteString("arrival,duration\n")
		want := make([]Job, len(arrivals))
		refused := 0
		for i, arrival := range arrivals {
			fmt.Fprintf(&text, "%d,%d\n", arrival, i)
			want[i] = Job{Arrival: time.Duration(arrival) * time.Second, Duration: time.Duration(i) * time.Second, Kind: "job", Line: i + 2}
			later := 0
			for _, above := range arrivals[:i] {
				if above > arrival {
					later++
				}
			}
			if later >= size && refused == 0 {
				refused = i + 2
			}
		}

		got, err := readWith(text.String(), size)
		if refused > 0 {
			require.Equal(t, refused, requireError(t, err).Line, "the first row that does not fit")
			return
		}
		require.NoError(t, err)
		slices.SortStableFunc(want, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
		first := want[0].Arrival
		for i := range want {
			want[i].Arrival -= first
		}
		require.Equal(t, want, got)
	})
}

func readWith(text string, size int) ([]Job, error) {
	r, err := newReader("a.csv", strings.NewReader(text), Map{}, size)
	if err != nil {
		return nil, err
	}
	return drain(r)
}

func TestWindowOfFullSizeSortsAReversedBlock(t *testing.T) {
	var text strings.Builder
	text.WriteString("arrival,duration\n")
	const blocks = 3
	for block := range blocks {
		for i := range windowRows { // The last row has 4095 later ones above it: just inside.
			fmt.Fprintf(&text, "%d,1\n", (block+1)*windowRows-i)
		}
	}
	r, err := NewReader("a.csv", strings.NewReader(text.String()))
	require.NoError(t, err)
	for i := range blocks * windowRows {
		job, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, time.Duration(i)*time.Second, job.Arrival)
	}
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
	require.Equal(t, blocks*(windowRows-1), r.tally.outOfOrder)
}
