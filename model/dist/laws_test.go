package dist

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	second = int64(time.Second)
	minute = int64(time.Minute)
	year   = 365 * 24 * int64(time.Hour)
)

// must returns a table that a test knows to be valid.
func must(t *Table, err error) *Table {
	if err != nil {
		panic(err)
	}
	return t
}

// examples has one table of every form and law, by name.
func examples() []*Table {
	long := make([]int64, 10_000)
	for i := range long {
		long[i] = int64(i) * int64(i) * 7919 % (300 * second)
	}
	return []*Table{
		must(Constant(0)),
		must(Constant(5 * second)),
		must(Uniform(second, 3*second)),
		must(Uniform(0, math.MaxInt64)),
		must(Exponential(10 * second)),
		must(Exponential(1)),
		must(Lognormal(45*second, 4*minute)),
		must(Lognormal(1_000_000, 20_000_000)),
		must(Pareto(second, 1_500_000)),
		must(Pareto(second, 2_500_000)),
		must(Empirical([]int64{3 * second, second, 8 * second})),
		must(Empirical(long)),
	}
}

func TestStringNamesTheLawWithItsParameters(t *testing.T) {
	var got []string
	for _, table := range examples() {
		got = append(got, table.String())
	}
	assert.Equal(t, []string{
		"constant(0s)",
		"constant(5s)",
		"uniform(min=1s, max=3s)",
		"uniform(min=0s, max=2562047h47m16.854775807s)",
		"exponential(mean=10s)",
		"exponential(mean=1ns)",
		"lognormal(p50=45s, p99=4m0s)",
		"lognormal(p50=1ms, p99=20ms)",
		"pareto(min=1s, alpha=1.5)",
		"pareto(min=1s, alpha=2.5)",
		"empirical(n=3, min=1s, max=8s)",
		"empirical(n=10000, min=0s, max=4m59.940399104s)",
	}, got)
}

func TestConstructorsRefuse(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() (*Table, error)
		want string
	}{
		{"a negative constant", func() (*Table, error) { return Constant(-second) },
			"dist: constant -1s must not be below 0s; give a duration"},
		{"a negative uniform min", func() (*Table, error) { return Uniform(-1, second) },
			"dist: uniform min -1ns must not be below 0s; raise min"},
		{"a uniform min above max", func() (*Table, error) { return Uniform(2*second, second) },
			"dist: uniform min 2s must not exceed max 1s; lower min or raise max"},
		{"a zero mean", func() (*Table, error) { return Exponential(0) },
			"dist: exponential mean 0s must exceed 0s; raise mean"},
		{"an exponential beyond 292 years", func() (*Table, error) { return Exponential(22 * year) },
			"dist: exponential(mean=192720h0m0s): the quantile at 1 - 2^-20 must not exceed 2562047h47m16.854775807s (292 years); lower mean"},
		{"a zero median", func() (*Table, error) { return Lognormal(0, second) },
			"dist: lognormal p50 0s must exceed 0s; raise p50"},
		{"a p99 at the p50", func() (*Table, error) { return Lognormal(second, second) },
			"dist: lognormal p99 1s must exceed p50 1s; raise p99 or lower p50"},
		{"a lognormal beyond 292 years", func() (*Table, error) { return Lognormal(second, 290*year) },
			"dist: lognormal(p50=1s, p99=2540400h0m0s): the quantile at 1 - 2^-20 must not exceed 2562047h47m16.854775807s (292 years); lower p99 or raise p50"},
		{"a zero pareto min", func() (*Table, error) { return Pareto(0, 1_500_000) },
			"dist: pareto min 0s must exceed 0s; raise min"},
		{"a zero alpha", func() (*Table, error) { return Pareto(second, 0) },
			"dist: pareto alpha 0 millionths must exceed 0; raise alpha"},
		{"a pareto beyond 292 years", func() (*Table, error) { return Pareto(second, 500_000) },
			"dist: pareto(min=1s, alpha=0.5): the quantile at 1 - 2^-20 must not exceed 2562047h47m16.854775807s (292 years); raise alpha or lower min"},
		{"the heaviest pareto", func() (*Table, error) { return Pareto(1, 1) },
			"dist: pareto(min=1ns, alpha=0.000001): the quantile at 1 - 2^-20 must not exceed 2562047h47m16.854775807s (292 years); raise alpha or lower min"},
		{"no observed values", func() (*Table, error) { return Empirical(nil) },
			"dist: empirical has 0 values and needs at least 1; give some"},
		{"a negative observed value", func() (*Table, error) { return Empirical([]int64{3, -2, 1}) },
			"dist: empirical value -2ns must not be below 0s; drop or correct it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := c.make()
			assert.EqualError(t, err, c.want)
			assert.Nil(t, table)
		})
	}
}

