package fleet

import (
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// watch reports what a worker's machine is told and what it asks for.
type watch struct {
	to    *sink
	ready bool
	facts []fact // of the step, memory used again
}

func (w *watch) Begin(worker.Setup, worker.State) {}
func (w *watch) Executed(worker.Execution)        {}
func (w *watch) End(worker.Ending)                {}

func (w *watch) Step(now protocol.Instant, ev protocol.Event, effects []protocol.Effect, state worker.State) {
	w.facts = w.facts[:0]
	put := func(f fact) {
		f.At = now
		w.facts = append(w.facts, f)
	}
	switch ev.Kind {
	case protocol.Granted:
		put(fact{Kind: factGranted, Job: ev.Job, Token: ev.Token})
	case protocol.RenewAnswered:
		if ev.Code == protocol.OK || ev.Code == protocol.CancelOrder {
			put(fact{Kind: factRenewed, Job: ev.Job, Token: ev.Token})
		}
	case protocol.SettleAnswered:
		put(fact{Kind: factSettled, Job: ev.Job, Token: ev.Token, Code: ev.Code})
	}
	if !w.ready && state.Phase() == protocol.PhaseServing {
		w.ready = true
		put(fact{Kind: factReady})
	}
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case protocol.Settle:
			put(fact{Kind: factSettle, Job: e.Job, Token: e.Token, Verb: e.Verb, Reason: e.Reason})
		case protocol.Going:
			put(fact{Kind: factGoing})
		case protocol.Note:
			put(fact{Kind: factNote, Job: e.Job, Note: e.Note, Count: e.Want})
		case protocol.Line:
			put(fact{Kind: factLine, Job: e.Job, Outcome: e.Outcome})
		case protocol.Exit:
			put(fact{Kind: factExit, Status: e.Status})
		}
	}
	w.to.put(w.facts...)
}
