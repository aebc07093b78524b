package dist

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func float(x fixed) float64 { return float64(x) / float64(one) }

func TestLnIsWithinTwoToTheMinus40(t *testing.T) {
	for n := uint64(1); n <= scale; n++ {
		require.InDelta(t, math.Log(float64(n)), float(ln(n)), 0x1p-48, "ln %d", n)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, math.MaxUint64-1).Draw(t, "n")
		if got, want := float(ln(n)), math.Log(float64(n)); math.Abs(got-want) > 0x1p-46 {
			t.Fatalf("ln %d is %v, want %v", n, got, want)
		}
		if ln(n) > ln(n+1) {
			t.Fatalf("ln falls after %d", n)
		}
	})
}

func TestExpIsWithinTwoToTheMinus40(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := fixed(rapid.Int64Range(-127*int64(one), 127*int64(one)).Draw(t, "x"))
		mant, k := exp(x)
		got, want := math.Ldexp(float64(mant), k-63), math.Exp(float(x))
		if mant>>63 != 1 || math.Abs(got/want-1) > 0x1p-45 {
			t.Fatalf("exp(%v) is %v, want %v", float(x), got, want)
		}
	})
	for _, x := range []fixed{0, 1, -1, one, -one} {
		mant, k := exp(x)
		assert.InEpsilon(t, math.Exp(float(x)), math.Ldexp(float64(mant), k-63), 0x1p-50)
	}
}

func TestMulDivRoundsToNearestAndReportsOverflow(t *testing.T) {
	const most = math.MaxUint64
	for _, c := range []struct {
		a, b, den uint64
		want      int64
		ok        bool
	}{
		{7, 1, 2, 4, true},
		{7, 1, 4, 2, true},
		{9, 1, 4, 2, true},
		{0, most, 1, 0, true},
		{math.MaxInt64, most, most, math.MaxInt64, true},
		{most, 1, 2, 0, false}, // rounds to 2^63
		{most, 1, 1, 0, false},
		{most, most, 1, 0, false},
		{most, most, most, 0, false},
	} {
		got, ok := mulDiv(c.a, c.b, c.den)
		assert.Equal(t, c.ok, ok, "%d·%d/%d", c.a, c.b, c.den)
		if ok {
			assert.Equal(t, c.want, got, "%d·%d/%d", c.a, c.b, c.den)
		}
	}
}

func TestMulExpRoundsToNearestAndReportsOverflow(t *testing.T) {
	ln2 := ln(2)
	for _, c := range []struct {
		v    uint64
		x    fixed
		want int64
		ok   bool
	}{
		{5, 0, 5, true},
		{math.MaxInt64, 0, math.MaxInt64, true},
		{math.MaxInt64 + 1, 0, 0, false},
		{math.MaxInt64, ln2, 0, false},
		{math.MaxInt64, 100 * one, 0, false},
		{1, 43 * one, 4727839468229346561, true},
		{1, 44 * one, 0, false},
		{1000, -ln2, 500, true},
		{3, -2 * ln2, 1, true}, // 0.75
		{1, -2 * ln2, 0, true}, // 0.25
		{1, -100 * one, 0, true},
	} {
		got, ok := mulExp(c.v, c.x, 0)
		assert.Equal(t, c.ok, ok, "%d·e^%v", c.v, float(c.x))
		if ok {
			assert.LessOrEqual(t, max(got-c.want, c.want-got), c.want>>45, "%d·e^%v", c.v, float(c.x))
		}
	}
}

func TestNormalQuantilesAreWithinABillionth(t *testing.T) {
	zs := normalQuantiles()
	require.Len(t, zs, midKnot)
	require.Zero(t, zs[0])
	worst := 0.
	for i := 1; i < len(zs); i++ {
		// Asked from below one half, where a float64 holds the probability best.
		want := -distuv.UnitNormal.Quantile(float64(knotAt(midKnot-i)) / scale)
		worst = max(worst, math.Abs(want-float(zs[i])))
		require.InDelta(t, want, float(zs[i]), 1e-10, "knot %d", midKnot+i)
		require.Greater(t, zs[i], zs[i-1])
	}
	t.Logf("worst error %.2g", worst)
	assert.InDelta(t, 2.3263478740408408, float(normalQuantile(area99, 0)), 1e-12)
}

func TestNormalAreaAndDensity(t *testing.T) {
	for i := range 48 {
		z := fixed(i) * (one / 10)
		area, density := normalArea(z)
		assert.InDelta(t, distuv.UnitNormal.CDF(float(z))-0.5, math.Ldexp(float64(area), -areaBits), 0x1p-44)
		assert.InDelta(t, distuv.UnitNormal.Prob(float(z)), math.Ldexp(float64(density), -areaBits), 0x1p-48)
	}
}

func TestMulExpThatWouldRoundUpToTwoToThe63Overflows(t *testing.T) {
	mant, _ := exp(1)
	v := uint64(1)<<63 - (mant - 1<<63) // v·e^(2^-56) falls short of 2^63 by less than a half
	_, ok := mulExp(v, 1, 0)
	assert.False(t, ok)
	_, ok = mulExp(v-1, 1, 0)
	assert.True(t, ok)
}