func TestLargestAcceptedParametersDoNotOverflow(t *testing.T) {
	for _, table := range []*Table{
		must(Constant(math.MaxInt64)),
		must(Uniform(math.MaxInt64-1, math.MaxInt64)),
		must(Exponential(21 * year)),
		must(Lognormal(math.MaxInt64/2, math.MaxInt64/2+1)),
		must(Lognormal(1, 1_000_000_000)),
		must(Pareto(1, 320_000)),
		must(Pareto(math.MaxInt64/2, math.MaxInt64)),
		must(Empirical([]int64{0, math.MaxInt64})),
	} {
		mustRise(t, table)
	}
}

// mustRise walks over every cell boundary and the words beside it.
func mustRise(t *testing.T, table *Table) {
	t.Helper()
	last := table.Min()
	require.GreaterOrEqual(t, last, int64(0), table)
	for i := range knotCount {
		at := knotAt(i) << fineBits // 2^64 wraps to 0, whose predecessor is the last word
		words := []uint64{at - 1, at, at + 1}
		switch i {
		case 0:
			words = words[1:]
		case lastKnot:
			words = words[:1]
		}
		for _, u := range words {
			v := table.Sample(u)
			require.LessOrEqual(t, last, v, "%s at word %d", table, u)
			last = v
		}
	}
	require.Equal(t, last, table.Max(), table)
}

// The laws, in floating point, at the probabilities of the grid.
func TestKnotsFollowTheLaw(t *testing.T) {
	sigma := math.Log(240.0/45) / 2.3263478740408408
	for _, c := range []struct {
		table *Table
		law   func(p float64) float64
	}{
		{must(Exponential(10 * second)), func(p float64) float64 { return -10e9 * math.Log1p(-p) }},
		{must(Pareto(second, 1_500_000)), func(p float64) float64 { return 1e9 * math.Pow(1-p, -1/1.5) }},
		{must(Lognormal(45*second, 4*minute)), func(p float64) float64 {
			return 45e9 * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*p-1))
		}},
	} {
		for i := 1; i < lastKnot; i++ {
			k := knotAt(i)
			want := c.law(float64(k) / scale)
			require.InDelta(t, want, c.table.Sample(k<<fineBits), 0.51+want*1e-10, "%s at %d/2^20", c.table, k)
		}
	}
}

func TestGivenQuantilesAreExact(t *testing.T) {
	for _, p := range [][2]int64{{45 * second, 4 * minute}, {1, 2}, {1, 3}, {1_000_000, 20_000_000}, {7, 1_000_000_007}, {math.MaxInt64 / 3, math.MaxInt64/3 + 1}, {288231340143132078, 288231340143132085}} {
		table := must(Lognormal(p[0], p[1]))
		assert.Equal(t, p, [2]int64{table.Quantile(1, 2), table.Quantile(99, 100)}, table)
	}
}

