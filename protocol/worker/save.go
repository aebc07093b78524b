package worker

import (
	"context"
	"errors"
	"math"

	"github.com/quiesce/quiesce/protocol"
)

// ErrReturned is what saving progress returns after the handler has returned: a goroutine
// that it left behind saves nothing.
var ErrReturned = errors.New("worker: the handler has returned, its progress cannot be saved any more")

// progress is what a job has saved and the broker may not have yet. Of the cursors that are
// not on their way only the newest is kept: it stands for those before it.
type progress struct {
	saves   []save // by handle
	handle  protocol.Cursor
	asked   bool // the newest waits to be taken in
	flush   bool // and is to be sent at once
	waiting []waiter
	flights int           // answers and commits that are awaited
	landed  chan struct{} // closed when there are none; made when somebody waits
}

// save is a cursor under the handle that the machine knows it by.
type save struct {
	handle protocol.Cursor
	cursor []byte
	mark   int  // of the scope, when it was saved
	out    bool // sent at least once
}

type waiter struct {
	handle protocol.Cursor
	done   chan error // buffered
}

// Save keeps progress: the next execution starts with this cursor, and what the scope has
// made so far is committed once the broker has it. It travels with the next renewal, and a
// later Save overtakes it. The cursor belongs to the worker afterwards. After the handler
// has returned, and after the claim was lost, nothing is saved.
func (j *Job) Save(cursor []byte) {
	j.on.reached(j, AtSave)
	_ = j.save(cursor, nil)
}

// Flush saves at once and waits until the broker has the cursor and what it stands for is
// committed. It returns ErrLeaseLost when the claim is gone, the cause when ctx is cancelled
// first, ErrReturned after the handler has returned, and whatever kept the scope from being
// committed. While the broker is away it waits: the cursor rides on the next renewal.
func (j *Job) Flush(ctx context.Context, cursor []byte) error {
	j.on.reached(j, AtFlush)
	done := make(chan error, 1)
	if err := j.save(cursor, done); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // at the same time: it is stored, and that is the better news
		return err
	default:
		return context.Cause(ctx)
	}
}

// save hands the newest cursor over. done, if any, hears when it is stored.
func (j *Job) save(cursor []byte, done chan error) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	if j.returned {
		return ErrReturned
	}
	if j.lost.Load() {
		return ErrLeaseLost
	}
	if cursor == nil {
		cursor = []byte{} // nil is "nothing saved"
	}
	mark := j.Scope.mark()
	j.mu.Lock()
	p := &j.progress
	if n := len(p.saves); p.asked && n > 0 && !p.saves[n-1].out {
		p.saves = p.saves[:n-1] // nobody knows its handle yet
	}
	p.handle++
	p.saves = append(p.saves, save{handle: p.handle, cursor: cursor, mark: mark})
	if done != nil {
		p.waiting = append(p.waiting, waiter{p.handle, done})
		p.flush = true
	}
	first := !p.asked
	p.asked = true
	j.mu.Unlock()
	if first {
		j.on.saveAsked(j)
	}
	return nil
}

// newest takes the newest cursor in: its handle, and whether it is to be sent at once.
// Older ones that are not on their way are forgotten, but for the one before: the step that
// takes this one in may begin with a renewal that still carries that one.
func (j *Job) newest() (protocol.Cursor, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := &j.progress
	flush := p.flush
	p.asked, p.flush = false, false
	n := len(p.saves)
	if n == 0 {
		return 0, false // the claim was lost since
	}
	kept := p.saves[:0]
	for i, s := range p.saves {
		if s.out || i >= n-2 {
			kept = append(kept, s)
		}
	}
	p.saves = kept
	return p.saves[len(p.saves)-1].handle, flush
}

// cursorOf returns the bytes that a handle stands for, nil if there are none any more.
func (j *Job) cursorOf(handle protocol.Cursor) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.progress.saves {
		if s := &j.progress.saves[i]; s.handle == handle {
			return s.cursor
		}
	}
	return nil
}

// depart returns the bytes of a cursor that is being sent; land must follow.
func (j *Job) depart(handle protocol.Cursor) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.progress.saves {
		if s := &j.progress.saves[i]; s.handle == handle {
			s.out = true
			j.progress.flights++
			return s.cursor
		}
	}
	return nil
}

// hold has those who wait for answers wait for one thing more.
func (j *Job) hold() {
	j.mu.Lock()
	j.progress.flights++
	j.mu.Unlock()
}

// land takes in that what was sent has been answered, and the answer dealt with.
func (j *Job) land() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress.flights--
	if j.progress.flights == 0 && j.progress.landed != nil {
		close(j.progress.landed)
		j.progress.landed = nil
	}
}

// awaited returns a channel that closes when no answer is awaited, or nil if none is.
func (j *Job) awaited() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.progress.flights == 0 {
		return nil
	}
	if j.progress.landed == nil {
		j.progress.landed = make(chan struct{})
	}
	return j.progress.landed
}

// stored takes in that the broker has a cursor: undo reaches back to it and no further.
func (j *Job) stored(handle protocol.Cursor) error {
	j.committing.Lock()
	defer j.committing.Unlock()
	j.mu.Lock()
	p := &j.progress
	mark, k := 0, 0
	for k < len(p.saves) && p.saves[k].handle <= handle {
		mark = p.saves[k].mark
		k++
	}
	p.saves = append(p.saves[:0], p.saves[k:]...)
	j.mu.Unlock()
	err := j.Scope.commitSegment(mark)
	j.answerWaiters(handle, err)
	return err
}

// answerWaiters tells who waits for a cursor up to a handle.
func (j *Job) answerWaiters(handle protocol.Cursor, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := &j.progress
	k := 0
	for ; k < len(p.waiting) && p.waiting[k].handle <= handle; k++ {
		p.waiting[k].done <- err
	}
	p.waiting = p.waiting[k:]
}

// forfeit takes in that the claim is lost: nothing that waits will be stored.
func (j *Job) forfeit() {
	j.lost.Store(true)
	j.mu.Lock()
	j.progress.saves = nil
	j.mu.Unlock()
	j.answerWaiters(math.MaxUint64, ErrLeaseLost)
}

// comeBack ends the time in which progress can be saved.
func (j *Job) comeBack() {
	j.saving.Lock()
	j.returned = true
	j.saving.Unlock()
}
