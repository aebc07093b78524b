// Package worker runs the drain protocol in production: it claims jobs from a queue under a
// lease, runs their handlers, and when the platform says stop comes to rest without losing
// work, without doubling it, and without making anybody wait for a lease to end.
//
//	mux := worker.NewMux()
//	mux.Handle("render", render, worker.Versions(1, 3))
//	w, err := worker.New(broker, mux, worker.Options{Slots: 10, Grace: 30 * time.Second})
//	os.Exit(worker.ExitStatus(w.Run(ctx, realworld.Signals())))
//
// # What it promises
//
// A handler's context is cancelled with a cause, and only by the protocol: a context given
// to Run that is done is a stop like SIGTERM, and running jobs get what is left of the
// grace. Run returns by the end of the grace whatever handlers, hooks and broker do, and its
// error says with which status to exit. A claim is released only after its handler has
// returned and its partial work was undone; renewal goes on until then. What a handler makes
// inside its [Scope] is committed when it returns nil or its progress is stored, and undone
// otherwise. A panic, or a goroutine that ends, in a handler, a hook or the broker is that
// job's or call's failure and not the process's.
//
// # What it does not
//
// It decides nothing. Every decision is [protocol.Machine]'s, which this package feeds from
// one goroutine; a recording of what it was fed, given to the machine elsewhere, gives the
// same effects. It brings no broker: [Broker] is the port to one, and package model's
// reference broker says how one must behave. A handler that never looks at its context
// cannot be stopped; its claim is kept, and the status says so. A cursor whose saving was
// neither confirmed nor refused in time may be stored although what it stands for is undone.
//
// # Around it
//
// [Process] composes workers with whatever else must come to rest. Package handlertest
// cancels a handler wherever it can be cancelled. docs/embedding.md is the way in.
package worker
