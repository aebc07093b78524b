//go:build unix

package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/proc"
)

// roleVar says what this binary is when a test starts it again.
const roleVar = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "worker":
		workerProcess()
	default:
		os.Exit(m.Run())
	}
}

// workerProcess holds a seat and runs one child with a shell's script until it is killed.
func workerProcess() {
	os.Unsetenv(roleVar)
	if group := os.Getenv("CGROUP"); group != "" {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	if dir := os.Getenv("SEAT_DIR"); dir != "" {
		seat, err := realworld.TakeSeat(context.Background(), dir, "render/0")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if err := seat.UseForTemp(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	cmd := proc.Command(context.Background(), &scope{}, "sh", "-c", os.Getenv("SCRIPT"))
	cmd.Stdout = os.Stdout
	fmt.Println(cmd.Run())
}

// scope keeps the hooks, as a worker's does.
type scope struct {
	undo              []func(ctx context.Context) error
	listened, waiting int
}

func (s *scope) Listen() (done func()) {
	s.listened++
	s.waiting++
	return func() { s.waiting-- }
}

func (s *scope) OnAbort(undo func(ctx context.Context) error) { s.undo = append(s.undo, undo) }

// lines reads what a process and all that descends from it print. It ends when the last of
// them is gone, since each holds the other end open.
type lines struct {
	*bufio.Scanner
	t *testing.T
}

func (l lines) next() string {
	l.t.Helper()
	require.True(l.t, l.Scan(), "the output ended")
	return l.Text()
}

func (l lines) rest() []string {
	var all []string
	for l.Scan() {
		all = append(all, l.Text())
	}
	return all
}

// startWorker starts a worker process of its own, in a session of its own.
func startWorker(t *testing.T, script string, env ...string) (*exec.Cmd, lines) {
	t.Helper()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, roleVar+"=worker", "SCRIPT="+script)...)
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	require.NoError(t, cmd.Start())
	in.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); out.Close() })
	require.NoError(t, out.SetReadDeadline(time.Now().Add(20*time.Second))) // instead of hanging for ever
	return cmd, lines{bufio.NewScanner(out), t}
}

// family is a child, a grandchild in its group, one in a session of its own, and an orphan in
// another. Each says that it is there.
const family = `
trap '' TERM
sh -c 'trap "" TERM; echo in the group; sleep 1000; sleep 1000' &
setsid sh -c 'trap "" TERM HUP; echo in a session; sleep 1000; sleep 1000' &
(setsid sh -c 'trap "" TERM HUP; echo orphaned; sleep 1000; sleep 1000' &)
wait`

func needSetsid(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what leaves its process group gets away on this system")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is missing; install util-linux")
	}
}

func TestSIGKILLOfTheWorkerLeavesNobody(t *testing.T) {
	needSetsid(t)
	worker, out := startWorker(t, family)
	said := []string{out.next(), out.next(), out.next()}
	assert.ElementsMatch(t, []string{"in the group", "in a session", "orphaned"}, said)
	require.NoError(t, worker.Process.Kill())
	assert.Empty(t, out.rest()) // it ends: nobody has the pipe open any more
	require.NoError(t, out.Err())
}

func TestADeadWorkersSeatIsFreeOnlyWhenItsChildrenAreGone(t *testing.T) {
	dir := t.TempDir()
	worker, out := startWorker(t, `trap '' TERM; f=$(mktemp); echo $f; echo $PPID; sleep 1000; sleep 1000`, "SEAT_DIR="+dir)
	left := out.next()
	require.FileExists(t, left)
	require.Contains(t, left, dir)
	shim, err := strconv.Atoi(out.next())
	require.NoError(t, err)

	atOnce, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = realworld.TakeSeat(atOnce, dir, "render/0")
	require.ErrorIs(t, err, realworld.ErrSeatTaken)
	assert.ErrorContains(t, err, strconv.Itoa(worker.Process.Pid))

	require.NoError(t, syscall.Kill(shim, syscall.SIGSTOP)) // it cannot kill anybody now
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
	_, err = realworld.TakeSeat(atOnce, dir, "render/0")
	require.ErrorIs(t, err, realworld.ErrSeatTaken, "a child is left")
	require.FileExists(t, left)

	require.NoError(t, syscall.Kill(shim, syscall.SIGCONT))
	seat, err := realworld.TakeSeat(context.Background(), dir, "render/0")
	require.NoError(t, err)
	assert.Empty(t, out.rest())
	assert.NoFileExists(t, left)
	assert.True(t, seat.Alone())
	require.NoError(t, seat.Close())
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	needSetsid(t)
	cause := errors.New("the drain's time is over")
	ctx, cancel := context.WithCancelCause(context.Background())
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := proc.Command(ctx, &scope{}, "sh", "-c", family)
	cmd.Stdout = in
	cmd.Grace = 0 // everybody is deaf to SIGTERM here
	require.NoError(t, cmd.Start())
	in.Close()
	l := lines{bufio.NewScanner(out), t}
	l.next()
	l.next()
	l.next()
	cancel(cause)
	err = cmd.Wait()
	assert.ErrorIs(t, err, cause)
	var exit *proc.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, "killed", exit.Signal)
	assert.Empty(t, l.rest())
}

