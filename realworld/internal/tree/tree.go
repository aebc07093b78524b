//go:build unix

package tree

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec is the root of a tree.
type Spec struct {
	Path string
	Args []string // with the name
	Dir  string
	Env  []string
	// Files are what the root has open, from 0 on.
	Files []*os.File
	// Orphaned is the signal that the root gets when this process dies, where the system can
	// (Linux).
	Orphaned syscall.Signal
	// Cgroup is a control group of version 2 that the tree starts in; nil is this process's.
	Cgroup *os.File
}

// Tree is a root and its descendants.
type Tree struct {
	pid   int
	ended chan os.Signal // a child of this process has ended, perhaps several

	mu     sync.Mutex
	reaped bool // the root's number may be somebody else's now
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// Start starts the root, in a process group of its own. The calling goroutine must be locked
// to a thread that outlives the root, since Orphaned is sent when that thread ends.
func Start(s Spec) (*Tree, error) {
	if err := becomeReaper(); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Sys: &syscall.SysProcAttr{Setpgid: true}}
	bind(attr.Sys, s)
	for _, f := range s.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	t := &Tree{ended: make(chan os.Signal, 1)}
	signal.Notify(t.ended, syscall.SIGCHLD)
	pid, err := syscall.ForkExec(s.Path, s.Args, attr)
	runtime.KeepAlive(s.Files)
	if err != nil {
		signal.Stop(t.ended)
		return nil, &os.PathError{Op: "start", Path: s.Path, Err: err}
	}
	t.pid = pid
	return t, nil
}

// PID is the root's process id and its group.
func (t *Tree) PID() int { return t.pid }

// Signal sends a signal to the root.
func (t *Tree) Signal(sig syscall.Signal) error { return t.kill(t.pid, sig) }

// SignalGroup sends a signal to the root's process group.
func (t *Tree) SignalGroup(sig syscall.Signal) error { return t.kill(-t.pid, sig) }

func (t *Tree) kill(pid int, sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return os.ErrProcessDone
	}
	return syscall.Kill(pid, sig)
}

// Wait reaps whoever ends until the root has.
func (t *Tree) Wait() (syscall.WaitStatus, syscall.Rusage) {
	for {
		t.reap()
		if t.reaped {
			return t.status, t.usage
		}
		<-t.ended
	}
}

// reap reaps whoever has ended, and reports whether no child is left at all.
func (t *Tree) reap() (alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return errors.Is(err, syscall.ECHILD)
		case pid == 0:
			return false
		case pid == t.pid:
			t.reaped, t.status, t.usage = true, status, usage
		}
	}
}

// pauses between two rounds of killing: a killed process is gone within microseconds, unless
// it is stuck in the kernel.
const (
	firstPause = 100 * time.Microsecond
	lastPause  = 20 * time.Millisecond
)

// Clear kills what is left of the tree and returns when all of it is reaped, or when giveUp is
// closed: processes that are stuck in the kernel then remain. Killing is repeated, since who
// is about to be killed may still have a child. It is called after Wait.
func (t *Tree) Clear(giveUp <-chan struct{}) error {
	defer signal.Stop(t.ended)
	killGroup(t.pid)
	for pause := firstPause; !t.reap(); pause = min(2*pause, lastPause) {
		killDescendants()
		select {
		case <-giveUp:
			return errors.New("processes are left that cannot be killed")
		case <-time.After(pause):
		}
	}
	return nil
}

// Kill has everything below this process killed at once. Wait and Clear see it out.
func (t *Tree) Kill() {
	_ = t.SignalGroup(syscall.SIGKILL)
	killDescendants()
}
