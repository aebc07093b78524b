package worker

import (
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// alarm is the one timer of a worker. It is set anew only for an earlier instant: fired too
// early it costs a look at the clock, while a timer for each step would cost more than the
// step.
type alarm struct {
	clock Clock
	timer Timer
	at    protocol.Instant
}

// nap is the longest a worker sleeps in one piece. Timers of the runtime stand still while
// the machine is suspended, and a worker whose lease ended meanwhile should not need the
// rest of a long one to notice.
const nap = protocol.Second

// set returns a channel that receives at an instant, or earlier. It is nil for Never.
func (a *alarm) set(at protocol.Instant) <-chan time.Time {
	if at == protocol.Never {
		return nil
	}
	if a.timer == nil || at < a.at {
		a.off()
		a.at = min(at, a.clock.Now().Add(nap))
		a.timer = a.clock.NewTimer(a.at)
	}
	return a.timer.C()
}

func (a *alarm) off() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
