package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/quiesce/quiesce/protocol"
)

// Scope is what one execution of a job has made on the outside and must take back when it
// does not finish. Hooks run last in, first out: when the handler is interrupted or fails
// they undo, when it is done they commit. What a scope makes is named by job and token, so
// that two executions of one job never touch each other's.
//
// A Scope is safe for concurrent use by the handler's goroutines.
type Scope struct {
	name        string // job and token
	mu          sync.Mutex
	hooks       []hook
	privateOnly atomic.Bool
}

// hook is one thing to do at the end. Either function may be nil.
type hook struct {
	undo   func(ctx context.Context) error
	commit func() error
	shared bool // touches names that the successor uses too
}

func newScope(job protocol.JobKey, token protocol.Token) *Scope {
	return &Scope{name: fmt.Sprintf("%d-%d", job, token)}
}

// OnAbort registers a hook that undoes something only this execution can have made. It runs
// also after the claim was lost.
func (s *Scope) OnAbort(undo func(ctx context.Context) error) { s.add(hook{undo: undo}) }

// OnAbortShared registers a hook that undoes something under a name that other executions
// of the job use too. It runs only while the claim is held, so that nobody deletes the
// successor's work, and must carry the job's token to whatever it changes.
func (s *Scope) OnAbortShared(undo func(ctx context.Context) error) {
	s.add(hook{undo: undo, shared: true})
}

// Acquire takes a resource and registers its release with no gap in between. The release
// runs when the scope ends, whichever way.
func Acquire[T any](s *Scope, acquire func() (T, func() error, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, release, err := acquire()
	if release != nil {
		s.hooks = append(s.hooks, hook{
			undo:   func(context.Context) error { return release() },
			commit: release,
		})
	}
	return v, err
}

// TempDir makes a directory that is removed unless the job commits.
func (s *Scope) TempDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := os.MkdirTemp("", "quiesce-"+s.name+"-")
	if err != nil {
		return "", fmt.Errorf("worker: make a directory for job %s: %w", s.name, err)
	}
	s.hooks = append(s.hooks, hook{undo: func(context.Context) error { return os.RemoveAll(dir) }})
	return dir, nil
}

// Stage creates a file beside path that takes path's place when the job commits and
// disappears otherwise, so that nobody ever sees it half written. The caller closes it.
func (s *Scope) Stage(path string) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-"+s.name+"-")
	if err != nil {
		return nil, fmt.Errorf("worker: stage %s: %w", path, err)
	}
	staged := f.Name()
	s.hooks = append(s.hooks, hook{
		undo:   func(context.Context) error { return ignoreMissing(os.Remove(staged)) },
		commit: func() error { return os.Rename(staged, path) },
	})
	return f, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Scope) add(h hook) {
	s.mu.Lock()
	s.hooks = append(s.hooks, h)
	s.mu.Unlock()
}

// size is how many hooks there are, to commit up to here later.
func (s *Scope) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hooks)
}

// pop takes the last hook.
func (s *Scope) pop() (hook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.hooks)
	if n == 0 {
		return hook{}, false
	}
	h := s.hooks[n-1]
	s.hooks = s.hooks[:n-1]
	return h, true
}

// commit ends the first n hooks as done, in the order in which they were made: what was
// staged first is in place first. What fails stays, to be undone.
func (s *Scope) commit(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, len(s.hooks))
	for i := range n {
		if c := s.hooks[i].commit; c != nil {
			if err := c(); err != nil {
				s.hooks = s.hooks[i:]
				return fmt.Errorf("worker: commit job %s: %w", s.name, err)
			}
		}
	}
	s.hooks = s.hooks[n:]
	return nil
}

// undo runs every hook and reports how that went.
func (s *Scope) undo(ctx context.Context) (protocol.Code, error) {
	code := protocol.UndoDone
	var errs []error
	for {
		h, ok := s.pop()
		switch {
		case !ok:
			if len(errs) > 0 {
				code = protocol.UndoFailed
			}
			return code, errors.Join(errs...)
		case h.shared && s.privateOnly.Load():
			code = protocol.UndoSkipped
		case h.undo != nil:
			if err := runHook(ctx, h.undo); err != nil {
				errs = append(errs, err)
			}
		}
	}
}

func runHook(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("worker: panic in a hook: %v", p)
		}
	}()
	return f(ctx)
}
