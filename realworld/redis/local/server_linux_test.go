package local

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inDir makes the test binary a process that starts a server and waits to be killed: in a
// directory, or in a temporary one.
const (
	inDir     = "QUIESCE_TEST_SERVER_DIR"
	temporary = "temporary"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(inDir); dir != "" {
		if dir == temporary {
			dir = ""
		}
		s, err := Start(context.Background(), Options{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for range 10 { // threads come and go; the server stays
			go runtime.LockOSThread()
		}
		fmt.Println(s.Socket())
		select {}
	}
	os.Exit(m.Run())
}

// parent starts a process that starts a server in dir, and returns its socket.
func parent(t *testing.T, dir string) (socket string, kill func()) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; " + installHint("linux"))
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), inDir+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		assert.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait(), "killed")
	})
	t.Cleanup(kill)
	line := bufio.NewScanner(out)
	require.True(t, line.Scan())
	return line.Text(), kill
}

func TestDirectoriesOfTheKilledAreSwept(t *testing.T) {
	dir, err := os.MkdirTemp("", "q") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
	foreign := filepath.Join(dir, prefix+"-of-somebody")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	dead, kill := parent(t, temporary)
	kill()
	lives, _ := parent(t, temporary)
	assert.NoDirExists(t, filepath.Dir(dead))

	dead, kill = parent(t, temporary)
	kill()
	mine := start(t, Options{})
	assert.NoDirExists(t, filepath.Dir(dead))
	other := start(t, Options{})
	assert.Equal(t, "+PONG", ask(t, "unix", lives, "PING"))
	assert.Equal(t, "+PONG", ask(t, "unix", mine.Socket(), "PING"))
	assert.Equal(t, "+PONG", ask(t, "unix", other.Socket(), "PING"))
	assert.DirExists(t, foreign, "what has no lock is nobody's to remove")
	require.NoError(t, mine.Close())
	require.NoError(t, other.Close())
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{foreign, filepath.Dir(lives)}, left)
}

func TestAServerEndsWithItsParent(t *testing.T) {
	socket, kill := parent(t, t.TempDir())
	assert.Equal(t, "+PONG", ask(t, "unix", socket, "PING"))
	kill()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "the server lives on")
}
