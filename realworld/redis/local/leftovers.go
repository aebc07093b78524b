package local

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// prefix is how the temporary directories of servers are called.
const prefix = "quiesce-redis"

// owner is a file in each of them that is locked for as long as the process that made it lives.
// It is there under its name only while it is locked, so that nobody takes a directory that is
// being made for one that was left.
const owner = "owner"

// own locks a directory that this process has made. Where that is not possible nobody will
// sweep it.
func own(dir string) (release func()) {
	lock := flock.New(filepath.Join(dir, owner+".new"))
	if held, err := lock.TryLock(); err != nil || !held {
		return func() {}
	}
	_ = os.Rename(lock.Path(), filepath.Join(dir, owner)) // Windows does not; there it is not swept
	return func() { _ = lock.Close() }
}

// sweep removes the directories of processes that were killed. It goes by the kernel's locks
// and looks at nothing that has none.
func sweep() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*", owner)) // the pattern is a good one, unless the directory's name is none
	for _, file := range all {
		lock := flock.New(file, flock.SetFlag(os.O_RDONLY)) // it is not made anew where it has just gone
		if held, err := lock.TryLock(); err != nil || !held {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(file)) // those of other people stay
		_ = lock.Close()
	}
}
