package explore

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/sim/invariant"
)

// This file looks at what workers make of what handlers say and save. What has to be remembered
// for it is part of a state only in worlds whose handlers have something to say.

// ending is how a claim is to end whose handler has returned.
type ending struct {
	verb   protocol.Verb
	reason protocol.Reason
}

// judges reports whether handlers come back in more ways than one, or save their progress.
func (w *World) judges() bool { return w.Returns != 0 || w.Saves }

// ends returns how the claim of a handler that has just returned is to end. What was due at that
// instant came first: it may have been cancelled then.
func (h *hand) ends() ending {
	way := &handlerReturns[h.way-1]
	r := invariant.Return{Code: way.code, Clean: way.clean, Lost: h.lost, Told: h.cause != protocol.NoCause, Cause: h.cause}
	verb, reason := r.Ending()
	return ending{verb, reason}
}

// watchEnding looks at how the claim of a handler that has returned ends. (ends-as-returned)
func (e *engine) watchEnding(st *state, i int, f *protocol.Effect) {
	h := &st.workers[i].hands[f.Slot]
	as := h.due
	if h.way != 0 {
		as = h.ends()
	}
	parked := f.Verb == protocol.Quarantine && (h.state == undoing || h.state == undone) // its undo was late, or failed
	if !e.judges || as.verb == protocol.NoVerb || parked {
		return
	}
	if f.Verb != as.verb || f.Verb == protocol.Release && f.Reason != as.reason {
		st.breaks(invariant.EndsAsReturned, "the handler of job %d returned and worker %d sent %v (%v) instead of %v (%v)", f.Job, i, f.Verb, f.Reason, as.verb, as.reason)
	}
}

// watchCursor looks at what a renewal or a settling takes along: what waits to be stored, and
// nothing that is undone. (progress-survives, undone-not-resumed)
func (e *engine) watchCursor(st *state, i int, f *protocol.Effect) {
	h := &st.workers[i].hands[f.Slot]
	switch {
	case h.state == undoing || h.state == undone:
		if f.Cursor != 0 {
			st.breaks(invariant.UndoneNotResumed, "worker %d undid what job %d had done since its last stored cursor, and sent a cursor beyond that with a %v", i, f.Job, f.Kind)
		}
	case h.pending && f.Cursor == 0:
		st.breaks(invariant.ProgressSurvives, "the handler of job %d saved its progress, and worker %d sent a %v without it", f.Job, i, f.Kind)
	}
}

// save has a handler save its progress. What is flushed goes out at once, and after a loss it is
// told that nothing is stored. (progress-survives)
func (e *engine) save(st *state, i, k int, flush bool) {
	w := &st.workers[i]
	h := &w.hands[k]
	st.touched |= 1 << i
	h.saved = true
	e.step(st, i, protocol.SaveCursor(k, 1, flush))
	h.pending = !w.dead && !h.lost
	sent, refused := false, false
	for _, f := range e.fx.All() {
		sent = sent || f.Kind == protocol.Save && int(f.Slot) == k
		refused = refused || f.Kind == protocol.RefuseSave && int(f.Slot) == k
	}
	switch {
	case w.dead || st.used[lies] > 0:
	case h.lost && !refused:
		st.breaks(invariant.ProgressSurvives, "the handler of job %d saved its progress under a lost claim, and worker %d did not tell it that nothing is stored", h.job, i)
	case !h.lost && flush && !sent:
		st.breaks(invariant.ProgressSurvives, "the handler of job %d waits for its progress to be stored, and worker %d did not send it", h.job, i)
	}
}

// endings are the verbs with which the broker ends claims that come to an outcome.
var endings = [...]protocol.Verb{
	protocol.WasFinished: protocol.Ack, protocol.WasFailed: protocol.Fail, protocol.WasReleased: protocol.Release,
	protocol.WasHandedBack: protocol.Release, protocol.WasRefused: protocol.Refuse, protocol.WasQuarantined: protocol.Quarantine,
}

// watchLine looks whether a line of the ledger is what became of its job. When the job was given
// out again since, nobody can tell any more. (ledger-true)
func (e *engine) watchLine(st *state, i int, f *protocol.Effect) {
	if int(f.Outcome) >= len(endings) || endings[f.Outcome] == protocol.NoVerb || st.astray() {
		return
	}
	if row := st.row(f.Job); row != nil && row.Token == f.Token && row.Verb != protocol.NoVerb && row.Verb != endings[f.Outcome] {
		st.breaks(invariant.LedgerTrue, "worker %d wrote into its ledger that job %d was %v, which it was not", i, f.Job, f.Outcome)
	}
}
