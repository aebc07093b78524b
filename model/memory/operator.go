package memory

import (
	"errors"
	"slices"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("memory: the broker is closed")

// ErrFailedOver ends the calls that wait while the broker fails over.
var ErrFailedOver = errors.New("memory: the broker failed over")

// Enqueue adds a job behind those that its queue has and returns its key, the next one of
// this broker, from 1 on. The payload must not be changed afterwards.
func (b *Broker) Enqueue(queue, kind string, version uint16, payload []byte) protocol.JobKey {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue(queue)
	b.newest++
	b.jobs[b.newest] = &job{queue: q, kind: kind, version: version, payload: payload}
	q.model.Enqueue(b.now(), b.newest, 0, version, 0, &q.out)
	b.flush(q)
	b.alarm(b.deadline())
	return b.newest
}

// CancelJob carries out an operator's wish: the holder learns it at its next renewal; a job
// that nobody holds, or no longer, is cancelled at once.
func (b *Broker) CancelJob(key protocol.JobKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j := b.jobs[key]; j != nil {
		j.queue.model.CancelJob(b.now(), key, &j.queue.out)
		b.flush(j.queue)
	}
}

// Job returns a copy of a job's row; ok is false when there is none (any more).
func (b *Broker) Job(key protocol.JobKey) (row model.JobRow, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.jobs[key]
	if j == nil {
		return row, false
	}
	r := j.queue.model.Job(key)
	if r == nil {
		return row, false
	}
	return *r, true
}

// Parked returns how many claim requests wait.
func (b *Broker) Parked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, q := range b.queues {
		n += len(q.polls)
	}
	return n
}

// Fail makes every call of worker.Broker fail with err, those that wait included, and do
// nothing; nil ends it, as the end of a lost connection. Jobs can be added and looked at all the
// same.
func (b *Broker) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.err
	b.err = err
	switch {
	case err != nil:
		b.hangUp(err)
	case was != nil:
		b.reconnect()
	}
}

// reconnect makes known that the way to the broker is there again.
func (b *Broker) reconnect() {
	for _, heard := range b.heard {
		heard()
	}
}

// hangUp ends every waiting call. The requests themselves wait on, as those do whose client
// has vanished.
func (b *Broker) hangUp(err error) {
	for _, q := range b.queues {
		for _, p := range q.polls {
			p.answer(claimed{err: err})
		}
	}
}

// CutOff keeps a copy of everything the broker knows, as a replica has it that is cut off.
// failOver makes the copy what the broker knows: what was written since is forgotten. The
// clock goes on, and so do the numbers of new jobs.
func (b *Broker) CutOff() (failOver func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	replica := b.snapshot()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hangUp(ErrFailedOver)
		back := replica.snapshot()
		b.queues, b.jobs, b.lives, b.seats = back.queues, back.jobs, back.lives, back.seats
		b.tick()
		b.reconnect()
	}
}

// snapshot returns an independent copy of what a broker knows.
func (b *Broker) snapshot() *Broker {
	c := &Broker{jobs: map[protocol.JobKey]*job{}, lives: slices.Clone(b.lives), seats: map[string]int32{}}
	for seat, n := range b.seats {
		c.seats[seat] = n
	}
	for _, q := range b.queues {
		dst := &queue{name: q.name, model: new(model.Broker), ended: slices.Clone(q.ended)}
		q.model.CopyTo(dst.model)
		for _, p := range q.polls {
			dst.polls = append(dst.polls, &poll{request: p.request, until: p.until, kinds: p.kinds})
		}
		for key, j := range b.jobs {
			if j.queue == q {
				copied := *j
				copied.queue = dst
				c.jobs[key] = &copied
			}
		}
		c.queues = append(c.queues, dst)
	}
	return c
}
