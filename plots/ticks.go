package plots

import "math"

// tick is a labelled place of an axis.
type tick struct {
	value float64
	label string
}

// ticks returns at most n labelled values, round ones in the unit of the axis, and zero when
// it has a floor.
func (s scale) ticks(n int) []tick {
	var values []float64
	if s.log {
		values = s.logTicks(n)
	} else {
		values = s.linearTicks(n)
	}
	var list []tick
	if s.floor {
		list = append(list, tick{0, "0"})
	}
	for _, v := range values {
		list = append(list, tick{v, s.unit.write(v)})
	}
	return list
}

// Round numbers within a decade, from dense to sparse; durations have their own.
var (
	decades = [][]float64{{1, 2, 5}, {1, 3}, {1}}
	clocks  = [][]float64{
		{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 2 * 3600, 5 * 3600, 10 * 3600, 24 * 3600},
		{1, 3, 10, 30, 60, 180, 600, 1800, 3600, 3 * 3600, 10 * 3600, 30 * 3600},
		{1, 10, 60, 600, 3600, 10 * 3600},
		{1, 60, 3600, 100 * 3600},
	}
)

// logTicks takes the densest series of round values that still fits.
func (s scale) logTicks(n int) []float64 {
	var sparse []float64
	for level := 0; level < 4; level++ {
		var values []float64
		for _, v := range s.round(level) {
			if s.inside(v) {
				values = append(values, v)
			}
		}
		if len(values) <= n && len(values) >= 2 {
			return values
		}
		if len(values) >= 2 {
			sparse = values
		}
	}
	return thin(sparse, n)
}

// thin leaves every second value out until few enough are left.
func thin(values []float64, n int) []float64 {
	for len(values) > n {
		var fewer []float64
		for i := 0; i < len(values); i += 2 {
			fewer = append(fewer, values[i])
		}
		values = fewer
	}
	return values
}

// round lists the round values of a level from far below to far above what is measured.
func (s scale) round(level int) []float64 {
	var values []float64
	steps := decades[min(level, len(decades)-1)]
	for e := -12; e <= 12; e++ {
		for _, step := range steps {
			v := step * math.Pow(10, float64(e))
			if s.unit == Seconds && v >= 0.999 {
				return append(append(values, clocks[level]...), hours(level)...)
			}
			values = append(values, v)
		}
	}
	return values
}

// hours continue clocks, by hundreds and more.
func hours(level int) []float64 {
	var values []float64
	for e := 0; e <= 4; e++ {
		for _, step := range decades[min(level, len(decades)-1)] {
			if v := step * math.Pow(10, float64(e)) * 100 * 3600; v > clocks[level][len(clocks[level])-1] {
				values = append(values, v)
			}
		}
	}
	return values
}

// linearTicks takes the finest round step that gives no more than n values.
func (s scale) linearTicks(n int) []float64 {
	span := s.hi - s.lo
	if span <= 0 {
		return []float64{s.lo}
	}
	step := s.step(span / float64(max(n-1, 1)))
	var values []float64
	for k := math.Ceil(s.lo/step - 1e-9); k*step <= s.hi*(1+1e-9); k++ {
		values = append(values, k*step)
	}
	return values
}

// clockSteps are the steps by which people count time beyond a second. Beyond a day they count
// hours as any number.
var clockSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}

// step returns the least round step that is not below a given one.
func (s scale) step(least float64) float64 {
	unit := 1.0
	if s.unit == Seconds && least > 0.5 {
		for _, c := range clockSteps {
			if c >= least*(1-1e-9) {
				return c
			}
		}
		unit = 3600
	}
	decade := unit * math.Pow(10, math.Floor(math.Log10(least/unit)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= least*(1-1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}
