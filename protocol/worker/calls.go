package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/quiesce/quiesce/protocol"
)

// Every call of the broker is one attempt with a limit. Its answer becomes events; an error
// becomes the code Unknown, since the call may have been carried out all the same.

func (w *Worker) limited(d protocol.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.calls, duration(d))
}

func codeOfError(err error) protocol.Code {
	switch {
	case err == nil:
		return protocol.OK
	case errors.Is(err, ErrRefused):
		return protocol.Refused
	default:
		return protocol.Unknown
	}
}

func (w *Worker) callRegister() {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	n, err := w.broker.Register(ctx, w.life)
	if err != nil {
		w.log.Warn("could not register", "error", err)
	}
	w.post(protocol.RegisteredAs(n, codeOfError(err)))
}

func (w *Worker) callGoing(incarnation uint64, e protocol.Effect) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	if err := w.broker.Going(ctx, incarnation, w.opt.Queues[e.Queue]); err != nil {
		w.log.Debug("could not say that this worker is going", "error", err)
	}
}

// startClaim sends a claim request. A repetition under the same id replaces the attempt
// before it.
func (w *Worker) startClaim(e protocol.Effect) {
	if cancel := w.claims[e.Queue]; cancel != nil {
		cancel()
	}
	ctx, cancel := w.limited(w.cfg.Park + w.cfg.Reply)
	w.claims[e.Queue] = cancel
	req := ClaimRequest{
		Incarnation: w.machine.Incarnation(), Queue: w.opt.Queues[e.Queue], Seq: e.Seq, Want: int(e.Want),
		Park: duration(w.cfg.Park), Kinds: w.mux.versions(),
	}
	go func() {
		defer cancel()
		answer, err := w.broker.Claim(ctx, req)
		if errors.Is(ctx.Err(), context.Canceled) && err != nil {
			return // replaced or withdrawn: its answer does not count any more
		}
		w.postClaim(e, answer, err)
	}()
}

// postClaim hands a claim answer to the machine: what was granted, then the end of it.
func (w *Worker) postClaim(e protocol.Effect, answer ClaimAnswer, err error) {
	parked := protocol.Duration(answer.Parked)
	events := make([]protocol.Event, 0, len(answer.Grants)+1)
	for _, g := range answer.Grants {
		events = append(events, protocol.GrantedJob(int(e.Queue), e.Seq, g.Job, g.Token, protocol.Kind(w.mux.find(g.Kind)), g.Version, parked))
	}
	events = append(events, protocol.ClaimClosed(int(e.Queue), e.Seq, codeOfError(err), parked))
	w.send(message{events: events, grants: answer.Grants})
}

func (w *Worker) startWithdraw(e protocol.Effect) {
	if cancel := w.claims[e.Queue]; cancel != nil {
		cancel() // the long poll ends here; its connection is free for the withdrawal
	}
	incarnation := w.machine.Incarnation()
	go func() {
		ctx, cancel := w.limited(w.cfg.Reply)
		defer cancel()
		jobs, err := w.broker.Withdraw(ctx, incarnation, w.opt.Queues[e.Queue], e.Seq)
		code := codeOfError(err)
		if code == protocol.Refused {
			code = protocol.OK // a broker that knows of no such request has nothing to give back
		}
		w.post(protocol.WithdrawClosed(int(e.Queue), e.Seq, code, jobs))
	}()
}

func (w *Worker) callSave(r Renewal, e protocol.Effect) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	code, err := w.broker.Save(ctx, r)
	if err != nil {
		code = protocol.Unknown
	}
	w.post(protocol.Saved(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor))
}

func (w *Worker) sendRenewals(items []Renewal, effects []protocol.Effect) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	codes, err := w.broker.Renew(ctx, items)
	events := make([]protocol.Event, len(effects))
	for i, e := range effects {
		events[i] = protocol.Renewed(int(e.Slot), e.Job, e.Token, codeAt(codes, i, err), e.At, e.Cursor)
	}
	w.post(events...)
}

func (w *Worker) sendSettlements(items []Settlement, effects []protocol.Effect) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	codes, err := w.broker.Settle(ctx, items)
	if err != nil {
		w.log.Warn("could not settle", "claims", len(items), "error", err)
	}
	events := make([]protocol.Event, len(effects))
	for i, e := range effects {
		events[i] = protocol.Settled(int(e.Slot), e.Job, e.Token, codeAt(codes, i, err))
	}
	w.post(events...)
}

func codeAt(codes []protocol.Code, i int, err error) protocol.Code {
	if err != nil || i >= len(codes) {
		return protocol.Unknown
	}
	return codes[i]
}

// batcher sends together what gathered while the last call was out, and never waits for
// more to come.
type batcher[T any] struct {
	mu      sync.Mutex
	items   []T
	effects []protocol.Effect
	busy    bool
	send    func([]T, []protocol.Effect)
}

func newBatcher[T any](send func([]T, []protocol.Effect)) *batcher[T] {
	return &batcher[T]{send: send}
}

func (b *batcher[T]) put(item T, e protocol.Effect) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items, b.effects = append(b.items, item), append(b.effects, e)
	if !b.busy {
		b.busy = true
		go b.run()
	}
}

func (b *batcher[T]) run() {
	for {
		b.mu.Lock()
		items, effects := b.items, b.effects
		b.items, b.effects = nil, nil
		b.busy = len(items) > 0
		b.mu.Unlock()
		if len(items) == 0 {
			return
		}
		b.send(items, effects)
	}
}
