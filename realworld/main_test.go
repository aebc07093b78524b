//go:build unix

package realworld_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/internal/printing"
)

// roleVar says what this binary is when a test starts it again.
const roleVar = "REALWORLD_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "worker" {
		os.Exit(workerProcess())
	}
	os.Exit(m.Run())
}

// workerProcess is a whole worker: one slot, jobs that end when the test says so, and an
// endpoint on the socket that the test names. It prints what happens to it.
func workerProcess() int {
	out := os.Stdout // each line is one write
	mux := worker.NewMux()
	finish := make(chan struct{})
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			finish <- struct{}{}
		}
	}()
	mux.Handle("wait", func(ctx context.Context, job *worker.Job) error {
		fmt.Fprintln(out, "started", job.Key)
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			fmt.Fprintln(out, "cancelled:", context.Cause(ctx))
			return context.Cause(ctx)
		}
	}, worker.Gap(100*time.Millisecond))
	w, err := worker.New(&printing.Broker{Jobs: 2, Out: out}, mux, worker.Options{Grace: time.Minute})
	if err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	stops := realworld.NewStops()
	defer stops.Close()
	realworld.Systemd(stops, w, realworld.SystemdOptions{Extend: extendFromEnv()})
	stops.Signals()
	e, err := realworld.Listen("unix:"+os.Getenv("SOCKET"), w, stops, realworld.EndpointOptions{})
	if err != nil {
		fmt.Fprintln(out, err)
		return 2
	}
	defer e.Close()
	err = w.Run(context.Background(), announced(stops.Events(), out))
	var exit *worker.ExitError
	if errors.As(err, &exit) {
		return exit.Status
	}
	return 0
}

func extendFromEnv() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("EXTEND"))
	return d
}

// announced prints each event when the worker has taken it, so that a test can wait for that.
func announced(events <-chan protocol.Event, out io.Writer) <-chan protocol.Event {
	to := make(chan protocol.Event)
	go func() {
		for ev := range events {
			to <- ev
			if ev.Kind != protocol.Tick {
				// The next one is taken only when this one was carried out.
				to <- protocol.Event{Kind: protocol.Tick}
				fmt.Fprintln(out, "heard", ev.Kind, ev.Source, ev.Signal)
			}
		}
	}()
	return to
}

// process is a worker process as the test sees it.
type process struct {
	*exec.Cmd
	t      *testing.T
	stdin  io.Writer
	out    *bufio.Scanner
	socket string
}

func startProcess(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), t: t, socket: filepath.Join(shortDir(t), "s")}
	p.Env = append(os.Environ(), append([]string{roleVar + "=worker", "SOCKET=" + p.socket}, env...)...) // the last one counts
	p.Stderr = io.Discard
	if testing.Verbose() {
		p.Stderr = os.Stderr
	}
	var err error
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, out.SetReadDeadline(time.Now().Add(10*time.Second))) // instead of hanging for ever
	p.Stdout = in
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.Start())
	in.Close()
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait(); out.Close() })
	return p
}

// shortDir is a directory for sockets, whose paths must be short.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "q")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// expect reads until a line begins with each of the given beginnings, in any order.
func (p *process) expect(beginnings ...string) {
	p.t.Helper()
	missing := map[string]bool{}
	for _, b := range beginnings {
		missing[b] = true
	}
	for len(missing) > 0 {
		require.True(p.t, p.out.Scan(), "the output ended before %v, after %q", missing, p.out.Text())
		for b := range missing {
			if strings.HasPrefix(p.out.Text(), b) {
				delete(missing, b)
			}
		}
	}
}

// rest reads to the end and returns what there was, but for the word to the broker, which
// goes its own way.
func (p *process) rest() []string {
	var all []string
	for p.out.Scan() {
		if p.out.Text() != "going" {
			all = append(all, p.out.Text())
		}
	}
	return all
}

// status waits for the end of the process.
func (p *process) status() int {
	p.t.Helper()
	var exit *exec.ExitError
	if err := p.Wait(); err != nil {
		require.ErrorAs(p.t, err, &exit)
	}
	return p.ProcessState.ExitCode()
}

// finish lets the running job finish.
func (p *process) finish() {
	p.t.Helper()
	_, err := fmt.Fprintln(p.stdin)
	require.NoError(p.t, err)
}

func (p *process) ask(path string) (string, error) {
	return realworld.Ask(p.t.Context(), "unix:"+p.socket, path)
}
