//go:build unix

package fleet

import (
	"os"
	"syscall"

	"github.com/quiesce/quiesce/protocol"
)

// supported is why fleets cannot run here.
var supported error

// attributes keep the terminal's ^C from the workers: their supervisor stops them. They end by
// themselves when it is gone.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalOf(s protocol.Signal) os.Signal { return syscall.Signal(s) }

var (
	standStill os.Signal = syscall.SIGSTOP
	goOn       os.Signal = syscall.SIGCONT
)
