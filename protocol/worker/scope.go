package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/quiesce/quiesce/protocol"
)

// Scope is what one execution of a job has made on the outside and must take back when it
// does not finish. Hooks run last in, first out: when the handler is interrupted or fails
// they undo, when it is done they commit. What a scope makes is named by job and token, so
// that two executions of one job never touch each other's.
//
// Saved progress closes a segment: once the broker has the cursor, what was made before it
// is committed, and undo reaches back to there and no further. What was taken by Acquire and
// TempDir outlives its segment and is given back at the end of the execution.
//
// A Scope is safe for concurrent use by the handler's goroutines. Hooks run in goroutines
// of their own, one after the other; one that fails, or panics, does not keep the next from
// running.
type Scope struct {
	job         *Job
	privateOnly atomic.Bool

	ending sync.Mutex // hooks are run by one at a time

	mu     sync.Mutex
	hooks  []hook
	made   int // hooks ever made: the newest one's number
	ended  scopeEnd
	broken error // a segment that could not be committed although its cursor is stored
}

// hook is one thing to do at the end. Either function may be nil.
type hook struct {
	number  int
	undo    func(ctx context.Context) error
	commit  func() error
	shared  bool // touches names that the successor uses too
	lasting bool // is not part of a segment but of the whole execution
}

// scopeEnd is how a scope ended.
type scopeEnd uint8

const (
	open scopeEnd = iota
	committed
	undone
)

// ErrScopeOver is returned to what uses the scope of an execution that has ended: a
// goroutine that its handler left behind.
var ErrScopeOver = errors.New("worker: the execution has ended, its scope takes nothing in any more")

// OnAbort registers a hook that undoes something only this execution can have made. It runs
// also after the claim was lost. When the execution was undone already, by the time that a
// goroutine it left behind comes here, the hook runs at once.
func (s *Scope) OnAbort(undo func(ctx context.Context) error) { _ = s.add(hook{undo: undo}) }

// OnAbortShared registers a hook that undoes something under a name that other executions
// of the job use too. It runs only while the claim is held, so that nobody deletes the
// successor's work, and must carry the job's token to whatever it changes.
func (s *Scope) OnAbortShared(undo func(ctx context.Context) error) {
	_ = s.add(hook{undo: undo, shared: true})
}

// Acquire takes a resource and registers its release with no gap in between: what acquire
// has taken is released whatever happens to the handler afterwards, when the execution ends
// in whichever way. acquire returns a release also beside an error if there is something to
// release all the same; a nil release is nothing to do.
func Acquire[T any](s *Scope, acquire func() (value T, release func() error, err error)) (T, error) {
	s.reached(AtAcquire)
	var value T
	if s.over() {
		return value, ErrScopeOver
	}
	value, release, err := acquire()
	if release != nil {
		if late := s.add(hook{undo: func(context.Context) error { return release() }, commit: release, lasting: true}); late != nil {
			return value, errors.Join(late, guarded(release))
		}
	}
	s.reached(AtAcquired)
	return value, err
}

// Listen says that the handler waits for something now that ends when its context is done, as
// Job.Sleep does, until done is called: that is no gap between two looks for cancellation,
// however long it takes. For those who wait on behalf of a handler and know its scope, as package
// proc does for a child process.
func (s *Scope) Listen() (done func()) {
	if s.job == nil {
		return func() {}
	}
	return s.job.listen()
}

func (s *Scope) reached(p Point) {
	if s.job != nil {
		s.job.on.reached(s.job, p)
	}
}

func (s *Scope) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != open
}

// add registers a hook, or reports that the scope has ended; a late undo hook is run then.
func (s *Scope) add(h hook) error {
	s.mu.Lock()
	end := s.ended
	if end == open {
		s.made++
		h.number = s.made
		s.hooks = append(s.hooks, h)
	}
	s.mu.Unlock()
	switch {
	case end == open:
		return nil
	case end == undone && h.undo != nil && !h.lasting && !(h.shared && s.privateOnly.Load()):
		_ = guarded(func() error { return h.undo(context.Background()) })
	}
	return ErrScopeOver
}

// mark is the number of the newest hook, to commit up to here later.
func (s *Scope) mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// untouched reports whether nothing was ever put into the scope, and ends it if so: most
// jobs need none.
func (s *Scope) untouched(end scopeEnd) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made > 0 {
		return false
	}
	s.ended = end
	return true
}

