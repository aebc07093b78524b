package fleet

import (
	"context"
	"fmt"
	"sync"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/redis"
)

// enqueuer adds jobs to the queue beside the supervisor, which must not wait for Redis. The
// books are the supervisor's alone.
type enqueuer struct {
	queue  *redis.Queue
	kinds  []string
	clock  clock
	todo   chan arrival
	failed chan error
	closed chan struct{} // nothing is added any more

	mu    sync.Mutex
	added []added
}

// arrival is a job that is to be added now.
type arrival struct {
	job     *Job
	version uint16
}

// added is a job that is in the queue, and since when.
type added struct {
	job *Job
	key protocol.JobKey
	at  protocol.Instant
}

func newEnqueuer(plan *Plan, queue *redis.Queue, c clock) *enqueuer {
	e := &enqueuer{
		queue: queue, clock: c, failed: make(chan error, 1), closed: make(chan struct{}),
		todo: make(chan arrival, len(plan.Jobs)), // so that adding never waits
	}
	for i := range plan.Scenario.Jobs {
		e.kinds = append(e.kinds, plan.Scenario.Jobs[i].Name)
	}
	return e
}

func (e *enqueuer) add(j *Job, version uint16) { e.todo <- arrival{j, version} }

// run adds jobs until there are none to come.
func (e *enqueuer) run(ctx context.Context) {
	defer close(e.closed)
	for a := range e.todo {
		at := e.clock.Now()
		got, err := e.queue.Enqueue(ctx, redis.Job{Kind: e.kinds[a.job.Kind], Version: a.version, Payload: payloadOf(a.job)})
		if err != nil {
			e.failed <- fmt.Errorf("fleet: job %d could not be enqueued: %w", a.job.Job, err)
			return
		}
		e.mu.Lock()
		e.added = append(e.added, added{a.job, got[0].Job, at})
		e.mu.Unlock()
	}
}

// sofar is what was added by now.
func (e *enqueuer) sofar() []added {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.added
}

// close ends the adding, and returns what was added.
func (e *enqueuer) close() []added {
	close(e.todo)
	<-e.closed
	return e.sofar()
}

// hasEnded reports whether nothing will happen to a job by itself any more.
func hasEnded(s redis.State) bool {
	switch s {
	case redis.Done, redis.Cancelled, redis.Dead, redis.Quarantined:
		return true
	default:
		return false
	}
}
