package worker

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Point is a place at which a handler deals with its job.
type Point uint8

// Points.
const (
	AtCheckpoint Point = iota // about to check for cancellation
	AtSleep                   // about to sleep
	AtSave                    // about to hand progress over
	AtFlush                   // about to hand progress over and to wait for it
	AtAcquire                 // about to take something into the scope
	AtAcquired                // took something into the scope
)

func (p Point) String() string {
	return [...]string{"checkpoint", "sleep", "save", "flush", "acquisition", "end of an acquisition"}[p]
}

// Rehearsal runs a handler on one job without a worker, a broker, or waiting: Sleep passes
// at once, and what is saved is stored at once. It is for tests of handlers, which package
// handlertest makes of it.
type Rehearsal struct {
	Grant Grant
	// CancelAt is the point, counted from 1, at which the handler is cancelled with Cause; 0
	// is never. ErrLeaseLost takes the claim away with it.
	CancelAt int
	Cause    error
	// NoRenewal is a rehearsal in which no renewal comes: what was saved is not stored, and
	// what was to be flushed is not once the handler is cancelled.
	NoRenewal bool
	Patience  time.Duration // how long the handler, and then its undo hooks, are waited for
	// Stored, if set, is called whenever a cursor was stored and its segment committed.
	Stored func(cursor []byte)
}

// Performance is how a rehearsal went.
type Performance struct {
	Points   []Point // reached, in order
	Returned bool    // before the patience was over; nothing below holds otherwise
	Code     protocol.Code
	Err      error  // what the handler returned, or panicked with
	Cursor   []byte // the newest that was stored, else the grant's
	Saves    int    // cursors handed over
	Stored   int    // of those, stored
	Undo     protocol.Code
	UndoErr  error
	Made     []string // files and directories of the scope
	Left     []string // of those, still there
}

// rehearsing is the stage of a rehearsal.
type rehearsing struct {
	*Rehearsal
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	clock protocol.Instant
	p     Performance
	cut   bool
}

// Run performs the handler once, commits or undoes what it made, and says how that went. A
// handler that does not come back is left behind.
func (r Rehearsal) Run(ctx context.Context, h Handler) Performance {
	on := &rehearsing{Rehearsal: &r, p: Performance{Cursor: r.Grant.Cursor}}
	ctx, on.cancel = context.WithCancelCause(ctx)
	defer on.cancel(nil)
	job := newJob(&r.Grant, on, 0)
	back := &returned{code: protocol.ReturnedPanic, err: errGoexit}
	if !within(r.Patience, func() { perform(ctx, job, h, back) }) {
		on.mu.Lock()
		defer on.mu.Unlock()
		p := on.p
		p.Points = slices.Clone(p.Points)
		return p
	}
	job.comeBack()
	job.commitIfDone(back)
	on.p.Returned, on.p.Code, on.p.Err = true, back.code, back.err
	on.takeBack(job)
	for _, path := range on.p.Made {
		if _, err := os.Lstat(path); err == nil {
			on.p.Left = append(on.p.Left, path)
		}
	}
	return on.p
}

// perform runs a handler in this goroutine, whatever it does to it.
func perform(ctx context.Context, job *Job, h Handler, back *returned) {
	defer func() {
		if p := recover(); p != nil {
			back.err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	err := h(ctx, job)
	back.code, back.err = codeOf(err), err
}

// takeBack undoes what is not committed.
func (on *rehearsing) takeBack(job *Job) {
	if job.Scope.clean() {
		return
	}
	job.Scope.privateOnly.Store(!job.Held())
	ctx, cancel := context.WithTimeout(context.Background(), on.Patience)
	defer cancel()
	on.p.Undo, on.p.UndoErr = protocol.UndoFailed, context.DeadlineExceeded
	var code protocol.Code
	var err error
	if within(on.Patience, func() { code, err = job.Scope.undo(ctx) }) {
		on.p.Undo, on.p.UndoErr = code, err
	}
}

// within runs f in a goroutine of its own and reports whether it ended in time.
func within(patience time.Duration, f func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}

func (on *rehearsing) now() protocol.Instant {
	on.mu.Lock()
	defer on.mu.Unlock()
	return on.clock
}

// timer lets the time pass that it is set for.
func (on *rehearsing) timer(at protocol.Instant) Timer {
	on.mu.Lock()
	defer on.mu.Unlock()
	on.clock = max(on.clock, at)
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return passed{c}
}

// passed is a timer that has fired.
type passed struct{ c chan time.Time }

func (p passed) C() <-chan time.Time { return p.c }
func (passed) Stop()                 {}

func (on *rehearsing) reached(job *Job, p Point) {
	on.mu.Lock()
	on.p.Points = append(on.p.Points, p)
	cut := len(on.p.Points) == on.CancelAt
	on.cut = on.cut || cut
	on.mu.Unlock()
	if cut {
		if on.Cause == ErrLeaseLost {
			job.forfeit()
		}
		job.soften()
		on.cancel(on.Cause)
	}
}

func (on *rehearsing) saveAsked(job *Job) {
	handle, flush := job.newest()
	on.mu.Lock()
	on.p.Saves++
	silent := on.NoRenewal && (!flush || on.cut)
	on.mu.Unlock()
	if handle == 0 || silent {
		return
	}
	cursor := job.cursorOf(handle)
	if err := job.stored(handle); err != nil {
		return // it is the scope that is broken: its undo will fail
	}
	on.mu.Lock()
	on.p.Cursor = cursor
	on.p.Stored = on.p.Saves
	on.mu.Unlock()
	if on.Stored != nil {
		on.Stored(cursor)
	}
}

func (on *rehearsing) track(path string) (func() error, error) {
	on.mu.Lock()
	defer on.mu.Unlock()
	on.p.Made = append(on.p.Made, path)
	return untracked, nil
}
