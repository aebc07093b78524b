package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld/redis/local"
)

var shared struct {
	once   sync.Once
	server *local.Server
	err    error
	used   atomic.Int64
}

// TestMain is a worker where the binary was started as one, and ends the server that tests share.
func TestMain(m *testing.M) {
	mainOfBuild()
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// tb is what tests and random histories have in common.
type tb interface {
	require.TestingT
	Skip(...any)
}

// onServer returns the server that all tests share that do not harm it, and a namespace of
// the test's own.
func onServer(t tb) (url, namespace string) {
	shared.once.Do(func() { shared.server, shared.err = local.Start(context.Background(), local.Options{}) })
	mayStart(t, shared.err)
	return shared.server.URL(), fmt.Sprintf("t%d", shared.used.Add(1))
}

// ownServer starts a server that a test may harm.
func ownServer(t testing.TB, args ...string) *local.Server {
	s, err := local.Start(t.Context(), local.Options{Args: args})
	mayStart(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// mayStart skips a test where no redis-server is installed.
func mayStart(t tb, err error) {
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err.Error())
	}
	require.NoError(t, err)
}
