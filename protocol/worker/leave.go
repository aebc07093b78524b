package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// leave is the end of a life: the ledger is kept, exclusive resources are given back and the
// exit hooks run, all inside the exit slice of the grace.
func (w *Worker) leave() {
	ctx, cancel := w.workUntil(w.machine.ExitBy())
	defer cancel()
	observed := w.endObserved(Ending{Status: w.Status()})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		w.keepLedger(ctx)
		w.giveBack(ctx)
		for _, hook := range w.opt.OnExit {
			if err := guarded(func() error { hook(ctx); return nil }); err != nil {
				w.log.Error("an exit hook failed", "error", err)
			}
		}
	}()
	w.await(ctx, finished, "an exit hook")
	w.await(ctx, observed, "an observer")
	w.sayGoodbye(ctx)
}

// sayGoodbye waits for the broker to hear that this life stops, for as long as an answer may take:
// an idle worker has left long before, and its call would end with it.
func (w *Worker) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, duration(w.cfg.Reply))
	defer cancel()
	said := make(chan struct{})
	go func() {
		defer close(said)
		w.goodbyes.Wait()
	}()
	select {
	case <-said:
	case <-ctx.Done():
	}
}

// keepLedger leaves the ledger at the broker, if it takes it. Nobody waits for it.
func (w *Worker) keepLedger(ctx context.Context) {
	keeper, ok := w.broker.(LedgerKeeper)
	lines := w.Ledger()
	if !ok || len(lines) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, duration(w.cfg.Reply))
	defer cancel()
	kept := make(chan error, 1)
	incarnation, status := w.machine.Incarnation(), w.machine.Status()
	go func() { kept <- guarded(func() error { return keeper.KeepLedger(ctx, incarnation, status, lines) }) }()
	select {
	case err := <-kept:
		if err != nil {
			w.log.Warn("the broker did not keep the ledger", "error", err)
		}
	case <-ctx.Done():
		w.log.Warn("the broker did not keep the ledger", "error", context.Cause(ctx))
	}
}

// ExitError says with which status a worker's process should exit.
type ExitError struct {
	Status int
	Cause  error // of what broke; nil when the status says it all
}

func (e *ExitError) Error() string {
	what := map[int]string{
		protocol.ExitRefused:   "refused by the broker, or broken",
		protocol.ExitLeaked:    "a handler did not return",
		protocol.ExitUnsettled: "the broker did not answer for every claim",
		protocol.ExitAtOnce:    "told to exit at once",
	}[e.Status]
	if e.Cause != nil {
		return fmt.Sprintf("worker: exit status %d: %v", e.Status, e.Cause)
	}
	return fmt.Sprintf("worker: exit status %d: %s", e.Status, what)
}

func (e *ExitError) Unwrap() error { return e.Cause }

// ExitStatus returns the status to exit with after Run has returned err: 0 for nil, that of
// an *ExitError, and 1 for any other error.
func ExitStatus(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return protocol.ExitClean
	case errors.As(err, &exit):
		return exit.Status
	default:
		return protocol.ExitRefused
	}
}
