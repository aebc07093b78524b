package meter

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/protocol"
)

// durations draws some that a run may measure, from microseconds to hours.
func durations(t *rapid.T, label string) []protocol.Duration {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) protocol.Duration {
		unit := rapid.SampledFrom([]protocol.Duration{protocol.Microsecond, protocol.Millisecond, protocol.Second, protocol.Minute}).Draw(t, "unit")
		return protocol.Duration(rapid.Int64Range(0, 3000).Draw(t, "n")) * unit
	}), 0, 60).Draw(t, label)
}

func filled(all []protocol.Duration) *Histogram {
	var h Histogram
	for _, d := range all {
		h.record(d)
	}
	return &h
}

func TestHistogramsKeepThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := durations(t, "values")
		h := filled(all)
		if len(all) == 0 {
			require.Zero(t, h.Mean())
			require.Zero(t, h.Quantile(50))
			return
		}
		sum := 0.0
		for _, d := range all {
			sum += float64(d) / 1e9
		}
		require.InDelta(t, sum/float64(len(all)), h.Mean(), 1e-6, "the mean is exact")
		slices.Sort(all)
		require.InDelta(t, float64(all[len(all)-1])/1e9, h.Quantile(100), 1e-6, "and so is the maximum")
		for _, q := range []float64{50, 90, 99} {
			// The rank of HdrHistogram: the smallest value that at least q percent do not exceed.
			rank := max(int(q/100*float64(len(all))+0.5), 1)
			want := float64(all[rank-1]) / 1e9
			require.InDelta(t, want, h.Quantile(q), want*0.001+1e-6, "p%v of %v", q, all)
		}
	})
}

func TestMergedHistogramsAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations(t, "a"), durations(t, "b")
		merged, one := filled(a), filled(slices.Concat(a, b))
		merged.Merge(filled(b))
		require.Equal(t, one.N, merged.N)
		require.Equal(t, one.Sum, merged.Sum)
		require.Equal(t, one.Max, merged.Max)
		for _, q := range []float64{1, 50, 90, 99, 100} {
			require.Equal(t, one.Quantile(q), merged.Quantile(q), "p%v", q)
		}
	})
}

func TestAnAbsurdDurationIsClampedAndItsMeanIsNot(t *testing.T) {
	h := filled([]protocol.Duration{200 * 24 * protocol.Hour, 1})
	assert.Equal(t, float64(200*24*3600), float64(h.Max)/1e6)
	assert.InDelta(t, 100*24*3600, h.Mean(), 1)
	assert.InEpsilon(t, 100*24*3600, h.Quantile(99), 0.001)
}

// TestLevelIntegratesChangesInThePast compares with an integral over a grid of seconds.
func TestLevelIntegratesChangesInThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 100
		w := Window{From: at(float64(rapid.IntRange(0, 40).Draw(t, "from"))), Until: at(float64(rapid.IntRange(60, end).Draw(t, "until")))}
		var l level
		var naive [end]int64 // the count in second s
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			s := rapid.IntRange(0, end-1).Draw(t, "second")
			d := rapid.Int64Range(-3, 3).Draw(t, "change")
			l.add(&w, at(float64(s)), d)
			for k := s; k < end; k++ {
				naive[k] += d
			}
		}
		l.add(&w, w.Until, 0)
		want := int64(0)
		for s := range naive {
			if at(float64(s)) >= w.From && at(float64(s)) < w.Until {
				want += naive[s]
			}
		}
		require.Equal(t, want*1_000_000, int64(l.area))
	})
}

func TestEffectsFallAtTheirShareOfTheWork(t *testing.T) {
	for _, c := range []struct {
		name             string
		count            int32
		total, from, end float64
		want             int64
	}{
		{"none before the first falls", 4, 40, 0, 9.999, 0},
		{"the first falls at a quarter", 4, 40, 0, 10, 1},
		{"what was done before the start is not counted", 4, 40, 10, 30, 2},
		{"the last falls at the end", 4, 40, 39.999, 40, 1},
		{"nothing falls beyond the end", 4, 40, 0, 50, 4},
		{"a single one falls at the end", 1, 40, 0, 39.999, 0},
		{"there may be none", 0, 40, 0, 40, 0},
		{"a job without work has none twice", 4, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, effectsBetween(Record{Count: c.count, Total: span(c.total)}, span(c.from), span(c.end)))
		})
	}
	long := Record{Count: math.MaxInt32, Total: 1 << 62}
	assert.Equal(t, int64(math.MaxInt32), effectsBetween(long, 0, 1<<62), "no product overflows")
}
