package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/quiesce/quiesce/protocol"
)

// Every call of the broker is one attempt with a limit. Its answer becomes events; an error
// becomes the code Unknown, since the call may have been carried out all the same. Calls are
// made in goroutines that nobody waits for: one that never comes back is silence, for which
// the machine has its own deadlines.

// ErrBadAnswer reports an answer that contradicts what the broker was asked. It counts as
// no answer at all.
var ErrBadAnswer = errors.New("worker: the broker's answer makes no sense")

func (w *Worker) limited(d protocol.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.calls, duration(d))
}

// attempt makes a call of the broker. A panic in it is an error: the claims of a process
// must not hang on a client's defect.
func attempt[T any](f func() (T, error)) (answer T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("worker: panic in the broker: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
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

// callGoing says once that this life will stop.
func (w *Worker) callGoing(incarnation uint64, queue string) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	_, err := attempt(func() (struct{}, error) { return struct{}{}, w.broker.Going(ctx, incarnation, queue) })
	if err != nil {
		w.log.Debug("could not say that this worker is going", "error", err)
	}
}

// startClaim sends a claim request. A repetition under the same id replaces the attempt
// before it.
func (w *Worker) startClaim(e protocol.Effect) {
	if cancel := w.claims[e.Queue]; cancel != nil {
		cancel()
	}
	req := ClaimRequest{
		Incarnation: w.machine.Incarnation(), Queue: w.opt.Queues[e.Queue], Seq: e.Seq, Want: int(e.Want),
		Park: duration(w.cfg.Park), Kinds: w.mux.versions,
	}
	if w.poster != nil {
		ctx, cancel := context.WithCancel(w.calls) // at the machine's own deadline at the latest
		w.claims[e.Queue] = cancel
		w.outbox.claims = append(w.outbox.claims, claimCall{ctx, cancel, req, e})
		return
	}
	ctx, cancel := w.limited(w.cfg.Park + w.cfg.Reply)
	w.claims[e.Queue] = cancel
	w.crew.Go(func() {
		defer cancel()
		answer, err := attempt(func() (ClaimAnswer, error) { return w.broker.Claim(ctx, req) })
		w.claimed(ctx, e, answer, err)
	})
}

// claimed takes in how a claim request came back.
func (w *Worker) claimed(ctx context.Context, e protocol.Effect, answer ClaimAnswer, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // replaced or withdrawn: its answer does not count any more
	}
	w.postClaim(e, answer, err)
}

// postClaim hands a claim answer to the machine: what was granted, then the end of it.
func (w *Worker) postClaim(e protocol.Effect, answer ClaimAnswer, err error) {
	if err != nil {
		w.log.Warn("could not claim", "queue", w.opt.Queues[e.Queue], "error", err)
		answer.Grants = nil
	}
	grants := answer.Grants
	parked := protocol.Duration(max(answer.Parked, 0))
	events := make([]protocol.Event, 0, len(grants)+1)
	for i := range grants {
		g := &grants[i]
		events = append(events, protocol.GrantedJob(int(e.Queue), e.Seq, g.Job, g.Token, w.mux.kindOf(g.Kind), g.Version, parked))
	}
	events = append(events, protocol.ClaimClosed(int(e.Queue), e.Seq, codeOfError(err), parked))
	w.send(message{events: events, grants: grants})
}

func (w *Worker) startWithdraw(e protocol.Effect) {
	if cancel := w.claims[e.Queue]; cancel != nil {
		cancel() // the long poll ends here; its connection is free for the withdrawal
	}
	incarnation := w.machine.Incarnation()
	go func() {
		ctx, cancel := w.limited(w.cfg.Reply)
		defer cancel()
		jobs, err := attempt(func() (int, error) { return w.broker.Withdraw(ctx, incarnation, w.opt.Queues[e.Queue], e.Seq) })
		code := codeOfError(err)
		if code == protocol.Refused {
			code = protocol.OK // a broker that knows of no such request has nothing to give back
		}
		w.post(protocol.WithdrawClosed(int(e.Queue), e.Seq, code, jobs))
	}()
}

func (w *Worker) callSave(r Renewal, e protocol.Effect, cargo []*Job) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	code, err := attempt(func() (protocol.Code, error) { return w.broker.Save(ctx, r) })
	if err != nil {
		code = protocol.Unknown
	}
	w.send(message{events: []protocol.Event{protocol.Saved(int(e.Slot), e.Job, e.Token, code, e.At, e.Cursor)}, cargo: cargo})
}

func (w *Worker) sendRenewals(l load[Renewal]) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	codes, err := w.codes(ctx, len(l.items), "renew", func() ([]protocol.Code, error) { return w.broker.Renew(ctx, l.items) })
	events := make([]protocol.Event, len(l.effects))
	for i, e := range l.effects {
		events[i] = protocol.Renewed(int(e.Slot), e.Job, e.Token, codeAt(codes, i, err), e.At, e.Cursor)
	}
	w.send(message{events: events, cargo: l.cargo})
}

func (w *Worker) sendSettlements(l load[Settlement]) {
	ctx, cancel := w.limited(w.cfg.Reply)
	defer cancel()
	codes, err := w.codes(ctx, len(l.items), "settle", func() ([]protocol.Code, error) { return w.broker.Settle(ctx, l.items) })
	w.postSettled(l.effects, codes, err)
}

func (w *Worker) postSettled(effects []protocol.Effect, codes []protocol.Code, err error) {
	events := make([]protocol.Event, len(effects))
	for i, e := range effects {
		events[i] = protocol.Settled(int(e.Slot), e.Job, e.Token, codeAt(codes, i, err))
	}
	w.post(events...)
}

// codes makes a call that is answered with one code for each of n claims.
func (w *Worker) codes(ctx context.Context, n int, verb string, f func() ([]protocol.Code, error)) ([]protocol.Code, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // the worker has left: nothing is sent any more
	}
	codes, err := attempt(f)
	return w.checked(codes, err, n, verb)
}

// checked returns an answer that must have one code for each of n claims.
func (w *Worker) checked(codes []protocol.Code, err error, n int, verb string) ([]protocol.Code, error) {
	if err == nil && len(codes) != n {
		err = fmt.Errorf("%w: %d codes for %d claims", ErrBadAnswer, len(codes), n)
	}
	if err != nil {
		w.log.Warn("could not "+verb, "claims", n, "error", err)
	}
	return codes, err
}

func codeAt(codes []protocol.Code, i int, err error) protocol.Code {
	if err != nil {
		return protocol.Unknown
	}
	return codes[i]
}
