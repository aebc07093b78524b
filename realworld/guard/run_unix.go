//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/quiesce/quiesce/realworld/internal/tree"
)

// passedOn are the signals that mean something to a worker or to what Go programs do with
// them. The worker gets each once, from its guard: it is in a process group of its own, so
// that a terminal's Ctrl-C does not reach it twice.
var passedOn = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH,
}

// Run starts the worker, stands by it, and returns the status to end with: the worker's own,
// or 128 and the number of the signal that killed it, as shells have it. It is to be the
// only thing that its process does, since it reaps every child.
func Run(o Options) (status int, err error) {
	o = o.withDefaults()
	if len(o.Command) == 0 {
		return 0, errors.New("guard: there is no command to guard")
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return 0, fmt.Errorf("guard: %w", err)
	}
	// The worker gets SIGTERM when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)

	ears, mouth, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("guard: %w", err)
	}
	defer ears.Close()
	t, err := tree.Start(tree.Spec{
		Path: path, Args: o.Command, Env: append(os.Environ(), fmt.Sprintf("%s=%d", fdVar, 3)),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, mouth}, Orphaned: syscall.SIGTERM,
	})
	mouth.Close()
	if err != nil {
		return 0, fmt.Errorf("guard: %w", err)
	}
	lives := make(chan []Life, 1)
	go func() { lives <- listen(json.NewDecoder(ears)) }()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = t.Signal(s.(syscall.Signal)) // it fails when the worker is gone
			case <-over:
				return
			}
		}
	}()

	how, _ := t.Wait()
	status = how.ExitStatus()
	if how.Signaled() {
		status = 128 + int(how.Signal())
		o.Logger.Error("the worker was killed", "signal", how.Signal().String())
	}
	giveUp := make(chan struct{})
	limit := time.AfterFunc(clearing, func() { close(giveUp) })
	defer limit.Stop()
	if err := t.Clear(giveUp); err != nil {
		o.Logger.Error("the claims of the dead worker wait for their leases, since somebody may still work on them", "error", err)
		return status, nil
	}
	if status == 0 {
		return 0, nil // it says that it held nothing
	}
	// Nobody holds the other end any more, so this ends by itself; where descendants can get
	// away unseen, one of them may.
	_ = ears.SetReadDeadline(time.Now().Add(lastWords))
	switch dead := <-lives; {
	case len(dead) == 0:
		o.Logger.Warn("the worker never said which life it lived; if it had claims, they wait for their leases")
	case o.Release == nil:
		o.Logger.Warn("no broker was named; the claims of the dead worker wait for their leases", "incarnation", dead[0].Incarnation)
	default:
		o.release(dead)
	}
	return status, nil
}

// listen takes in what the worker tells until it is dead.
func listen(from *json.Decoder) []Life {
	var all []Life
	for {
		var life Life
		if err := from.Decode(&life); err != nil {
			return all
		}
		all = append(all, life)
	}
}

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
