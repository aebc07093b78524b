package dist

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Evenly spaced words within each cell stand for random ones, so the comparison has no noise.
func TestSamplesHaveTheTablesMoments(t *testing.T) {
	const n = 256
	for _, table := range examples() {
		var mean, square float64
		for i := range lastKnot {
			from, width := knotAt(i)<<fineBits, (knotAt(i+1)-knotAt(i))<<fineBits
			weight := math.Ldexp(float64(width), -64) / n
			for j := range uint64(n) {
				s := float64(table.Sample(from + width/n*j + width/n/2))
				mean += weight * s
				square += weight * s * s
			}
		}
		m := table.Moments()
		// Whole nanoseconds move a value by up to a half.
		assert.InDelta(t, m.Mean, mean, 0.5+1e-6*m.Mean, table)
		assert.InDelta(t, m.SecondMoment, square, 0.3+m.Mean+1e-5*m.SecondMoment, table)
	}
}

func TestMomentsOfCompactFormsAreExact(t *testing.T) {
	assert.Equal(t, Moments{}, must(Constant(0)).Moments())
	assert.Equal(t, Moments{}, new(Table).Moments())
	assert.Equal(t, Moments{Mean: 7, SecondMoment: 49}, must(Constant(7)).Moments())
	assert.Equal(t, Moments{Mean: 2.5, SecondMoment: 7.5}, must(Uniform(1, 4)).Moments())
	assert.Equal(t, Moments{Mean: 4, SecondMoment: 62. / 3}, must(Empirical([]int64{7, 3, 2})).Moments())
	assert.Equal(t, Moments{Mean: 0x1p63, SecondMoment: 0x1p126}, must(Constant(math.MaxInt64)).Moments())
}

func TestMomentsComeCloseToTheLaws(t *testing.T) {
	sigma := math.Log(240.0/45) / 2.3263478740408408
	for _, c := range []struct {
		table        *Table
		mean, square float64
	}{
		{must(Exponential(10 * second)), 10e9, 2 * 10e9 * 10e9},
		{must(Lognormal(45*second, 4*minute)), 45e9 * math.Exp(sigma*sigma/2), 45e9 * 45e9 * math.Exp(2*sigma*sigma)},
		{must(Uniform(0, 10*second)), 5e9, 1e20 / 3},
	} {
		m := c.table.Moments()
		t.Logf("%s: mean off by %+.5f%%, second moment by %+.5f%%", c.table, 100*(m.Mean/c.mean-1), 100*(m.SecondMoment/c.square-1))
		assert.InEpsilon(t, c.mean, m.Mean, 0.0002, c.table)
		assert.InEpsilon(t, c.square, m.SecondMoment, 0.001, c.table)
	}
}

func TestResidualMean(t *testing.T) {
	assert.Equal(t, 3.5, must(Constant(7)).Moments().ResidualMean())
	assert.Zero(t, Moments{}.ResidualMean())
	// A memoryless rest is as long as the whole.
	assert.InEpsilon(t, 10e9, must(Exponential(10*second)).Moments().ResidualMean(), 0.0005)
}
