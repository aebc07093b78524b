package explore

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// check names an invariant that does not hold in st, or nothing. It looks from outside: at
// the broker's rows and at what runs, never at what a machine believes.
func (s *search) check(st *state) string {
	if st.broken != "" {
		return st.broken
	}
	known := 0
	var broken string
	fail := func(format string, args ...any) {
		if broken == "" {
			broken = fmt.Sprintf(format, args...)
		}
	}
	st.broker.EachJob(func(job protocol.JobKey, row *model.JobRow) {
		known++
		open := row.State == model.JobClaimed && row.Verb == protocol.NoVerb
		holder := &st.workers[max(row.Owner.Seat, 0)]
		if row.State == model.JobDone && st.returned&(1<<job) == 0 {
			fail("job %d is acked although no handler finished it (rule 6)", job)
		}
		if open && row.Lease > st.now && holder.clean && row.Owner.Incarnation == holder.member.Incarnation {
			fail("worker %d exited with status 0 and holds job %d (exit status)", holder.member.Seat, job)
		}
		if row.Failures > 0 {
			fail("job %d was charged a failure although no handler failed (rule 17)", job)
		}
		if row.State == model.JobCancelledByOperator {
			fail("job %d was cancelled for good and no operator asked for it (rule 17)", job)
		}
		if row.Poison > 0 && !st.hurt {
			fail("job %d was charged poison by a drain (rule 19)", job)
		}
		for i := range st.workers {
			w := &st.workers[i]
			if w.dead || w.handler == idle || w.job != job || w.token != row.Token || row.Verb == protocol.NoVerb {
				continue
			}
			switch {
			case w.handler != undoing:
				fail("job %d was settled (%v) while its handler runs (rule 8)", job, row.Verb)
			case row.Verb != protocol.Quarantine:
				fail("job %d was settled (%v) while its undo runs (rule 7)", job, row.Verb)
			}
		}
		// One live claim: whoever runs a job in time, and is not told to stop, is its holder.
		for i := range st.workers {
			w := &st.workers[i]
			if !w.dead && w.handler == working && w.job == job && w.token != row.Token {
				fail("worker %d works on job %d under token %d, but token %d was given out (rules 9 and 10)", i, job, w.token, row.Token)
			}
		}
	})
	if known != s.world.Jobs {
		fail("%d of %d jobs are lost", s.world.Jobs-known, s.world.Jobs)
	}
	return broken
}

// nextLeaseEnd is when the next lease of an open claim ends.
func (st *state) nextLeaseEnd() protocol.Instant {
	at := protocol.Never
	st.broker.EachJob(func(_ protocol.JobKey, row *model.JobRow) {
		if row.State == model.JobClaimed && row.Lease > st.now {
			at = min(at, row.Lease)
		}
	})
	return at
}

// done reports whether every job has come to an end that is promised.
func (st *state) done() bool {
	all := true
	st.broker.EachJob(func(_ protocol.JobKey, row *model.JobRow) {
		all = all && (row.State == model.JobDone || row.State == model.JobQuarantined)
	})
	return all
}

// holding reports whether a live worker still works on something.
func (st *state) holding() bool {
	for i := range st.workers {
		if w := &st.workers[i]; !w.dead && w.machine.Slots()[0].State() != protocol.SlotFree {
			return true
		}
	}
	return false
}

// served reports whether a worker is left that was not stopped. Without one nothing is
// promised about the jobs that are left.
func (st *state) served() bool {
	for i := range st.workers {
		if !st.workers[i].dead {
			return true
		}
	}
	return false
}
