package local

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func start(t *testing.T, options Options) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; " + installHint("linux"))
	}
	s, err := Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// ask sends one command in Redis's inline form and returns the first line of the answer.
func ask(t *testing.T, network, addr, command string) string {
	t.Helper()
	conn, err := net.Dial(network, addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = fmt.Fprintf(conn, "%s\r\n", command)
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestAServerAnswersOnItsSocketOnly(t *testing.T) {
	s := start(t, Options{})
	assert.Equal(t, "+PONG", ask(t, "unix", s.Socket(), "PING"))
	assert.Equal(t, "unix://"+s.Socket(), s.URL())
	dir := s.Dir()
	require.NoError(t, s.Close())
	assert.NoDirExists(t, dir, "what was made for it is removed")
	_, err := net.Dial("unix", s.Socket())
	assert.Error(t, err, "it is gone")
	s.Kill()
	assert.NoError(t, s.Stop(t.Context()), "it has ended before")
}

// freePort is one that nobody listened on a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestAServerMayHaveAPort(t *testing.T) {
	s := start(t, Options{Port: freePort(t)})
	assert.Equal(t, "+PONG", ask(t, "tcp", s.Addr(), "PING"))
}

func TestWhatIsKeptOverARestart(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		end  func(*Server)
		want string
	}{
		"stopped, nothing stored": {nil, func(s *Server) { _ = s.Stop(context.Background()) }, "$-1"},
		"killed, appended to":     {[]string{"--appendonly", "yes", "--appendfsync", "always"}, (*Server).Kill, "$1"},
		"running, appended to":    {[]string{"--appendonly", "yes"}, func(*Server) {}, "$1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{Args: c.args})
			require.Equal(t, "+OK", ask(t, "unix", s.Socket(), "SET k v"))
			c.end(s)
			require.NoError(t, s.Restart(t.Context()))
			assert.Equal(t, c.want, ask(t, "unix", s.Socket(), "GET k"))
		})
	}
}

func TestADirectoryOfTheCallersIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	require.NoError(t, os.Mkdir(dir, 0o700))
	s := start(t, Options{Dir: dir})
	assert.Equal(t, "+PONG", ask(t, "unix", s.Socket(), "PING"), "the path is too long for a socket, so that is elsewhere")
	require.NoError(t, s.Close())
	assert.FileExists(t, filepath.Join(dir, "redis.log"))
	assert.NoDirExists(t, filepath.Dir(s.Socket()))
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; " + installHint("linux"))
	}
	_, err := Start(t.Context(), Options{Args: []string{"--no-such-setting", "1"}})
	assert.ErrorContains(t, err, "no-such-setting")
	_, err = Start(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "none")})
	assert.ErrorContains(t, err, "no such file or directory")
}

func TestAServerThatDoesNotAnswerIsKilled(t *testing.T) {
	s := start(t, Options{Port: freePort(t)})
	require.NoError(t, s.Stop(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorContains(t, s.Restart(ctx), "context canceled")
	require.NoError(t, s.Restart(t.Context()))
	s.Kill()
	_, err := net.Dial("tcp", s.Addr())
	assert.Error(t, err, "the first has its port still")
}

func TestTheErrorSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context(), Options{})
	var missing *Missing
	require.ErrorAs(t, err, &missing)
	assert.ErrorIs(t, err, exec.ErrNotFound)
	assert.ErrorContains(t, err, "redis-server is not installed: ")
	assert.Contains(t, installHint("darwin"), "brew")
	assert.Contains(t, installHint("windows"), "WSL")
}
