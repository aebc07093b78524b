package model

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// mustHold checks what is true of a broker after every call, by looking inside.
func (d *duel) mustHold(t *rapid.T) {
	d.everyJobHasOnePlace(t)
	d.tokensGrow(t)
	d.answersAreWhole(t)
	d.nobodyWaitsBesideAJob(t)
	d.nothingIsLost(t)
	if d.ticked {
		require.Greater(t, d.broker.Deadline(), d.now, "a tick left something undone")
		d.ticked = false
	}
}

// everyJobHasOnePlace: a claimed job is in the queue of leases once and nowhere else, a ready one
// in a queue, a delayed one in the heap; leases are ordered, and the first is not over.
func (d *duel) everyJobHasOnePlace(t *rapid.T) {
	b := d.broker
	leased := map[protocol.JobKey]bool{}
	last := protocol.Instant(0)
	for i := range b.leases.entries.size {
		l := *b.leases.entries.at(i)
		if b.void(l) {
			require.NotZero(t, i, "the first lease is over")
			continue
		}
		job, row := l.job, b.Job(l.job)
		require.False(t, leased[job], "job %d has two leases", job)
		require.Equal(t, l.until, row.Lease, "job %d", job)
		require.Equal(t, JobClaimed, row.State, "job %d has a lease", job)
		require.Equal(t, protocol.NoVerb, row.Verb, "job %d has a lease after its claim was settled", job)
		require.GreaterOrEqual(t, row.Lease, last, "job %d is out of order", job)
		leased[job], last = true, row.Lease
	}
	require.Len(t, leased, b.leases.running)

	queued := map[protocol.JobKey]bool{}
	for i := range b.fresh.size {
		queued[*b.fresh.at(i)] = true
	}
	for _, job := range b.returned {
		queued[job] = true
	}
	delayed := map[dueJob]bool{}
	for _, e := range b.delayed {
		delayed[e] = true
	}
	b.EachJob(func(job protocol.JobKey, row *JobRow) {
		require.Equal(t, row.State == JobClaimed, leased[job], "job %d in state %d and the queue of leases", job, row.State)
		require.Equal(t, row.Leased(), leased[job])
		if row.State == JobReady {
			require.True(t, queued[job], "job %d is ready and in no queue", job)
		}
		if row.State == JobDelayed {
			require.True(t, delayed[dueJob{row.Due, job}], "job %d is delayed and nobody knows until when", job)
		}
	})
}

func (d *duel) tokensGrow(t *rapid.T) {
	for _, f := range d.got.Facts {
		if f.Kind == Claimed {
			require.Greater(t, f.Token, d.tokens[f.Job], "job %d", f.Job)
			d.tokens[f.Job] = f.Token
		}
	}
}

// answersAreWhole: grants are followed by the end of their answer, with nothing in between.
func (d *duel) answersAreWhole(t *rapid.T) {
	for i, a := range d.got.Answers {
		require.Equal(t, a.Event.Kind == protocol.Granted, a.More)
		if a.More {
			require.Less(t, i+1, len(d.got.Answers), "an answer ends in the middle")
			next := d.got.Answers[i+1]
			require.Equal(t, a.To, next.To)
			require.Equal(t, a.Event.Seq, next.Event.Seq)
		}
	}
}

// each calls f for every life that is known.
func (t *memberTable) each(f func(m *member)) {
	for seat := range t.newest.Places() {
		for _, m := range t.lives(seat) {
			if m != nil {
				f(m)
			}
		}
	}
}

// nobodyWaitsBesideAJob: a long poll waits only while nothing is claimable, and only of a
// request that is open and of a worker that stays.
func (d *duel) nobodyWaitsBesideAJob(t *rapid.T) {
	b := d.broker
	parked := 0
	b.members.each(func(m *member) {
		if m.parked {
			parked++
			require.Greater(t, m.seq, m.closed)
			require.False(t, m.going)
			require.Zero(t, m.given)
		}
	})
	listed := 0
	for _, l := range b.members.waiters {
		for i := l.head; i != nobody; i = b.members.row(i).next {
			require.Equal(t, l.generation, b.members.row(i).Generation)
			listed++
		}
	}
	require.Equal(t, parked, listed)
	if parked > 0 {
		b.EachJob(func(job protocol.JobKey, row *JobRow) {
			require.NotEqual(t, JobReady, row.State, "job %d is ready while somebody waits", job)
		})
	}
}

// nothingIsLost: whatever was enqueued is there, or was finished or cancelled before.
func (d *duel) nothingIsLost(t *rapid.T) {
	for _, f := range d.got.Facts {
		if f.Kind == Finished || f.Kind == JobCancelled {
			require.False(t, d.ended[f.Job], "job %d ends a second time", f.Job)
			d.ended[f.Job] = true
		}
	}
	for job := protocol.JobKey(1); job <= d.jobs; job++ {
		if d.broker.Job(job) == nil {
			require.True(t, d.ended[job], "job %d is gone without an end", job)
		}
	}
}
