package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// What a worker does that is not remembered is made alone: without the other workers, and with no more of
// the broker than its rows, which are read only if somebody looks at them. Then it is remembered, and the
// state is put together as if it had been before. If it breaks something, or the broker has a part in it,
// the whole state is made, which tells what.

// alone returns a state in which worker i is as in st, and so are messages and what is used up. Of its
// broker only the rows mean anything, those of a form. What came of asking it is not remembered.
func (e *engine) alone(st *state, i int, jobs []byte) *state {
	if e.single == nil {
		e.single = e.empty()
	}
	c := e.single
	e.copyWorker(&st.workers[i], &c.workers[i])
	c.messages = append(c.messages[:0], st.messages...)
	c.now, c.used, c.past, c.unread = st.now, st.used, past{}, jobs
	c.clean()
	e.parts.said, e.parts.calls = e.parts.said[:0], 0
	return c
}

// row is what the broker knows of a job. Who looks at it depends on it.
func (st *state) row(job protocol.JobKey) *model.JobRow {
	st.asked = true
	if st.unread != nil {
		st.broker.ReadJobs(base, st.unread)
		st.unread = nil
	}
	return st.broker.Job(job)
}

// doAlone makes an action that is about one worker, and reports whether it is remembered now.
func (e *engine) doAlone(st *state, s *site) bool {
	c := e.alone(st, s.worker, e.coder.jobsOf())
	e.apply(c, s.action)
	return e.rememberAlone(c, s.worker, s.key, s, nil)
}

// hearAlone has a worker hear an answer at once, if there is one, after which the broker knows something
// of jobs and some of the worker's lowest request numbers are gone, and reports whether it is remembered
// now what comes of it.
func (e *engine) hearAlone(st *state, i int, s *site, answer []byte, gone int, jobs []byte) bool {
	c := e.alone(st, i, jobs)
	if answer != nil {
		m := message{worker: int8(i)}
		r := protocol.ReadForm(answer, base)
		e.coder.readMessage(&r, &m)
		if m.numbered() {
			m.seq += uint64(gone) // which the form of the answer does not count
		}
		e.arrive(c, m)
	}
	e.marker.gone[i] = gone
	ok := e.rememberAlone(c, i, e.hearing(i, answer, gone), s, jobs)
	e.marker.gone[i] = 0
	return ok
}

// rememberAlone notes what came of a step that was made alone, if the broker had no part in it and nothing
// was broken.
func (e *engine) rememberAlone(c *state, i int, key hash, s *site, jobs []byte) bool {
	if e.parts.calls > 0 || (c.touched|c.wired)&^(1<<i) != 0 || c.broken.Invariant != "" {
		return false
	}
	if c.asked {
		key = e.asking(key, s, jobs)
	}
	w := &e.coder
	w.ranks.own(e, &e.marker.gone)
	w.process = e.appendProcess(w.process[:0], c, i)
	return e.rememberWorker(c, i, key, w.process)
}

// own makes every number of a state that was read its own rank, but for those that are less for the
// request numbers that are gone. So it is in a state that is put together.
func (r *ranks) own(e *engine, gone *[maxWorkers]int) {
	const all = ^uint64(0)
	for j := 1; j <= e.world.Jobs; j++ {
		r.jobs[j] = uint8(j)
		r.tokens[j].Reset(all)
	}
	for i := range e.world.Workers {
		r.seats[i] = uint8(i)
		r.seqs[i].Reset(all << (gone[i] + 1))
		r.lives[i].Reset(all)
	}
}
