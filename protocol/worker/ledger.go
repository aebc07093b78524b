package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// LedgerLine is what became of one job or claim request that was open when the worker was
// told to stop.
type LedgerLine struct {
	Queue   string
	Request uint64          // the claim request, or 0
	Job     protocol.JobKey // the job otherwise
	Token   protocol.Token
	Kind    string
	Outcome protocol.Outcome
	After   time.Duration // since the stop
	Left    time.Duration // of the grace; 0 without a deadline
}

// LedgerKeeper is a broker that keeps ledgers, so that a deploy can be judged by what its
// workers left there. KeepLedger is called once at the end of a drain, after the last claim
// was settled or given up, and beside the exit hooks; it is not repeated.
type LedgerKeeper interface {
	KeepLedger(ctx context.Context, incarnation uint64, status int, lines []LedgerLine) error
}

// Ledger returns the lines of the drain so far: all of them once Run has returned.
func (w *Worker) Ledger() []LedgerLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger)
}

// enter writes a line into the ledger, and logs it: a worker that is killed leaves the lines
// it got to.
func (w *Worker) enter(e *protocol.Effect) {
	l := LedgerLine{Queue: w.opt.Queues[e.Queue], Outcome: e.Outcome, After: duration(e.Span)}
	attrs := append(make([]slog.Attr, 0, 8), slog.String("outcome", e.Outcome.String()), slog.String("queue", l.Queue))
	if e.Slot < 0 {
		l.Request = e.Seq
		attrs = append(attrs, slog.Uint64("request", l.Request))
	} else {
		l.Job, l.Token, l.Kind = e.Job, e.Token, w.kindName(e.JobKind)
		attrs = append(attrs, slog.Uint64("job", uint64(l.Job)), slog.Uint64("token", uint64(l.Token)),
			slog.String("kind", l.Kind), slog.Int("slot", int(e.Slot)))
	}
	attrs = append(attrs, slog.Duration("after", l.After))
	if left, ok := w.budgetLeft(e.At); ok {
		l.Left = left
		attrs = append(attrs, slog.Duration("left", left))
	}
	w.log.LogAttrs(w.work, slog.LevelInfo, "drained", attrs...)
	w.mu.Lock()
	w.ledger = append(w.ledger, l)
	w.mu.Unlock()
}

// atRest logs the end of a life, with the sum of its ledger.
func (w *Worker) atRest(e *protocol.Effect) {
	attrs := []slog.Attr{slog.Int("status", int(e.Status))}
	var counts [protocol.WasUnsettled + 1]int
	lines := w.Ledger()
	for _, l := range lines {
		counts[l.Outcome]++
	}
	if n := len(lines); n > 0 {
		attrs = append(attrs, slog.Duration("took", lines[n-1].After))
	}
	if left, ok := w.budgetLeft(e.At); ok {
		attrs = append(attrs, slog.Duration("left", left))
	}
	var sums []any
	for o, n := range counts {
		if n > 0 {
			sums = append(sums, slog.Int(protocol.Outcome(o).String(), n))
		}
	}
	if len(sums) > 0 {
		attrs = append(attrs, slog.Group("ledger", sums...))
	}
	w.log.LogAttrs(w.work, slog.LevelInfo, "at rest", attrs...)
}

// budgetLeft is the time until SIGKILL; not known outside a drain and without a deadline.
func (w *Worker) budgetLeft(now protocol.Instant) (time.Duration, bool) {
	at := w.machine.KillAt()
	return duration(max(at.Sub(now), 0)), at != protocol.Never
}
