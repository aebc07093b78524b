package worker

import (
	"log/slog"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// ledger logs what became of everything that was open at the stop (rule 18): one line each,
// and their numbers with the exit. A worker that is killed before leaves the lines it got to;
// what it held is then in its recording and at the broker.
type ledger struct {
	began  protocol.Instant
	open   bool // a drain has begun
	counts map[protocol.Outcome]int
}

// line logs one entry.
func (w *Worker) line(e protocol.Effect) {
	attrs := []slog.Attr{slog.String("outcome", e.Outcome.String()), slog.String("queue", w.opt.Queues[e.Queue])}
	if e.Slot >= 0 {
		attrs = append(attrs, slog.Uint64("job", uint64(e.Job)), slog.Uint64("token", uint64(e.Token)),
			slog.String("kind", w.kindName(e.JobKind)), slog.Int("slot", int(e.Slot)))
	} else {
		attrs = append(attrs, slog.Uint64("request", e.Seq))
	}
	attrs = append(attrs, slog.Duration("after", duration(e.Span)))
	if left, ok := w.budgetLeft(e.At); ok {
		attrs = append(attrs, slog.Duration("left", left))
	}
	w.log.LogAttrs(w.calls, slog.LevelInfo, "drained", attrs...)
	w.ledger.add(e)
}

func (l *ledger) add(e protocol.Effect) {
	if l.counts == nil {
		l.counts = map[protocol.Outcome]int{}
	}
	l.counts[e.Outcome]++
	l.began, l.open = e.At.Add(-e.Span), true
}

// atRest logs the end of a life, with the sum of its ledger.
func (w *Worker) atRest(e protocol.Effect) {
	attrs := []slog.Attr{slog.Int("status", int(e.Status))}
	if l := &w.ledger; l.open {
		attrs = append(attrs, slog.Duration("took", duration(e.At.Sub(l.began))))
	}
	if left, ok := w.budgetLeft(e.At); ok {
		attrs = append(attrs, slog.Duration("left", left))
	}
	var sums []any
	for o := protocol.WasFinished; o <= protocol.WasUnsettled; o++ {
		if n := w.ledger.counts[o]; n > 0 {
			sums = append(sums, slog.Int(o.String(), n))
		}
	}
	if len(sums) > 0 {
		attrs = append(attrs, slog.Group("ledger", sums...))
	}
	w.log.LogAttrs(w.calls, slog.LevelInfo, "at rest", attrs...)
}

// budgetLeft is the time until SIGKILL; not known outside a drain and without a deadline.
func (w *Worker) budgetLeft(now protocol.Instant) (time.Duration, bool) {
	at := w.machine.KillAt()
	return duration(max(at.Sub(now), 0)), at != protocol.Never
}
