package redis

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// server is a redis-server of the test's own, on a socket in a directory of its own.
type server struct {
	dir, url string
	cmd      *exec.Cmd
}

var shared struct {
	once   sync.Once
	server *server
	err    error
	used   atomic.Int64
}

// TestMain ends the server that tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.kill()
		os.RemoveAll(shared.server.dir)
	}
	os.Exit(code)
}

// onServer returns the server that all tests share that do not harm it, and a namespace of
// the test's own.
func onServer(t tb) (url, namespace string) {
	binary(t)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "quiesce-redis")
		if err != nil {
			shared.err = err
			return
		}
		shared.server, shared.err = startServer(dir)
	})
	require.NoError(t, shared.err)
	return shared.server.url, fmt.Sprintf("t%d", shared.used.Add(1))
}

// binary skips a test where no redis-server is installed.
func binary(t tb) string {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
	return path
}

func startServer(dir string, more ...string) (*server, error) {
	socket := filepath.Join(dir, "s")
	args := append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no"}, more...)
	cmd := exec.Command("redis-server", args...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{dir: dir, url: "unix://" + socket, cmd: cmd}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{socket}, DialCtxFn: dialUnix, DisableCache: true, ForceSingleClient: true}); err == nil {
			client.Close()
			return s, nil
		}
		if time.Now().After(deadline) {
			s.kill()
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			return nil, fmt.Errorf("redis-server did not come up: %s", strings.TrimSpace(string(text)))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kill ends a server as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// tb is what tests and random histories have in common.
type tb interface {
	require.TestingT
	Skip(...any)
}
