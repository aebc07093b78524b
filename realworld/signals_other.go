//go:build !unix

package realworld

import (
	"os"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

var listened = []os.Signal{os.Interrupt, syscall.SIGTERM}

// quietSignal: there are none here.
func quietSignal(os.Signal) (protocol.Event, bool) { return protocol.Event{}, false }
