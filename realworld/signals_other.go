//go:build !unix

package realworld

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

// Signals returns the process's signals as events for worker.Run: an interrupt, and what
// this system has for SIGTERM, are stops. There is no quiet here.
func Signals() <-chan protocol.Event {
	in := make(chan os.Signal, 16)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	out := make(chan protocol.Event)
	go func() {
		for s := range in {
			if s == os.Interrupt {
				out <- protocol.StopBySignal(protocol.SIGINT, protocol.Never)
			} else {
				out <- protocol.StopBySignal(protocol.SIGTERM, protocol.Never)
			}
		}
	}()
	return out
}
