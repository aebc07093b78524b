package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/protocol"
)

// TempDir makes a directory for this execution, which is removed when it ends, whichever
// way; what is to be kept must have been moved out of it by then. It lies where os.TempDir
// says, and its name holds job and token. What earlier executions of the job have left
// behind on this machine, killed before they could clean up, is removed first.
func (s *Scope) TempDir() (string, error) {
	s.sweep(os.TempDir(), s.prefix())
	return Acquire(s, func() (string, func() error, error) {
		dir, err := os.MkdirTemp("", s.prefix()+strconv.FormatUint(uint64(s.job.Token), 10)+"-")
		if err != nil {
			return "", nil, fmt.Errorf("worker: make a directory for job %d: %w", s.job.Key, err)
		}
		untrack, err := s.job.on.track(dir)
		if err != nil {
			return "", func() error { return os.RemoveAll(dir) }, err
		}
		return dir, func() error { return errors.Join(os.RemoveAll(dir), untrack()) }, nil
	})
}

// prefix begins the names of what executions of the job make.
func (s *Scope) prefix() string { return "quiesce-" + strconv.FormatUint(uint64(s.job.Key), 10) + "-" }

// Stage creates a file beside path that takes path's place when the job commits and
// disappears otherwise, so that nobody ever sees it half written. Before it takes its place
// it is written through to the disk, since a job that is acked is not run again. Its mode is
// 0600; change it with File.Chmod. A file that the handler has not closed is closed at the
// end. What earlier executions of the job, killed before they could clean up, have left
// beside path is removed first.
func (s *Scope) Stage(path string) (*os.File, error) {
	s.reached(AtAcquire)
	if s.over() {
		return nil, ErrScopeOver
	}
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."+s.prefix()
	s.sweep(dir, prefix)
	f, err := os.CreateTemp(dir, prefix+strconv.FormatUint(uint64(s.job.Token), 10)+"-")
	if err != nil {
		return nil, fmt.Errorf("worker: stage %s: %w", path, err)
	}
	untrack, err := s.job.on.track(f.Name())
	discard := func() error {
		_ = f.Close() // by the handler already, as it should be
		return errors.Join(ignoreMissing(os.Remove(f.Name())), untrack())
	}
	if err != nil {
		return nil, errors.Join(err, discard())
	}
	late := s.add(hook{
		undo:   func(context.Context) error { return discard() },
		commit: func() error { return errors.Join(putInPlace(f, path), untrack()) },
	})
	if late != nil {
		return nil, errors.Join(late, discard())
	}
	s.reached(AtAcquired)
	return f, nil
}

// putInPlace makes a staged file final: content first, then the name.
func putInPlace(f *os.File, path string) error {
	if err := f.Sync(); errors.Is(err, os.ErrClosed) {
		if err := syncFile(f.Name(), os.O_RDWR); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	_ = syncFile(filepath.Dir(path), os.O_RDONLY) // not every system and file system can
	return nil
}

func syncFile(name string, flag int) error {
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sweep removes from dir what executions with older tokens have made under prefix, if there
// were any. A zombie among them loses what nobody would ever commit; whatever cannot be
// removed stays.
func (s *Scope) sweep(dir, prefix string) {
	if s.job.Prior.Token == 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, "-")
		if old, err := strconv.ParseUint(digits, 10, 64); err == nil && protocol.Token(old) < s.job.Token {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
