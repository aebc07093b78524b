//go:build !unix

package guard

import (
	"errors"
	"fmt"
	"runtime"
)

// Run is not possible here: there are no signals to pass on and no orphans to adopt.
func Run(Options) (status int, err error) {
	return 0, fmt.Errorf("guard: on %s: %w; start the worker itself", runtime.GOOS, errors.ErrUnsupported)
}

func closeOnExec(int) {}
