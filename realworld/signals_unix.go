//go:build unix

package realworld

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

// Signals returns the process's signals as events for worker.Run: SIGTERM and SIGINT are
// stops (both, because supervisors differ in which they send), SIGTSTP and SIGUSR1 are
// quiet, SIGCONT is the end of quiet. No signal is dropped while an earlier one waits to be
// taken in; the Go runtime no longer acts on any of them by itself from here on.
func Signals() <-chan protocol.Event {
	in := make(chan os.Signal, 16) // signal.Notify never blocks: what does not fit is lost
	signal.Notify(in, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGCONT)
	out := make(chan protocol.Event)
	go func() {
		for s := range in {
			out <- translate(s)
		}
	}()
	return out
}

func translate(s os.Signal) protocol.Event {
	switch s {
	case syscall.SIGTSTP, syscall.SIGUSR1:
		return protocol.Event{Kind: protocol.QuietAsked}
	case syscall.SIGCONT:
		return protocol.Event{Kind: protocol.ResumeAsked}
	case syscall.SIGINT:
		return protocol.StopBySignal(protocol.SIGINT, protocol.Never)
	default:
		return protocol.StopBySignal(protocol.SIGTERM, protocol.Never)
	}
}
