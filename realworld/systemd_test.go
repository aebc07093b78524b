//go:build unix

package realworld_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
)

// The first signal has the longer budget from the beginning: what is given later does not
// count any more once somebody was cancelled.
func TestTheFirstSignalKnowsOfTheExtension(t *testing.T) {
	socket := filepath.Join(shortDir(t), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	s := realworld.NewStops()
	defer s.Close()
	realworld.Systemd(s, resting{}, realworld.SystemdOptions{Extend: time.Hour})
	s.Signals()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	stop := <-s.Events()
	assert.Equal(t, protocol.SIGTERM, stop.Signal)
	assert.Greater(t, stop.At, worker.SystemClock().Now().Add(59*protocol.Minute))
	assert.Less(t, stop.At, worker.SystemClock().Now().Add(protocol.Hour))
	assert.Equal(t, protocol.KillAtMoved, (<-s.Events()).Kind, "and a notice has it, too")
}
