package main

import (
	"fmt"
	"os/exec"
	"runtime"
)

// launch starts a command. ended is closed once it has been waited for. With the attributes
// of withParent it ends when this process does, however that ends, where the platform can
// promise it (Linux).
func launch(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		// The thread that started it must live as long.
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
		return nil, fmt.Errorf("bench: %w", err)
	}
	return over, nil
}
