package dist

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The hashes hold on every architecture and Go release. A change here changes every run
// recorded before it: the commit must say why that is wanted.
func TestKnotsAndSamplesAreTheSameEverywhere(t *testing.T) {
	golden := map[string]string{
		"constant(0s)": "b3dbcd0cca0b4d44",
		"constant(5s)": "66a4a77943beb750",
		"empirical(n=10000, min=0s, max=4m59.940399104s)": "ee06b704fee7b299",
		"empirical(n=3, min=1s, max=8s)":                  "60fc76910c3d7977",
		"exponential(mean=10s)":                           "268349bee8589d22",
		"exponential(mean=1ns)":                           "f9b8ee58b6a1d454",
		"lognormal(p50=1ms, p99=20ms)":                    "eda76cefe6887f77",
		"lognormal(p50=45s, p99=4m0s)":                    "4d1de68719c9a0b5",
		"pareto(min=1s, alpha=1.5)":                       "830826c6b0d9e550",
		"pareto(min=1s, alpha=2.5)":                       "a99167d2742b0902",
		"uniform(min=0s, max=2562047h47m16.854775807s)":   "08622862f19b64bf",
		"uniform(min=1s, max=3s)":                         "e6f38563d69f44f0",
	}
	got := map[string]string{}
	for _, table := range examples() {
		h := sha256.New()
		put := func(v int64) { _ = binary.Write(h, binary.LittleEndian, v) }
		for i := range lastKnot {
			put(table.Sample(knotAt(i) << fineBits))
		}
		put(table.Max())
		put(table.pin.value)
		word := uint64(1)
		for range 1000 {
			word = word*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
			put(table.Sample(word))
		}
		got[table.String()] = hex.EncodeToString(h.Sum(nil)[:8])
	}
	assert.Equal(t, golden, got)
}

func TestSampleNeverFallsAndStaysInside(t *testing.T) {
	tables := examples()
	for _, table := range tables {
		mustRise(t, table)
	}
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(tables).Draw(t, "table")
		u := rapid.Uint64().Draw(t, "u")
		v := u + rapid.Uint64Range(0, math.MaxUint64-u).Draw(t, "further")
		a, b := table.Sample(u), table.Sample(v)
		if a > b || a < table.Min() || b > table.Max() {
			t.Fatalf("%s: word %d gives %d, word %d gives %d, in %d to %d", table, u, a, v, b, table.Min(), table.Max())
		}
	})
}

func TestEndsOfTheWordsAreEndsOfTheTable(t *testing.T) {
	for _, table := range examples() {
		lowest, highest := table.low, table.low+int64(table.width)-1
		switch {
		case table.knots != nil:
			lowest, highest = table.knots[0], table.knots[lastKnot]
		case table.steps != nil:
			lowest, highest = table.steps[0], table.steps[len(table.steps)-1]
		}
		assert.Equal(t, lowest, table.Sample(0), table)
		assert.Equal(t, highest, table.Sample(math.MaxUint64), table)
		assert.Equal(t, []int64{lowest, highest}, []int64{table.Min(), table.Max()}, table)
	}
}

func TestSteepestLastCellIsClimbedToItsEnd(t *testing.T) {
	var knots [knotCount]int64
	knots[lastKnot] = math.MaxInt64
	assert.Equal(t, int64(math.MaxInt64), newGrid("steepest", &knots, pin{}).Max())
}

func TestWordsBetweenKnotsAreInterpolated(t *testing.T) {
	var knots [knotCount]int64
	for i := range knots {
		knots[i] = int64(i) * 1000
	}
	at := uint64(500)<<coarseBits + 1<<(coarseBits-2) // a quarter into coarse cell 500
	table := newGrid("steep", &knots, pin{at: at, value: 1523_900})
	for _, c := range []struct {
		name string
		u    uint64
		want int64
	}{
		{"in the first fine cell", 1 << (fineBits - 1), 500},
		{"in the last head cell", 1023<<fineBits + 1<<(fineBits-2), 1023_250},
		{"at the first coarse knot", 1 << coarseBits, 1024_000},
		{"in the first coarse cell", 1<<coarseBits + 1<<(coarseBits-1), 1024_500},
		{"at the lower end of the pinned cell", 500 << coarseBits, 1523_000},
		{"below the pin", 500<<coarseBits + 1<<(coarseBits-3), 1523_450},
		{"at the pin", at, 1523_900},
		{"above the pin", 500<<coarseBits + 1<<(coarseBits-1) + 1<<(coarseBits-3), 1523_950},
		{"at the first tail knot", 1023 << coarseBits, 2046_000},
		{"in a tail cell", 1023<<coarseBits + 7<<fineBits + 1<<(fineBits-1), 2053_500},
	} {
		assert.Equal(t, c.want, table.Sample(c.u), c.name)
	}
}

