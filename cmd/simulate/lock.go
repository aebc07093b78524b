package main

import (
	"errors"
	"os"

	"github.com/gofrs/flock"
)

// errLocked says that another process holds a lock.
var errLocked = errors.New("another process holds the lock")

// lock takes the kernel's lock on a file that is there for nothing else, and does not wait for
// it: Windows lets nobody read what is locked, so what is to be read has its lock beside it.
// The kernel takes the lock back from a process that ends, however it does; unlock removes the
// file as well.
func lock(path string) (unlock func(), err error) {
	l := flock.New(path, flock.SetPermissions(0o644)) // a folder may be shared by several people
	for {
		held, err := l.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			// Some file systems of clusters know no locks. Sweeps must go on there.
			return func() { _ = os.Remove(path) }, nil
		case err != nil:
			return nil, err
		case !held:
			return nil, errLocked
		case inPlace(l):
			return func() { release(l) }, nil
		}
		_ = l.Unlock() // of a file that is gone: it keeps nobody out
	}
}

// inPlace is false when whoever held the lock before has removed its file since it was opened.
func inPlace(l *flock.Flock) bool {
	held, err := l.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.Path())
	return err == nil && os.SameFile(held, there)
}

// release removes the file while the lock on it is held; behind that it may be somebody else's.
// Windows removes no file that is open, by anybody, so there it is done afterwards.
func release(l *flock.Flock) {
	err := os.Remove(l.Path())
	_ = l.Unlock()
	if err != nil {
		_ = os.Remove(l.Path())
	}
}
