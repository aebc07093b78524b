package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Job is one execution of a job, as its handler sees it. Its methods are safe for
// concurrent use by the handler's goroutines.
type Job struct {
	Key     protocol.JobKey
	Token   protocol.Token // to be carried by every write that must not come from a zombie
	Kind    string
	Version uint16
	Payload []byte
	Cursor  []byte // where an earlier execution had saved its progress; nil is nowhere
	Prior   Prior  // the execution before this one, so that its leavings can be found
	Scope   *Scope

	on    stage
	slot  int
	kind  protocol.Kind
	scope Scope
	back  returned
	lost  atomic.Bool

	saving   sync.Mutex // held while a save is handed over, so that none comes after the return
	returned bool

	committing sync.Mutex // segments are committed one by one

	mu       sync.Mutex
	softened bool
	draining chan struct{} // made when somebody asks for it
	progress progress
	checks   int
	listens  int               // waits that end when it is cancelled
	checked  protocol.Instant  // the last check for cancellation
	longest  protocol.Duration // between two checks
	told     protocol.Instant  // when it was cancelled, or Never
}

// stage is what a job runs on: a worker, or a rehearsal.
type stage interface {
	now() protocol.Instant
	timer(at protocol.Instant) Timer
	saveAsked(*Job)
	reached(*Job, Point)
	track(path string) (untrack func() error, err error)
}

// newJob makes a job of a grant.
func newJob(g *Grant, on stage, now protocol.Instant) *Job {
	j := &Job{
		Key: g.Job, Token: g.Token, Kind: g.Kind, Version: g.Version, Payload: g.Payload, Cursor: g.Cursor, Prior: g.Prior,
		on: on, checked: now, told: protocol.Never,
	}
	j.scope.job = j
	j.Scope = &j.scope
	return j
}

// Draining is closed when the worker begins to drain: a handler that can come to a good end
// soon should. It is not a cancellation.
func (j *Job) Draining() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.draining == nil {
		j.draining = make(chan struct{})
		if j.softened {
			close(j.draining)
		}
	}
	return j.draining
}

// soften gives the handler its first notice.
func (j *Job) soften() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.softened && j.draining != nil {
		close(j.draining)
	}
	j.softened = true
}

// Held reports whether the worker still trusts its claim. It may change at any moment.
func (j *Job) Held() bool { return !j.lost.Load() }

// Sleep waits, and returns early with the cause when ctx is cancelled. It counts as a check
// for cancellation throughout.
func (j *Job) Sleep(ctx context.Context, d time.Duration) error {
	j.on.reached(j, AtSleep)
	defer j.listen()()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := j.on.timer(j.on.now().Add(protocol.Duration(d)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C():
		return nil
	}
}

// Checkpoint returns the cause when ctx is cancelled, and nil otherwise. The time between
// two checks is measured: it bounds how fast a drain can be.
func (j *Job) Checkpoint(ctx context.Context) error {
	j.on.reached(j, AtCheckpoint)
	j.check()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// check takes in that the handler looks whether it is cancelled.
func (j *Job) check() {
	now := j.on.now()
	j.mu.Lock()
	j.checks++
	if j.listens == 0 {
		j.longest = max(j.longest, now.Sub(j.checked))
	}
	j.checked = now
	j.mu.Unlock()
}

// listen begins a wait that ends when the handler is cancelled. The next gap begins at the end
// of it.
func (j *Job) listen() (done func()) {
	j.check()
	j.mu.Lock()
	j.listens++
	j.mu.Unlock()
	return func() {
		now := j.on.now()
		j.mu.Lock()
		j.listens--
		j.checked = now
		j.mu.Unlock()
	}
}

// tell takes in that the handler was cancelled.
func (j *Job) tell(now protocol.Instant) {
	j.mu.Lock()
	j.told = min(j.told, now)
	j.mu.Unlock()
}

// gap returns the longest time that the handler, which has just returned, left between two
// checks, or took to return after it was cancelled. Of a handler that never checks only the
// latter is known: it may be listening in a way of its own.
func (j *Job) gap() protocol.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.told != protocol.Never:
		return max(j.longest, j.on.now().Sub(j.told))
	case j.checks > 0:
		return max(j.longest, j.on.now().Sub(j.checked))
	default:
		return 0
	}
}
