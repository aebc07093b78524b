//go:build !unix

package fleet

import (
	"errors"
	"os"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

// supported is why fleets cannot run here.
var supported = errors.New("fleet: a fleet needs the signals of Unix; run it in a container, or in WSL")

func attributes() *syscall.SysProcAttr { return nil }

func signalOf(protocol.Signal) os.Signal { return os.Kill }

var (
	standStill = os.Kill
	goOn       = os.Kill
)