func TestEndlessTailsAreCutAtTheLastKnot(t *testing.T) {
	exponential, pareto := must(Exponential(second)), must(Pareto(second, 2_000_000))
	lognormal := must(Lognormal(45*second, 4*minute))
	assert.Equal(t, []int64{0, 13_862_943_611}, []int64{exponential.Min(), exponential.Max()})
	assert.Equal(t, []int64{second, 1024 * second}, []int64{pareto.Min(), pareto.Max()})
	for _, table := range []*Table{exponential, pareto, lognormal} {
		assert.Equal(t, table.Max(), table.Sample((scale-1)<<fineBits), table)
	}
	assert.Equal(t, lognormal.Min(), lognormal.Sample(1<<fineBits))
	assert.Positive(t, lognormal.Min())
}

func TestUniformReachesEveryValueEquallyOften(t *testing.T) {
	table := must(Uniform(10, 13))
	counts := map[int64]int{}
	for i := range uint64(4096) {
		counts[table.Sample(i<<52)]++
	}
	assert.Equal(t, map[int64]int{10: 1024, 11: 1024, 12: 1024, 13: 1024}, counts)
}

func TestFewObservedValuesAreKeptEqually(t *testing.T) {
	values := []int64{30, 10, 20, 10}
	table := must(Empirical(values))
	assert.Equal(t, []int64{30, 10, 20, 10}, values, "the caller's slice must stay as it was")
	values[0] = 99
	counts := map[int64]int{}
	for i := range uint64(4096) {
		counts[table.Sample(i<<52)]++
	}
	assert.Equal(t, map[int64]int{10: 2048, 20: 1024, 30: 1024}, counts)
}

func TestAsManyValuesAsKnotsAreStillKept(t *testing.T) {
	values := make([]int64, knotCount+1)
	for i := range values {
		values[i] = int64(i) * 1000
	}
	between := uint64(1)<<63 + 1<<45
	assert.Zero(t, must(Empirical(values[:knotCount])).Sample(between)%1000)
	assert.NotZero(t, must(Empirical(values)).Sample(between)%1000)
}

func TestManyObservedValuesBecomeQuantiles(t *testing.T) {
	const n = 1<<20 + 1 // rank k is the quantile at k/2^20
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i) * 1000
	}
	slices.Reverse(values)
	table := must(Empirical(values))
	for _, k := range []uint64{0, 1, 1023, 1024, 1025, 512 * 1024, 1023 * 1024, scale - 1} {
		assert.Equal(t, int64(k)*1000, table.Sample(k<<fineBits), "at %d/2^20", k)
	}
	assert.Equal(t, int64(n-1)*1000, table.Max())
	// Between ranks: of 4,001 values 0, 1000, … the quantile at 1/1024 lies at rank 3.906.
	table = must(Empirical(values[n-4001:]))
	assert.Equal(t, int64(3906), table.Sample(1<<coarseBits))
}

func TestNanosWritesWhatTimeWrites(t *testing.T) {
	for _, d := range []int64{0, 1, 999, 1000, 1500, 999_999, 1_000_000, 20_500_000, second - 1, second, 61 * second, 90 * minute, 60 * minute, 1_234_567_890_123_456_789, math.MaxInt64, -1, -second, math.MinInt64} {
		assert.Equal(t, time.Duration(d).String(), nanos(d))
	}
}

func Example() {
	work, err := Lognormal(int64(45*time.Second), int64(4*time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := work.Moments()
	fmt.Println(work)
	fmt.Println("p99:", time.Duration(work.Quantile(99, 100)))
	fmt.Println("word 0x9e3779b97f4a7c15:", time.Duration(work.Sample(0x9e3779b97f4a7c15)))
	fmt.Printf("mean %.1fs, residual mean %.1fs\n", m.Mean/1e9, m.ResidualMean()/1e9)

	_, err = Lognormal(int64(45*time.Second), int64(30*time.Second))
	fmt.Println(err)
	// Output:
	// lognormal(p50=45s, p99=4m0s)
	// p99: 4m0s
	// word 0x9e3779b97f4a7c15: 55.855379367s
	// mean 58.3s, residual mean 49.0s
	// dist: lognormal p99 30s must exceed p50 45s; raise p99 or lower p50
}
