package local

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inDir makes the test binary a process that starts a server and waits to be killed.
const inDir = "QUIESCE_TEST_SERVER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(inDir); dir != "" {
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

func TestAServerEndsWithItsParent(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; " + installHint("linux"))
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), inDir+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line := bufio.NewScanner(out)
	require.True(t, line.Scan())
	socket := line.Text()
	assert.Equal(t, "+PONG", ask(t, "unix", socket, "PING"))
	require.NoError(t, parent.Process.Kill())
	assert.Error(t, parent.Wait(), "killed")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "the server lives on")
}
