package invariant

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// leaseEnd is when a claim is over unless it is renewed.
type leaseEnd struct {
	at  protocol.Instant
	job protocol.JobKey
}

// patience is how long after the end of a lease a broker may leave a job with its holder.
func patience(q *model.Queue, rescue model.Rescue) protocol.Duration {
	if rescue == model.RescueBySweep {
		return q.SweepSlack + q.SweepPeriod
	}
	return 0
}

// keeps takes down until when a claim is kept. All leases are of one length, so their ends are
// taken down in order.
func (c *Checker) keeps(key protocol.JobKey, j *job) {
	j.lease = c.now.Add(c.lease)
	c.leases.push(leaseEnd{j.lease, key})
}

// freed looks for claims that nobody has renewed and that the broker has not freed. It may be
// late as long as nobody wants a job. (freed-in-time)
func (c *Checker) freed(handedOut bool) {
	for !c.leases.empty() {
		end := c.leases.first()
		j := c.jobs.Get(uint64(end.job))
		stands := j != nil && j.open && !j.over && j.lease == end.at
		if stands && (end.at.Add(c.patience) >= c.now || !handedOut && !c.somebodyWaits()) {
			return
		}
		c.leases.drop()
		if stands && c.must(FreedInTime, false) {
			c.breaks(FreedInTime, end.job, j.seat, "job %d is still held for worker %d, %s: its lease, as far as it was renewed, ended at %v", end.job, j.seat, c.whatBecameOf(j), end.at)
		}
	}
}

// whatBecameOf says what there is of the life that holds a job.
func (c *Checker) whatBecameOf(j *job) string {
	switch p := &c.procs[j.seat]; {
	case p.life != j.life:
		return "which has begun another life"
	case !p.up:
		return "which is dead"
	default:
		return "which is silent"
	}
}
