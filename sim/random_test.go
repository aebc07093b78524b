package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

func TestRandomNumbersDependOnTheirAddressAlone(t *testing.T) {
	a, b := NewRandom(1, nil), NewRandom(1, nil)
	_ = a.Draw(StreamWork, 5, 5) // drawing one number does not shift another
	assert.Equal(t, b.Draw(StreamArrival, 3, 4), a.Draw(StreamArrival, 3, 4))

	other := NewRandom(2, nil)
	assert.NotEqual(t, b.Draw(StreamArrival, 3, 4), other.Draw(StreamArrival, 3, 4))
	assert.NotEqual(t, b.Draw(StreamArrival, 3, 4), b.Draw(StreamArrival, 4, 3))
	assert.NotEqual(t, b.Draw(StreamArrival, 3, 4), b.Draw(StreamWork, 3, 4))
}

// The numbers are part of what a seed means: another architecture, or another version of
// this code, must give the same.
func TestRandomNumbersAreTheseForEver(t *testing.T) {
	r := NewRandom(42, nil)
	got := []uint64{r.Draw(StreamArrival, 0, 0), r.Draw(StreamWork, 17, 0), r.Draw(StreamMessage, 1<<33, 12345)}
	assert.Equal(t, []uint64{0x74dfb5c0b398cb30, 0x1903c073c2dd846e, 0x55c575fd39de17c1}, got)
}

func TestRandomNumbersAreUniform(t *testing.T) {
	r := NewRandom(3, nil)
	const n, cells = 200_000, 64
	var count [cells]int
	for i := range uint64(n) {
		count[r.Draw(StreamMessage, i%97, i)>>58]++
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += math.Pow(float64(c)-n/cells, 2) / (n / cells)
	}
	assert.Less(t, chi2, 110.0, "chi-squared with 63 degrees of freedom exceeds 110 once in 5,000")
	assert.Greater(t, chi2, 25.0, "too even to be random")
}

func TestHappensHasItsProbability(t *testing.T) {
	r := NewRandom(4, nil)
	for _, p := range []model.PPB{0, 10_000_000, 500_000_000, model.Certain} {
		n := 0
		for i := range uint64(100_000) {
			if r.Happens(StreamMessage, 1, i, p) {
				n++
			}
		}
		assert.InDelta(t, float64(p)/1e9, float64(n)/100_000, 0.006, "p = %d ppb", p)
	}
	zero := NewRandom(4, map[Address]uint64{{StreamMessage, 1, 7}: 0})
	assert.False(t, zero.Happens(StreamMessage, 1, 7, model.Certain-1), "zero is the harmless value")
	assert.Equal(t, 0, zero.Choose(StreamMessage, 1, 7, 10))
}

func TestClocksDriftEitherWayByWhatTheScenarioSaysAndNoFurther(t *testing.T) {
	for most, want := range [][]int32{{0}, {-1, 0, 1}, {-2, -1, 0, 1, 2}} {
		sc := calm(func(sc *model.Scenario) { sc.Faults.DriftPPM = int64(most) })
		var seen []int32
		for seed := range uint64(5) {
			w := newWorld(t, sc, "hybrid", seed)
			for seat := range w.fleet.used() {
				seen = append(seen, w.fleet.at(seat).drift)
			}
		}
		slices.Sort(seen)
		assert.Equal(t, want, slices.Compact(seen))
	}
}

func TestEveryKindOfFaultOfASeatHasItsOwnRandomNumbers(t *testing.T) {
	kinds := map[Stream]int{}
	for kind := range seatFaults {
		other, used := kinds[streamOf(kind)]
		assert.False(t, used, "kind %d strikes when kind %d does", kind, other)
		kinds[streamOf(kind)] = kind
	}
}

func TestDriftingClocksConvertBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := process{drift: rapid.Int32Range(-5000, 5000).Draw(t, "drift")}
		local := protocol.Instant(rapid.Int64Range(0, int64(400*24*protocol.Hour)).Draw(t, "local"))
		g := p.global(local)
		require.GreaterOrEqual(t, p.local(g), local)
		require.Less(t, p.local(g-1), local, "the first instant at which the clock shows it")
	})
}
