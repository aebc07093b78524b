package protocol

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What a form says is read back, at another time shifted by what lies between.
func TestAFormReadBackSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, later := Instant(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "now")), Instant(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "later"))
		d := Duration(rapid.OneOf(
			rapid.Int64Range(-200, 200).AsAny(), rapid.Int64Range(-math.MaxInt64/4, math.MaxInt64/4).AsAny(),
		).Draw(t, "d").(int64))
		if rapid.Bool().Draw(t, "in halves") {
			d = d % 300 * half
		}
		n, b, flag, meant := rapid.Uint64().Draw(t, "n"), rapid.Byte().Draw(t, "b"), rapid.Bool().Draw(t, "flag"), rapid.Bool().Draw(t, "meant")
		w := FormWriter{Now: now}
		w.Byte(b)
		w.Flag(flag)
		w.Num(n)
		w.At(now.Add(d))
		w.At(Never)
		w.AtIf(meant, now.Add(d))
		w.Span(d)
		w.Span(Forever)
		w.Byte(b)

		r := ReadForm(append(w.Buf, "rest"...), later)
		require.Equal(t, b, r.Byte())
		require.Equal(t, flag, r.Flag())
		require.Equal(t, n, r.Num())
		require.Equal(t, later.Add(d), r.At())
		require.Equal(t, Never, r.At())
		at, is := r.AtIf()
		require.Equal(t, meant, is)
		if meant {
			require.Equal(t, later.Add(d), at)
		}
		require.Equal(t, d, r.Span())
		require.Equal(t, Forever, r.Span())
		require.Equal(t, b, r.Byte())
		require.Equal(t, len(w.Buf), r.Read())
		require.Equal(t, "rest", string(r.Rest()))
	})
}

func TestSeveralAreWrittenAsEachAlone(t *testing.T) {
	alone, together := FormWriter{Now: Instant(Hour)}, FormWriter{Now: Instant(Hour)}
	numbers := []uint64{0, 1, 127, 128, 300, math.MaxUint64, 5}
	instants := []Instant{Never, alone.Now, alone.Now.Add(Second), alone.Now.Add(-1), 0, alone.Now.Add(Hour)}
	for range 2 {
		for _, n := range numbers {
			alone.Num(n)
		}
		for _, t := range instants {
			alone.At(t)
		}
		together.Nums(numbers...)
		together.Ats(instants...)
	}
	assert.Equal(t, alone.Buf, together.Buf)
}

// What takes one byte meets what takes more, and what means nothing: all of it once.
func TestEveryInstantThatIsNearIsReadBack(t *testing.T) {
	now := Instant(Hour)
	for d := -40 * Second; d <= 100*Second; d += Second / 2 {
		for _, d := range []Duration{d - 1, d, d + 1} {
			w := FormWriter{Now: now}
			w.AtIf(true, now.Add(d))
			w.At(now.Add(d))
			w.Span(d)
			r := ReadForm(w.Buf, now)
			at, meant := r.AtIf()
			assert.True(t, meant, "%v", d)
			assert.Equal(t, []Instant{now.Add(d), now.Add(d)}, []Instant{at, r.At()}, "%v", d)
			assert.Equal(t, d, r.Span())
		}
	}
}

// A slice of a small world's grace is half a second, and takes no more room than a whole one.
func TestInstantsThatAreNearTakeOneByte(t *testing.T) {
	for d := -30 * Second; d <= 96*Second; d += Second / 2 {
		w := FormWriter{Now: Instant(Hour)}
		w.At(w.Now.Add(d))
		assert.Len(t, w.Buf, 1, "%v", d)
	}
	w := FormWriter{Now: Instant(Hour)}
	w.At(Never)
	w.Span(Forever)
	w.AtIf(false, 0)
	assert.Len(t, w.Buf, 3)
}

func TestTheRanksOfSomeNumbersInASetThatIsDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dense := rapid.Uint64Range(0, 5).Draw(t, "dense")
		large := rapid.SliceOfNDistinct(rapid.Uint64Range(1_000_000, 1_000_009), 0, 5, rapid.ID[uint64]).Draw(t, "large")
		var set, some Numbers
		want := uint64(0)
		add := func(x uint64) {
			set.Add(x)
			if rapid.Bool().Draw(t, "some") {
				some.Add(x)
			}
		}
		for x := uint64(1); x <= dense; x++ {
			add(x)
		}
		for _, x := range large {
			add(x)
		}
		for _, x := range append(large, 1, 2, 3, 4, 5) {
			if some.Has(x) {
				want |= 1 << (set.Rank(x) - 1)
			}
		}
		require.Equal(t, want, some.RanksIn(&set))
	})
}

// Ranks are places among the numbers that are there; zero is nobody's number.
func TestNumbersAreRankedByTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Uint64Range(0, 80), rapid.Uint64()), 0, 16, rapid.ID).Draw(t, "numbers")
		var s Numbers
		s.Reset(0)
		for _, x := range append(some, some...) {
			s.Add(x)
		}
		sorted := slices.DeleteFunc(slices.Sorted(slices.Values(some)), func(x uint64) bool { return x == 0 })
		for k, x := range sorted {
			require.Equal(t, uint64(k+1), s.Rank(x), "%d", x)
		}
		require.Zero(t, s.Rank(0))
		for _, x := range append(some, 0, rapid.Uint64().Draw(t, "any"), rapid.Uint64Range(1, 80).Draw(t, "small")) {
			require.Equal(t, x == 0 || slices.Contains(some, x), s.Has(x), "%d", x)
		}
		dense := true
		for k, x := range sorted {
			dense = dense && (x == uint64(k+1) || x >= 1000)
		}
		require.Equal(t, dense, s.Dense(1000))
		small := slices.DeleteFunc(slices.Clone(sorted), func(x uint64) bool { return x >= smallNumbers })
		run := len(small) > 0
		for k, x := range small {
			run = run && x == small[0]+uint64(k)
		}
		gone, ok := s.Gone()
		require.Equal(t, run, ok)
		require.True(t, !ok || gone == int(small[0])-1, "%d", gone)
		again := s
		again.Reset(s.Small())
		few := uint64(0)
		for _, x := range sorted {
			if x < smallNumbers {
				few++
				require.Equal(t, s.Rank(x), again.Rank(x), "%d", x)
			}
		}
		require.Equal(t, few+1, again.Rank(math.MaxUint64), "the others are gone")
	})

	var s Numbers
	s.Add(1)
	s.Add(1000)
	assert.True(t, s.Dense(1000), "what is not below the limit does not count")
	assert.False(t, s.Dense(1001))
	s.Reset(0b0111_0000)
	gone, ok := s.Gone()
	assert.True(t, ok)
	assert.Equal(t, 3, gone, "1, 2 and 3 are")
}
