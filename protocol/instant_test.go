package protocol

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInstantsSaturate(t *testing.T) {
	require.Equal(t, Never, Never.Add(-Hour), "no limit stays no limit")
	require.Equal(t, Never, Instant(0).Add(Forever))
	require.Equal(t, Never, (Never - 1).Add(2))
	require.Equal(t, -Never, (-Never + 1).Add(-Hour))
	require.Equal(t, Forever, Never.Sub(5))
	require.Equal(t, Forever, Instant(Hour).Sub(-Never))
	require.Equal(t, -Forever, (-Never).Sub(Instant(Hour)))
	require.Equal(t, Instant(5), Instant(3).Add(2))
	require.Equal(t, Duration(-2), Instant(3).Sub(5))
}

func TestLessIsRoundedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(1000*Hour)).Draw(t, "d"))
		ppm := rapid.Int64Range(0, 499_999).Draw(t, "ppm")
		exact := float64(d) * (1 - float64(ppm)/1e6)
		require.InDelta(t, exact, float64(d.less(ppm)), 2+exact*1e-15)
	})
}

// What a backoff waits rises to Max and never beyond, whatever Max is.
func TestBackoff(t *testing.T) {
	m := Machine{}
	b := Backoff{Min: 200 * Millisecond, Max: 2 * Second}
	var waits []Duration
	for tries := range uint8(6) {
		waits = append(waits, m.backoff(b, tries))
	}
	require.Equal(t, []Duration{200 * Millisecond, 400 * Millisecond, 800 * Millisecond, 1600 * Millisecond, 2 * Second, 2 * Second}, waits)
	require.Equal(t, Forever, m.backoff(Backoff{Min: 1, Max: Forever}, 255))

	m.seed = 1
	for tries := range uint8(200) {
		d := m.backoff(Backoff{Min: 1, Max: Second}, tries)
		require.Positive(t, d)
		require.LessOrEqual(t, d, Second)
	}
}

func TestDurationsAreWrittenAsGoWritesThem(t *testing.T) {
	for d, want := range map[Duration]string{
		0: "0s", 1: "1ns", 1500: "1.5µs", 2 * Millisecond: "2ms", 1500 * Millisecond: "1.5s", 90 * Second: "1m30s",
		Hour: "1h0m0s", -Second: "-1s", Forever: "forever", math.MinInt64: "-forever",
	} {
		require.Equal(t, want, d.String())
	}
	require.Equal(t, "never", Never.String())
	require.Equal(t, "12ms", Instant(12*Millisecond).String())
}
