package worker

import (
	"context"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Observer looks on while a worker lives: a flight recorder, metrics. It is shown everything
// the machine is told and asks for, and nothing of what a job carries: no payload, no cursor
// and no error gets here.
//
// The methods are called one at a time, the first three on the worker's own goroutine, and
// everything that a worker does waits for them: they must neither block nor panic. What they
// are given by reference is the worker's, to be read during the call.
type Observer interface {
	// Begin is called once, before the first step.
	Begin(setup Setup, state State)
	// Step is called after each step of the machine and before its effects are carried out.
	Step(now protocol.Instant, ev protocol.Event, effects []protocol.Effect, state State)
	// Executed is called when a handler has come back, before the step that tells the machine.
	Executed(e Execution)
	// End is called once, when no step follows. It may flush, inside the exit slice of the
	// grace: Run does not wait for it any longer than that, and a second when the machine broke.
	End(e Ending)
}

// State is the machine as an observer sees it.
type State interface {
	AppendSnapshot(buf []byte) []byte
	Phase() protocol.Phase
	Slots() []protocol.Slot
	KillAt() protocol.Instant
}

// Setup is what a worker's life was begun with. With it and the steps, the machine of the
// laboratory does again what this one did.
type Setup struct {
	Life   Life
	Config *protocol.Config
	Seed   uint64 // of the machine's jitter
	Slots  int
	Queues []string // by number
	Kinds  []string // names by protocol.Kind
	Clock  Clock    // what the instants of the steps are read from
}

// Execution is one run of a handler.
type Execution struct {
	Job   protocol.JobKey
	Token protocol.Token
	Kind  protocol.Kind
	Code  protocol.Code     // ReturnedNil and the codes after it
	Took  protocol.Duration // from its start to its return, the commit of its scope included
	Gap   protocol.Duration // the longest time between two looks for cancellation
}

// Ending is how a worker's life ended.
type Ending struct {
	Status int
	// Broke is what the machine panicked with, and Event what it was told at Now; Broke is nil
	// when it did not panic.
	Broke any
	Now   protocol.Instant
	Event protocol.Event
}

// brokenFlush is how long Run waits for observers where nobody knows how much of the grace is left,
// as when the machine broke.
const brokenFlush = time.Second

// stepping is the step that is being made.
type stepping struct {
	now    protocol.Instant
	event  protocol.Event
	inside bool // of the machine
}

func (w *Worker) beginObserved() {
	for _, o := range w.opt.Observers {
		o.Begin(Setup{
			Life: w.life, Config: w.cfg, Seed: seedOf(w.life.Nonce), Slots: w.opt.Slots,
			Queues: w.opt.Queues, Kinds: w.mux.names(), Clock: w.clock,
		}, &w.machine)
	}
}

func (w *Worker) executed(now protocol.Instant, job *Job, back *returned) {
	if len(w.opt.Observers) == 0 {
		return
	}
	e := Execution{
		Job: job.Key, Token: job.Token, Kind: job.kind, Code: back.code,
		Took: now.Sub(w.slots[job.slot].started), Gap: back.gap,
	}
	for _, o := range w.opt.Observers {
		o.Executed(e)
	}
}

// endObserved tells the observers that it is over. What it returns is closed when all of
// them have come back.
func (w *Worker) endObserved(e Ending) <-chan struct{} {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for _, o := range w.opt.Observers {
			if err := guarded(func() error { o.End(e); return nil }); err != nil {
				w.log.Error("an observer failed at the end", "error", err)
			}
		}
	}()
	return finished
}

// flushBroken ends the observers of a machine that panicked.
func (w *Worker) flushBroken(broke any) {
	e := Ending{Status: protocol.ExitRefused}
	if w.current.inside {
		e.Broke, e.Now, e.Event = broke, w.current.now, w.current.event
	}
	ctx, cancel := context.WithTimeout(context.Background(), brokenFlush)
	defer cancel()
	w.await(ctx, w.endObserved(e), "an observer")
}

// await waits for something that must be over when ctx is done.
func (w *Worker) await(ctx context.Context, finished <-chan struct{}, what string) {
	select {
	case <-finished:
	case <-ctx.Done():
		w.log.Warn(what + " outlived the exit slice of the grace")
	}
}
