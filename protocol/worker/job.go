package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Job is one execution of a job, as its handler sees it.
type Job struct {
	Key     protocol.JobKey
	Token   protocol.Token // to be carried by every write that must not come from a zombie
	Kind    string
	Version uint16
	Payload []byte
	Cursor  []byte // where an earlier execution had saved its progress; nil is nowhere
	Prior   Prior
	Scope   *Scope

	w        *Worker
	slot     int
	draining chan struct{}
	lost     atomic.Bool

	saving   sync.Mutex // held while a save is handed over, so that none comes after the return
	finished bool

	committing sync.Mutex // segments are committed one by one

	mu        sync.Mutex
	saves     []save
	handle    protocol.Cursor // of the newest save
	lastCheck protocol.Instant
	longest   protocol.Duration
}

// save is a cursor that the broker may not have yet.
type save struct {
	handle protocol.Cursor
	cursor []byte
	hooks  int // of the scope, when it was made
	stored chan struct{}
}

// Draining is closed when the worker begins to drain: a handler that can come to a good end
// soon should. It is not a cancellation.
func (j *Job) Draining() <-chan struct{} { return j.draining }

// Held reports whether the worker still trusts its claim. It may change at any moment.
func (j *Job) Held() bool { return !j.lost.Load() }

// Sleep waits, and returns early with the cause when ctx is cancelled.
func (j *Job) Sleep(ctx context.Context, d time.Duration) error {
	j.check()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		j.check()
		return nil
	}
}

// Checkpoint returns the cause when ctx is cancelled, and nil otherwise. The time between
// two checks is measured: it bounds how fast a drain can be.
func (j *Job) Checkpoint(ctx context.Context) error {
	j.check()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (j *Job) check() {
	now := j.w.clock.Now()
	j.mu.Lock()
	j.longest = max(j.longest, now.Sub(j.lastCheck))
	j.lastCheck = now
	j.mu.Unlock()
}

// Save keeps progress: the next execution starts with this cursor, and what the scope has
// made so far is committed once the broker has it. It travels with the next renewal. The
// cursor belongs to the worker afterwards.
func (j *Job) Save(cursor []byte) { j.save(cursor, false) }

// Flush saves at once and waits until the broker has the cursor. It returns ErrLeaseLost
// when the claim is gone, and the cause when ctx is cancelled first.
func (j *Job) Flush(ctx context.Context, cursor []byte) error {
	stored := j.save(cursor, true)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-stored:
		if j.lost.Load() {
			return ErrLeaseLost
		}
		return nil
	}
}

func (j *Job) save(cursor []byte, flush bool) <-chan struct{} {
	if cursor == nil {
		cursor = []byte{}
	}
	j.saving.Lock()
	defer j.saving.Unlock()
	if j.finished {
		j.lost.Store(true)
		never := make(chan struct{})
		close(never)
		return never
	}
	j.mu.Lock()
	j.handle++
	s := save{j.handle, cursor, j.Scope.size(), make(chan struct{})}
	j.saves = append(j.saves, s)
	j.mu.Unlock()
	j.w.post(protocol.SaveCursor(j.slot, s.handle, flush))
	return s.stored
}

// finish ends the time in which progress can be saved.
func (j *Job) finish() {
	j.saving.Lock()
	j.finished = true
	j.saving.Unlock()
}

// cursorOf returns the bytes that a handle stands for.
func (j *Job) cursorOf(handle protocol.Cursor) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.saves {
		if s.handle == handle {
			return s.cursor
		}
	}
	return nil
}

// stored takes in that the broker has a cursor: undo reaches back to it and no further.
func (j *Job) stored(handle protocol.Cursor) error {
	j.committing.Lock()
	defer j.committing.Unlock()
	j.mu.Lock()
	hooks, k := 0, 0
	for k < len(j.saves) && j.saves[k].handle <= handle {
		hooks = j.saves[k].hooks
		close(j.saves[k].stored)
		k++
	}
	j.saves = j.saves[k:]
	for i := range j.saves {
		j.saves[i].hooks -= hooks
	}
	j.mu.Unlock()
	return j.Scope.commit(hooks)
}

// forfeit takes in that the claim is lost: nothing that waits will be stored.
func (j *Job) forfeit() {
	j.lost.Store(true)
	j.mu.Lock()
	for _, s := range j.saves {
		close(s.stored)
	}
	j.saves = nil
	j.mu.Unlock()
}
