package worker

import (
	"context"

	"github.com/quiesce/quiesce/protocol"
)

// outbox is what the steps since the mailbox was last empty have for a Poster: settlements, and
// the claim requests that go after them.
type outbox struct {
	settlements []Settlement
	effects     []protocol.Effect // which they are of
	claims      []claimCall
}

// claimCall is a claim request that waits to be sent.
type claimCall struct {
	ctx    context.Context
	cancel context.CancelFunc
	req    ClaimRequest
	effect protocol.Effect // which it is of
}

// settle sends a settlement, with others.
func (w *Worker) settle(e *protocol.Effect) {
	s := w.settlement(e)
	if e.Verb == protocol.Quarantine && w.slots[e.Slot].undoing && !w.slots[e.Slot].overran {
		w.slots[e.Slot].overran = true
		w.log.Error("undo hooks take longer than they may; the job is quarantined, and its slot is taken until they return",
			"kind", w.kindName(e.JobKind), "job", e.Job)
	}
	if w.poster == nil {
		w.settles.put(s, *e, nil)
		return
	}
	w.outbox.settlements, w.outbox.effects = append(w.outbox.settlements, s), append(w.outbox.effects, *e)
}

// sendOutbox hands over what has gathered. Nothing here waits.
func (w *Worker) sendOutbox() {
	if n := len(w.outbox.settlements); n > 0 {
		settlements, effects := w.outbox.settlements, w.outbox.effects
		w.outbox.settlements, w.outbox.effects = make([]Settlement, 0, n), make([]protocol.Effect, 0, n)
		w.poster.Post(w.calls, settlements, func(codes []protocol.Code, err error) {
			codes, err = w.checked(codes, err, n, "settle")
			w.postSettled(effects, codes, err)
		})
	}
	for i := range w.outbox.claims {
		c := w.outbox.claims[i]
		w.poster.PostClaim(c.ctx, c.req, func(answer ClaimAnswer, err error) {
			w.claimed(c.ctx, c.effect, answer, err)
			c.cancel()
		})
		w.outbox.claims[i] = claimCall{}
	}
	w.outbox.claims = w.outbox.claims[:0]
}
