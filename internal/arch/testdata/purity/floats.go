package fixture

import "math"

type rate float64 // want: float

type state struct {
	count int64
	share float32    // want: float
	mean  rate       // want: float
	past  []float64  // want: float
	phase complex128 // want: float
}

var total float64 // want: float

const second = 1e9

// A constant that is an integer where it is used is none.
const whole int64 = 2.5 * second

func half(s *state) int64 {
	s.count = int64(math.Sqrt(2) * second) // want: float
	x := s.mean                            // want: float
	_ = x                                  // want: float
	return s.count / 2 * 1e3
}
