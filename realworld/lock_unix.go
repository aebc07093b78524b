//go:build unix

package realworld

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked reports that another process holds a lock.
var errLocked = errors.New("another process holds the lock")

// lockPoll is how often a held lock is tried again: there is no waiting for flock(2) that a
// context could end.
const lockPoll = 10 * time.Millisecond

// lockFile takes the kernel's lock on a file, which is made if need be, and waits for it
// until ctx is done. The kernel gives it back when the last process that has the file open is
// gone, however it went.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := openLocked(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

func openLocked(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, errLocked
		case <-time.After(lockPoll):
		}
	}
}
