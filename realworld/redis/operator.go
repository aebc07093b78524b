package redis

import (
	"context"
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// Cancel carries out an operator's wish. A job that nobody holds is cancelled at once; its
// holder learns it with the next renewal, and the job is cancelled when it lets go of it
// unfinished. It is false for a job that had ended, is dead-lettered or quarantined.
func (q *Queue) Cancel(ctx context.Context, job protocol.JobKey) (bool, error) {
	p := q.broker.of(job)
	if p == nil || p.queue != q {
		return false, nil
	}
	said, err := p.run(ctx, &q.broker.scripts.cancel, idOf(job)).ToString()
	if err != nil {
		return false, fmt.Errorf("redis: cancel: %w", err)
	}
	return said != "ended", nil
}
