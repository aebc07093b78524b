package model

import (
	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// change is what a job's row was before a write; known is false before its Enqueue.
type change struct {
	at    protocol.Instant
	job   protocol.JobKey
	known bool
	row   JobRow
}

// record notes a row before it is written, as long as a failover could undo the write.
func (b *Broker) record(now protocol.Instant, job protocol.JobKey, row *JobRow) {
	if b.cfg.Journal == 0 {
		return
	}
	for b.safe < len(b.journal) && b.journal[b.safe].at.Add(b.cfg.Journal) < now {
		b.safe++
	}
	if b.safe > len(b.journal)/2 {
		b.journal = append(b.journal[:0], b.journal[b.safe:]...)
		b.safe = 0
	}
	c := change{at: now, job: job}
	if row != nil {
		c.known, c.row = true, *row
	}
	b.journal = append(b.journal, c)
}

// Forget undoes every write about jobs since an instant, as a failover to a replica does
// that had not received them. What members hold on the wire stays: it is the job's token
// that tells their claims from later ones.
func (b *Broker) Forget(now, since protocol.Instant, out *Outbox) {
	for i := len(b.journal) - 1; i >= b.safe && b.journal[i].at > since; i-- {
		c := &b.journal[i]
		out.Facts = append(out.Facts, Fact{Kind: Forgotten, Job: c.job, At: now})
		if !c.known {
			b.jobs.Drop(uint64(c.job))
		} else {
			*b.jobs.Put(uint64(c.job)) = c.row
		}
		b.journal = b.journal[:i]
	}
	b.rebuild()
	b.serve(now, out)
}

// refill hands out what the limit of claims, of which some may have ended, kept back.
func (b *Broker) refill(now protocol.Instant, out *Outbox) {
	if b.cfg.MaxClaims > 0 {
		b.serve(now, out)
	}
}

// serve hands what is claimable to those who wait.
func (b *Broker) serve(now protocol.Instant, out *Outbox) {
	for len(b.members.waiters) > 0 && !b.full() {
		job, ok := b.takeReady()
		if !ok {
			return
		}
		row := b.Job(job)
		b.grantParked(now, b.members.waiting(row.Owner.Generation, b.prefersNewer(row)), job, out)
	}
}

// rebuild makes the queues and the list of leases anew from the rows, whatever the rows and
// queues say of each other.
func (b *Broker) rebuild() {
	b.fresh.reset()
	b.returned = b.returned[:0]
	b.delayed = b.delayed[:0]
	b.finished.reset()
	b.leases.reset()
	b.EachJob(func(job protocol.JobKey, row *JobRow) {
		row.lease = 0
		switch row.State {
		case JobReady:
			b.returned.push(job)
		case JobClaimed:
			if b.cfg.Deviations.Has(deviation.LeasesForgotten) {
				row.Lease = protocol.Never // until the next renewal, if there is one
				return
			}
			b.lease(job, row, row.Lease)
		case JobDelayed:
			b.delayed.push(dueJob{row.Due, job})
		case JobDone, JobCancelledByOperator:
			b.finished.push(job)
		}
	})
}

// CopyTo makes dst an equal, independent broker. dst's memory is used again where possible.
func (b *Broker) CopyTo(dst *Broker) {
	dst.cfg, dst.leaked, dst.sweepAt, dst.serial = b.cfg, b.leaked, b.sweepAt, b.serial
	b.leases.copyTo(&dst.leases)
	b.jobs.CopyTo(&dst.jobs)
	b.fresh.copyTo(&dst.fresh)
	b.finished.copyTo(&dst.finished)
	b.members.copyTo(&dst.members)
	dst.returned = append(dst.returned[:0], b.returned...)
	dst.delayed = append(dst.delayed[:0], b.delayed...)
	dst.journal, dst.safe = append(dst.journal[:0], b.journal...), b.safe
}
