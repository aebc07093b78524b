//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/wire"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/redis"
	"github.com/quiesce/quiesce/realworld/redis/local"
)

// graceForTests is short, and as long as the slowest kind of job needs.
const graceForTests = 4 * time.Second

// patience is how long a test waits for what must come, on a machine with other things to do.
const patience = 30 * time.Second

// forever is a lease that no test waits for.
const forever = time.Hour

// world is a Redis, a folder, and workers as processes.
type world struct {
	t      *testing.T
	server *local.Server
	queue  *redis.Queue
	dir    string // of all workers
	lease  time.Duration
	proxy  *wire.Proxy // between workers and Redis; nil is none
}

func newWorld(t *testing.T, lease time.Duration, redisArgs ...string) *world {
	t.Helper()
	server, err := local.Start(t.Context(), local.Options{Args: redisArgs})
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	dir, err := os.MkdirTemp("", "q") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	w := &world{t: t, server: server, dir: dir, lease: lease}
	broker, queue, err := open(t.Context(), config{redis: server.URL(), lease: lease})
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	w.queue = queue
	return w
}

func (w *world) out() string   { return filepath.Join(w.dir, "films") }
func (w *world) state() string { return filepath.Join(w.dir, "state") }

// proceed lets handlers go on that wait for it.
func (w *world) proceed() {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600))
}

// add enqueues one job of each kind and returns their keys.
func (w *world) add(kinds ...string) []protocol.JobKey {
	w.t.Helper()
	var jobs []redis.Job
	for _, kind := range kinds {
		jobs = append(jobs, redis.Job{Kind: kind})
	}
	added, err := w.queue.Enqueue(w.t.Context(), jobs...)
	require.NoError(w.t, err)
	var keys []protocol.JobKey
	for _, a := range added {
		keys = append(keys, a.Job)
	}
	return keys
}

func (w *world) stats() redis.Stats {
	w.t.Helper()
	s, err := w.queue.Stats(w.t.Context())
	require.NoError(w.t, err)
	return s
}

func (w *world) job(key protocol.JobKey) redis.Info {
	w.t.Helper()
	info, ok, err := w.queue.Job(w.t.Context(), key)
	require.NoError(w.t, err)
	require.True(w.t, ok, "job %d is unknown", key)
	return info
}

func (w *world) eventually(condition func() bool, message string) {
	w.t.Helper()
	require.Eventually(w.t, condition, patience, 5*time.Millisecond, message)
}

// process is a worker as its supervisor sees it.
type process struct {
	*exec.Cmd
	t     *testing.T
	seat  string
	lines *bufio.Scanner // what all of its processes print, until the last of them is gone
	said  []string
	world *world
}

// command is a worker that is not started yet.
func (w *world) command(seat string, slots int) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-seat", seat, "-slots", strconv.Itoa(slots),
		"-state", w.state(), "-out", w.out(), "-lease", w.lease.String())
	url := w.server.URL()
	if w.proxy != nil {
		url = "unix://" + w.proxy.Socket()
	}
	cmd.Env = append(os.Environ(), roleVar+"=odd", goVar+"="+filepath.Join(w.dir, "go"),
		"QUIESCE_REDIS="+url, "QUIESCE_GRACE="+graceForTests.String())
	return cmd
}

// start starts a worker.
func (w *world) start(seat string, slots int) *process {
	w.t.Helper()
	p := &process{Cmd: w.command(seat, slots), t: w.t, seat: seat, world: w}
	out, in, err := os.Pipe()
	require.NoError(w.t, err)
	require.NoError(w.t, out.SetReadDeadline(time.Now().Add(4*patience))) // instead of hanging for ever
	p.Stdout, p.Stderr = in, in
	p.lines = bufio.NewScanner(out)
	require.NoError(w.t, p.Start())
	in.Close()
	w.t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
		for p.next() {
		}
		out.Close()
		if w.t.Failed() {
			w.t.Logf("worker %s said:\n%s", p.seat, strings.Join(p.said, "\n"))
		}
	})
	return p
}

func (p *process) next() bool {
	if !p.lines.Scan() {
		return false
	}
	p.said = append(p.said, p.lines.Text())
	return true
}

// expect reads until a line has the words in it, and returns it.
func (p *process) expect(words string) string {
	p.t.Helper()
	for p.next() {
		if strings.Contains(p.lines.Text(), words) {
			return p.lines.Text()
		}
	}
	require.Fail(p.t, "the output ended", "before %q", words)
	return ""
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.Process.Signal(s))
}

// drain sends SIGTERM and waits until the worker has taken it in.
func (p *process) drain() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.world.eventually(func() bool {
		text, _ := realworld.Ask(p.t.Context(), p.endpoint(), "/readyz")
		return strings.Contains(text, `"draining":true`)
	}, "the worker does not drain")
}

func (p *process) endpoint() string {
	c := config{state: p.world.state(), seat: p.seat}
	return c.endpoint()
}

// end waits for the end of the process and of all that it started, and returns the status.
func (p *process) end() int {
	p.t.Helper()
	for p.next() {
	}
	require.NoError(p.t, p.lines.Err(), "a process of the worker is left")
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// outcome is what the ledger says of a job.
func (p *process) outcome(job protocol.JobKey) string {
	for _, line := range p.said {
		if strings.Contains(line, fmt.Sprintf("job=%d ", job)) {
			if _, rest, ok := strings.Cut(line, "drained outcome="); ok {
				outcome, _, _ := strings.Cut(rest, " ")
				return outcome
			}
		}
	}
	return ""
}

// at is the time at the end of a line that was said.
func at(t *testing.T, line string) time.Time {
	t.Helper()
	n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
	require.NoError(t, err, line)
	return time.Unix(0, n)
}

// throughProxy puts a proxy between Redis and the workers that are started from here on.
func (w *world) throughProxy() *wire.Proxy {
	w.t.Helper()
	p, err := wire.Listen(filepath.Join(w.dir, "p"), w.server.Socket())
	require.NoError(w.t, err)
	w.t.Cleanup(p.Close)
	w.proxy = p
	return p
}
