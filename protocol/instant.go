package protocol

import "math"

// Instant is a point in time: nanoseconds since the start of the run, on the clock of the
// process that steps the machine. The clock must count through suspend (CLOCK_BOOTTIME on
// Linux); it need not agree with anybody else's.
type Instant int64

// Duration is a length of time in nanoseconds. It converts to and from time.Duration by a
// plain conversion; this package does not import time so that no clock is within reach.
type Duration int64

// Units of Duration.
const (
	Microsecond Duration = 1_000
	Millisecond          = 1_000 * Microsecond
	Second               = 1_000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Never is the instant of a deadline that is not armed.
const Never Instant = math.MaxInt64

// Forever is the duration of something without a limit.
const Forever Duration = math.MaxInt64

// Add returns t+d. It saturates: Never stays Never whatever is added to or taken from it,
// and no sum wraps around, so that an absurd duration gives an absurd instant and not a
// harmless-looking one.
func (t Instant) Add(d Duration) Instant {
	if t == Never || d == Forever {
		return Never
	}
	s := t + Instant(d)
	switch {
	case d > 0 && s < t:
		return Never
	case d < 0 && s > t:
		return -Never
	}
	return s
}

// Sub returns the duration t-u, saturated; Forever when t is Never.
func (t Instant) Sub(u Instant) Duration {
	d := Duration(t - u)
	switch {
	case t == Never || u < 0 && d < Duration(t):
		return Forever
	case u > 0 && d > Duration(t):
		return -Forever
	}
	return d
}

// less returns d shrunk by a clock drift of ppm parts in a million, rounded down. It is
// what is surely left of d on a clock that runs that much faster or slower.
func (d Duration) less(ppm int64) Duration {
	return d - Duration(int64(d)/1_000_000*ppm) - Duration(int64(d)%1_000_000*ppm/1_000_000)
}
