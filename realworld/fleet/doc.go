// Package fleet runs a scenario of the laboratory with real processes: worker processes of
// package worker on a real Redis, started, replaced and killed by a supervisor in this
// process with real signals.
//
//	fleet.Main(fates) // first in main: a process that the fleet has started goes no further
//
//	row, account, err := fleet.Run(ctx, fleet.Plan{Scenario: sc, Preset: preset, Jobs: jobs, URL: url, Speed: 10})
//
// # What is the same as in the laboratory
//
// The worker's machine and its configuration; when jobs arrive and how much work they are; how
// handlers look for cancellation, save, undo and fail; the supervisor's sequences and the
// rollout's moves, by the very machines of package model; the meter. Time is the scenario's
// everywhere: a worker's clock runs Speed times as fast as the wall's, and what the broker is
// told is shortened by as much.
//
// # What is real
//
// Processes, signals, the scheduler, the sockets, Redis, and the time that all of them take.
// It is not shortened: at Speed 10 a round trip of half a millisecond takes five of the
// scenario's, and a process that needs 30 ms to come up needs 300.
//
// # Where the records come from
//
// A worker process reports over a pipe, before it acts, what its machine was told and what it
// asks for, and what its handlers do; a process that is killed leaves what it had reported. The
// supervisor adds signals and ends of processes. What the broker knows and no worker saw
// follows from that and from what the broker says of a job at the end: a lease ran out that
// nobody renewed; a job is done whose ack was not answered. The instants of such facts are
// those of the newest answered renewal and a lease. What cannot be known is named in
// [Account.Notes].
package fleet
