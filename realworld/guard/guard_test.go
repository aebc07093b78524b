//go:build unix

package guard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/guard"
	"github.com/quiesce/quiesce/realworld/internal/printing"
)

// roleVar says what this binary is when a test starts it again.
const roleVar = "GUARD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "guard":
		os.Exit(guardProcess())
	case "worker":
		os.Exit(workerProcess())
	default:
		os.Exit(m.Run())
	}
}

// guardProcess guards a worker, or the command that the test names. Its broker fails twice
// and then says whether anybody was left.
func guardProcess() int {
	command := os.Args[1:]
	if len(command) == 0 {
		command = []string{os.Args[0]}
		os.Setenv(roleVar, "worker")
	}
	failures := 2
	status, err := guard.Run(guard.Options{
		Command: command, Logger: slog.New(slog.DiscardHandler),
		Release: func(_ context.Context, dead guard.Life) (int, error) {
			if failures--; failures >= 0 {
				return 0, errors.New("the broker is away")
			}
			text, _ := os.ReadFile(os.Getenv("GRANDCHILD"))
			pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			gone := pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			fmt.Println("abandon", dead.Incarnation, dead.Queue, string(dead.Broker), "alone:", gone)
			return 1, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	return status
}

// workerProcess runs one job that ends when it is told to, and has a grandchild of the guard
// that nothing but SIGKILL ends.
func workerProcess() int {
	child := exec.Command("setsid", "sh", "-c", `trap '' TERM HUP INT; (echo $$ >$GRANDCHILD; echo grandchild; sleep 1000; sleep 1000)`)
	child.Stdout = os.Stdout
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return 2
	}
	telling, err := guard.Tell(map[string]int{"partitions": 4})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	finish := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(finish)
	}()
	mux := worker.NewMux()
	mux.Handle("wait", func(ctx context.Context, _ *worker.Job) error {
		fmt.Println("started", os.Getpid())
		select {
		case <-finish:
		case <-ctx.Done():
			fmt.Println("cancelled:", context.Cause(ctx))
		}
		return context.Cause(ctx)
	}, worker.Gap(100*time.Millisecond))
	w, err := worker.New(&printing.Broker{Jobs: 1, Out: os.Stdout}, mux, worker.Options{Grace: time.Minute, Observers: []worker.Observer{telling}})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	var exit *worker.ExitError
	if err := w.Run(context.Background(), realworld.Signals()); errors.As(err, &exit) {
		return exit.Status
	}
	return 0
}

type guarded struct {
	*exec.Cmd
	t     *testing.T
	out   *bufio.Scanner
	stdin io.Writer
}

func start(t *testing.T, args ...string) *guarded {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a guard finds every descendant on Linux only")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is missing; install util-linux")
	}
	g := &guarded{Cmd: exec.Command(os.Args[0], args...), t: t}
	g.Env = append(os.Environ(), roleVar+"=guard", "GRANDCHILD="+filepath.Join(t.TempDir(), "pid"))
	g.Stderr = os.Stderr
	var err error
	g.stdin, err = g.StdinPipe()
	require.NoError(t, err)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, out.SetReadDeadline(time.Now().Add(20*time.Second))) // instead of hanging for ever
	g.out, g.Stdout = bufio.NewScanner(out), in
	require.NoError(t, g.Start())
	in.Close()
	t.Cleanup(func() { _ = g.Process.Kill(); _ = g.Wait(); out.Close() })
	return g
}

// up waits until the grandchild is there and the job is started, and returns the worker's
// process id.
func (g *guarded) up() int {
	g.t.Helper()
	pid := 0
	for grandchild := false; pid == 0 || !grandchild; {
		require.True(g.t, g.out.Scan())
		line := g.out.Text()
		grandchild = grandchild || line == "grandchild"
		if s, ok := strings.CutPrefix(line, "started "); ok {
			pid, _ = strconv.Atoi(s)
		}
	}
	return pid
}

func (g *guarded) rest() []string {
	var all []string
	for g.out.Scan() {
		all = append(all, g.out.Text())
	}
	return all
}

func (g *guarded) status() int {
	_ = g.Wait()
	return g.ProcessState.ExitCode()
}

func TestACrashedWorkersClaimsAreReleasedOnceItsTreeIsGone(t *testing.T) {
	g := start(t)
	require.NoError(t, syscall.Kill(g.up(), syscall.SIGKILL))
	assert.Equal(t, []string{`abandon 7 default {"partitions":4} alone: true`}, g.rest())
	assert.Equal(t, 128+9, g.status())
}

func TestAWorkerThatEndsInOrderHasNothingReleased(t *testing.T) {
	g := start(t)
	g.up()
	require.NoError(t, g.Process.Signal(syscall.SIGINT)) // it gets there once: twice would hurry
	require.True(t, g.out.Scan())
	require.Equal(t, "going", g.out.Text())
	_, err := fmt.Fprintln(g.stdin)
	require.NoError(t, err)
	assert.Equal(t, []string{"ack 1"}, g.rest())
	assert.Equal(t, 0, g.status())
}

func TestAWorkerWithoutItsGuardDrains(t *testing.T) {
	g := start(t)
	worker := g.up()
	require.NoError(t, g.Process.Kill())
	require.True(t, g.out.Scan())
	assert.Equal(t, "going", g.out.Text())
	require.NoError(t, syscall.Kill(worker, syscall.SIGKILL))
	pid, err := os.ReadFile(strings.TrimPrefix(g.Env[len(g.Env)-1], "GRANDCHILD="))
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(-n, syscall.SIGKILL)) // nobody else does: the limit
}

func TestStatusesAndMistakes(t *testing.T) {
	assert.Equal(t, 7, start(t, "sh", "-c", "exit 7").status(), "and nothing to release: nobody said anything")
	assert.Equal(t, 128+11, start(t, "sh", "-c", "kill -SEGV $$").status())
	g := start(t, "there-is-no-such-program")
	assert.Equal(t, []string{`guard: exec: "there-is-no-such-program": executable file not found in $PATH`}, g.rest())
	assert.Equal(t, 2, g.status())

	_, err := guard.Run(guard.Options{})
	assert.ErrorContains(t, err, "no command")

	_, err = guard.Tell(nil)
	require.NoError(t, err, "it needs no guard")
	t.Setenv("QUIESCE_GUARD_FD", "three")
	_, err = guard.Tell(nil)
	assert.ErrorContains(t, err, "not a descriptor")
}
