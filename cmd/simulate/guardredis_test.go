//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/fleet"
	"github.com/quiesce/quiesce/realworld/guard"
	"github.com/quiesce/quiesce/realworld/redis"
)

// roleVar says what this binary is when a test starts it again.
const roleVar = "SIMULATE_TEST_ROLE"

func TestMain(m *testing.M) {
	fleet.Main(fates)
	switch os.Getenv(roleVar) {
	case "simulate":
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	case "worker":
		redisWorker()
	default:
		os.Exit(m.Run())
	}
}

// guardedQueue has a lease that no test waits for.
var guardedQueue = []redis.QueueConfig{{Name: "default", Lease: time.Hour}}

// redisWorker runs jobs that never end, and says when one begins.
func redisWorker() {
	b, err := redis.Open(context.Background(), redis.Options{URL: os.Getenv("QUIESCE_REDIS"), Queues: guardedQueue})
	if err != nil {
		fmt.Println(err)
		return
	}
	telling, err := guard.Tell(guardedQueue)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := worker.NewMux()
	mux.Handle("render", func(ctx context.Context, job *worker.Job) error {
		fmt.Println("started", os.Getpid(), job.Prior.Reason)
		<-ctx.Done()
		return context.Cause(ctx)
	}, worker.Gap(100*time.Millisecond))
	w, err := worker.New(b, mux, worker.Options{
		Seat: "render/0", Grace: 10 * time.Second, Lease: time.Hour, Observers: []worker.Observer{telling},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Run(context.Background(), realworld.Signals()))
}

// redisServer starts a redis-server of the test's own and returns its URL.
func redisServer(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed; apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "q") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", filepath.Join(dir, "s"), "--dir", dir, "--save", "")
	log, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), "eady to accept connections") {
			go func() {
				for lines.Scan() { // so that the server can go on writing
				}
			}()
			return "unix://" + filepath.Join(dir, "s")
		}
	}
	t.Fatal("redis-server did not come up")
	return ""
}

func TestACrashUnderAGuardCostsNoLease(t *testing.T) {
	url := redisServer(t)
	b, err := redis.Open(t.Context(), redis.Options{URL: url, Queues: guardedQueue})
	require.NoError(t, err)
	defer b.Close()
	q, err := b.Queue("default")
	require.NoError(t, err)
	_, err = q.Enqueue(t.Context(), redis.Job{Kind: "render"})
	require.NoError(t, err)

	begin := func() (pid int, reason string, cmd *exec.Cmd) {
		cmd = exec.Command(os.Args[0], "guard", "--", "env", roleVar+"=worker", os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"=simulate", "QUIESCE_REDIS="+url)
		out, in, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, out.SetReadDeadline(time.Now().Add(20*time.Second))) // instead of hanging for ever
		cmd.Stdout, cmd.Stderr = in, os.Stderr
		require.NoError(t, cmd.Start())
		in.Close()
		t.Cleanup(func() {
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // and the guard ends
			} else {
				_ = cmd.Process.Kill()
			}
			_ = cmd.Wait()
			out.Close()
		})
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan(), "no job was started")
		_, err = fmt.Sscan(strings.TrimPrefix(lines.Text(), "started "), &pid, &reason)
		require.NoError(t, err, lines.Text())
		return pid, reason, cmd
	}
	pid, _, first := begin()
	killed := time.Now()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	_ = first.Wait()
	require.Equal(t, 128+9, first.ProcessState.ExitCode())
	t.Logf("released %v after SIGKILL", time.Since(killed))
	_, reason, _ := begin()
	t.Logf("running again %v after SIGKILL", time.Since(killed))
	assert.Equal(t, "expired", reason, "it counts like an expiry")
}
