package redis

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/wire"
)

// newProxy returns a proxy before a server's socket, for as long as the test runs.
func newProxy(t *testing.T, target string) *wire.Proxy {
	t.Helper()
	p, err := wire.Listen(filepath.Join(t.TempDir(), "p"), target)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}