func TestCancelIsSIGTERMFirstAndTheResultIsTheCause(t *testing.T) {
	cause := errors.New("the drain's time is over")
	ctx, cancel := context.WithCancelCause(context.Background())
	out, in := io.Pipe()
	cmd := proc.Command(ctx, &scope{}, "sh", "-c", `trap 'echo asked to end; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	cmd.Stdout = in
	cmd.Grace = time.Hour
	require.NoError(t, cmd.Start())
	l := lines{bufio.NewScanner(out), t}
	require.Equal(t, "up", l.next())
	cancel(cause)
	assert.Equal(t, "asked to end", l.next())
	assert.Equal(t, cause, cmd.Wait()) // status 0, and still not done
}

func TestAHandlerThatDoesNotWait(t *testing.T) {
	for script, grace := range map[string]time.Duration{
		`trap '' TERM; sleep 1000; sleep 1000`: 0,
		`exec sleep 1000`:                      time.Hour, // SIGTERM is enough
	} {
		s := &scope{}
		cmd := proc.Command(context.Background(), s, "sh", "-c", script)
		cmd.Grace = grace
		require.NoError(t, cmd.Start())
		require.Len(t, s.undo, 1)
		require.NoError(t, s.undo[0](context.Background()))
		require.ErrorIs(t, syscall.Kill(cmd.PID(), 0), syscall.ESRCH, "undo returns when it is gone")
		require.NoError(t, s.undo[0](context.Background()), "and can be repeated")
	}
}

func TestResults(t *testing.T) {
	ctx := context.Background()
	var out bytes.Buffer
	cmd := proc.Command(ctx, &scope{}, "cat")
	cmd.Stdin, cmd.Stdout = strings.NewReader("through the shim"), &out
	require.NoError(t, cmd.Run())
	assert.Equal(t, "through the shim", out.String())

	err := proc.Command(ctx, &scope{}, "sh", "-c", "exit 7").Run()
	assert.Equal(t, &proc.ExitError{Name: "sh", Status: 7}, err)
	assert.EqualError(t, err, "proc: sh ended with status 7")

	err = proc.Command(ctx, &scope{}, "sh", "-c", "kill -SEGV $$").Run()
	assert.EqualError(t, err, "proc: sh was ended by a signal: segmentation fault")

	err = proc.Command(ctx, &scope{}, "there-is-no-such-program").Run()
	assert.ErrorIs(t, err, exec.ErrNotFound)

	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("no program"), 0o644))
	cmd = proc.Command(ctx, &scope{}, "sh")
	cmd.Path = plain
	assert.ErrorIs(t, cmd.Run(), fs.ErrPermission)

	done, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, proc.Command(done, &scope{}, "sh").Run(), context.Canceled)
}

func TestAChildHasItsOwnFilesDirectoryAndEnvironment(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	var out bytes.Buffer
	cmd := proc.Command(context.Background(), &scope{}, "sh", "-c", `pwd; echo $WHO`)
	cmd.Dir, cmd.Env, cmd.Stdout = dir, []string{"WHO=me"}, &out
	require.NoError(t, cmd.Run())
	assert.Equal(t, dir+"\nme\n", out.String())
}

func TestAChildInheritsNothingElse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc to look into")
	}
	seat, err := realworld.TakeSeat(context.Background(), t.TempDir(), "held by every shim")
	require.NoError(t, err)
	defer seat.Close()
	plain, err := exec.Command("ls", "/proc/self/fd").Output()
	require.NoError(t, err)
	var out bytes.Buffer
	cmd := proc.Command(context.Background(), &scope{}, "ls", "/proc/self/fd")
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	assert.Equal(t, string(plain), out.String())
}

// What a child leaves running when it ends is killed: its output ends.
// While a handler waits for its child it listens: that is no gap between two looks.
func TestWaitingForAChildIsListening(t *testing.T) {
	s := &scope{}
	cmd := proc.Command(t.Context(), s, "sh", "-c", "cat")
	out, in := io.Pipe()
	cmd.Stdin = out
	require.NoError(t, cmd.Start())
	assert.Zero(t, s.listened, "it may do something else meanwhile")
	in.Close()
	require.NoError(t, cmd.Wait())
	assert.Equal(t, []int{1, 0}, []int{s.listened, s.waiting})
}

func TestNothingIsLeftBehindByAChildThatEnds(t *testing.T) {
	needSetsid(t)
	var out bytes.Buffer
	cmd := proc.Command(context.Background(), &scope{}, "sh", "-c", `(setsid sh -c 'trap "" HUP TERM; echo up; sleep 1000' &); sleep 0.05; echo done`)
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	assert.Contains(t, out.String(), "done")
}

func TestTheShimIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the child does not die with its shim on this system")
	}
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := proc.Command(context.Background(), &scope{}, "sh", "-c", `sleep 1000 & echo $PPID; wait`)
	cmd.Stdout = in
	require.NoError(t, cmd.Start())
	in.Close()
	l := lines{bufio.NewScanner(out), t}
	shim, err := strconv.Atoi(l.next())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(shim, syscall.SIGKILL))
	assert.EqualError(t, cmd.Wait(), "proc: the shim was killed, and the child with it")
	assert.Empty(t, l.rest())
}

func TestTheShimTakesNoNoticeOfSignals(t *testing.T) {
	var out bytes.Buffer
	cmd := proc.Command(context.Background(), &scope{}, "sh", "-c", `kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; kill -USR1 $PPID; echo unharmed`)
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	assert.Equal(t, "unharmed\n", out.String())
}

// With the worker unable to do anything, the system itself kills the child.
func TestTheShimIsKilledBesideAWorkerThatStandsStill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the child does not die with its shim on this system")
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	worker, out := startWorker(t, `echo $PPID; exec sleep 1000 >`+fifo)
	shim, err := strconv.Atoi(out.next())
	require.NoError(t, err)
	f, err := os.Open(fifo) // waits for the other end
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, syscall.Kill(shim, syscall.SIGKILL))
	_, err = io.ReadAll(f)
	require.NoError(t, err)
}
