package worker

import (
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// SystemClock returns the system's clock. On Linux it counts through suspend, so that a
// worker that slept past its lease knows it when it wakes; elsewhere it counts as far as
// the runtime's monotonic clock does.
func SystemClock() Clock { return systemClock{start: bootTime()} }

type systemClock struct{ start time.Duration }

func (c systemClock) Now() protocol.Instant { return protocol.Instant(bootTime() - c.start) }

func (c systemClock) NewTimer(at protocol.Instant) Timer {
	return systemTimer{time.NewTimer(time.Duration(at.Sub(c.Now())))}
}

type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.t.C }
func (t systemTimer) Stop()               { t.t.Stop() }

var processStart = time.Now()

// sinceStart is the runtime's monotonic clock.
func sinceStart() time.Duration { return time.Since(processStart) }
