// Package launch starts commands that shall end with the process that starts them.
package launch

import (
	"os/exec"
	"runtime"
)

// Start starts a command; ended is closed once it has been waited for, and how it ended is in
// its ProcessState. Linux sends the Pdeathsig of its attributes when the thread that started
// it ends, so that thread lives as long as the command.
func Start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its state
			close(over)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return over, nil
}
