package scenarios

import (
	"fmt"
	"time"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// jobs returns the kinds, and the trace if there is one.
func (r *reader) jobs(j *jobsKeys, grace protocol.Duration) ([]model.Job, model.Trace) {
	if j.trace != nil {
		return r.recorded(j.trace, grace)
	}
	var list []model.Job
	for i := range j.kinds {
		k := &j.kinds[i]
		job := r.job(&k.behaviour, grace)
		job.Name, job.Arrivals, job.Work, job.Count = k.name, k.Arrivals.table, k.Duration.table, k.Count.value
		list = append(list, job)
	}
	return list, nil
}

// mostJobs is how many jobs of a kind one run may bring. A run of so many takes hours.
const mostJobs = 1e9

// countJobs refuses rates that are a slip of the keyboard: their run would never end.
func (r *reader) countJobs(j *jobsKeys, s *model.Scenario) {
	for i := range j.kinds {
		a := &j.kinds[i].Arrivals
		if a.table == nil || j.kinds[i].Count.written() {
			continue
		}
		if n := float64(s.Duration) / a.table.Moments().Mean; n > mostJobs {
			r.fail(a.place, fmt.Sprintf("brings %.3g jobs within duration %v, more than %.0g", n, s.Duration, float64(mostJobs)), "lower the rate or shorten duration")
		}
	}
}

// recorded gives every kind of a trace the same behaviour.
func (r *reader) recorded(t *traceKeys, grace protocol.Duration) ([]model.Job, model.Trace) {
	path := r.path(t.Trace.value)
	job := r.job(&t.behaviour, grace)
	if !r.regular(t.Trace.place, path) {
		return nil, nil
	}
	m, ok := r.columns(&t.Map)
	if !ok {
		return nil, nil
	}
	recorded, err := newJobTrace(path, m)
	if err != nil {
		r.elsewhere(t.Trace.place, foreign(err))
		return nil, nil
	}
	return recorded.jobs(job), recorded
}

// job resolves the behaviour of one kind. What a handler declares must fit into the grace
// beside the reserve, or a real worker would refuse to start.
func (r *reader) job(b *behaviour, grace protocol.Duration) model.Job {
	reserve := reserveOf(grace)
	job := model.Job{
		Checkpoint: b.Checkpoint.value, Declared: b.Gap.value,
		Undo: b.Undo.value, UndoFails: b.UndoFails.value,
		Deaf: b.Deaf.value, CPUBound: b.CPUBound.value, Fails: b.Fails.value, OOM: b.OOM.value,
		Save: b.Save.value, Flush: b.Flush.value, Batch: b.Batch.value, Effects: b.Effects.value, Timeout: b.Timeout.value,
		Version: uint16(b.Version.value), NewVersion: uint16(b.Version.value),
	}
	if b.NewVersion.written() {
		job.NewVersion = uint16(b.NewVersion.value)
	}
	if job.Flush && job.Save == 0 {
		r.fail(b.Flush.place, "has no meaning without save", "write how often progress is saved, for example save: 1s, or drop it")
	}
	if !b.Gap.written() {
		job.Declared = defaultGap(job.Checkpoint, job.Undo, grace)
	}
	if grace > reserve && job.Declared+job.Undo+reserve > grace {
		at := b.Gap.place
		if !at.written() {
			at = b.Undo.place
		}
		r.fail(at, fmt.Sprintf("does not fit: gap %v + undo %v + reserve %v = %v, more than grace %v",
			time.Duration(job.Declared), time.Duration(job.Undo), reserve, job.Declared+job.Undo+reserve, grace), "check for cancellation more often, undo faster or raise grace")
	}
	return job
}

// defaultGap declares the real checkpoint interval where a worker would accept it.
func defaultGap(checkpoint, undo, grace protocol.Duration) protocol.Duration {
	if checkpoint+undo+reserveOf(grace) <= grace {
		return checkpoint
	}
	return 0
}

// reserveOf is the part of a grace that the protocol keeps for settling and exit.
func reserveOf(grace protocol.Duration) protocol.Duration {
	return protocol.Config{Grace: grace}.WithDefaults().Reserve
}