func TestGridIsSymmetricAndHasItsKnots(t *testing.T) {
	inside := 0
	for i := range knotCount {
		require.Equal(t, uint64(scale), knotAt(i)+knotAt(lastKnot-i), "knot %d", i)
		if k := knotAt(i); k > 0 && k < scale {
			inside++
		}
	}
	assert.Equal(t, 3069, inside)
	assert.Equal(t, uint64(scale/2), knotAt(midKnot))
}

func TestFallingKnotsAreABrokenInvariant(t *testing.T) {
	var knots [knotCount]int64
	knots[7] = 1
	assert.PanicsWithValue(t, "dist: broken: knot 8 is 0 after 1; quantiles must not fall", func() { newGrid("broken", &knots, pin{}) })
	knots = [knotCount]int64{}
	assert.Panics(t, func() { newGrid("broken", &knots, pin{at: word(99, 100), value: 1}) })
}

func TestQuantileTakesProbabilitiesOnly(t *testing.T) {
	table := must(Uniform(0, 100))
	assert.Equal(t, []int64{0, 50, 100}, []int64{table.Quantile(0, 7), table.Quantile(1, 2), table.Quantile(3, 3)})
	assert.PanicsWithValue(t, "dist: quantile 4/3 is not a probability", func() { table.Quantile(4, 3) })
	assert.PanicsWithValue(t, "dist: quantile 0/0 is not a probability", func() { table.Quantile(0, 0) })
}

func TestSampleDoesNotAllocate(t *testing.T) {
	for _, table := range examples() {
		u := uint64(0)
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			table.Sample(u)
			u += math.MaxUint64 / 1000
		}), table)
	}
}

// FuzzConstructors asks that any parameters give either an error or a rising table.
func FuzzConstructors(f *testing.F) {
	f.Add(uint8(2), int64(10), int64(0), []byte{})
	f.Add(uint8(3), 45*second, 4*minute, []byte{})
	f.Add(uint8(3), int64(1)<<61, int64(1)<<61+1, []byte{})
	f.Add(uint8(4), second, int64(1_500_000), []byte{})
	f.Add(uint8(5), int64(0), int64(4000), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, law uint8, a, b int64, data []byte) {
		var table *Table
		var err error
		switch law % 6 {
		case 0:
			table, err = Constant(a)
		case 1:
			table, err = Uniform(a, b)
		case 2:
			table, err = Exponential(a)
		case 3:
			table, err = Lognormal(a, b)
		case 4:
			table, err = Pareto(a, b)
		case 5:
			// The data repeats with growing values, to reach tables of quantiles too.
			var values []int64
			for i := range int64(len(data)) * (b & 1023) {
				values = append(values, a>>(data[i%int64(len(data))]%64)+i)
			}
			table, err = Empirical(values)
		}
		if err != nil {
			require.Nil(t, table)
			return
		}
		mustRise(t, table)
		m := table.Moments()
		require.GreaterOrEqual(t, m.SecondMoment*(1+1e-12), m.Mean*m.Mean, table)
		require.LessOrEqual(t, float64(table.Min()), m.Mean, table)
		require.GreaterOrEqual(t, float64(table.Max()), m.Mean, table)
	})
}

var sink int64

func BenchmarkSample(b *testing.B) {
	for _, table := range examples() {
		b.Run(table.String(), func(b *testing.B) {
			u := uint64(1)
			for b.Loop() {
				u = u*6364136223846793005 + 1442695040888963407
				sink += table.Sample(u)
			}
		})
	}
}

func BenchmarkConstruction(b *testing.B) {
	values := make([]int64, 10_000)
	for i := range values {
		values[i] = int64(uint32(i)*2654435761) * 1000
	}
	for _, c := range []struct {
		name string
		make func() (*Table, error)
	}{
		{"exponential", func() (*Table, error) { return Exponential(second) }},
		{"lognormal", func() (*Table, error) { return Lognormal(45*second, 4*minute) }},
		{"pareto", func() (*Table, error) { return Pareto(second, 1_500_000) }},
		{"empirical of 10,000", func() (*Table, error) { return Empirical(values) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(c.make())
			}
		})
	}
}

func BenchmarkMoments(b *testing.B) {
	table := must(Lognormal(45*second, 4*minute))
	for b.Loop() {
		table.Moments()
	}
}
