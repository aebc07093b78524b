//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/proc"
)

// hydra does all that a child can do to stay: it forgets its environment, leaves its session
// again and again, loses its parents, closes its files, ignores signals, and multiplies. Each
// head has the folder among its arguments, by which it is found. One floods its output, which
// the handler reads.
const hydra = `
head() { trap "" TERM HUP INT QUIT PIPE; while :; do sleep 0.05; done; }
[ "$1" = root ] || { head; }
for n in 1 2 3; do
	(setsid env -i sh -c 'trap "" TERM HUP INT; (setsid sh -c "$1" "$2" head </dev/null >/dev/null 2>&1 &); exec sleep 1000' fork "$2" "$0" &)
	sh -c "$2" "$0" head &
done
yes "$0" &
wait; sleep 1000`

func grow(ctx context.Context, job *worker.Job) error {
	dir, err := job.Scope.TempDir()
	if err != nil {
		return err
	}
	for _, name := range []string{"fifo", "deep/er/fifo"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			return err
		}
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			return err
		}
	}
	folder, err := os.Open(dir) // its path is too long for a socket
	if err != nil {
		return err
	}
	defer folder.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/s", folder.Fd()))
	if err != nil {
		return err
	}
	defer l.Close()
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(dir, "deep"), 0o500); err != nil {
		return err
	}
	cmd := proc.Command(ctx, job.Scope, "sh", "-c", hydra, dir, "root", hydra)
	flood := &flooded{}
	cmd.Stdout = flood
	cmd.Grace = 50 * time.Millisecond
	say("hydra", dir)
	return cmd.Run()
}

// flooded takes in whatever comes.
type flooded struct{ bytes int }

func (f *flooded) Write(b []byte) (int, error) { f.bytes += len(b); return len(b), nil }

// heads are the processes that have a text among their arguments.
func heads(t *testing.T, text string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			pids = append(pids, fmt.Sprintf("%s %.60q", filepath.Base(filepath.Dir(file)), line))
		}
	}
	return pids
}

// However a child multiplies, it ends with its worker, be that killed or stopped, and the next
// start removes what it left on the disk.
func TestNoChildGetsAway(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what leaves its process group gets away on this system")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is missing; install util-linux")
	}
	t.Parallel()
	w := newWorld(t, forever)
	left := ""
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL} {
		w.add("hydra")
		p := w.start("a", 1)
		dir := strings.Fields(p.expect("hydra /"))[1]
		if left != "" {
			assert.NoDirExists(t, left)
		}
		left = dir
		w.eventually(func() bool { return len(heads(t, dir)) >= 8 }, "it does not grow")

		p.signal(sig)
		if sig == syscall.SIGTERM {
			assert.Equal(t, 0, p.end())
			assert.NoDirExists(t, dir)
		} else {
			assert.Equal(t, -1, p.end())
			assert.FileExists(t, filepath.Join(dir, "fifo"))
		}
		w.eventually(func() bool { return len(heads(t, dir)) == 0 }, "heads are left")
	}
	next := w.start("a", 1)
	w.eventually(func() bool {
		text, _ := realworld.Ask(t.Context(), next.endpoint(), "/healthz")
		return text != ""
	}, "the next life of the seat does not answer")
	assert.NoDirExists(t, left)
}
