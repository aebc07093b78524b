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

// Add returns t+d. It saturates at Never, so that "no limit" stays "no limit" whatever is
// added to or taken from it.
func (t Instant) Add(d Duration) Instant {
	if t == Never || d == Forever {
		return Never
	}
	s := t + Instant(d)
	if d > 0 && s < t {
		return Never
	}
	return s
}

// Sub returns the duration t-u; Forever when t is Never.
func (t Instant) Sub(u Instant) Duration {
	if t == Never {
		return Forever
	}
	return Duration(t - u)
}

// less returns d shrunk by a clock drift of ppm parts in a million, rounded down. It is
// what is surely left of d on a clock that runs that much faster or slower.
func (d Duration) less(ppm int64) Duration {
	return d - Duration(int64(d)/1_000_000*ppm) - Duration(int64(d)%1_000_000*ppm/1_000_000)
}
