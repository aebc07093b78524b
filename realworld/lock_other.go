//go:build !unix

package realworld

import (
	"context"
	"errors"
	"fmt"
	"os"
)

var errLocked = errors.New("another process holds the lock")

func lockFile(context.Context, string) (unlock func() error, err error) {
	return func() error { return nil }, nil // here a socket is not replaced while somebody listens
}

func openLocked(context.Context, string) (*os.File, error) {
	return nil, fmt.Errorf("locks of the kernel: %w", errors.ErrUnsupported)
}
