package explore

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// reduce returns the actions of a state that have to be tried, as far as their order can be
// seen: all of them, or those of one worker that must act now and that nobody disturbs.
//
// Such a worker has nothing on the wire to the broker, neither a message nor a request that
// waits, so nobody can send it anything new at this instant. It has a timer or an answer that
// is due, so no time passes before it has acted. And the claims of what runs in it are open,
// its own, and not about to be touched, now and after whatever it does next; since invariants
// compare what runs with the broker's rows, none can tell whether others acted before or
// after. What they do commutes with what it does and is still to come. Every cycle passes
// time, and time passes only where everything was tried, so nothing is put off for ever.
//
// While faults are left nothing is reduced: a crash or a pause commutes with nothing.
//
// c is a copy of st, and is one again afterwards.
func (e *engine) reduce(st, c *state, m *menu) []action {
	if !e.reducible(m) {
		return m.list
	}
	var busy uint8 // workers that somebody might send something
	st.broker.EachWaiting(func(_ int, who model.Member, _ bool) { busy |= 1 << who.Seat })
	for k := range st.messages {
		if msg := &st.messages[k]; msg.kind != toWorker {
			busy |= 1 << msg.worker
		}
	}
	for i := range st.workers {
		w := &st.workers[i]
		if w.dead || w.paused || busy&(1<<i) != 0 || !e.undisturbed(st, i) {
			continue
		}
		if own, must := e.actionsOf(st, i, m); must && e.unseen(st, c, i, own) {
			return own
		}
	}
	return m.list
}

// reducible reports whether there is a chance that reduce finds something.
func (e *engine) reducible(m *menu) bool { return m.fault == len(m.list) && !m.rest && len(m.list) > 1 }

// undisturbed reports whether the claims of all that runs in a worker are open, and nothing
// is on its way that could change them.
func (e *engine) undisturbed(st *state, i int) bool {
	if !e.holds(st, i) {
		return false
	}
	for n := range st.messages {
		m := &st.messages[n]
		for k := range e.slots {
			if h := &st.workers[i].hands[k]; m.kind == toBroker && h.state != idle && m.job == h.job {
				return false
			}
		}
	}
	return true
}

// actionsOf moves what worker i can do to the front of the list, and reports whether it must
// do something now.
func (e *engine) actionsOf(st *state, i int, m *menu) (own []action, must bool) {
	n := 0
	for k, a := range m.list {
		switch {
		case a.kind == fireTimer && int(a.a) == i:
			must = true
		case a.kind == kill && int(a.a) == i:
			return nil, false
		case a.kind == comeBack && int(a.a)/maxSlots == i:
		case a.kind == deliver && int(st.messages[a.a].worker) == i:
			must = must || st.messages[a.a].due <= st.now
		default:
			continue
		}
		copy(m.list[n+1:k+1], m.list[n:k])
		m.list[n] = a
		n++
	}
	return m.list[:n], must
}

// holds reports whether the claims of all that runs in a worker are open: what it has just
// sent is not about them any more.
func (e *engine) holds(st *state, i int) bool {
	for k := range e.slots {
		h := &st.workers[i].hands[k]
		if h.state == idle {
			continue
		}
		if row := st.broker.Job(h.job); row.Token != h.token || row.State != model.JobClaimed || row.Verb != protocol.NoVerb || row.Lease <= st.now {
			return false
		}
	}
	return true
}

// unseen reports whether no invariant can tell before from after any of some actions.
func (e *engine) unseen(st, c *state, i int, acts []action) bool {
	for _, a := range acts {
		e.apply(c, a)
		seen := c.broken.Invariant != "" || c.workers[i].dead || !e.holds(c, i)
		e.restore(st, c)
		if seen {
			return false
		}
	}
	return true
}
