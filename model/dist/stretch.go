package dist

import "fmt"

// Stretched returns the distribution of num/den times a duration, rounded to whole
// nanoseconds at the table's own values. It refuses durations that no int64 holds.
func (t *Table) Stretched(num, den uint64) (*Table, error) {
	if num == 0 || den == 0 {
		return nil, fmt.Errorf("%s cannot be stretched by %d/%d", t.text, num, den)
	}
	ok := true
	scale := func(v int64) int64 {
		s, fits := mulDiv(uint64(v), num, den)
		ok = ok && fits
		return s
	}
	s := &Table{text: fmt.Sprintf("%s × %d.%03d", t.text, num/den, num%den*1000/den)}
	switch {
	case t.knots != nil:
		s.knots = new([knotCount]int64)
		for i, v := range t.knots {
			s.knots[i] = scale(v)
		}
		s.pin = t.pin
		s.pin.value = scale(t.pin.value)
	case t.steps != nil:
		s.steps = make([]int64, len(t.steps))
		for i, v := range t.steps {
			s.steps[i] = scale(v)
		}
	case t.width <= 1:
		s.low, s.width = scale(t.low), t.width
	default:
		// From the least to the largest value, with every whole value in between.
		s.low = scale(t.low)
		high := scale(t.Max())
		s.width = uint64(high-s.low) + 1
	}
	if !ok {
		return nil, fmt.Errorf("%s cannot be stretched %d times: it would last for centuries", t.text, num/den)
	}
	return s, nil
}
