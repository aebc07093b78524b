package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// leave is the end of a life: debts are paid, the ledger is kept, exclusive resources are given
// back and the exit hooks run, all inside the exit slice of the grace. It returns what may be held
// still that the machine knows nothing of.
func (w *Worker) leave() (owed error) {
	ctx, cancel := w.workUntil(w.machine.ExitBy())
	defer cancel()
	owed = w.repay(ctx)
	observed := w.endObserved(Ending{Status: w.Status()})
	// Hooks push what observers have counted, so these come first, if they don't take too long.
	first, stop := half(ctx)
	defer stop()
	select {
	case <-observed:
	case <-first.Done():
	}
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
	return owed
}

// half returns a context with half of the time that is left, or a second of one without end.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := brokenFlush
	if end, ends := ctx.Deadline(); ends {
		limit = time.Until(end) / 2
	}
	return context.WithTimeout(ctx, limit)
}

// repay has a Debtor take back what it owes, for as long as an answer may take and half of the time
// that is left, and makes the exit status worse if it cannot.
func (w *Worker) repay(ctx context.Context) error {
	debtor, ok := w.broker.(Debtor)
	if !ok || w.machine.Incarnation() == 0 {
		return nil
	}
	ctx, cancel := half(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, duration(w.cfg.Reply))
	defer stop()
	paid := make(chan error, 1)
	incarnation := w.machine.Incarnation()
	go func() {
		var errs []error
		for _, queue := range w.opt.Queues {
			errs = append(errs, guarded(func() error { return debtor.Repay(ctx, incarnation, queue) }))
		}
		paid <- errors.Join(errs...)
	}()
	var err error
	select {
	case err = <-paid:
	case <-ctx.Done():
		err = fmt.Errorf("worker: the broker did not say whether it holds claims that nobody heard of: %w", context.Cause(ctx))
	}
	if err != nil {
		w.log.Error("the broker may hold claims of this worker that nobody heard of; their leases do the rest", "error", err)
		if w.Status() == protocol.ExitClean {
			w.status.Store(protocol.ExitUnsettled)
		}
	}
	return err
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
	incarnation, status := w.machine.Incarnation(), w.Status()
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
	Cause  error // what broke, or what the broker may hold; nil when the status says it all
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
