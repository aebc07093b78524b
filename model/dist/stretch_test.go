package dist

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAStretchedDrawIsTheDrawStretched(t *testing.T) {
	must := func(t *Table, err error) *Table {
		if err != nil {
			panic(err)
		}
		return t
	}
	laws := map[string]*Table{
		"exponential": must(Exponential(76_923_077)),
		"lognormal":   must(Lognormal(45e9, 240e9)),
		"constant":    must(Constant(2e9)),
		"uniform":     must(Uniform(1e9, 3e9)),
		"empirical":   must(Empirical([]int64{1e9, 5e9, 7e9})),
	}
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				u := rapid.Uint64().Draw(t, "word")
				num, den := rapid.Uint64Range(1, 5_000_000).Draw(t, "num"), uint64(1_000_000)
				s, err := law.Stretched(num, den)
				require.NoError(t, err)
				want := float64(law.Sample(u)) * float64(num) / float64(den)
				assert.InDelta(t, want, float64(s.Sample(u)), 3+want*1e-9)
				mean := law.Moments().Mean * float64(num) / float64(den)
				assert.InDelta(t, mean, s.Moments().Mean, 1+mean*1e-9, "each value is rounded by half a nanosecond at most")
			})
		})
	}
	_, err := laws["lognormal"].Stretched(math.MaxInt64, 1)
	assert.ErrorContains(t, err, "centuries")
	_, err = laws["lognormal"].Stretched(0, 1)
	assert.ErrorContains(t, err, "cannot be stretched")
}
