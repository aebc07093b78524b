package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func profileOf(t require.TestingT, text string) Profile {
	r, err := NewReader("a.csv", strings.NewReader(text))
	require.NoError(t, err)
	p, err := profile(context.Background(), r)
	require.NoError(t, err)
	return p
}

func TestProfileCountsMinutesBarsAndSteps(t *testing.T) {
	p := profileOf(t, "arrival,duration\n0,0.5\n59,0.5\n60,2\n61,7\n119.9,600\n250,3\n")
	assert.Equal(t, Minute{time.Minute, 3}, p.Busiest)
	assert.InDelta(t, 5/(250.0/3600), p.PerHour, 1e-9)
	assert.Equal(t, []Bar{
		{300 * time.Millisecond, time.Second, 2}, {time.Second, 3 * time.Second, 1}, {3 * time.Second, 10 * time.Second, 2},
		{10 * time.Second, 30 * time.Second, 0}, {30 * time.Second, time.Minute, 0}, {time.Minute, 3 * time.Minute, 0}, {3 * time.Minute, 10 * time.Minute, 0},
		{10 * time.Minute, 30 * time.Minute, 1}}, p.Durations)
	assert.Equal(t, 10*time.Second, p.Arrivals.Step, "250 s in at most 60 steps")
	assert.Equal(t, []int{1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1}, p.Arrivals.Jobs[:12])
	assert.Len(t, p.Arrivals.Jobs, 26)
}

func TestQuantilesAreNearestRankToFourDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("arrival,duration\n")
		durations := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 20_000), rapid.Int64Range(0, 1e15)), 1, 150).Draw(t, "ns")
		for _, d := range durations {
			text = fmt.Appendf(text, "0,%dns\n", d)
		}
		p := profileOf(t, string(text))
		slices.Sort(durations)
		for percent, got := range map[int]time.Duration{50: p.P50, 90: p.P90, 99: p.P99} {
			want := durations[(len(durations)*percent+99)/100-1]
			require.GreaterOrEqual(t, int64(got), want)
			require.LessOrEqual(t, int64(got), want+want/4096, "p%d of %v", percent, durations)
		}
	})
}
