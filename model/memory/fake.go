package memory

import (
	"sync/atomic"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Fake is a broker on a clock that only Advance moves.
type Fake struct {
	*Broker
	clock atomic.Int64
}

// NewFake returns an empty broker whose clock reads start.
func NewFake(start time.Time, cfg Config) *Fake {
	f := &Fake{Broker: newBroker(cfg)}
	f.clock.Store(start.UnixNano())
	f.now = func() protocol.Instant { return protocol.Instant(f.clock.Load()) }
	f.alarm = func(protocol.Instant) {}
	return f
}

// Advance moves the clock and does what is due, each thing at its own instant.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.now().Add(protocol.Duration(d))
	for at := f.deadline(); at < end; at = f.deadline() {
		f.clock.Store(int64(max(at, f.now())))
		f.tick()
	}
	f.clock.Store(int64(end))
	f.tick()
}
