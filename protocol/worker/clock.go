package worker

import (
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// SystemClock returns the system's clock. On Linux it counts through suspend, so that a
// worker that slept past its lease knows it when it wakes; elsewhere it counts as far as
// the runtime's monotonic clock does. Every SystemClock of a process counts from the same
// instant, so that whoever tells a worker when SIGKILL comes can read it off his own.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

var systemStart = bootTime()

func (systemClock) Now() protocol.Instant { return protocol.Instant(bootTime() - systemStart) }

func (c systemClock) NewTimer(at protocol.Instant) Timer {
	return systemTimer{time.NewTimer(time.Duration(at.Sub(c.Now())))}
}

type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.t.C }
func (t systemTimer) Stop()               { t.t.Stop() }

var processStart = time.Now()

// sinceStart is the runtime's monotonic clock.
func sinceStart() time.Duration { return time.Since(processStart) }
