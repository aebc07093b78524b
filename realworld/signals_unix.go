//go:build unix

package realworld

import (
	"os"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

var listened = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGCONT}

// quietSignal translates the signals that are no stops.
func quietSignal(s os.Signal) (protocol.Event, bool) {
	switch s {
	case syscall.SIGTSTP, syscall.SIGUSR1:
		return protocol.Event{Kind: protocol.QuietAsked}, true
	case syscall.SIGCONT:
		return protocol.Event{Kind: protocol.ResumeAsked}, true
	default:
		return protocol.Event{}, false
	}
}