// clean reports whether nothing is left to undo and nothing to commit.
func (s *Scope) clean() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hooks) == 0 && s.broken == nil
}

// commitSegment ends the hooks up to a mark as done, except lasting ones. A failure leaves
// the job half done behind a cursor that says otherwise; it is remembered, and the job's
// undo fails.
func (s *Scope) commitSegment(mark int) error {
	s.ending.Lock()
	defer s.ending.Unlock()
	err := s.commitThose(func(h *hook) bool { return h.number <= mark && !h.lasting })
	if err != nil {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
	}
	return err
}

// commitAll ends the scope as done: what was staged first is in place first, and what was
// acquired is released after that, last in, first out. What fails stays, to be undone.
func (s *Scope) commitAll() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.isBroken() != nil {
		return s.broken
	}
	if err := s.commitThose(func(h *hook) bool { return !h.lasting }); err != nil {
		return err
	}
	return s.releaseAll()
}

// commitLost ends the scope of a job that is done but whose claim is lost: nothing is put
// under a name that others use, so only a scope that holds nothing but what it acquired
// comes to its end here.
func (s *Scope) commitLost() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	s.mu.Lock()
	for i := range s.hooks {
		if !s.hooks[i].lasting {
			s.mu.Unlock()
			return nil
		}
	}
	s.mu.Unlock()
	return s.releaseAll()
}

func (s *Scope) isBroken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// commitThose commits the hooks that which chooses, in the order in which they were made.
func (s *Scope) commitThose(which func(*hook) bool) error {
	for {
		h, ok := s.take(which, false)
		if !ok {
			return nil
		}
		if h.commit == nil {
			continue
		}
		if err := guarded(h.commit); err != nil {
			s.putBack(h)
			return fmt.Errorf("worker: commit job %d: %w", s.job.Key, err)
		}
	}
}

// releaseAll ends every hook that is left, last in first out, and then the scope.
func (s *Scope) releaseAll() error {
	for {
		h, ok := s.take(func(*hook) bool { return true }, true)
		if !ok {
			return nil
		}
		if err := guarded(h.commit); err != nil {
			s.putBack(h)
			return fmt.Errorf("worker: release what job %d acquired: %w", s.job.Key, err)
		}
	}
}

// take removes the first hook that which chooses, or the last one. When none is left at all
// and last was asked for, the scope ends as committed.
func (s *Scope) take(which func(*hook) bool, last bool) (hook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.hooks {
		k := i
		if last {
			k = len(s.hooks) - 1 - i
		}
		if h := s.hooks[k]; which(&h) {
			s.hooks = append(s.hooks[:k], s.hooks[k+1:]...)
			return h, true
		}
	}
	if last && s.ended == open {
		s.ended = committed
	}
	return hook{}, false
}

// putBack returns a hook that failed to its place.
func (s *Scope) putBack(h hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := 0
	for k < len(s.hooks) && s.hooks[k].number < h.number {
		k++
	}
	s.hooks = append(s.hooks[:k], append([]hook{h}, s.hooks[k:]...)...)
}

// pop takes the last hook; when there is none the scope has ended as undone.
func (s *Scope) pop() (hook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.hooks)
	if n == 0 {
		s.ended = undone
		return hook{}, false
	}
	h := s.hooks[n-1]
	s.hooks = s.hooks[:n-1]
	return h, true
}

// undo runs every hook, last in first out, and reports how that went.
func (s *Scope) undo(ctx context.Context) (protocol.Code, error) {
	s.ending.Lock()
	defer s.ending.Unlock()
	code := protocol.UndoDone
	errs := []error{s.isBroken()}
	for {
		h, ok := s.pop()
		switch {
		case !ok:
			err := errors.Join(errs...)
			if err != nil {
				code = protocol.UndoFailed
			}
			return code, err
		case h.shared && s.privateOnly.Load():
			code = protocol.UndoSkipped
		case h.undo != nil:
			if err := guarded(func() error { return h.undo(ctx) }); err != nil {
				errs = append(errs, err)
			}
		}
	}
}

// guarded runs a hook in a goroutine of its own, so that neither a panic nor a hook that
// ends its goroutine takes along what is still to be done.
func guarded(f func() error) error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("worker: a hook ended its goroutine without returning")
		defer func() { result <- err }()
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("worker: panic in a hook: %v", p)
			}
		}()
		err = f()
	}()
	return <-result
}
