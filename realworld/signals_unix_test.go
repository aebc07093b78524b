//go:build unix

package realworld

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
)

func TestTheProcessReallySignalledItself(t *testing.T) {
	signals := Signals()
	for sig, want := range map[syscall.Signal]protocol.Event{
		syscall.SIGTERM: protocol.StopBySignal(protocol.SIGTERM, protocol.Never),
		syscall.SIGINT:  protocol.StopBySignal(protocol.SIGINT, protocol.Never),
		syscall.SIGTSTP: {Kind: protocol.QuietAsked},
		syscall.SIGUSR1: {Kind: protocol.QuietAsked},
		syscall.SIGCONT: {Kind: protocol.ResumeAsked},
	} {
		require.NoError(t, syscall.Kill(os.Getpid(), sig))
		select {
		case got := <-signals:
			assert.Equal(t, want, got, "%v", sig)
		case <-time.After(10 * time.Second):
			t.Fatalf("%v did not arrive", sig)
		}
	}
}
