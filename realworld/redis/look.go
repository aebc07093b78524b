package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// State is where a job stands.
type State string

// States of a job.
const (
	Ready       State = "ready"
	Claimed     State = "claimed"
	Delayed     State = "delayed"
	Dead        State = "dead"        // dead-lettered
	Quarantined State = "quarantined" // parked: partial work could not be undone
	Done        State = "done"        // of jobs that ended only this is known, and for a while
	Cancelled   State = "cancelled"   // by an operator
)

// Info is what can be seen of a job.
type Info struct {
	Job     protocol.JobKey
	State   State
	Kind    string
	Version uint16
	Payload []byte

	Deliveries int // claims
	Failures   int
	Poison     int // expiries in a row
	Fruitless  int // interruptions in a row without progress

	Added  time.Time // when it was enqueued, to a second and a hundredth of its age
	At     time.Time // Claimed: end of the lease; Delayed: when it is due; Dead, Quarantined: since when. On Redis's clock
	Cancel bool      // Claimed: an operator wants it cancelled

	Class   string // of the newest failure's error
	Message string
	Build   string // of the handler that failed
}

// Job looks at one job; ok is false when nothing is known of it (any more).
func (q *Queue) Job(ctx context.Context, job protocol.JobKey) (info Info, ok bool, err error) {
	p := q.broker.of(job)
	if p == nil || p.queue != q {
		return Info{}, false, nil
	}
	info, ok, err = p.look(ctx, job)
	if err != nil {
		return Info{}, false, fmt.Errorf("redis: job %d: %w", job, err)
	}
	return info, ok, nil
}

func (p *partition) look(ctx context.Context, job protocol.JobKey) (Info, bool, error) {
	r := p.run(ctx, &p.queue.broker.scripts.look, idOf(job))
	if isNil(r.Error()) {
		return Info{}, false, nil
	}
	parts, err := r.ToArray()
	if err != nil {
		return Info{}, false, err
	}
	info := Info{Job: job}
	return info, true, info.read(p.queue.broker, parts)
}
