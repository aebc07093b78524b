//go:build !unix

package proc

import (
	"errors"
	"fmt"
	"runtime"
)

type child struct{ pid int }

func start(c *Cmd) (*child, error) {
	return nil, fmt.Errorf("children that cannot outlive their worker, on %s: %w; start %s with os/exec and end it yourself", runtime.GOOS, errors.ErrUnsupported, c.Path)
}

func (*child) wait() result { return result{} }
func (*child) terminate()   {}
func (*child) kill()        {}
