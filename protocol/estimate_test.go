package protocol

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainTail is tail in floating point: how many executions took longer than e ms, and the
// mean of what those took.
func plainTail(buckets []uint32, e float64) (n, mean float64) {
	for b, c := range buckets {
		lo, hi := math.Exp2(float64(b)), math.Exp2(float64(b+1))
		if b == 0 {
			lo = 0
		}
		if from := max(lo, e); from < hi {
			part := float64(c) * (hi - from) / (hi - lo)
			n += part
			mean += part * (from + hi) / 2
		}
	}
	if n > 0 {
		mean /= n
	}
	return n, mean
}

func drawHistograms(t *rapid.T) *Histograms {
	buckets := make([]uint32, BucketsPerKind)
	for range rapid.IntRange(1, 6).Draw(t, "buckets") {
		buckets[rapid.IntRange(0, 20).Draw(t, "bucket")] = uint32(rapid.IntRange(0, 10_000).Draw(t, "count"))
	}
	return &Histograms{buckets}
}

func TestTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Machine{histograms: drawHistograms(t)}
		e := rapid.Int64Range(0, 1<<21).Draw(t, "elapsed")
		n, mean := m.tail(0, e)
		wantN, wantMean := plainTail(m.histograms.buckets, float64(e))
		all, _ := plainTail(m.histograms.buckets, 0)
		// A bucket is cut in steps of a thousandth.
		require.InDelta(t, wantN, float64(n)/1024, all/1024+1)
		if wantN > all/20+1 {
			require.InDelta(t, wantMean, mean, 2+0.03*wantMean)
		}
	})
}

func TestIsShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Machine{histograms: drawHistograms(t)}
		left := Duration(rapid.Int64Range(0, 1<<22).Draw(t, "left")) * Millisecond
		all, _ := plainTail(m.histograms.buckets, 0)
		longer, _ := plainTail(m.histograms.buckets, float64(left/2/Millisecond))
		if math.Abs(longer*10-all) < all/50+10 {
			t.Skip("too close to call")
		}
		require.Equal(t, all > 0 && left > 0 && longer*10 < all, m.isShort(0, left))
	})
}

func TestIsShortKnowsNothingWithoutEstimates(t *testing.T) {
	require.False(t, (&Machine{}).isShort(0, Forever))
	require.False(t, (&Machine{histograms: &Histograms{make([]uint32, BucketsPerKind)}}).isShort(0, Forever))
}

// The rule is computed in floating point as it is written in the comment of worthKeeping.
func TestWorthKeeping(t *testing.T) {
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Kinds: []KindConfig{{}}}
		m := Machine{cfg: &cfg, histograms: drawHistograms(t)}
		e := rapid.Int64Range(0, 1<<20).Draw(t, "elapsed")
		b := rapid.Int64Range(0, 1<<20).Draw(t, "budget")
		now := Instant(Hour)
		m.budget.undoBy = now.Add(Duration(b) * Millisecond)
		s := Slot{progress: now.Add(-Duration(e) * Millisecond)}
		keep, handBack, known := costs(m.histograms.buckets, float64(e), float64(b))
		if !known || math.Abs(keep-handBack) < 0.05*handBack+10 {
			t.Skip("too close to call")
		}
		decided++
		require.Equal(t, keep < handBack, m.worthKeeping(now, &s), "going on costs %v ms, handing back %v ms", keep, handBack)
	})
	require.Positive(t, decided)
}

func costs(buckets []uint32, e, b float64) (keep, handBack float64, known bool) {
	all, total := plainTail(buckets, e)
	longer, longerTotal := plainTail(buckets, e+b)
	everything, _ := plainTail(buckets, 0)
	if all < everything/20+1 {
		return 0, 0, false
	}
	p, rest := 1-longer/all, 0.0
	if p > 0 {
		rest = (all*total-longer*longerTotal)/(all-longer) - e
	}
	const s = float64(handOff)
	return p*rest + (1-p)*(b+s+longerTotal), s + total, true
}

func TestAnExecutionLongerThanAnyKnownIsKeptWhileThereIsTime(t *testing.T) {
	cfg := Config{Kinds: []KindConfig{{}}}
	m := Machine{cfg: &cfg, histograms: &Histograms{make([]uint32, BucketsPerKind)}}
	m.histograms.buckets[3] = 100
	now := Instant(Hour)
	m.budget.undoBy = now.Add(Second)
	require.True(t, m.worthKeeping(now, &Slot{}))
	m.budget.undoBy = now
	require.False(t, m.worthKeeping(now, &Slot{}))
}
