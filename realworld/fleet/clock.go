package fleet

import (
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// clock shows the scenario's time: it began at an origin that all processes of a fleet share,
// and runs faster than the wall's by a factor.
type clock struct {
	base  time.Duration // from the origin to when this clock was made
	made  time.Time
	speed float64
}

// newClock makes a clock from an origin on the wall, in nanoseconds since 1970. From here on
// only the monotonic clock counts.
func newClock(origin int64, speed float64) clock {
	now := time.Now()
	return clock{base: time.Duration(now.UnixNano() - origin), made: now, speed: speed}
}

// Now returns the scenario's time.
func (c clock) Now() protocol.Instant {
	return protocol.Instant(float64(c.base+time.Since(c.made)) * c.speed)
}

// NewTimer returns a timer that fires at an instant of the scenario's.
func (c clock) NewTimer(at protocol.Instant) worker.Timer {
	if at == protocol.Never {
		return timer{time.NewTimer(1<<63 - 1)}
	}
	return timer{time.NewTimer(c.real(at.Sub(c.Now())))}
}

// real is how long a length of the scenario's takes.
func (c clock) real(d protocol.Duration) time.Duration { return shortened(time.Duration(d), c.speed) }

// sleep waits until an instant.
func (c clock) sleep(until protocol.Instant) { time.Sleep(c.real(until.Sub(c.Now()))) }

func shortened(d time.Duration, speed float64) time.Duration {
	return time.Duration(float64(d) / speed)
}

type timer struct{ t *time.Timer }

func (t timer) C() <-chan time.Time { return t.t.C }
func (t timer) Stop()               { t.t.Stop() }
